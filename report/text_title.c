/* SPDX-License-Identifier: MIT */
/* The first line of a text report: which command ran, how long, and what became of it. */
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "report/render.h"
#include "report/sentence.h"
#include "report/text.h"
#include "report/units.h"
#include "report/utf8.h"

#define COMMAND_WIDTH_MIN 20

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
static void put_command_and_fate(struct text *t, const char *command, const char *fate)
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
	sentence_command(&s, t->model, process);
	format_end(end, sizeof(end), &process->rec);
	snprintf(fate, sizeof(fate), "(pid %d) ran %s%s", process->rec.pid,
		 units_duration(duration, process->rec.duration_ns), end);
	char *command = sentence_take(t, &s);
	if (command)
		put_command_and_fate(t, command, fate);
	free(command);
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

void text_title(struct text *t)
{
	const struct model_process *single = report_single_process(t->model);
	if (single)
		put_process(t, single);
	else
		put_processes(t);
}
