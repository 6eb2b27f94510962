/* SPDX-License-Identifier: MIT */
/*
 * Leaks to leave out, in the syntax of LeakSanitizer: lines "leak:PATTERN",
 * comments that start with #, blank lines.  A stack is suppressed when a pattern
 * matches the function, source file or module of one of its frames, or the label of
 * the known stack that it is (known_stacks.h).  Its leaked
 * figures become 0, all others stay.
 *
 *	struct suppressions set = { 0 };
 *	error = suppressions_load(&set, path, diag); for each file
 *	error = suppressions_apply(&set, &model, diag); before anything is summed up
 *	suppressions_release(&set);
 */
#ifndef MEMTRACK_REPORT_SUPPRESSIONS_H
#define MEMTRACK_REPORT_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/diag.h"
#include "report/recording.h"

struct model;

struct suppression {
	char *pattern; /* as it was written, without "leak:" */
	char *pieces;  /* what lies between the asterisks, one string after the other */
	size_t piece_count;
	bool at_start, at_end; /* anchored by ^ and $ */
	/*
	 * It matches some leak.  Its costs may be 0 all the same: a leak counts
	 * for the first pattern that matches it.
	 */
	bool matched;
	struct costs costs; /* what it suppressed: only the leaked figures and their variances */
};

/* All zero is the set that suppresses nothing. */
struct suppressions {
	struct suppression *items; /* in the order of the files and lines */
	size_t count, room;
	struct costs costs; /* Σ over the items */
};

/*
 * Adds the patterns of a file.  -EINVAL with file and line for what is none,
 * another -errno when the file cannot be read; the set then holds what came
 * before.
 */
int suppressions_load(struct suppressions *set, const char *path, struct diag *diag)
	__attribute__((warn_unused_result));
/*
 * Takes the leaks that match out of the model's stacks and totals, and adds them
 * up in the set; to be called once.  The figures of single processes stay as they were
 * recorded.  0 or -ENOMEM.
 */
int suppressions_apply(struct suppressions *set, struct model *model, struct diag *diag)
	__attribute__((warn_unused_result));
void suppressions_release(struct suppressions *set);

/* One pattern against one name. */
bool suppression_matches(const struct suppression *suppression, const char *text);

#endif
