/* SPDX-License-Identifier: MIT */
/*
 * Rows that stand for threads and for sizes of blocks.  A recording knows their costs for all
 * stacks together, so they have no stacks under them, and filters of stacks do not apply.
 */
#ifndef MEMTRACK_REPORT_PARTS_H
#define MEMTRACK_REPORT_PARTS_H

#include <stdbool.h>

#include "report/report.h"
#include "report/sites.h"

/* Is a report by `by` one of these? */
static inline bool is_by_part(enum report_by by)
{
	return by == REPORT_BY_THREAD || by == REPORT_BY_SIZE;
}

/* -EINVAL when an option asks for something about stacks as well. */
int parts_check_options(const struct report_options *options, struct diag *diag)
	__attribute__((warn_unused_result));
/*
 * As sites_build.  Threads stay apart by process, sizes do not.  The rows of sizes that are to
 * be shown are those of the highest cost, but come in order of size.  -EINVAL when a recording
 * has no such data; `files` are those of the model.
 */
int parts_build(struct site_table *table, const struct model *model,
		const struct site_options *options, const struct report_list *files,
		struct diag *diag) __attribute__((warn_unused_result));

#endif
