/* SPDX-License-Identifier: MIT */
/* What was found wrong in the program, and how it was looked for, in a text report. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/error_text.h"
#include "report/model.h"
#include "report/render.h"
#include "report/text.h"
#include "report/units.h"

static void put_part(FILE *out, int *parts, uint64_t count, const char *what)
{
	char number[UNITS_TEXT];
	fprintf(out, "%s%s %s", (*parts)++ ? ", " : "", units_count(number, count), what);
}

/* Sums over the processes of the report; false when none was guarded. */
static bool sum_guards(const struct model *model, struct rec_guard *sum)
{
	bool any = false;
	*sum = (struct rec_guard){ .method = GUARD_CANARY };
	for (size_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];
		if (!process->selected || !process->guarded)
			continue;
		any = true;
		/* Counts of the file are below 2^63; sums of three and more may wrap, and mean nothing. */
		for (int m = 0; m < GUARD_METHODS; m++)
			sum->blocks[m] += process->guard.blocks[m];
		sum->refused += process->guard.refused;
		if (process->guard.budget > sum->budget)
			sum->budget = process->guard.budget;
		if (process->guard.method != GUARD_CANARY)
			sum->method = process->guard.method;
	}
	return any;
}

void text_guards(struct text *t)
{
	struct rec_guard sum;
	char *body, number[UNITS_TEXT];
	size_t size;
	int parts = 0;
	if (!sum_guards(t->model, &sum))
		return;
	FILE *out = open_memstream(&body, &size);
	if (!out) {
		t->error = -ENOMEM;
		return;
	}
	if (sum.blocks[GUARD_MADVISE] || sum.method == GUARD_MADVISE)
		put_part(out, &parts, sum.blocks[GUARD_MADVISE],
			 sum.blocks[GUARD_MADVISE] == 1
				 ? "block by guard pages (MADV_GUARD_INSTALL)"
				 : "blocks by guard pages (MADV_GUARD_INSTALL)");
	if (sum.blocks[GUARD_MPROTECT])
		put_part(out, &parts, sum.blocks[GUARD_MPROTECT],
			 sum.blocks[GUARD_MPROTECT] == 1 ? "block by guard pages (mprotect)"
							 : "blocks by guard pages (mprotect)");
	put_part(out, &parts, sum.blocks[GUARD_CANARY],
		 parts				 ? "by canaries"
		 : sum.blocks[GUARD_CANARY] == 1 ? "block by canaries"
						 : "blocks by canaries");
	if (sum.blocks[GUARD_CANARY])
		fputs(" (checked only when freed)", out);
	if (sum.blocks[GUARD_NONE])
		put_part(out, &parts, sum.blocks[GUARD_NONE], "not at all");
	if (sum.blocks[GUARD_MPROTECT] && sum.budget)
		fprintf(out, "; at most %s guard page%s at a time", units_count(number, sum.budget),
			sum.budget == 1 ? "" : "s");
	if (sum.refused)
		fprintf(out,
			"; %s block%s found no guard: the budget was spent, or the kernel refused",
			units_count(number, sum.refused), sum.refused == 1 ? "" : "s");
	if (fclose(out))
		t->error = -ENOMEM;
	else
		text_paragraph(t, "Guarded", TEXT_PLAIN, body);
	free(body);
}

void text_errors_summary(struct text *t)
{
	const struct model *model = t->model;
	size_t kinds[ERROR_KINDS] = { 0 };
	struct rec_guard guard;
	char *body;
	size_t size;
	int parts = 0;
	if (!model->error_count) {
		if (model->errors_elsewhere)
			text_paragraph(t, "Errors", TEXT_WARN,
				       "none here, but in other processes: --all shows them");
		else if (sum_guards(model, &guard))
			text_paragraph(t, "Errors", TEXT_PLAIN, "none");
		return;
	}
	FILE *out = open_memstream(&body, &size);
	if (!out) {
		t->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < model->error_count; i++)
		kinds[model->errors[i].rec.kind]++;
	for (int kind = 1; kind < ERROR_KINDS; kind++) {
		if (kinds[kind])
			put_part(out, &parts, kinds[kind], error_kind_name((enum error_kind)kind));
	}
	if (model->errors_elsewhere)
		fputs("; more in other processes: --all shows them", out);
	if (fclose(out))
		t->error = -ENOMEM;
	else
		text_paragraph(t, "Errors", TEXT_WARN, body);
	free(body);
}

/* The frames of a stack, malloc'ed; NULL when there are none, or no memory. */
static struct shown_frame *take_frames(struct text *t, uint32_t node, size_t *count)
{
	struct frame_walk walk = frame_walk_start(t->model, node);
	struct shown_frame frame, *frames;
	for (*count = 0; frame_walk_next(&walk, &frame);)
		(*count)++;
	if (!*count)
		return NULL;
	frames = calloc(*count, sizeof(*frames));
	if (!frames) {
		t->error = -ENOMEM;
		*count = 0;
		return NULL;
	}
	walk = frame_walk_start(t->model, node);
	for (size_t i = 0; i < *count; i++)
		frame_walk_next(&walk, &frames[i]);
	return frames;
}

static void put_error(struct text *t, const struct model_error *error)
{
	int frames = t->report->options->frames;
	struct error_text shown = { .rec = &error->rec,
				    .frames = frames ? (size_t)frames : SIZE_MAX - 1 };
	for (int i = 0; i < ERROR_STACKS; i++)
		shown.stacks[i].frames = take_frames(t, error->nodes[i], &shown.stacks[i].count);
	error_text_put(t, &shown);
	for (int i = 0; i < ERROR_STACKS; i++)
		free((void *)shown.stacks[i].frames);
}

void text_errors(struct text *t)
{
	size_t top = (size_t)t->report->options->top;
	size_t shown = top && top < t->model->error_count ? top : t->model->error_count;
	char number[UNITS_TEXT], remark[96];
	for (size_t i = 0; i < shown; i++) {
		fputc('\n', t->out);
		put_error(t, &t->model->errors[i]);
	}
	if (shown == t->model->error_count)
		return;
	snprintf(remark, sizeof(remark), "%s more error%s (--top N shows more)",
		 units_count(number, t->model->error_count - shown),
		 t->model->error_count - shown == 1 ? "" : "s");
	fputc('\n', t->out);
	text_remark(t, 0, TEXT_PLAIN, remark);
}
