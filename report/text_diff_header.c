/* SPDX-License-Identifier: MIT */
/* What two recordings are, and their totals side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/render.h"
#include "report/render_diff.h"
#include "report/sentence.h"
#include "report/text_diff.h"
#include "report/units.h"
#include "report/utf8.h"
#include "report/view.h"

#define COMMAND_WIDTH_MIN 20

static const char *const side_names[] = { "Old", "New" };

static void format_start(char *text, size_t size, int64_t start_time_ns)
{
	time_t seconds = (time_t)(start_time_ns / 1000000000);
	struct tm tm;
	if (!localtime_r(&seconds, &tm) || !strftime(text, size, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, size, "at an unknown time");
}

/* The command in what is left of the line beside when it ran. */
static void put_run(struct text *t, const struct model_process *process)
{
	char when[64], rest[160], duration[UNITS_TEXT];
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	sentence_command(&s, t->model, process);
	char *command = sentence_take(t, &s);
	char *clean = text_clean(t, command);
	format_start(when, sizeof(when), process->rec.start_time_ns);
	snprintf(rest, sizeof(rest), " (pid %d) %s, ran %s", process->rec.pid, when,
		 units_duration(duration, process->rec.duration_ns));
	text_fit(t, TEXT_BOLD, clean,
		 text_room(t, TEXT_LABEL_WIDTH + strlen(rest), COMMAND_WIDTH_MIN));
	fprintf(t->out, "%s\n", rest);
	free(clean);
	free(command);
}

static void put_side(struct text *t, const char *name)
{
	const struct model_process *single = report_single_process(t->model);
	char count[UNITS_TEXT];
	fprintf(t->out, "%-*s", TEXT_LABEL_WIDTH, name);
	if (single)
		put_run(t, single);
	else
		fprintf(t->out, "%s processes summed\n",
			units_count(count, t->model->totals.processes));
}

static void put_sampling(struct text_diff *d)
{
	char mean[UNITS_TEXT];
	struct text *t = &d->sides[SIDE_NEW];
	struct sentence s;
	if (!d->sampled || !sentence_open(t, &s))
		return;
	for (int side = 0; side < SIDES; side++) {
		int64_t bytes = d->sides[side].model->totals.sample_mean;
		fprintf(s.stream, "%s%s: ", side ? "; " : "", side ? "new" : "old");
		if (bytes)
			fprintf(s.stream, "one allocation per %s", units_size(mean, bytes));
		else
			fputs("all allocations", s.stream);
	}
	fprintf(s.stream,
		". Changes have their standard error, %s; those marked ~ are within two of "
		"them and may be chance.",
		t->utf8 ? "±" : "+-");
	sentence_print(t, &s, "Sampled", TEXT_PLAIN);
}

/* What is not in the recordings makes a difference, too. */
static void put_lost(struct text_diff *d)
{
	struct text *t = &d->sides[SIDE_NEW];
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	for (int side = 0; side < SIDES; side++) {
		const struct model_totals *totals = &d->sides[side].model->totals;
		if (!totals->dropped_events && !totals->unattributed)
			continue;
		fprintf(s.stream, "%sin the %s recording ", s.parts ? "; " : "",
			side ? "new" : "old");
		s.parts = 0;
		sentence_count(&s, totals->dropped_events, "event not counted",
			       "events not counted");
		sentence_count(&s, totals->unattributed, "allocation without a stack",
			       "allocations without a stack");
	}
	sentence_print(t, &s, "Lost", TEXT_WARN);
}

/* "+12.3%"; what grew from nothing has no percentage. */
static char *format_percent(char *text, int64_t old, int64_t new)
{
	int64_t by = new - old;
	text[0] = by > 0 ? '+' : '\0';
	if (by == 0)
		strcpy(text, "");
	else if (old == 0)
		strcpy(text, "new");
	else if (by / 10 >= old)
		strcpy(text, ">+999%");
	else
		units_percent(text + (by > 0), by, old);
	return text;
}

static void put_total(struct text_diff *d, const char *name, enum report_sort sort)
{
	struct diff_row row = { .costs = { d->sides[SIDE_OLD].model->totals.costs,
					   d->sides[SIDE_NEW].model->totals.costs } };
	char cells[3][UNITS_TEXT + 1], percent[2 * UNITS_TEXT];
	int64_t old = sites_cost(&row.costs[SIDE_OLD], sort);
	int64_t new = sites_cost(&row.costs[SIDE_NEW], sort);
	int64_t change = diff_change(&row, sort);
	struct text *t = &d->sides[SIDE_NEW];
	int used =
		fprintf(t->out, "%-12s %12s %12s %13s", name, text_diff_amount(cells[0], old, sort),
			text_diff_amount(cells[1], new, sort),
			change ? text_diff_change(cells[2], change, sort) : "0");
	snprintf(percent, sizeof(percent), " %8s%s", format_percent(cells[0], old, new),
		 diff_is_chance(&row, sort) ? " ~" : "");
	if (change && (size_t)used + strlen(percent) <= t->width)
		fputs(percent, t->out);
	fputc('\n', t->out);
}

static void put_totals(struct text_diff *d)
{
	char heading[64];
	struct text *t = &d->sides[SIDE_NEW];
	snprintf(heading, sizeof(heading), "%-12s %12s %12s %13s", "", "Old", "New", "Change");
	fputc('\n', t->out);
	text_put(t, TEXT_BOLD, heading);
	fputc('\n', t->out);
	put_total(d, "Peak", REPORT_SORT_PEAK);
	put_total(d, "Leaked", REPORT_SORT_LEAKED);
	put_total(d, "Allocated", REPORT_SORT_ALLOCATED);
	put_total(d, "Allocations", REPORT_SORT_ALLOCATIONS);
	put_total(d, "Temporary", REPORT_SORT_TEMPORARY);
}

static void put_filtered(struct text_diff *d)
{
	const struct report_options *o = &d->report->options->report;
	struct text *t = &d->sides[SIDE_NEW];
	if (!o->filters.count && !o->excludes.count && !o->focus.count && !o->ignore.count)
		return;
	fputc('\n', t->out);
	text_paragraph(t, "Below", TEXT_PLAIN, "only stacks that pass the filters");
}

void text_diff_header(struct text_diff *d)
{
	for (int side = 0; side < SIDES; side++)
		put_side(&d->sides[side], side_names[side]);
	put_sampling(d);
	put_lost(d);
	put_totals(d);
	put_filtered(d);
}
