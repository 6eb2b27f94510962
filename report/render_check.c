/* SPDX-License-Identifier: MIT */
/*
 * The findings of a check, one a line: what, by how much, and who is most to
 * blame; or as JSON.
 */
#include "report/render_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "report/render.h"
#include "report/text.h"
#include "report/units.h"
#include "report/version.h"
#include "report/view.h"

#define FIGURE_TEXT 64

/* What the budgets are in. */
static const enum check_unit budget_units[] = {
	[CHECK_MAX_PEAK] = CHECK_BYTES,
	[CHECK_MAX_LEAKED] = CHECK_BYTES,
	[CHECK_MAX_LEAKED_BLOCKS] = CHECK_BLOCKS,
	[CHECK_MAX_ALLOCATIONS] = CHECK_ALLOCATIONS,
	[CHECK_MAX_TEMPORARY] = CHECK_PERCENT,
	[CHECK_MAX_ERRORS] = CHECK_ERRORS,
	[CHECK_MAX_PEAK_GROWTH] = CHECK_BYTES,
	[CHECK_MAX_LEAKED_GROWTH] = CHECK_BYTES,
	[CHECK_MAX_ALLOCATIONS_GROWTH] = CHECK_ALLOCATIONS,
};

enum check_unit check_unit(const struct check_finding *finding, const struct check_options *options)
{
	return options->limits[finding->budget].percent ? CHECK_PERCENT
							: budget_units[finding->budget];
}

/* "1.9 MiB", "1,012 allocations", "1 block". */
static char *format_figure(char *text, int64_t amount, enum check_unit unit)
{
	static const char *const names[] = {
		[CHECK_BLOCKS] = "block",
		[CHECK_ALLOCATIONS] = "allocation",
		[CHECK_PERCENT] = "allocation",
		[CHECK_ERRORS] = "error",
	};
	char number[UNITS_TEXT];
	if (unit == CHECK_BYTES)
		return units_size(text, amount);
	snprintf(text, FIGURE_TEXT, "%s %s%s", units_signed_count(number, amount), names[unit],
		 amount == 1 ? "" : "s");
	return text;
}

static void put_limit(FILE *out, const struct check_limit *limit, enum check_unit unit)
{
	char text[FIGURE_TEXT];
	if (limit->percent)
		fprintf(out, "%.10g%%", limit->percentage);
	else
		fputs(format_figure(text,
				    limit->amount > INT64_MAX ? INT64_MAX : (int64_t)limit->amount,
				    unit),
		      out);
}

/* By how much a limit is exceeded: figures that look the same when rounded are not. */
static void put_absolute(FILE *out, const struct check_finding *f, const struct check_limit *limit)
{
	char text[FIGURE_TEXT];
	enum check_unit unit = budget_units[f->budget];
	fprintf(out, "%s, ", format_figure(text, f->actual, unit));
	fprintf(out, "%s over the limit of ",
		unit == CHECK_BYTES ? units_size(text, f->actual - (int64_t)limit->amount)
				    : units_count(text, (uint64_t)f->actual - limit->amount));
	put_limit(out, limit, unit);
}

static void put_share(FILE *out, const struct check_finding *f, const struct check_limit *limit,
		      int64_t allocations)
{
	char part[UNITS_TEXT], whole[FIGURE_TEXT];
	fprintf(out, "%s of %s, over the limit of ", units_percent(part, f->actual, allocations),
		format_figure(whole, allocations, CHECK_ALLOCATIONS));
	put_limit(out, limit, CHECK_PERCENT);
}

static void put_growth(FILE *out, const struct check_finding *f, const struct check_limit *limit)
{
	char old[FIGURE_TEXT], new[FIGURE_TEXT], by[FIGURE_TEXT], percent[UNITS_TEXT];
	enum check_unit unit = budget_units[f->budget];
	fprintf(out, "+%s%s%s%s, from %s to %s, over the limit of ",
		format_figure(by, f->actual - f->old, unit), f->old ? " (+" : "",
		f->old ? units_percent(percent, f->actual - f->old, f->old) : "", f->old ? ")" : "",
		format_figure(old, f->old, unit), format_figure(new, f->actual, unit));
	put_limit(out, limit, unit);
}

/* "large (basic.c:32)" */
static void put_label(FILE *out, struct text_label label)
{
	fprintf(out, "%s%s%s%s", label.name, *label.place ? " (" : "", label.place,
		*label.place ? ")" : "");
	text_label_release(&label);
}

static void put_blame(struct text *t, const struct check_finding *f)
{
	char part[FIGURE_TEXT], share[UNITS_TEXT];
	bool growth = check_is_growth(f->budget);
	if (!f->site)
		return;
	fputs("; most by ", t->out);
	put_label(t->out, text_site_label(t, f->site));
	if (f->remark)
		fprintf(t->out, " %s", f->remark);
	fprintf(t->out, ": %s%s", growth ? "+" : "",
		format_figure(part, f->of_site, budget_units[f->budget]));
	if (!growth)
		fprintf(t->out, ", %s", units_percent(share, f->of_site, f->actual));
}

/* The first error, by the frame that is no plumbing. */
static void put_first_error(struct text *t, const struct check *check,
			    const struct check_finding *f)
{
	const struct model *model = &check->view->model;
	struct shown_frame frame;
	if (!f->error)
		return;
	fprintf(t->out, "; first: %s", error_kind_name(f->error->rec.kind));
	struct frame_ref site =
		finder_place(&check->view->table.finder, f->error->nodes[ERROR_STACK]);
	struct frame_walk walk = frame_walk_start(model, f->error->nodes[ERROR_STACK]);
	while (frame_walk_next(&walk, &frame)) {
		if (frame.location != site.location || frame.index != site.frame)
			continue;
		fputs(" in ", t->out);
		put_label(t->out, text_frame_label(t, &frame));
		break;
	}
}

static void put_finding(struct text *t, const struct check *check, const struct check_finding *f)
{
	const struct check_limit *limit = &check->options->limits[f->budget];
	fprintf(t->out, "%s: ", check_budget_names[f->budget].name);
	if (check_is_growth(f->budget))
		put_growth(t->out, f, limit);
	else if (f->budget == CHECK_MAX_TEMPORARY)
		put_share(t->out, f, limit, (int64_t)check->view->model.totals.costs.allocations);
	else
		put_absolute(t->out, f, limit);
	put_blame(t, f);
	put_first_error(t, check, f);
	fputc('\n', t->out);
}

static void put_kept(FILE *out, const struct check_options *options)
{
	int budgets_set = 0;
	for (int i = 0; i < CHECK_BUDGETS; i++)
		budgets_set += options->limits[i].set;
	if (!options->quiet)
		fprintf(out, "ok: %d budget%s kept\n", budgets_set, budgets_set == 1 ? "" : "s");
}

int render_check_text(const struct check *check)
{
	const struct report_options *o = &check->options->report;
	struct report report = { .options = o,
				 .model = &check->view->model,
				 .table = &check->view->table };
	struct text t = { .report = &report,
			  .model = report.model,
			  .out = o->out,
			  .width = SIZE_MAX,
			  .utf8 = o->utf8,
			  .ellipsis = o->utf8 ? "…" : "..." };
	for (size_t i = 0; i < check->count; i++)
		put_finding(&t, check, &check->findings[i]);
	if (check->count == 0)
		put_kept(o->out, check->options);
	return t.error;
}

static void put_json_figures(FILE *out, const struct check *check, const struct check_finding *f)
{
	static const char *const units[] = {
		[CHECK_BYTES] = "bytes",
		[CHECK_BLOCKS] = "blocks",
		[CHECK_ALLOCATIONS] = "allocations",
		[CHECK_PERCENT] = "percent",
		[CHECK_ERRORS] = "errors",
	};
	const struct check_limit *limit = &check->options->limits[f->budget];
	int64_t allocations = (int64_t)check->view->model.totals.costs.allocations;
	double percentage = check_percentage(f, allocations);
	bool growth = check_is_growth(f->budget);
	if (limit->percent)
		fprintf(out, "\"limit\": %.10g, \"actual\": ", limit->percentage);
	else
		fprintf(out, "\"limit\": %" PRIu64 ", \"actual\": ", limit->amount);
	if (!limit->percent)
		fprintf(out, "%" PRId64, growth ? f->actual - f->old : f->actual);
	else if (isfinite(percentage))
		fprintf(out, "%.10g", percentage);
	else
		fputs("null", out);
	fprintf(out, ", \"unit\": \"%s\"", units[check_unit(f, check->options)]);
	if (growth)
		fprintf(out, ", \"old\": %" PRId64 ", \"new\": %" PRId64, f->old, f->actual);
}

static void put_json_finding(struct json *j, const struct check *check,
			     const struct check_finding *f)
{
	json_put(j, "{ \"budget\": ");
	json_string(j, check_budget_names[f->budget].name);
	json_put(j, ", ");
	put_json_figures(j->out, check, f);
	json_put(j, ",\n    \"site\": ");
	if (f->site)
		json_site(j, &check->view->table, f->site, REPORT_SORT_PEAK);
	else
		json_put(j, "null");
	if (f->budget == CHECK_MAX_ERRORS) {
		json_put(j, ",\n    \"error\": ");
		if (f->error)
			json_found(j, f->error);
		else
			json_put(j, "null");
	}
	json_put(j, " }");
}

int render_check_json(const struct check *check)
{
	struct json j;
	int error = json_init(&j, check->options->report.out, &check->view->model);
	if (error)
		return error;
	fprintf(j.out, "{ \"memtrack\": \"" MEMTRACK_VERSION "\", \"schema\": 1, \"ok\": %s,\n",
		check->count ? "false" : "true");
	json_put(&j, "  \"findings\": [");
	for (size_t i = 0; i < check->count; i++) {
		json_put(&j, i ? ",\n    " : "\n    ");
		put_json_finding(&j, check, &check->findings[i]);
	}
	json_put(&j, "] }\n");
	return json_release(&j);
}
