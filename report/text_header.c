/* SPDX-License-Identifier: MIT */
/*
 * The head of a text report.  Its first four lines answer how much at the peak
 * and when, what leaked, how much in all, and whether anything was lost.
 */
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "report/render.h"
#include "report/sentence.h"
#include "report/sites.h"
#include "report/text.h"
#include "report/units.h"

/* That and how the figures are not exact; what is not known at all then. */
static void put_sampling(struct text *t)
{
	char mean[UNITS_TEXT];
	struct sentence s;
	if (!t->sampled || !sentence_open(t, &s))
		return;
	fprintf(s.stream,
		"one allocation per %s. All figures are estimates, %s their standard error. "
		"Unknown and double frees cannot be told.",
		units_size(mean, t->model->totals.sample_mean), t->utf8 ? "±" : "+-");
	sentence_print(t, &s, "Sampled", TEXT_PLAIN);
}

static void put_peak(struct text *t)
{
	const struct model_totals *totals = &t->model->totals;
	const struct costs *c = &totals->costs;
	char size[UNITS_TEXT], blocks[UNITS_TEXT], time[UNITS_TEXT], error[TEXT_ERROR];
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	fprintf(s.stream, "%s%s", units_size(size, c->peak_bytes),
		text_error(t, error, (double)c->peak_bytes, c->variances.peak_bytes));
	if (totals->peak_error_bytes)
		fprintf(s.stream, " (%s%s %s)", t->sampled ? "threads: " : "",
			t->utf8 ? "±" : "+/-", units_size(size, totals->peak_error_bytes));
	fprintf(s.stream, " in %s%s block%s", units_signed_count(blocks, c->peak_blocks),
		text_error(t, error, (double)c->peak_blocks, c->variances.peak_blocks),
		c->peak_blocks == 1 ? "" : "s");
	if (totals->processes == 1)
		fprintf(s.stream, " after %s", units_duration(time, totals->peak_time_ns));
	else
		fputs(", the sum of each process's own peak", s.stream);
	sentence_print(t, &s, "Peak", TEXT_PLAIN);
}

/* With --at, in place of the peak, which stands behind it. */
static void put_moment(struct text *t)
{
	const struct model_totals *totals = &t->model->totals;
	const struct model_process *single = report_single_process(t->model);
	const struct costs *c = &totals->costs;
	char size[UNITS_TEXT], blocks[UNITS_TEXT], time[UNITS_TEXT];
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	fprintf(s.stream, "%s: %s in %s block%s", units_duration(time, totals->at_ns),
		units_size(size, c->peak_bytes), units_signed_count(blocks, c->peak_blocks),
		c->peak_blocks == 1 ? "" : "s");
	if (single)
		fprintf(s.stream, "; the peak was %s after %s",
			units_size(size, single->rec.peak_bytes),
			units_duration(time, single->rec.peak_time_ns));
	sentence_print(t, &s, "At", TEXT_PLAIN);
}

static void put_leaked(struct text *t)
{
	const struct costs *c = &t->model->totals.costs;
	const struct cost_variances *v = &c->variances;
	char size[UNITS_TEXT], blocks[UNITS_TEXT], errors[2][TEXT_ERROR];
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	if (c->leaked_bytes == 0 && c->leaked_blocks == 0)
		fputs(t->sampled ? "nothing among the samples" : "nothing", s.stream);
	else
		fprintf(s.stream, "%s%s in %s%s block%s", units_size(size, c->leaked_bytes),
			text_error(t, errors[0], (double)c->leaked_bytes, v->leaked_bytes),
			units_signed_count(blocks, c->leaked_blocks),
			text_error(t, errors[1], (double)c->leaked_blocks, v->leaked_blocks),
			c->leaked_blocks == 1 ? "" : "s");
	sentence_print(t, &s, "Leaked", TEXT_PLAIN);
}

static void put_total(struct text *t)
{
	const struct costs *c = &t->model->totals.costs;
	const struct cost_variances *v = &c->variances;
	char count[UNITS_TEXT], size[UNITS_TEXT], share[UNITS_TEXT], errors[2][TEXT_ERROR];
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	fprintf(s.stream, "%s%s allocation%s of %s%s", units_count(count, c->allocations),
		text_error(t, errors[0], (double)c->allocations, v->allocations),
		c->allocations == 1 ? "" : "s", units_size(size, (int64_t)c->allocated_bytes),
		text_error(t, errors[1], (double)c->allocated_bytes, v->allocated_bytes));
	if (c->allocations)
		fprintf(s.stream, ", %s temporary",
			units_percent(share, (int64_t)c->temporary_allocations,
				      (int64_t)c->allocations));
	sentence_print(t, &s, "Total", TEXT_PLAIN);
}

/* What the allocator handed out at the peak beyond what was asked for. */
static void put_slack(struct text *t)
{
	const struct model_totals *totals = &t->model->totals;
	const struct costs *c = &totals->costs;
	char size[UNITS_TEXT], share[UNITS_TEXT];
	int64_t handed_out;
	struct sentence s;
	if (!totals->slack_processes || !sentence_open(t, &s))
		return;
	if (__builtin_add_overflow(c->peak_bytes, c->slack.peak_bytes, &handed_out))
		handed_out = INT64_MAX;
	fprintf(s.stream, "%s of the peak lost to rounding by the allocator (%s)",
		units_size(size, c->slack.peak_bytes),
		units_percent(share, c->slack.peak_bytes, handed_out));
	if (totals->slack_processes < totals->processes)
		fprintf(s.stream, "; recorded of %u of the %u processes", totals->slack_processes,
			totals->processes);
	sentence_print(t, &s, "Slack", TEXT_PLAIN);
}

/* What is not asked first, and would not fit into the lines above. */
static void put_threads(struct text *t)
{
	const struct model_totals *totals = &t->model->totals;
	char number[UNITS_TEXT];
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	fputs(units_count(number, totals->threads), s.stream);
	fprintf(s.stream, "; %s stack%s", units_count(number, totals->stacks),
		totals->stacks == 1 ? "" : "s");
	if (totals->peak_rss_bytes)
		fprintf(s.stream, "; resident at most %s",
			units_size(number, totals->peak_rss_bytes));
	sentence_print(t, &s, "Threads", TEXT_PLAIN);
}

/* Whether a process before this one has the same allocator. */
static bool is_known_allocator(const struct model *model, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (model->processes[i].selected &&
		    model->processes[i].allocator == model->processes[index].allocator)
			return true;
	return false;
}

/* What served the program's allocations, as seen in the process. */
static void put_allocator(struct text *t)
{
	const struct model *model = t->model;
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	for (size_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];
		if (process->selected && process->allocator && !is_known_allocator(model, i))
			fprintf(s.stream, "%s%s", s.parts++ ? ", " : "",
				model_text(model, process->allocator));
	}
	sentence_print(t, &s, "Malloc", TEXT_PLAIN);
}

static bool has_notes(const struct model *model)
{
	for (size_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];
		const char *notes = process->selected ? model_text(model, process->notes) : NULL;
		if (notes && *notes)
			return true;
	}
	return false;
}

/* Of a single process the title says so. */
static void put_unseen_ends(const struct model *model, struct sentence *s)
{
	size_t unseen = 0;
	for (size_t i = 0; i < model->process_count; i++)
		unseen += model->processes[i].selected && !model->processes[i].rec.complete;
	if (unseen && model->totals.processes > 1)
		fprintf(s->stream, "%sthe end of %zu process%s was not seen",
			s->parts++ ? "; " : "", unseen, unseen == 1 ? "" : "es");
}

static void put_lost(struct text *t)
{
	const struct model_totals *totals = &t->model->totals;
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	sentence_count(&s, totals->dropped_events, "event not counted", "events not counted");
	sentence_count(&s, totals->errors_lost, "error not kept", "errors not kept");
	sentence_count(&s, totals->unattributed, "allocation without a stack",
		       "allocations without a stack");
	sentence_count(&s, totals->truncated_stacks, "stack cut off", "stacks cut off");
	put_unseen_ends(t->model, &s);
	bool any = s.parts;
	if (!any)
		fputs(has_notes(t->model) ? "see the notes below" : "nothing", s.stream);
	sentence_print(t, &s, "Lost", any ? TEXT_WARN : TEXT_PLAIN);
}

/* What the program did wrong. */
static void put_faults(struct text *t)
{
	uint64_t unknown = model_count_errors(t->model, ERROR_INVALID_FREE);
	uint64_t twice = model_count_errors(t->model, ERROR_DOUBLE_FREE);
	struct sentence s;
	if ((!unknown && !twice) || !sentence_open(t, &s))
		return;
	sentence_count(&s, unknown, "free of an unknown block", "frees of unknown blocks");
	sentence_count(&s, twice, "double free", "double frees");
	sentence_print(t, &s, "Faults", TEXT_WARN);
}

/* What the shares of the table are of. */
static const char *whole_words(const struct text *t)
{
	static const char *const words[] = {
		[REPORT_SORT_PEAK] = "the peak",
		[REPORT_SORT_LEAKED] = "what leaked",
		[REPORT_SORT_ALLOCATED] = "all allocated bytes",
		[REPORT_SORT_ALLOCATIONS] = "all allocations",
		[REPORT_SORT_TEMPORARY] = "all temporary allocations",
		[REPORT_SORT_SLACK] = "the slack at the peak",
	};
	enum report_sort sort = t->report->options->sort;
	return sort == REPORT_SORT_PEAK && t->model->totals.at_moment ? "the heap at that time"
								      : words[sort];
}

static void put_filtered(struct text *t)
{
	const struct report_options *o = t->report->options;
	const struct site_table *table = t->report->table;
	char share[UNITS_TEXT], count[UNITS_TEXT];
	struct sentence s;
	if (!o->filters.count && !o->excludes.count && !o->focus.count && !o->ignore.count)
		return;
	if (!sentence_open(t, &s))
		return;
	units_percent(share, sites_cost(&table->costs, o->sort),
		      sites_cost(&t->model->totals.costs, o->sort));
	fprintf(s.stream, "%s of the stacks pass the filters: %s of %s",
		units_count(count, table->stack_count), share, whole_words(t));
	sentence_print(t, &s, "Below", TEXT_PLAIN);
}

void text_header(struct text *t)
{
	/* What everyone asks, a line each. */
	if (t->model->totals.at_moment)
		put_moment(t);
	else
		put_peak(t);
	put_leaked(t);
	put_total(t);
	put_lost(t);
	text_suppressed(t);
	/* What went wrong, and how sure the figures are. */
	put_faults(t);
	text_guards(t);
	text_errors_summary(t);
	put_sampling(t);
	/* The rest. */
	put_slack(t);
	text_heap(t);
	put_threads(t);
	put_allocator(t);
	put_filtered(t);
}
