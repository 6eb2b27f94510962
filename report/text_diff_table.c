/* SPDX-License-Identifier: MIT */
/* The table of a diff's text: a line for each row, under it the stack that changed most. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/render.h"
#include "report/render_diff.h"
#include "report/text_diff.h"
#include "report/units.h"
#include "report/utf8.h"
#include "report/view.h"

#define SITE_WIDTH_MIN 16

/* Columns that a standard error takes, a blank included: " ±>100%". */
#define ERROR_WIDTH 8

static bool is_count(enum report_sort sort)
{
	return sort == REPORT_SORT_ALLOCATIONS || sort == REPORT_SORT_TEMPORARY;
}

char *text_diff_amount(char *text, int64_t amount, enum report_sort sort)
{
	return is_count(sort) ? units_signed_count(text, amount) : units_size(text, amount);
}

char *text_diff_change(char *text, int64_t change, enum report_sort sort)
{
	text[0] = '+';
	text_diff_amount(text + (change > 0), change, sort);
	return text;
}

static enum report_sort sort_of(const struct text_diff *d)
{
	return d->report->options->report.sort;
}

static void put_heading(struct text_diff *d)
{
	char line[128];
	struct text *t = &d->sides[SIDE_NEW];
	snprintf(line, sizeof(line), "%12s%*s %11s %11s  %s", "Change",
		 d->sampled ? ERROR_WIDTH : 0, "", "Old", "New",
		 text_row_names[d->report->options->report.by].title);
	fputc('\n', t->out);
	text_put(t, TEXT_BOLD, line);
	fputc('\n', t->out);
}

/* The change, marked when it may be chance, and its standard error.  Returns the columns that it takes. */
static size_t put_change(struct text_diff *d, const struct diff_row *row)
{
	char change[UNITS_TEXT + 1], cell[UNITS_TEXT + 2], error[TEXT_ERROR];
	int64_t by = diff_change(row, sort_of(d));
	struct text *t = &d->sides[SIDE_NEW];
	snprintf(cell, sizeof(cell), "%s%s", diff_is_chance(row, sort_of(d)) ? "~" : "",
		 text_diff_change(change, by, sort_of(d)));
	size_t width = strlen(cell);
	if (width < 12)
		text_spaces(t, 12 - width);
	text_put(t, by > 0 ? TEXT_WARN : TEXT_PLAIN, cell);
	if (width < 12)
		width = 12;
	if (!d->sampled)
		return width;
	double variance = diff_variance(row, sort_of(d));
	const char *shown = variance > 0 ? text_error(t, error, (double)by, variance) : "";
	fputs(shown, t->out);
	text_spaces(t, ERROR_WIDTH - utf8_width(shown));
	return width + ERROR_WIDTH;
}

/* "-" on the side where the row is not. */
static size_t put_amount(struct text_diff *d, const struct diff_row *row, enum side side)
{
	char cell[UNITS_TEXT];
	int64_t amount = sites_cost(&row->costs[side], sort_of(d));
	return (size_t)fprintf(d->sides[side].out, " %11s",
			       row->sites[side] ? text_diff_amount(cell, amount, sort_of(d)) : "-");
}

static void put_row(struct text_diff *d, const struct diff_row *row)
{
	enum side side = row->side;
	struct text *t = &d->sides[side];
	size_t used = put_change(d, row);
	used += put_amount(d, row, SIDE_OLD);
	used += put_amount(d, row, SIDE_NEW);
	text_spaces(t, 2);
	struct text_label label =
		text_site_label(t, &d->report->views[side]->table.sites[row->sites[side] - 1]);
	text_label_put(t, TEXT_BOLD, &label, text_room(t, used + 2, SITE_WIDTH_MIN));
	text_label_release(&label);
	fputc('\n', t->out);
}

/* The stack that changed most, and how many others did. */
static void put_stack(struct text_diff *d, const struct diff_row *row)
{
	char change[UNITS_TEXT + 1], count[UNITS_TEXT], remark[128];
	const struct diff_stack *stack = &d->report->diff->stacks[row->stack];
	enum side side = stack->stacks[row->side] ? row->side : !row->side;
	struct text *t = &d->sides[side];
	if (row->stacks > 1) {
		text_spaces(t, 4);
		fprintf(t->out, "%s from\n",
			text_diff_change(change, stack->costs[SIDE_NEW] - stack->costs[SIDE_OLD],
					 sort_of(d)));
	}
	text_stack(t, &d->report->views[side]->model.stacks[stack->stacks[side] - 1], 0,
		   row->stacks > 1 ? 6 : 4);
	if (row->stacks > 1) {
		snprintf(remark, sizeof(remark), "%s more stack%s changed",
			 units_count(count, row->stacks - 1), row->stacks == 2 ? "" : "s");
		text_remark(t, 4, TEXT_DIM, remark);
	}
}

static const char *row_name(const struct text_diff *d, size_t count)
{
	const struct text_row_name *name = &text_row_names[d->report->options->report.by];
	return count == 1 ? name->singular : name->plural;
}

/* What was left out for want of rows. */
static void put_other_rows(struct text_diff *d, size_t shown)
{
	char count[UNITS_TEXT], change[UNITS_TEXT + 1], remark[192];
	const struct diff *diff = d->report->diff;
	size_t left = 0;
	struct diff_row rest = { 0 };
	for (size_t i = shown; i < diff->count; i++) {
		if (diff_change(&diff->rows[i], sort_of(d)) == 0)
			continue;
		left++;
		costs_add(&rest.costs[SIDE_OLD], &diff->rows[i].costs[SIDE_OLD]);
		costs_add(&rest.costs[SIDE_NEW], &diff->rows[i].costs[SIDE_NEW]);
	}
	if (left == 0)
		return;
	int64_t by = diff_change(&rest, sort_of(d));
	snprintf(remark, sizeof(remark), "%s more %s with %s in all (--top N shows more)",
		 units_count(count, left), row_name(d, left),
		 by ? text_diff_change(change, by, sort_of(d)) : "no change");
	fputc('\n', d->sides[SIDE_NEW].out);
	text_remark(&d->sides[SIDE_NEW], 0, TEXT_PLAIN, remark);
}

/* Rows that changed, but not by the sort key; and by which key they did. */
static void put_otherwise(struct text_diff *d)
{
	char count[UNITS_TEXT], remark[192], hint[64] = "";
	const struct diff *diff = d->report->diff;
	size_t rows = 0;
	for (size_t i = 0; i < diff->count; i++) {
		if (diff_change(&diff->rows[i], sort_of(d)))
			continue;
		rows++;
		for (int sort = 0; !hint[0] && sort <= REPORT_SORT_TEMPORARY; sort++) {
			if (diff_change(&diff->rows[i], (enum report_sort)sort))
				snprintf(hint, sizeof(hint), " (--sort %s)",
					 report_sort_names[sort].name);
		}
	}
	if (rows == 0)
		return;
	snprintf(remark, sizeof(remark), "%s %s changed in other figures only%s",
		 units_count(count, rows), row_name(d, rows), hint);
	fputc('\n', d->sides[SIDE_NEW].out);
	text_remark(&d->sides[SIDE_NEW], 0, TEXT_PLAIN, remark);
}

void text_diff_table(struct text_diff *d)
{
	const struct diff *diff = d->report->diff;
	enum report_by by = d->report->options->report.by;
	struct text *t = &d->sides[SIDE_NEW];
	bool with_stacks =
		by == REPORT_BY_SITE || by == REPORT_BY_STACK || by == REPORT_BY_FUNCTION;
	size_t shown = 0;
	for (; shown < d->report->shown; shown++) {
		const struct diff_row *row = &diff->rows[shown];
		if (diff_change(row, sort_of(d)) == 0)
			break;
		if (shown == 0)
			put_heading(d);
		else if (with_stacks)
			fputc('\n', t->out);
		put_row(d, row);
		if (with_stacks && row->stack)
			put_stack(d, row);
	}
	if (diff->count == 0)
		fputs("\nNothing changed.\n", t->out);
	else if (shown == 0)
		fprintf(t->out, "\nNothing changed by --sort %s.\n",
			report_sort_names[sort_of(d)].name);
	put_other_rows(d, shown);
	put_otherwise(d);
}
