/* SPDX-License-Identifier: MIT */
/*
 * `memtrack check` below the command line: budgets, and what breaks them.
 * cmd/check.c fills the options.
 */
#ifndef MEMTRACK_REPORT_CHECK_H
#define MEMTRACK_REPORT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/match.h"
#include "report/report.h"
#include "report/suppressions.h"

enum check_budget {
	CHECK_MAX_PEAK,
	CHECK_MAX_LEAKED,
	CHECK_MAX_LEAKED_BLOCKS,
	CHECK_MAX_ALLOCATIONS,
	CHECK_MAX_TEMPORARY,
	CHECK_MAX_ERRORS,
	CHECK_MAX_PEAK_GROWTH, /* from here on against another recording */
	CHECK_MAX_LEAKED_GROWTH,
	CHECK_MAX_ALLOCATIONS_GROWTH,
	CHECK_BUDGETS,
};

/* Indexed by the enum: names of options without their dashes; ended by a NULL name. */
extern const struct report_name check_budget_names[];

struct check_limit {
	bool set, percent;
	uint64_t amount; /* bytes or a number */
	double percentage;
};

/*
 * "10%", "2.5%" or an amount, a size where the budget is about bytes; for CHECK_MAX_TEMPORARY a
 * percentage with or without the sign.  0 or -EINVAL; then *expected says what was expected.
 */
int check_limit_parse(struct check_limit *limit, enum check_budget budget, const char *text,
		      const char **expected) __attribute__((warn_unused_result));

enum check_format { CHECK_FORMAT_TEXT, CHECK_FORMAT_JSON };

extern const struct report_name check_format_names[];

struct check_options {
	struct report_options report; /* its files are the new ones; by site; format unused */
	const char *against;	      /* the old recording, or NULL */
	enum check_format format;
	bool quiet; /* no word on budgets that are kept */
	struct check_limit limits[CHECK_BUDGETS];
};

/* What makes the figures of one side less than certain. */
struct check_doubts {
	uint64_t dropped, unattributed; /* events not counted, allocations without a stack */
	uint64_t errors_lost;		/* errors of which nothing was kept */
	size_t incomplete;		/* processes whose end was not seen */
	uint32_t first_incomplete;	/* the number of the first of them, and its program */
	char first_program[256];
	size_t unchecked;	 /* processes of the recordings that were not asked for */
	size_t errors_elsewhere; /* errors that these made */
	bool sampled;
};

struct check_verdict {
	size_t broken; /* budgets */
	struct check_doubts doubts[SIDES];
	struct suppressions suppressions; /* what matched is said of both sides together */
};

/* Something is limited, and what is limited can be: 0 or -EINVAL with *diag filled. */
int check_options_test(const struct check_options *options, struct diag *diag)
	__attribute__((warn_unused_result));
/*
 * Judges, and writes the findings to options->report.out.  Errors are those of report_run
 * (report.h).
 */
int check_run(const struct check_options *options, struct check_verdict *verdict, struct diag *diag)
	__attribute__((warn_unused_result));
/* Whether check_run failed or not. */
void check_verdict_release(struct check_verdict *verdict);

#endif
