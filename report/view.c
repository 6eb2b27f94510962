/* SPDX-License-Identifier: MIT */
/* See view.h. */
#include "report/view.h"

#include <errno.h>
#include <string.h>

#include "report/parts.h"

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

static int check_options(const struct report_options *options, const struct report_list *files,
			 struct diag *diag)
{
	if (files->count == 0)
		return diag_set(diag, -EINVAL, "no recording is named");
	if (options->top < 0 || options->frames < 0 || options->process < 0 || options->pid < 0)
		return diag_set(diag, -EINVAL, "a number is negative");
	if (options->tree && options->by != REPORT_BY_SITE && options->by != REPORT_BY_FUNCTION) {
		diag_set(diag, -EINVAL, "cannot make a tree by %s",
			 report_by_names[options->by].name);
		diag_hint(diag, "leave out --tree or --by; a tree is by site or by function");
		return -EINVAL;
	}
	if (options->sort == REPORT_SORT_SLACK && is_by_part(options->by))
		return diag_set(diag, -EINVAL,
				"cannot sort by slack by %s: it is known by stack only",
				report_by_names[options->by].name);
	return parts_check_options(options, diag);
}

/* What only some recordings have. */
static int check_recorded(const struct model *model, const struct report_options *options,
			  const struct report_list *files, struct diag *diag)
{
	if (options->sort != REPORT_SORT_SLACK || model->totals.slack_processes)
		return 0;
	if (model->totals.at_moment)
		return diag_set(diag, -EINVAL,
				"cannot sort by slack at a moment: it is known of the peak only");
	diag_set(diag, -EINVAL, "cannot sort by slack: '%s' holds none", files->items[0]);
	diag_hint(diag, "memtrack run --slack records it, of allocators that tell it");
	return -EINVAL;
}

static int load_suppressions(struct suppressions *set, const struct report_options *options,
			     struct diag *diag)
{
	int error = 0;
	for (size_t i = 0; !error && i < options->suppressions.count; i++)
		error = suppressions_load(set, options->suppressions.items[i], diag);
	return error;
}

static int load(struct view *view, const struct report_options *options,
		const struct report_list *files, struct diag *diag)
{
	struct model_options model_options = {
		.files = files->items,
		.file_count = files->count,
		.all = options->all,
		.process_number = options->process,
		.pid = options->pid,
		.at = options->at,
		.keep_processes_apart = options->by == REPORT_BY_PROCESS,
	};
	int error = make_filters(&view->filters, options, diag);
	if (!error)
		error = plumbing_init(&view->plumbing, options->plumbing.items,
				      options->plumbing.count, diag);
	if (!error)
		error = load_suppressions(&view->suppressions, options, diag);
	return error ? error : model_load(&view->model, &model_options, diag);
}

int view_open(struct view *view, const struct report_options *options,
	      const struct report_list *files, size_t ordered, struct diag *diag)
{
	struct site_options site_options = { options->by, options->sort, ordered };
	*view = (struct view){ 0 };
	int error = check_options(options, files, diag);
	if (!error)
		error = load(view, options, files, diag);
	if (!error)
		error = check_recorded(&view->model, options, files, diag);
	if (!error)
		error = suppressions_apply(&view->suppressions, &view->model, diag);
	if (!error && filter_match(&view->filters, &view->model))
		error = diag_set(diag, -ENOMEM, "out of memory");
	if (!error && is_by_part(options->by))
		error = parts_build(&view->table, &view->model, &site_options, files, diag);
	else if (!error)
		error = sites_build(&view->table, &view->model, &site_options, &view->plumbing,
				    &view->filters, diag);
	if (error)
		view_close(view);
	return error;
}

void view_close(struct view *view)
{
	sites_release(&view->table);
	model_release(&view->model);
	suppressions_release(&view->suppressions);
	plumbing_release(&view->plumbing);
	filter_release(&view->filters);
}

int view_finish_output(FILE *out, int error, struct diag *diag)
{
	errno = 0;
	if (!error && (fflush(out) || ferror(out)))
		error = errno ? -errno : -EIO;
	return error ? diag_set(diag, error, "cannot write the report: %s", strerror(-error)) : 0;
}
