/* SPDX-License-Identifier: MIT */
/*
 * The table of a text report: a line for each site and, under it, its heaviest
 * stacks (text_stacks.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "report/parts.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/text.h"
#include "report/units.h"
#include "report/utf8.h"

#define BAR_WIDTH      6 /* columns */
#define SHARE_WIDTH    6 /* "100.0%" */
#define SITE_WIDTH_MIN 16
#define WIDE	       120 /* from here on there is room for one more column */

enum column {
	COLUMN_PEAK,
	COLUMN_PEAK_BLOCKS,
	COLUMN_LEAKED,
	COLUMN_LEAKED_BLOCKS,
	COLUMN_ALLOCATED,
	COLUMN_ALLOCATIONS,
	COLUMN_TEMPORARY,
	/* From here on without standard errors. */
	COLUMN_TEMPORARY_SHARE,
	COLUMN_SLACK,		/* at the peak */
	COLUMN_SLACK_LEAKED,	/* of what leaked */
	COLUMN_SLACK_ALLOCATED, /* of all that was allocated */
};

static const struct {
	const char *title;
	int width;
} columns[] = {
	[COLUMN_PEAK] = { "Peak", 10 },
	[COLUMN_PEAK_BLOCKS] = { "Blocks", 11 },
	[COLUMN_LEAKED] = { "Leaked", 10 },
	[COLUMN_LEAKED_BLOCKS] = { "Blocks", 11 },
	[COLUMN_ALLOCATED] = { "Allocated", 10 },
	[COLUMN_ALLOCATIONS] = { "Allocations", 11 },
	[COLUMN_TEMPORARY] = { "Temporary", 11 },
	[COLUMN_TEMPORARY_SHARE] = { "Of all", 7 },
	[COLUMN_SLACK] = { "Slack", 10 },
	[COLUMN_SLACK_LEAKED] = { "Slack", 10 },
	[COLUMN_SLACK_ALLOCATED] = { "Slack", 10 },
};

/* The sort key's own column stands first, then its share and bar, then these two.  Where slack was recorded, that of the
 * blocks which the first column is about takes the place of the third. */
static const struct {
	enum column first, second, third, slack;
	const char *nothing; /* what to say when no site has any */
} layouts[] = {
	[REPORT_SORT_PEAK] = { COLUMN_PEAK, COLUMN_ALLOCATIONS, COLUMN_LEAKED, COLUMN_SLACK,
			       "Nothing was allocated." },
	[REPORT_SORT_LEAKED] = { COLUMN_LEAKED, COLUMN_LEAKED_BLOCKS, COLUMN_ALLOCATIONS,
				 COLUMN_SLACK_LEAKED, "Nothing leaked." },
	[REPORT_SORT_ALLOCATED] = { COLUMN_ALLOCATED, COLUMN_ALLOCATIONS, COLUMN_PEAK,
				    COLUMN_SLACK_ALLOCATED, "Nothing was allocated." },
	[REPORT_SORT_ALLOCATIONS] = { COLUMN_ALLOCATIONS, COLUMN_ALLOCATED, COLUMN_PEAK,
				      COLUMN_SLACK_ALLOCATED, "Nothing was allocated." },
	[REPORT_SORT_TEMPORARY] = { COLUMN_TEMPORARY, COLUMN_TEMPORARY_SHARE, COLUMN_ALLOCATED,
				    COLUMN_SLACK_ALLOCATED, "No allocation was temporary." },
	[REPORT_SORT_SLACK] = { COLUMN_SLACK, COLUMN_ALLOCATIONS, COLUMN_PEAK, COLUMN_PEAK,
				"Nothing was lost to rounding at the peak." },
};

static const char *format_cell(char *cell, const struct costs *c, enum column column)
{
	switch (column) {
	case COLUMN_PEAK:
		return units_size(cell, c->peak_bytes);
	case COLUMN_PEAK_BLOCKS:
		return units_signed_count(cell, c->peak_blocks);
	case COLUMN_LEAKED:
		return units_size(cell, c->leaked_bytes);
	case COLUMN_LEAKED_BLOCKS:
		return units_signed_count(cell, c->leaked_blocks);
	case COLUMN_ALLOCATED:
		return units_size(cell, (int64_t)c->allocated_bytes);
	case COLUMN_ALLOCATIONS:
		return units_count(cell, c->allocations);
	case COLUMN_TEMPORARY:
		return units_count(cell, c->temporary_allocations);
	case COLUMN_TEMPORARY_SHARE:
		return units_percent(cell, (int64_t)c->temporary_allocations,
				     (int64_t)c->allocations);
	case COLUMN_SLACK:
		return units_size(cell, c->slack.peak_bytes);
	case COLUMN_SLACK_LEAKED:
		return units_size(cell, c->slack.leaked_bytes);
	case COLUMN_SLACK_ALLOCATED:
		return units_size(cell, (int64_t)c->slack.allocated_bytes);
	}
	return "";
}

/* The standard error of a cell, with the blank before it; "" when the figure has none. */
static const char *format_error(const struct text *t, char *cell, const struct costs *c,
				enum column column)
{
	const struct cost_variances *v = &c->variances;
	switch (column) {
	case COLUMN_PEAK:
		return text_error(t, cell, (double)c->peak_bytes, v->peak_bytes);
	case COLUMN_PEAK_BLOCKS:
		return text_error(t, cell, (double)c->peak_blocks, v->peak_blocks);
	case COLUMN_LEAKED:
		return text_error(t, cell, (double)c->leaked_bytes, v->leaked_bytes);
	case COLUMN_LEAKED_BLOCKS:
		return text_error(t, cell, (double)c->leaked_blocks, v->leaked_blocks);
	case COLUMN_ALLOCATED:
		return text_error(t, cell, (double)c->allocated_bytes, v->allocated_bytes);
	case COLUMN_ALLOCATIONS:
		return text_error(t, cell, (double)c->allocations, v->allocations);
	case COLUMN_TEMPORARY:
		return text_error(t, cell, (double)c->temporary_allocations,
				  v->temporary_allocations);
	case COLUMN_TEMPORARY_SHARE:
	case COLUMN_SLACK:
	case COLUMN_SLACK_LEAKED:
	case COLUMN_SLACK_ALLOCATED:
		break;
	}
	return "";
}

static enum column third_column(const struct text *t, enum report_sort sort)
{
	return report_has_slack(t->report) ? layouts[sort].slack : layouts[sort].third;
}

const char *text_cost_words(const struct text *t, char *text, size_t size,
			    const struct costs *costs, enum report_sort sort)
{
	char number[UNITS_TEXT], cell[TEXT_ERROR];
	int64_t cost = sites_cost(costs, sort);
	const char *error = format_error(t, cell, costs, layouts[sort].first);
	if (sort == REPORT_SORT_ALLOCATIONS || sort == REPORT_SORT_TEMPORARY)
		snprintf(text, size, "%s%s %sallocation%s", units_signed_count(number, cost), error,
			 sort == REPORT_SORT_TEMPORARY ? "temporary " : "", cost == 1 ? "" : "s");
	else
		snprintf(text, size, "%s%s", units_size(number, cost), error);
	return text;
}

/* A bar of eighths of a column. */
static void put_bar(struct text *t, int64_t part, int64_t whole)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	int steps = t->utf8 ? 8 : 1;
	__int128 filled = whole > 0 && part > 0 ? (__int128)part * BAR_WIDTH * steps / whole : 0;
	int length = filled > BAR_WIDTH * steps ? BAR_WIDTH * steps : (int)filled;
	int used = 0;
	for (; used < length / steps; used++)
		fputs(t->utf8 ? "█" : "#", t->out);
	if (length % steps) {
		fputs(eighths[length % steps], t->out);
		used++;
	}
	text_spaces(t, (size_t)(BAR_WIDTH - used));
}

/* Columns that a cell's standard error takes, a blank included: " ±>100%". */
static int error_width(const struct text *t, enum column column)
{
	return t->sampled && column < COLUMN_TEMPORARY_SHARE ? (t->utf8 ? 7 : 8) : 0;
}

static size_t column_width(const struct text *t, enum column column)
{
	return (size_t)(columns[column].width + error_width(t, column));
}

/* The blocks at the peak, before the allocations of all the run.  Output without a width is not wide. */
static bool has_blocks(const struct text *t, enum report_sort sort)
{
	return sort == REPORT_SORT_PEAK && t->width >= WIDE && t->width != SIZE_MAX;
}

static size_t full_width(const struct text *t, enum report_sort sort)
{
	size_t blocks = has_blocks(t, sort) ? column_width(t, COLUMN_PEAK_BLOCKS) + 1 : 0;
	return column_width(t, layouts[sort].first) + 1 + SHARE_WIDTH + 1 + BAR_WIDTH + 1 + blocks +
	       column_width(t, layouts[sort].second) + 1 + column_width(t, third_column(t, sort)) +
	       2;
}

/* With standard errors, a narrow line has no room for the bar and the third column. */
static bool is_narrow(const struct text *t, enum report_sort sort)
{
	return t->sampled && t->width < full_width(t, sort) + SITE_WIDTH_MIN;
}

/* Where the sites' names begin. */
static size_t site_column(const struct text *t, enum report_sort sort)
{
	size_t full = full_width(t, sort);
	return is_narrow(t, sort)
		       ? full - 1 - BAR_WIDTH - 1 - column_width(t, third_column(t, sort))
		       : full;
}

const struct text_row_name text_row_names[] = {
	[REPORT_BY_SITE] = { "Site", "site", "sites" },
	[REPORT_BY_STACK] = { "Stack", "stack", "stacks" },
	[REPORT_BY_FUNCTION] = { "Function", "function", "functions" },
	[REPORT_BY_FILE] = { "Source file", "file", "files" },
	[REPORT_BY_MODULE] = { "Module", "module", "modules" },
	[REPORT_BY_TAG] = { "Tag", "tag", "tags" },
	[REPORT_BY_THREAD] = { "Thread", "thread", "threads" },
	[REPORT_BY_SIZE] = { "Size", "size", "sizes" },
	[REPORT_BY_PROCESS] = { "Process", "process", "processes" },
};

static void put_title(FILE *line, const struct text *t, enum column column)
{
	bool at = column == COLUMN_PEAK && t->model->totals.at_moment;
	fprintf(line, "%*s%*s", columns[column].width, at ? "At" : columns[column].title,
		error_width(t, column), "");
}

static void put_heading(struct text *t)
{
	enum report_sort sort = t->report->options->sort;
	bool narrow = is_narrow(t, sort);
	char line[160] = "";
	FILE *out = fmemopen(line, sizeof(line), "w");
	if (!out) {
		t->error = -ENOMEM;
		return;
	}
	put_title(out, t, layouts[sort].first);
	fprintf(out, " %*s%*s ", SHARE_WIDTH, "Share", narrow ? 0 : BAR_WIDTH + 1, "");
	if (has_blocks(t, sort)) {
		put_title(out, t, COLUMN_PEAK_BLOCKS);
		fputc(' ', out);
	}
	put_title(out, t, layouts[sort].second);
	if (!narrow) {
		fputc(' ', out);
		put_title(out, t, third_column(t, sort));
	}
	fprintf(out, "  %s", text_row_names[t->report->options->by].title);
	fclose(out);
	fputc('\n', t->out);
	text_put(t, TEXT_BOLD, line);
	fputc('\n', t->out);
}

/*
 * The figure to the right, its standard error to the left: the columns of both stay straight.
 * Returns by how much a figure is wider than its column.
 */
static size_t put_cell(struct text *t, const struct costs *costs, enum column column)
{
	char cell[UNITS_TEXT], error[TEXT_ERROR];
	int width = fprintf(t->out, "%*s", columns[column].width, format_cell(cell, costs, column));
	const char *shown = format_error(t, error, costs, column);
	fputs(shown, t->out);
	text_spaces(t, (size_t)error_width(t, column) - utf8_width(shown));
	return width > columns[column].width ? (size_t)(width - columns[column].width) : 0;
}

/* What a full bar stands for: in a histogram, the highest. */
static int64_t bar_whole(const struct text *t, int64_t whole)
{
	int64_t highest = 0;
	if (t->report->options->by != REPORT_BY_SIZE)
		return whole;
	for (size_t i = 0; i < t->report->shown; i++) {
		int64_t cost =
			sites_cost(&t->report->table->sites[i].costs, t->report->options->sort);
		highest = cost > highest ? cost : highest;
	}
	return highest;
}

size_t text_cost_width(const struct text *t, enum report_sort sort)
{
	return column_width(t, layouts[sort].first);
}

void text_cost_title(const struct text *t, FILE *line, enum report_sort sort)
{
	put_title(line, t, layouts[sort].first);
}

size_t text_cost_cell(struct text *t, const struct costs *costs, enum report_sort sort)
{
	return put_cell(t, costs, layouts[sort].first);
}

static void put_row(struct text *t, const struct site *site)
{
	char share[UNITS_TEXT];
	enum report_sort sort = t->report->options->sort;
	bool narrow = is_narrow(t, sort);
	int64_t whole = sites_cost(&t->model->totals.costs, sort);
	int64_t part = sites_cost(&site->costs, sort);
	size_t used = site_column(t, sort) + put_cell(t, &site->costs, layouts[sort].first);
	/* What a thread frees for others has no share, nor have those others. */
	bool has_share = part >= 0 && part <= whole;
	units_percent(share, part, whole);
	fprintf(t->out, " %*s ", SHARE_WIDTH, has_share ? share : "");
	if (!narrow) {
		put_bar(t, has_share ? part : 0, bar_whole(t, whole));
		fputc(' ', t->out);
	}
	if (has_blocks(t, sort)) {
		used += put_cell(t, &site->costs, COLUMN_PEAK_BLOCKS);
		fputc(' ', t->out);
	}
	used += put_cell(t, &site->costs, layouts[sort].second);
	if (!narrow) {
		fputc(' ', t->out);
		used += put_cell(t, &site->costs, third_column(t, sort));
	}
	text_spaces(t, 2);
	struct text_label label = text_site_label(t, site);
	text_label_put(t, TEXT_BOLD, &label, text_room(t, used, SITE_WIDTH_MIN));
	text_label_release(&label);
	fputc('\n', t->out);
}

static void put_other_sites(struct text *t, size_t shown)
{
	const struct site_table *table = t->report->table;
	enum report_by by = t->report->options->by;
	size_t left = table->count - shown;
	char count[UNITS_TEXT], cost[96], remark[192];
	struct costs rest = { 0 };
	for (size_t i = shown; i < table->count; i++)
		costs_add(&rest, &table->sites[i].costs);
	text_cost_words(t, cost, sizeof(cost), &rest, t->report->options->sort);
	snprintf(remark, sizeof(remark), "%s more %s with %s%s", units_count(count, left),
		 left == 1 ? text_row_names[by].singular : text_row_names[by].plural, cost,
		 shown < t->report->shown ? "" : " (--top N shows more)");
	fputc('\n', t->out);
	text_remark(t, 0, TEXT_PLAIN, remark);
}

/* How many rows say something.  Threads below zero do, and sizes are not in order of cost: then it is all or none. */
static size_t count_rows(const struct text *t)
{
	const struct report *report = t->report;
	enum report_sort sort = report->options->sort;
	size_t count = 0;
	if (!is_by_part(report->options->by)) {
		while (count < report->shown &&
		       sites_cost(&report->table->sites[count].costs, sort) > 0)
			count++;
		return count;
	}
	for (size_t i = 0; i < report->shown; i++) {
		if (sites_cost(&report->table->sites[i].costs, sort) != 0)
			return report->shown;
	}
	return 0;
}

static bool has_passed(const struct text *t)
{
	return t->report->table->stack_count || !t->model->stack_count ||
	       is_by_part(t->report->options->by);
}

static const char *say_nothing(const struct text *t)
{
	enum report_sort sort = t->report->options->sort;
	if (!has_passed(t))
		return "No stack passes the filters.";
	if (sort == REPORT_SORT_PEAK && t->model->totals.at_moment)
		return "Nothing was allocated at that time.";
	return layouts[sort].nothing;
}

void text_nothing(struct text *t)
{
	fprintf(t->out, "\n%s\n", say_nothing(t));
}

void text_table(struct text *t)
{
	const struct site_table *table = t->report->table;
	enum report_by by = t->report->options->by;
	bool with_stacks =
		by == REPORT_BY_SITE || by == REPORT_BY_STACK || by == REPORT_BY_FUNCTION;
	size_t count = count_rows(t);
	for (size_t i = 0; i < count; i++) {
		if (i == 0)
			put_heading(t);
		else if (with_stacks)
			fputc('\n', t->out);
		put_row(t, &table->sites[i]);
		if (with_stacks)
			text_stacks(t, &table->sites[i]);
	}
	if (count == 0)
		text_nothing(t);
	else if (count < table->count)
		put_other_sites(t, count);
}
