/* SPDX-License-Identifier: MIT */
/*
 * `memtrack diff` below the command line: what changed from one recording to
 * another, or from several to several.  cmd/diff.c fills the options.  `memtrack
 * check` finds with it what grew.
 */
#ifndef MEMTRACK_REPORT_DIFF_H
#define MEMTRACK_REPORT_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/match.h"
#include "report/recording.h"
#include "report/report.h"

enum diff_match {
	DIFF_MATCH_NAME,
	DIFF_MATCH_LINE,
};

/* Indexed by the enum; ended by a NULL name. */
extern const struct report_name diff_match_names[];

enum diff_status {
	DIFF_UNCHANGED,
	DIFF_CHANGED,
	DIFF_ADDED,
	DIFF_REMOVED,
};

/* What the rows of both sides that are the same add up to. */
struct diff_row {
	struct costs costs[SIDES];
	uint32_t
		sites[SIDES]; /* index + 1 of a site of each side: of the line that changed most, or
				  the largest; 0: none */
	enum side side;	      /* whose site it is shown by */
	uint32_t stacks;      /* how many changed, by the sort key */
	uint32_t stack;	      /* id of the one that changed most; 0: none */
	enum diff_status status;
};

/* The same stack on both sides. */
struct diff_stack {
	uint32_t row;
	uint32_t chain;		/* see match.h */
	uint32_t stacks[SIDES]; /* index + 1 of the first of each side; 0: none */
	int64_t costs[SIDES];	/* by the sort key */
};

struct diff {
	enum report_sort sort;
	struct match match;
	struct diff_row *rows; /* of diff_build all; then the changed ones, in order */
	size_t count;
	struct diff_stack *stacks; /* [0] is used; ids count from 1 */
	size_t stack_count;
};

struct diff_options {
	struct report_options
		report; /* of its files the first is the old, the second the new one */
	enum diff_match match;
};

/* By options->report.by and sort.  The views must outlive the diff. */
int diff_build(struct diff *diff, const struct view *const views[SIDES],
	       const struct diff_options *options, struct diag *diag)
	__attribute__((warn_unused_result));
void diff_release(struct diff *diff);

/* By how much a figure grew, as far as the type goes. */
static inline int64_t diff_difference(int64_t old, int64_t new)
{
	int64_t difference;
	if (__builtin_sub_overflow(new, old, &difference))
		return new < old ? INT64_MIN : INT64_MAX;
	return difference;
}

/* A magnitude that INT64_MIN has, too. */
static inline uint64_t diff_magnitude(int64_t number)
{
	return number < 0 ? -(uint64_t)number : (uint64_t)number;
}

/* By how much the sort key grew. */
int64_t diff_change(const struct diff_row *row, enum report_sort sort);
/* The square of its standard error; 0: it is exact. */
double diff_variance(const struct diff_row *row, enum report_sort sort);
/* The change of an estimate may be chance: it is within two standard errors. */
bool diff_is_chance(const struct diff_row *row, enum report_sort sort);
/* "added", "removed" or "changed". */
const char *diff_status_name(enum diff_status status);

/* Errors are those of report_run (report.h). */
int diff_run(const struct diff_options *options, struct diag *diag)
	__attribute__((warn_unused_result));

#endif
