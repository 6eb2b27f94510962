/* SPDX-License-Identifier: MIT */
/*
 * `report --format text`, made to be read: who ran, how much at the peak and
 * when, what leaked, whether anything was lost; then the table; then what to
 * know and to type next.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/text.h"
#include "report/units.h"
#include "report/utf8.h"

#define COMMAND_WIDTH_MIN 20
#define MODULES_LISTED	  8

/* Collects the parts of a sentence; taken by text_paragraph at the end. */
struct sentence {
	FILE *stream;
	char *text;
	size_t size;
	int parts;
};

static bool sentence_open(struct text *t, struct sentence *s)
{
	*s = (struct sentence){ 0 };
	s->stream = open_memstream(&s->text, &s->size);
	if (!s->stream)
		t->error = -ENOMEM;
	return s->stream;
}

/* Ends the sentence and prints it; nothing when it has no part. */
static void sentence_print(struct text *t, struct sentence *s, const char *label,
			   enum text_style style)
{
	if (fclose(s->stream))
		t->error = -ENOMEM;
	else if (s->size)
		text_paragraph(t, label, style, s->text);
	free(s->text);
}

/*
 * "1,234 WHAT" with an s when it is not one, after a separator when it is not
 * the first.
 */
static void add_count(struct sentence *s, uint64_t count, const char *singular, const char *plural)
{
	char number[UNITS_TEXT];
	if (count)
		fprintf(s->stream, "%s%s %s", s->parts++ ? "; " : "", units_count(number, count),
			count == 1 ? singular : plural);
}

static bool needs_quotes(const char *argument)
{
	return !*argument || strpbrk(argument, " \t\n'\"\\$`*?[](){}<>|&;!#~");
}

/* One argument as a shell would take it. */
static void put_argument(FILE *out, const char *argument)
{
	if (!needs_quotes(argument)) {
		fputs(argument, out);
		return;
	}
	fputc('\'', out);
	for (const char *p = argument; *p; p++) {
		if (*p == '\'')
			fputs("'\\''", out);
		else
			fputc(*p, out);
	}
	fputc('\'', out);
}

static void put_command(FILE *out, const struct model *model, const struct model_process *process)
{
	for (uint32_t i = 0; i < process->argc; i++) {
		const char *argument = model_text(model, model->argv[process->argv + i]);
		fputs(i ? " " : "", out);
		put_argument(out, argument ? argument : "");
	}
	if (process->argc == 0)
		fputs(process->executable ? model_text(model, process->executable)
					  : "(unknown program)",
		      out);
}

static void format_end(char *text, size_t size, const struct rec_process *rec)
{
	if (rec->exit_signal) {
		const char *name = sigabbrev_np(rec->exit_signal);
		snprintf(text, size, ", killed by signal %d%s%s%s", rec->exit_signal,
			 name ? " (SIG" : "", name ? name : "", name ? ")" : "");
	} else if (rec->exec_ended) {
		snprintf(text, size, ", then ran another program (exec)");
	} else if (!rec->complete) {
		snprintf(text, size, "; its end was not seen");
	} else if (rec->exit_code >= 0) {
		snprintf(text, size, ", exit status %d", rec->exit_code);
	} else {
		snprintf(text, size, ", exit status unknown");
	}
}

/* The title: a command of any length, and what became of it. */
static void put_title(struct text *t, const char *command, const char *fate)
{
	char *clean = text_clean(t, command);
	size_t fate_width = utf8_width(fate) + 1;
	size_t room = t->width == SIZE_MAX    ? SIZE_MAX
		      : t->width > fate_width ? t->width - fate_width
					      : 0;
	if (room >= utf8_width(clean) || room >= COMMAND_WIDTH_MIN) {
		text_fit(t, TEXT_BOLD, clean, room);
		fprintf(t->out, " %s\n", fate);
	} else {
		text_fit(t, TEXT_BOLD, clean, t->width);
		fprintf(t->out, "\n%s\n", fate);
	}
	free(clean);
}

static void put_process(struct text *t, const struct model_process *process)
{
	char fate[160], end[96], duration[UNITS_TEXT];
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	put_command(s.stream, t->model, process);
	format_end(end, sizeof(end), &process->rec);
	snprintf(fate, sizeof(fate), "(pid %d) ran %s%s", process->rec.pid,
		 units_duration(duration, process->rec.duration_ns), end);
	if (fclose(s.stream))
		t->error = -ENOMEM;
	else
		put_title(t, s.text, fate);
	free(s.text);
}

static void put_processes(struct text *t)
{
	char count[UNITS_TEXT];
	char line[128];
	const struct model_totals *totals = &t->model->totals;
	int length =
		snprintf(line, sizeof(line), "%s processes", units_count(count, totals->processes));
	if (t->model->file_count > 1)
		snprintf(line + length, sizeof(line) - (size_t)length, " of %zu recordings",
			 t->model->file_count);
	text_put(t, TEXT_BOLD, line);
	fputs(" summed\n", t->out);
}

/* That and how the figures are not exact; what is not known at all then. */
static void put_sampling(struct text *t)
{
	char mean[UNITS_TEXT];
	struct sentence s;
	if (!t->sampled || !sentence_open(t, &s))
		return;
	fprintf(s.stream,
		"one allocation per %s. All figures below are estimates, %s their standard error. "
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
	if (totals->peak_rss_bytes)
		fprintf(s.stream, "; resident at most %s",
			units_size(size, totals->peak_rss_bytes));
	sentence_print(t, &s, "Peak", TEXT_PLAIN);
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
	const struct model_totals *totals = &t->model->totals;
	const struct costs *c = &totals->costs;
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
	fprintf(s.stream, "; %s stack%s", units_count(count, totals->stacks),
		totals->stacks == 1 ? "" : "s");
	fprintf(s.stream, ", %s thread%s", units_count(count, totals->threads),
		totals->threads == 1 ? "" : "s");
	sentence_print(t, &s, "Total", TEXT_PLAIN);
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

static void put_lost(struct text *t)
{
	const struct model_totals *totals = &t->model->totals;
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	add_count(&s, totals->dropped_events, "event not counted", "events not counted");
	add_count(&s, totals->errors_lost, "error not kept", "errors not kept");
	add_count(&s, totals->unattributed, "allocation without a stack",
		  "allocations without a stack");
	add_count(&s, totals->truncated_stacks, "stack cut off", "stacks cut off");
	bool any = s.parts;
	if (!any)
		fputs(has_notes(t->model) ? "see the notes below" : "nothing", s.stream);
	sentence_print(t, &s, "Lost", any ? TEXT_WARN : TEXT_PLAIN);
}

/*
 * How often, by the errors that are kept, or as counted, which is more where there
 * was no room for all: frees that the guard-page allocator stopped are not counted.
 */
static uint64_t count_kind(const struct model *model, enum error_kind kind, uint64_t counted)
{
	uint64_t kept = 0;
	for (size_t i = 0; i < model->error_count; i++) {
		const struct rec_error *rec = &model->errors[i].rec;
		if (rec->kind == kind && __builtin_add_overflow(kept, rec->count, &kept))
			kept = UINT64_MAX;
	}
	return kept > counted ? kept : counted;
}

/* What the program did wrong. */
static void put_faults(struct text *t)
{
	const struct model_totals *totals = &t->model->totals;
	uint64_t unknown = count_kind(t->model, ERROR_INVALID_FREE, totals->unknown_frees);
	uint64_t twice = count_kind(t->model, ERROR_DOUBLE_FREE, totals->double_frees);
	struct sentence s;
	if ((!unknown && !twice) || !sentence_open(t, &s))
		return;
	add_count(&s, unknown, "free of an unknown block", "frees of unknown blocks");
	add_count(&s, twice, "double free", "double frees");
	sentence_print(t, &s, "Faults", TEXT_WARN);
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
	fprintf(s.stream, "%s of the stacks pass the filters: %s of all by --sort %s",
		units_count(count, table->stack_count), share, report_sort_names[o->sort].name);
	sentence_print(t, &s, "Below", TEXT_PLAIN);
}

/*
 * The modules that stacks of this report pass through without a name;
 * malloc'ed, by module id.
 */
static bool *nameless_modules(const struct model *model)
{
	bool *used = calloc(model->node_count + 1, sizeof(*used));
	bool *nameless = calloc(model->module_count + 1, sizeof(*nameless));
	if (used && nameless) {
		for (size_t i = 0; i < model->stack_count; i++)
			used[model->stacks[i].node] = true;
		for (size_t id = model->node_count; id > 0; id--) {
			const struct model_location *location =
				&model->locations[model->nodes[id].location];
			if (!used[id])
				continue;
			used[model->nodes[id].parent] = true;
			if (model->nodes[id].location && location->frame_count == 0)
				nameless[location->module] = true;
		}
	} else {
		free(nameless);
		nameless = NULL;
	}
	free(used);
	return nameless;
}

static const char *symbols_reason(const char *symbols)
{
	static const struct {
		const char *symbols, *reason;
	} reasons[] = {
		{ "none", "stripped" },
		{ "missing", "file missing" },
		{ "replaced", "file replaced by another build" },
		{ "unreadable", "file unreadable" },
	};
	for (size_t i = 0; symbols && i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (strcmp(symbols, reasons[i].symbols) == 0)
			return reasons[i].reason;
	}
	return NULL;
}

static void put_nameless(struct text *t)
{
	const struct model *model = t->model;
	bool *nameless = nameless_modules(model);
	struct sentence s;
	if (!nameless || !sentence_open(t, &s)) {
		t->error = -ENOMEM;
		free(nameless);
		return;
	}
	for (size_t id = 1; id <= model->module_count; id++) {
		const char *reason = symbols_reason(model_text(model, model->modules[id].symbols));
		const char *path = model_text(model, model->modules[id].path);
		if (!nameless[id] || !reason || !path)
			continue;
		if (s.parts++ < MODULES_LISTED)
			fprintf(s.stream, "%s%s (%s)", s.parts > 1 ? ", " : "no symbols for ",
				t->full_paths ? path : path_base(path), reason);
	}
	if (s.parts > MODULES_LISTED)
		fprintf(s.stream, " and %d more", s.parts - MODULES_LISTED);
	sentence_print(t, &s, "Note", TEXT_PLAIN);
	free(nameless);
}

static void put_notes(struct text *t)
{
	for (size_t i = 0; i < t->model->process_count; i++) {
		const struct model_process *process = &t->model->processes[i];
		const char *notes = process->selected ? model_text(t->model, process->notes) : NULL;
		while (notes && *notes) {
			size_t length = strcspn(notes, "\n");
			char *note = strndup(notes, length);
			if (note && length)
				text_paragraph(t, "Note", TEXT_PLAIN, note);
			free(note);
			notes += length + (notes[length] == '\n');
		}
	}
}

/* The process with the highest peak, when it is not among those reported. */
static const struct model_process *largest_unselected(const struct model *model)
{
	const struct model_process *largest = NULL;
	for (size_t i = 0; i < model->process_count; i++) {
		if (!largest || model->processes[i].rec.peak_bytes > largest->rec.peak_bytes)
			largest = &model->processes[i];
	}
	return largest && !largest->selected && model->file_count == 1 ? largest : NULL;
}

static void add_largest(struct text *t, struct sentence *s)
{
	const struct model_process *largest = largest_unselected(t->model);
	char size[UNITS_TEXT], error[TEXT_ERROR];
	if (!largest)
		return;
	const char *executable = model_text(t->model, largest->executable);
	fprintf(s->stream, "; the largest is --process %" PRIu32 " (%s, peak %s%s)",
		largest->number, executable ? path_base(executable) : "?",
		units_size(size, largest->rec.peak_bytes),
		text_error(t, error, (double)largest->rec.peak_bytes,
			   largest->costs.variances.peak_bytes));
}

static void put_process_hint(struct text *t)
{
	const struct model *model = t->model;
	const struct model_process *single = report_single_process(model);
	struct sentence s;
	if (model->process_count == model->totals.processes || !sentence_open(t, &s))
		return;
	fprintf(s.stream, "%zu processes", model->process_count);
	if (single)
		fprintf(s.stream, ", this is number %" PRIu32, single->number);
	add_largest(t, &s);
	fputs("; --all sums them, --process N picks one, --all --by process lists them", s.stream);
	sentence_print(t, &s, "Note", TEXT_PLAIN);
}

/* The options that chose the processes of this report. */
static void put_selection(FILE *out, const struct report_options *o)
{
	if (o->all)
		fputs(" --all", out);
	if (o->process)
		fprintf(out, " --process %d", o->process);
	if (o->pid)
		fprintf(out, " --pid %d", o->pid);
}

/* What one would likely ask next. */
static void put_next(struct text *t)
{
	const struct report_options *o = t->report->options;
	const struct costs *c = &t->model->totals.costs;
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	fputs("memtrack report ", s.stream);
	if (c->leaked_bytes > 0 && o->sort != REPORT_SORT_LEAKED)
		fputs("--sort leaked", s.stream);
	else if (c->temporary_allocations > c->allocations / 10 && o->sort != REPORT_SORT_TEMPORARY)
		fputs("--sort temporary", s.stream);
	else
		fputs(o->by == REPORT_BY_MODULE ? "--by function" : "--by module", s.stream);
	put_selection(s.stream, o);
	for (size_t i = 0; i < o->files.count; i++) {
		if (o->files.count == 1 && strcmp(o->files.items[i], "memtrack.dat") == 0)
			break;
		fputc(' ', s.stream);
		put_argument(s.stream, o->files.items[i]);
	}
	sentence_print(t, &s, "Next", TEXT_PLAIN);
}

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
		.sampled = report->model->totals.sample_mean != 0,
		.ellipsis = o->utf8 ? "…" : "...",
	};
	const struct model_process *single = report_single_process(t.model);
	if (single)
		put_process(&t, single);
	else
		put_processes(&t);
	put_sampling(&t);
	put_peak(&t);
	put_leaked(&t);
	put_total(&t);
	put_allocator(&t);
	put_lost(&t);
	put_faults(&t);
	text_guards(&t);
	text_errors_summary(&t);
	put_filtered(&t);
	text_errors(&t);
	text_table(&t);
	fputc('\n', t.out);
	put_nameless(&t);
	put_notes(&t);
	put_process_hint(&t);
	put_next(&t);
	return t.error;
}
