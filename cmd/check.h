/* SPDX-License-Identifier: MIT */
/* A check in one string of options: `run --check`. */
#ifndef MEMTRACK_CMD_CHECK_H
#define MEMTRACK_CMD_CHECK_H

#include <stdbool.h>

#include "cmd/cmd.h"
#include "report/diag.h"

struct check_plan;

/*
 * What the string asks for, with all that it needs there: the old recording can be read, and so
 * can suppressions.  0 or -errno with *diag filled; then there is nothing to free.
 */
int check_plan_make(struct check_plan **plan, const char *text, struct diag *diag)
	__attribute__((warn_unused_result));
/* Only errors are limited: a recording without allocations will do. */
bool check_plan_is_of_errors(const struct check_plan *plan);
/* Before `output` is written: an old recording of that name will be kept under another. */
int check_plan_output(struct check_plan *plan, const char *output, struct diag *diag)
	__attribute__((warn_unused_result));
/*
 * Judges a recording; the findings go to stderr, and that all is well unless `quiet`.
 * STATUS_GOOD, STATUS_FINDING, or another status when it could not be judged, with an error printed.
 */
int check_plan_run(struct check_plan *plan, const char *file, bool quiet);
void check_plan_free(struct check_plan *plan);

#endif
