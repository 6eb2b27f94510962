/* SPDX-License-Identifier: MIT */
/*
 * Recordings as the options of a report show them: loaded, without the leaks
 * that are suppressed, filtered and grouped.  `report` has one view, `diff` and
 * `check` have one of each side.
 */
#ifndef MEMTRACK_REPORT_VIEW_H
#define MEMTRACK_REPORT_VIEW_H

#include <stddef.h>

#include "report/diag.h"
#include "report/filter.h"
#include "report/model.h"
#include "report/plumbing.h"
#include "report/report.h"
#include "report/sites.h"
#include "report/suppressions.h"

struct view {
	struct filter_set filters;
	struct plumbing plumbing;
	struct suppressions suppressions;
	struct model model;
	struct site_table table;
};

/*
 * Of `files` whatever the options say; `ordered` sites need be in order (0:
 * all).  Errors are those of report_run (report.h).  On failure nothing is left to close.
 */
int view_open(struct view *view, const struct report_options *options,
	      const struct report_list *files, size_t ordered, struct diag *diag)
	__attribute__((warn_unused_result));
void view_close(struct view *view);

/* Flushes what a renderer that returned `error` has written; errors show up late. */
int view_finish_output(FILE *out, int error, struct diag *diag) __attribute__((warn_unused_result));

#endif
