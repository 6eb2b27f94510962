/* SPDX-License-Identifier: MIT */
/* `diff --format json`; see json.h. */
#include <errno.h>
#include <stdlib.h>

#include "report/json.h"
#include "report/render_diff.h"
#include "report/version.h"
#include "report/view.h"

struct diff_json {
	const struct diff_report *report;
	struct json sides[SIDES]; /* one output, two models' names */
	bool sampled;
};

/* "old", "new" and "delta", the last with standard errors when one of the two has any. */
static void put_totals(struct diff_json *d)
{
	const struct model_totals *old = &d->report->views[SIDE_OLD]->model.totals;
	const struct model_totals *new = &d->report->views[SIDE_NEW]->model.totals;
	struct json delta = d->sides[SIDE_NEW];
	delta.sampled = d->sampled;
	delta.slack = d->sides[SIDE_OLD].slack && d->sides[SIDE_NEW].slack;
	json_put(&delta, "  \"old\": ");
	json_totals(&d->sides[SIDE_OLD], old, NULL);
	json_put(&delta, ",\n  \"new\": ");
	json_totals(&d->sides[SIDE_NEW], new, NULL);
	json_put(&delta, ",\n  \"delta\": ");
	json_totals(&delta, new, old);
}

static void put_costs(struct diff_json *d, const struct diff_row *row)
{
	struct json delta = d->sides[SIDE_NEW];
	delta.sampled = d->sampled;
	delta.slack = d->sides[SIDE_OLD].slack && d->sides[SIDE_NEW].slack;
	json_put(&delta, ",\n     \"old\": {");
	json_costs(&d->sides[SIDE_OLD], &row->costs[SIDE_OLD], NULL);
	json_put(&delta, "},\n     \"new\": {");
	json_costs(&d->sides[SIDE_NEW], &row->costs[SIDE_NEW], NULL);
	json_put(&delta, "},\n     \"delta\": {");
	json_costs(&delta, &row->costs[SIDE_NEW], &row->costs[SIDE_OLD]);
	json_put(&delta, "}");
}

static void put_row(struct diff_json *d, const struct diff_row *row)
{
	const struct diff *diff = d->report->diff;
	enum side side = row->side;
	struct json *j = &d->sides[side];
	const struct view *view = d->report->views[side];
	const struct site *site = &view->table.sites[row->sites[side] - 1];
	json_put(j, "{");
	json_place(j, site);
	json_put(j, ", \"status\": ");
	json_string(j, diff_status_name(row->status));
	if (d->sampled)
		json_put(j, diff_is_chance(row, diff->sort) ? ", \"chance\": true"
							    : ", \"chance\": false");
	put_costs(d, row);
	if (d->report->options->report.by == REPORT_BY_STACK) {
		json_put(j, ",\n     \"frames\": ");
		json_frames(j, view->model.stacks[view->table.stacks[site->first_stack]].node);
	}
	json_put(j, "}");
}

int render_diff_json(const struct diff_report *report)
{
	FILE *out = report->options->report.out;
	struct diff_json d = { .report = report };
	int error = json_init(&d.sides[SIDE_OLD], out, &report->views[SIDE_OLD]->model);
	if (error)
		return error;
	error = json_init(&d.sides[SIDE_NEW], out, &report->views[SIDE_NEW]->model);
	if (!error) {
		d.sampled = d.sides[SIDE_OLD].sampled || d.sides[SIDE_NEW].sampled;
		fputs("{ \"memtrack\": \"" MEMTRACK_VERSION "\", \"schema\": 1,\n", out);
		put_totals(&d);
		fputs(",\n  \"sites\": [", out);
		for (size_t i = 0; i < report->shown; i++) {
			fputs(i ? ",\n    " : "\n    ", out);
			put_row(&d, &report->diff->rows[i]);
		}
		fputs("] }\n", out);
		error = json_release(&d.sides[SIDE_NEW]);
	}
	int of_old = json_release(&d.sides[SIDE_OLD]);
	return error ? error : of_old;
}
