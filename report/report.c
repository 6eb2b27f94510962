/* SPDX-License-Identifier: MIT */
/*
 * `memtrack report` from options to output: load, filter, group, render.  See
 * report.h.
 */
#include "report/report.h"

#include <errno.h>
#include <string.h>

#include "report/filter.h"
#include "report/model.h"
#include "report/plumbing.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/suppressions.h"

const struct report_name report_sort_names[] = {
	[REPORT_SORT_PEAK] = { "peak", "bytes live at the peak of the heap" },
	[REPORT_SORT_LEAKED] = { "leaked", "bytes still allocated at the end" },
	[REPORT_SORT_ALLOCATED] = { "allocated", "bytes allocated in all" },
	[REPORT_SORT_ALLOCATIONS] = { "allocations", "number of allocations" },
	[REPORT_SORT_TEMPORARY] = { "temporary", "allocations freed again at once" },
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

static int add_filters(struct filter_set *set, const struct report_list *list, bool plain,
		       bool exclude, struct diag *diag)
{
	for (size_t i = 0; i < list->count; i++) {
		int error = plain ? filter_add_function(set, list->items[i], exclude, diag)
				  : filter_add(set, list->items[i], exclude, diag);
		if (error)
			return error;
	}
	return 0;
}

static int make_filters(struct filter_set *set, const struct report_options *options,
			struct diag *diag)
{
	int error = add_filters(set, &options->filters, false, false, diag);
	if (!error)
		error = add_filters(set, &options->excludes, false, true, diag);
	if (!error)
		error = add_filters(set, &options->focus, true, false, diag);
	if (!error)
		error = add_filters(set, &options->ignore, true, true, diag);
	return error;
}

static int check_options(const struct report_options *options, struct diag *diag)
{
	if (options->files.count == 0)
		return diag_set(diag, -EINVAL, "no recording is named");
	if (options->top < 0 || options->frames < 0 || options->process < 0 || options->pid < 0)
		return diag_set(diag, -EINVAL, "a number is negative");
	if (options->by == REPORT_BY_TAG || options->by == REPORT_BY_THREAD ||
	    options->by == REPORT_BY_SIZE) {
		diag_set(diag, -EINVAL, "cannot report by %s: recordings hold no such data",
			 report_by_names[options->by].name);
		diag_hint(diag,
			  "they can be reported by site, stack, function, file, module or process");
		return -EINVAL;
	}
	return 0;
}

/* Output errors show up late: in the buffer's last flush. */
static int finish_output(FILE *out, struct diag *diag)
{
	errno = 0;
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	int error = errno ? errno : EIO;
	return diag_set(diag, -error, "cannot write the report: %s", strerror(error));
}

static int render(const struct report *report, struct diag *diag)
{
	static render_function *const renderers[] = {
		[REPORT_FORMAT_TEXT] = render_text,
		[REPORT_FORMAT_JSON] = render_json,
		[REPORT_FORMAT_CSV] = render_csv,
	};
	int error = renderers[report->options->format](report);
	if (error)
		return diag_set(diag, error, "cannot write the report: %s", strerror(-error));
	return finish_output(report->options->out, diag);
}

static int load_suppressions(struct suppressions *set, const struct report_options *options,
			     struct diag *diag)
{
	int error = 0;
	for (size_t i = 0; !error && i < options->suppressions.count; i++)
		error = suppressions_load(set, options->suppressions.items[i], diag);
	return error;
}

static int report_model(const struct model *model, const struct report_options *options,
			struct filter_set *filters, const struct plumbing *plumbing,
			const struct suppressions *suppressions, struct diag *diag)
{
	struct site_table table;
	struct site_options site_options = { options->by, options->sort, (size_t)options->top };
	int error = filter_match(filters, model);
	if (error)
		return diag_set(diag, error, "out of memory");
	error = sites_build(&table, model, &site_options, plumbing, filters, diag);
	if (error)
		return error;
	struct report report = { options, model, &table, table.count,
				 options->suppressions.count ? suppressions : NULL };
	if (options->top && (size_t)options->top < table.count)
		report.shown = (size_t)options->top;
	error = render(&report, diag);
	sites_release(&table);
	return error;
}

int report_run(const struct report_options *options, struct diag *diag)
{
	struct filter_set filters = { 0 };
	struct plumbing plumbing = { 0 };
	struct suppressions suppressions = { 0 };
	struct model model;
	struct model_options model_options = {
		.files = options->files.items,
		.file_count = options->files.count,
		.all = options->all,
		.process_number = options->process,
		.pid = options->pid,
		.keep_processes_apart = options->by == REPORT_BY_PROCESS,
	};
	int error = check_options(options, diag);
	if (!error)
		error = make_filters(&filters, options, diag);
	if (!error)
		error = plumbing_init(&plumbing, options->plumbing.items, options->plumbing.count,
				      diag);
	if (!error)
		error = load_suppressions(&suppressions, options, diag);
	if (!error)
		error = model_load(&model, &model_options, diag);
	if (!error) {
		error = suppressions_apply(&suppressions, &model, diag);
		if (!error)
			error = report_model(&model, options, &filters, &plumbing, &suppressions,
					     diag);
		model_release(&model);
	}
	suppressions_release(&suppressions);
	plumbing_release(&plumbing);
	filter_release(&filters);
	return error;
}
