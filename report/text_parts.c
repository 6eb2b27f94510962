/* SPDX-License-Identifier: MIT */
/* What rows are called that stand for threads and for sizes of blocks. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/model.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/size_class.h"
#include "report/text.h"
#include "report/units.h"

#define KIBIBYTE \
 1024 /* smaller classes are told by their two sizes, larger ones by powers of two */

/* "64 KiB" of a power of two. */
static const char *print_power(char text[UNITS_TEXT], uint64_t power)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	unsigned unit = 0;
	for (; power >= 1024 && unit < 3; unit++)
		power /= 1024;
	snprintf(text, UNITS_TEXT, "%" PRIu64 " %s", power, units[unit]);
	return text;
}

static struct text_label size_label(struct text *t, uint64_t least)
{
	char name[96], from[UNITS_TEXT], to[UNITS_TEXT];
	uint64_t most = size_class_most(least);
	if (most == least)
		snprintf(name, sizeof(name), "%" PRIu64 " B", least);
	else if (most < KIBIBYTE)
		snprintf(name, sizeof(name), "%" PRIu64 " to %" PRIu64 " B", least, most);
	else if (most == KIBIBYTE)
		snprintf(name, sizeof(name), "%" PRIu64 " B to %s", least, print_power(to, most));
	else if (most < UINT64_MAX)
		snprintf(name, sizeof(name), "> %s to %s", print_power(from, least - 1),
			 print_power(to, most));
	else
		snprintf(name, sizeof(name), "> %s", print_power(from, least - 1));
	return text_label_make(t, name, "");
}

static int print_thread(char **name, const struct model *model, const struct model_thread *thread)
{
	const char *known = model_text(model, thread->name);
	char count[UNITS_TEXT];
	if (thread->rec.inherited)
		return asprintf(name, "%" PRIu32 ": (inherited at fork)", thread->rec.number);
	if (!thread->rec.holders)
		return asprintf(name, "%" PRIu32 ": (signal handlers)", thread->rec.number);
	if (thread->rec.holders > 1)
		return asprintf(name, "%" PRIu32 ": %s (%s threads in turn)", thread->rec.number,
				known ? known : "(no name)",
				units_count(count, thread->rec.holders));
	if (!thread->rec.tid)
		return asprintf(name, "%" PRIu32 ": %s", thread->rec.number,
				known ? known : "(no name)");
	return asprintf(name, "%" PRIu32 ": %s (tid %" PRId32 ")", thread->rec.number,
			known ? known : "(no name)", thread->rec.tid);
}

static struct text_label thread_label(struct text *t, const struct model_thread *thread)
{
	const struct model_process *process = &t->model->processes[thread->process];
	char place[64] = "";
	char *name;
	if (print_thread(&name, t->model, thread) < 0)
		name = NULL;
	if (!report_single_process(t->model))
		snprintf(place, sizeof(place), "pid %d", process->rec.pid);
	struct text_label label = text_label_make(t, name, place);
	free(name);
	return label;
}

struct text_label text_part_label(struct text *t, const struct site *site)
{
	const struct model_part *part = &t->model->parts[site->part - 1];
	return part->kind == PART_THREAD ? thread_label(t, &t->model->threads[part->thread])
					 : size_label(t, part->key);
}

void text_part_note(struct text *t)
{
	const struct report *report = t->report;
	bool any = false;
	for (size_t i = 0; i < report->shown && !any; i++) {
		const struct costs *c = &report->table->sites[i].costs;
		any = c->peak_bytes < 0 || c->leaked_bytes < 0;
	}
	if (any && report->options->by == REPORT_BY_THREAD)
		text_paragraph(
			t, "Note", TEXT_PLAIN,
			"a thread's bytes at the peak, and those it leaked, are what it allocated "
			"less what it freed: below zero when it frees what others allocated.");
}
