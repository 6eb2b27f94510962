/* SPDX-License-Identifier: MIT */
/*
 * `report --format text`, made to be read: who ran, how much at the peak and
 * when, what leaked, whether anything was lost; then the table; then what to
 * know and to type next.
 */
#include "report/render.h"

#include "report/model.h"
#include "report/text.h"

int render_text(const struct report *report)
{
	const struct report_options *o = report->options;
	struct text t = {
		.report = report,
		.model = report->model,
		.out = o->out,
		.width = o->width > 0 ? (size_t)o->width : SIZE_MAX,
		.color = o->color,
		.utf8 = o->utf8,
		.full_paths = o->full_paths,
		.full_names = o->full_names,
		.sampled = report->model->totals.sample_mean != 0,
		.ellipsis = o->utf8 ? "…" : "...",
	};
	text_title(&t);
	text_header(&t);
	text_errors(&t);
	if (o->tree)
		text_tree(&t);
	else
		text_table(&t);
	fputc('\n', t.out);
	text_notes(&t);
	text_next(&t);
	return t.error;
}
