/* SPDX-License-Identifier: MIT */
/*
 * `memtrack report` from options to output: a view is opened and rendered.  See
 * report.h.
 */
#include "report/report.h"

#include <string.h>

#include "report/render.h"
#include "report/view.h"

const struct report_name report_sort_names[] = {
	[REPORT_SORT_PEAK] = { "peak", "bytes live at the peak of the heap" },
	[REPORT_SORT_LEAKED] = { "leaked", "bytes still allocated at the end" },
	[REPORT_SORT_ALLOCATED] = { "allocated", "bytes allocated in all" },
	[REPORT_SORT_ALLOCATIONS] = { "allocations", "number of allocations" },
	[REPORT_SORT_TEMPORARY] = { "temporary", "allocations freed again at once" },
	[REPORT_SORT_SLACK] = { "slack", "bytes lost to rounding at the peak (run --slack)" },
	{ 0 },
};

const struct report_name report_by_names[] = {
	[REPORT_BY_SITE] = { "site", "innermost frame that is not allocation plumbing" },
	[REPORT_BY_STACK] = { "stack", "whole stack" },
	[REPORT_BY_FUNCTION] = { "function", "function of the site" },
	[REPORT_BY_FILE] = { "file", "source file of the site" },
	[REPORT_BY_MODULE] = { "module", "program or library of the site" },
	[REPORT_BY_TAG] = { "tag", "tag set by the program" },
	[REPORT_BY_THREAD] = { "thread", "allocating thread" },
	[REPORT_BY_SIZE] = { "size", "size of the blocks" },
	[REPORT_BY_PROCESS] = { "process", "process image" },
	{ 0 },
};

const struct report_name report_format_names[] = {
	[REPORT_FORMAT_TEXT] = { "text", "for people" },
	[REPORT_FORMAT_JSON] = { "json", "everything, for programs" },
	[REPORT_FORMAT_CSV] = { "csv", "one line a row, for spreadsheets" },
	{ 0 },
};

const struct report_name report_tree_names[] = {
	[REPORT_TREE_CALLERS - 1] = { "callers", "who called the sites, outward" },
	[REPORT_TREE_CALLEES - 1] = { "callees", "from main inward to the sites" },
	{ 0 },
};

int report_name_find(const struct report_name *names, const char *name)
{
	for (int i = 0; names[i].name; i++) {
		if (strcmp(names[i].name, name) == 0)
			return i;
	}
	return -1;
}

void report_options_init(struct report_options *options)
{
	*options = (struct report_options){
		.top = 10,
		.frames = 8,
		.width = 80,
		.out = stdout,
	};
}

int report_run(const struct report_options *options, struct diag *diag)
{
	static render_function *const renderers[] = {
		[REPORT_FORMAT_TEXT] = render_text,
		[REPORT_FORMAT_JSON] = render_json,
		[REPORT_FORMAT_CSV] = render_csv,
	};
	struct view view;
	int error = view_open(&view, options, &options->files, (size_t)options->top, diag);
	if (error)
		return error;
	struct report report = { options, &view.model, &view.table, view.table.count,
				 options->suppressions.count ? &view.suppressions : NULL };
	if (options->top && (size_t)options->top < view.table.count)
		report.shown = (size_t)options->top;
	error = view_finish_output(options->out, renderers[options->format](&report), diag);
	view_close(&view);
	return error;
}
