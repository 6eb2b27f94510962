/* SPDX-License-Identifier: MIT */
/* What to know about a text report: names that are missing, limits that bit, other processes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "report/render.h"
#include "report/sentence.h"
#include "report/text.h"
#include "report/units.h"

#define MODULES_LISTED 8

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
		const char *reason =
			rec_symbols_reason(model_text(model, model->modules[id].symbols));
		const char *path = model_text(model, model->modules[id].path);
		if (!nameless[id] || !reason || !path)
			continue;
		if (s.parts++ < MODULES_LISTED)
			fprintf(s.stream, "%s%s (%s)", s.parts > 1 ? ", " : "no symbols for ",
				t->full_paths ? path : path_base(path), reason);
	}
	if (s.parts > MODULES_LISTED)
		fprintf(s.stream, " and %d more", s.parts - MODULES_LISTED);
	if (s.parts && t->report->options->downloads)
		fputs("; memtrack symbolize --debuginfod may find them", s.stream);
	sentence_print(t, &s, "Note", TEXT_PLAIN);
	free(nameless);
}

static void put_recorded(struct text *t)
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

static void add_largest(struct text *t, struct sentence *s)
{
	const struct model_process *largest = report_largest_unselected(t->model);
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

void text_notes(struct text *t)
{
	put_nameless(t);
	text_part_note(t);
	put_recorded(t);
	put_process_hint(t);
}
