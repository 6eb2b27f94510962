/* SPDX-License-Identifier: MIT */
/*
 * The lines that a row of a diff is made of, and which of them it is shown by:
 * rows are matched by names, so one may hold several lines, some of only one side.
 */
#ifndef MEMTRACK_REPORT_DIFF_LINES_H
#define MEMTRACK_REPORT_DIFF_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "report/diff.h"
#include "report/hash_index.h"

/* The sites of one line in one row, by side. */
struct diff_line {
	uint32_t row, line;
	uint32_t sites[SIDES]; /* index + 1 of the largest; 0: none */
	int64_t costs[SIDES];  /* by the sort key */
};

/* All zero is the empty set. */
struct diff_lines {
	struct diff_line *items;
	size_t count, room;
	struct hash_index index;
};

/* Adds a site (its index) to the row with this id.  0 or -ENOMEM. */
int diff_lines_add(struct diff_lines *lines, const struct diff *diff, uint32_t row, enum side side,
		   uint32_t site) __attribute__((warn_unused_result));
/* Gives each row the sites and the side it is shown by.  0 or -ENOMEM. */
int diff_lines_choose(const struct diff_lines *lines, struct diff *diff)
	__attribute__((warn_unused_result));
void diff_lines_release(struct diff_lines *lines);

#endif
