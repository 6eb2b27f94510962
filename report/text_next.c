/* SPDX-License-Identifier: MIT */
/*
 * The last line of a text report: the command to type next.  Each rule looks
 * for one thing to go on with; the first that finds any changes the options of
 * this report into those of the next.
 */
#include <string.h>

#include "report/known_stacks.h"
#include "report/model.h"
#include "report/parts.h"
#include "report/render.h"
#include "report/sentence.h"
#include "report/sites.h"
#include "report/text.h"

#define TEMPORARY_MIN 1000 /* fewer cost nothing that one would notice */

struct next {
	struct report_options options;
	const char *run; /* options of `memtrack run`: that is next instead; or NULL */
};

typedef bool next_rule(const struct text *t, struct next *next);

static bool has_filters(const struct report_options *o)
{
	return o->filters.count || o->excludes.count || o->focus.count || o->ignore.count;
}

/* What one sees who asked for nothing in particular. */
static bool is_first_view(const struct report_options *o)
{
	return o->sort == REPORT_SORT_PEAK && o->by == REPORT_BY_SITE && !has_filters(o) &&
	       o->at.kind == RUN_TIME_NONE;
}

static bool is_guarded(const struct model *model)
{
	for (size_t i = 0; i < model->process_count; i++) {
		if (model->processes[i].selected && model->processes[i].guarded)
			return true;
	}
	return false;
}

static bool next_all_errors(const struct text *t, struct next *next)
{
	size_t top = (size_t)next->options.top;
	next->options.top = 0;
	return top && top < t->model->error_count;
}

static bool next_errors_elsewhere(const struct text *t, struct next *next)
{
	next->options.all = true;
	next->options.process = next->options.pid = 0;
	return t->model->errors_elsewhere;
}

/* A wrong free is only the end of the story. */
static bool next_guard(const struct text *t, struct next *next)
{
	const struct model_totals *totals = &t->model->totals;
	next->run = "--malloc stomp ";
	return is_first_view(&next->options) && (totals->unknown_frees || totals->double_frees) &&
	       !is_guarded(t->model) && report_single_process(t->model);
}

static bool next_without_filters(const struct text *t, struct next *next)
{
	bool nothing = has_filters(&next->options) && !is_by_part(next->options.by) &&
		       !t->report->table->stack_count;
	next->options.filters = next->options.excludes = (struct report_list){ 0 };
	next->options.focus = next->options.ignore = (struct report_list){ 0 };
	return nothing;
}

/* The first process is often a mere starter of others. */
static bool next_process(const struct text *t, struct next *next)
{
	const struct report_options *o = t->report->options;
	const struct model_process *largest = report_largest_unselected(t->model);
	if (!largest || o->process || o->pid ||
	    largest->rec.peak_bytes / 2 < t->model->totals.costs.peak_bytes)
		return false;
	next->options.process = (int)largest->number;
	return true;
}

static bool next_row_process(const struct text *t, struct next *next)
{
	const struct site_table *table = t->report->table;
	if (next->options.by != REPORT_BY_PROCESS || !table->count || t->model->file_count > 1)
		return false;
	next->options.by = REPORT_BY_SITE;
	next->options.all = false;
	next->options.pid = 0;
	next->options.process = (int)t->model->processes[table->sites[0].process - 1].number;
	return true;
}

/* From a table without a row to the one that everyone has. */
static bool next_peak(const struct text *t, struct next *next)
{
	const struct site_table *table = t->report->table;
	bool nothing = next->options.sort != REPORT_SORT_PEAK && table->count &&
		       !is_by_part(next->options.by) &&
		       sites_cost(&table->sites[0].costs, next->options.sort) <= 0;
	next->options.sort = REPORT_SORT_PEAK;
	next->options.by = REPORT_BY_SITE;
	return nothing;
}

/* What of the program itself, and of what the filters let pass, leaked. */
static bool has_leaks(const struct text *t)
{
	const struct site_table *table = t->report->table;
	bool by_part = is_by_part(t->report->options->by);
	size_t count = by_part ? t->model->stack_count : table->stack_count;
	for (size_t i = 0; i < count; i++) {
		const struct model_stack *stack = &t->model->stacks[by_part ? i : table->stacks[i]];
		if (stack->costs.leaked_bytes > 0 && !known_stack_find(t->model, stack))
			return true;
	}
	return false;
}

/* From a look at something else one does not go back to the leaks. */
static bool next_leaks(const struct text *t, struct next *next)
{
	bool was_peak = next->options.sort == REPORT_SORT_PEAK;
	next->options.sort = REPORT_SORT_LEAKED;
	next->options.by = REPORT_BY_SITE;
	return was_peak && has_leaks(t);
}

static bool next_temporary(const struct text *t, struct next *next)
{
	const struct costs *c =
		is_by_part(next->options.by) ? &t->model->totals.costs : &t->report->table->costs;
	enum report_sort sort = next->options.sort;
	next->options.sort = REPORT_SORT_TEMPORARY;
	next->options.by = REPORT_BY_SITE;
	return (sort == REPORT_SORT_PEAK || sort == REPORT_SORT_LEAKED) &&
	       c->temporary_allocations >= TEMPORARY_MIN &&
	       c->temporary_allocations > c->allocations / 10;
}

/* Whoever has looked at estimates from all sides may want to know it exactly. */
static bool next_exact(const struct text *t, struct next *next)
{
	next->run = "";
	return t->sampled && !is_first_view(&next->options) && report_single_process(t->model);
}

/* From the whole to the detail, and from the detail back to the whole. */
static bool next_grouping(const struct text *t, struct next *next)
{
	struct report_options *o = &next->options;
	if (!t->report->table->count)
		return false;
	switch (o->by) {
	case REPORT_BY_SITE:
		o->by = is_first_view(o) ? REPORT_BY_MODULE : REPORT_BY_STACK;
		break;
	case REPORT_BY_MODULE:
	case REPORT_BY_FILE:
		o->by = REPORT_BY_FUNCTION;
		break;
	case REPORT_BY_FUNCTION:
		o->by = REPORT_BY_STACK;
		break;
	case REPORT_BY_STACK:
		if (o->frames)
			o->frames = 0;
		else
			o->by = REPORT_BY_MODULE;
		break;
	default:
		o->by = REPORT_BY_SITE;
		break;
	}
	return true;
}

/* Another order than that by peak is about the whole run. */
static void put_time(struct sentence *s, const struct report_options *o)
{
	if (o->sort != REPORT_SORT_PEAK)
		return;
	if (o->at.kind == RUN_TIME_SHARE)
		fprintf(s->stream, " --at %.10g%%", (double)o->at.value / 1e4);
	else if (o->at.kind == RUN_TIME_NS)
		fprintf(s->stream, " --at %.10g", (double)o->at.value / 1e9);
}

static void put_report(struct text *t, struct sentence *s, const struct report_options *o)
{
	fputs("memtrack report", s->stream);
	if (o->sort != REPORT_SORT_PEAK)
		fprintf(s->stream, " --sort %s", report_sort_names[o->sort].name);
	if (o->by != REPORT_BY_SITE)
		fprintf(s->stream, " --by %s", report_by_names[o->by].name);
	put_time(s, o);
	if (o->top != t->report->options->top)
		fprintf(s->stream, " --top %d", o->top);
	if (o->frames != t->report->options->frames)
		fprintf(s->stream, " --frames %d", o->frames);
	sentence_selection(s, o);
	for (size_t i = 0; i < o->files.count; i++) {
		if (o->files.count == 1 && strcmp(o->files.items[i], "memtrack.dat") == 0)
			break;
		fputc(' ', s->stream);
		sentence_argument(s, o->files.items[i]);
	}
}

void text_next(struct text *t)
{
	static next_rule *const rules[] = {
		next_all_errors, next_errors_elsewhere,
		next_guard,	 next_without_filters,
		next_process,	 next_row_process,
		next_peak,	 next_leaks,
		next_temporary,	 next_exact,
		next_grouping,
	};
	struct next next;
	struct sentence s;
	size_t i = 0;
	for (; i < sizeof(rules) / sizeof(rules[0]); i++) {
		next = (struct next){ .options = *t->report->options };
		if (rules[i](t, &next))
			break;
	}
	if (i == sizeof(rules) / sizeof(rules[0]) || !sentence_open(t, &s))
		return;
	if (next.run)
		fprintf(s.stream, "memtrack run %s-- PROGRAM", next.run);
	else
		put_report(t, &s, &next.options);
	sentence_print(t, &s, "Next", TEXT_PLAIN);
}
