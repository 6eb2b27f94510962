/* SPDX-License-Identifier: MIT */
/* `diff --format text`: which recordings, their totals, what changed, what to type next. */
#include <string.h>

#include "report/render.h"
#include "report/render_diff.h"
#include "report/sentence.h"
#include "report/text_diff.h"
#include "report/view.h"

static void put_files(struct sentence *s, const struct report_list *files)
{
	for (size_t i = 0; i < files->count; i++) {
		fputc(' ', s->stream);
		sentence_argument(s, files->items[i]);
	}
}

/* A key by which something changed, other than this report's; or this report's. */
static enum report_sort next_sort(const struct text_diff *d)
{
	static const enum report_sort likely[] = { REPORT_SORT_LEAKED, REPORT_SORT_PEAK,
						   REPORT_SORT_ALLOCATIONS };
	enum report_sort sort = d->report->options->report.sort;
	struct diff_row totals = { .costs = { d->sides[SIDE_OLD].model->totals.costs,
					      d->sides[SIDE_NEW].model->totals.costs } };
	for (size_t i = 0; i < sizeof(likely) / sizeof(likely[0]); i++) {
		if (likely[i] != sort && diff_change(&totals, likely[i]))
			return likely[i];
	}
	return sort;
}

static void put_next(struct text_diff *d)
{
	const struct report_options *o = &d->report->options->report;
	const struct report_list new = { o->files.items + 1, 1 };
	enum report_sort sort = next_sort(d);
	bool all_said =
		d->report->diff->count == 0 || (sort == o->sort && o->by == REPORT_BY_STACK);
	struct sentence s;
	if (!sentence_open(&d->sides[SIDE_NEW], &s))
		return;
	fprintf(s.stream, "memtrack %s", all_said ? "report" : "diff");
	if (sort != o->sort && !all_said)
		fprintf(s.stream, " --sort %s", report_sort_names[sort].name);
	else if (!all_said)
		fputs(" --by stack", s.stream);
	sentence_selection(&s, o);
	put_files(&s, all_said ? &new : &o->files);
	sentence_print(&d->sides[SIDE_NEW], &s, "Next", TEXT_PLAIN);
}

static struct text make_text(const struct report *report)
{
	const struct report_options *o = report->options;
	return (struct text){
		.report = report,
		.model = report->model,
		.out = o->out,
		.width = o->width > 0 ? (size_t)o->width : SIZE_MAX,
		.color = o->color,
		.utf8 = o->utf8,
		.full_paths = o->full_paths,
		.full_names = o->full_names,
		.ellipsis = o->utf8 ? "…" : "...",
	};
}

int render_diff_text(const struct diff_report *report)
{
	struct text_diff d = { .report = report };
	struct report reports[SIDES];
	for (int side = 0; side < SIDES; side++) {
		struct view *view = report->views[side];
		reports[side] = (struct report){ .options = &report->options->report,
						 .model = &view->model,
						 .table = &view->table };
		d.sides[side] = make_text(&reports[side]);
		d.sampled |= view->model.totals.sample_mean != 0;
	}
	for (int side = 0; side < SIDES; side++)
		d.sides[side].sampled = d.sampled;
	text_diff_header(&d);
	text_diff_table(&d);
	fputc('\n', report->options->report.out);
	put_next(&d);
	return d.sides[SIDE_OLD].error ? d.sides[SIDE_OLD].error : d.sides[SIDE_NEW].error;
}
