/* SPDX-License-Identifier: MIT */
/* See timeline.h.  Called by the renderers. */
#include "report/timeline.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "report/model.h"

/* A sample put on the common clock, or the end of its process (all zero). */
struct event {
	int64_t t_ns;
	size_t order; /* as recorded: keeps the sort stable */
	uint32_t process;
	struct rec_sample sample;
};

static int64_t add_clamped(int64_t a, int64_t b)
{
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static int64_t subtract_clamped(int64_t a, int64_t b)
{
	return b == INT64_MIN ? INT64_MAX : add_clamped(a, -b);
}

static int64_t first_start(const struct model *model, uint32_t file)
{
	int64_t first = INT64_MAX;
	for (size_t i = 0; i < model->process_count; i++) {
		const struct model_process *p = &model->processes[i];
		if (p->selected && p->file == file && p->rec.start_time_ns < first)
			first = p->rec.start_time_ns;
	}
	return first;
}

static int by_time(const void *left, const void *right)
{
	const struct event *a = left, *b = right;
	if (a->t_ns != b->t_ns)
		return a->t_ns < b->t_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Samples and, after them, the ends of the processes. */
static size_t list_events(const struct model *model, struct event *events)
{
	size_t count = 0;
	int64_t *offsets = calloc(model->process_count + 1, sizeof(*offsets));
	if (!offsets)
		return SIZE_MAX;
	for (uint32_t i = 0; i < model->process_count; i++) {
		const struct model_process *p = &model->processes[i];
		if (!p->selected || model->totals.processes == 1)
			continue;
		offsets[i] = subtract_clamped(p->rec.start_time_ns, first_start(model, p->file));
		int64_t end = add_clamped(offsets[i], p->rec.duration_ns);
		/* SIZE_MAX: after the samples of the same moment. */
		events[count++] = (struct event){ end, SIZE_MAX, i, { end, 0, 0, 0 } };
	}
	for (size_t i = 0; i < model->sample_count; i++) {
		const struct model_sample *s = &model->samples[i];
		int64_t t_ns = add_clamped(s->sample.t_ns, offsets[s->process]);
		events[count++] = (struct event){ t_ns, i, s->process, s->sample };
	}
	free(offsets);
	return count;
}

static void replace(struct rec_sample *sum, struct rec_sample *old, const struct rec_sample *new)
{
	sum->heap_bytes =
		add_clamped(subtract_clamped(sum->heap_bytes, old->heap_bytes), new->heap_bytes);
	sum->blocks = add_clamped(subtract_clamped(sum->blocks, old->blocks), new->blocks);
	sum->rss_bytes =
		add_clamped(subtract_clamped(sum->rss_bytes, old->rss_bytes), new->rss_bytes);
	*old = *new;
}

int timeline_build(const struct model *model, struct rec_sample **points, size_t *count)
{
	size_t room = model->sample_count + model->process_count + 1;
	struct event *events = calloc(room, sizeof(*events));
	struct rec_sample *latest = calloc(model->process_count + 1, sizeof(*latest));
	*points = calloc(room, sizeof(**points));
	*count = 0;
	size_t event_count = events && latest && *points ? list_events(model, events) : SIZE_MAX;
	if (event_count == SIZE_MAX) {
		free(events);
		free(latest);
		free(*points);
		return -ENOMEM;
	}
	struct rec_sample sum = { 0 };
	qsort(events, event_count, sizeof(*events), by_time);
	for (size_t i = 0; i < event_count; i++) {
		replace(&sum, &latest[events[i].process], &events[i].sample);
		sum.t_ns = events[i].t_ns;
		(*points)[(*count)++] = sum;
	}
	free(events);
	free(latest);
	return 0;
}
