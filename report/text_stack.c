/* SPDX-License-Identifier: MIT */
/* One stack in the table of a text report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/known_stacks.h"
#include "report/model.h"
#include "report/plumbing.h"
#include "report/recursion.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/text.h"

#define LABEL_WIDTH_MIN 20

/* The frames to show, from the site outward. */
struct frames {
	struct shown_frame *items; /* malloc'ed */
	size_t count;
	size_t common; /* from here on it is the stack that was shown before; else count */
};

static void put_frame(struct text *t, const struct shown_frame *frame, size_t indent)
{
	struct text_label label = text_frame_label(t, frame);
	const char *mark = frame->inlined ? " (inlined)" : "";
	text_spaces(t, indent);
	text_label_put(t, TEXT_PLAIN, &label, text_room(t, indent + strlen(mark), LABEL_WIDTH_MIN));
	text_put(t, TEXT_DIM, mark);
	fputc('\n', t->out);
	text_label_release(&label);
}

/* Without the startup frames at the outer end, unless there are no others. */
static size_t count_frames(struct frame_walk walk)
{
	struct shown_frame frame;
	size_t count = 0, last = 0;
	bool at_entry = false; /* whoever calls the entry is _start, named or not */
	while (frame_walk_next(&walk, &frame)) {
		count++;
		if (!text_is_startup(&frame) && !at_entry)
			last = count;
		at_entry = frame.function && plumbing_entry(frame.function);
	}
	return last ? last : count;
}

/* Moves to the stack's site and says through which plumbing it allocated. */
static struct frame_walk skip_plumbing(struct text *t, uint32_t node, size_t indent)
{
	struct frame_ref site = finder_site(&t->report->table->finder, node);
	struct frame_walk walk = frame_walk_start(t->model, node), start = walk;
	struct shown_frame frame, outermost = { 0 };
	size_t skipped = 0;
	while (site.location && frame_walk_next(&walk, &frame)) {
		if (frame.location == site.location && frame.index == site.frame)
			break;
		outermost = frame;
		start = walk;
		skipped++;
	}
	if (skipped == 0)
		return start;
	struct text_label label = text_frame_label(t, &outermost);
	text_spaces(t, indent);
	text_put(t, TEXT_DIM, "via ");
	label.place[0] = '\0';
	text_label_put(t, TEXT_DIM, &label, text_room(t, indent + 4, LABEL_WIDTH_MIN));
	fputc('\n', t->out);
	text_label_release(&label);
	return start;
}

/* The node from which on two stacks are the same; 0 when they share nothing. */
static uint32_t common_node(const struct model *model, uint32_t a, uint32_t b)
{
	/* A parent's id is always the smaller one. */
	while (a != b) {
		if (a > b)
			a = model->nodes[a].parent;
		else
			b = model->nodes[b].parent;
	}
	return a;
}

/* Where the recording has no stacks, as it was asked for, none was lost. */
static const char *end_reason(const struct text *t, enum stack_end end)
{
	return end == STACK_UNATTRIBUTED && !t->model->totals.unattributed
		       ? "no stack: recorded without"
		       : text_end_reason(end);
}

static bool take_frames(struct text *t, struct frame_walk walk, uint32_t common,
			struct frames *frames)
{
	size_t count = count_frames(walk);
	*frames = (struct frames){ calloc(count + 1, sizeof(*frames->items)), count, count };
	if (!frames->items) {
		t->error = -ENOMEM;
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (common && i && walk.node == common && walk.next == 0)
			frames->common = i;
		frame_walk_next(&walk, &frames->items[i]);
	}
	return true;
}

static void put_frames(struct text *t, const struct frames *frames, size_t indent)
{
	size_t limit = t->report->options->frames ? (size_t)t->report->options->frames : SIZE_MAX;
	char remark[64];
	size_t at = 0, shown = 0, times;
	while (at < frames->count) {
		size_t left = frames->count - at;
		/* One last frame takes no more room than the remark would. */
		if (left > 1 && (at == frames->common || shown >= limit)) {
			snprintf(remark, sizeof(remark), "%zu %s", left,
				 shown >= limit ? "more frames" : "frames as above");
			text_remark(t, indent, TEXT_DIM, remark);
			return;
		}
		size_t end = at < frames->common ? frames->common : frames->count;
		size_t period = recursion_period(frames->items + at, end - at, &times);
		bool repeats = period && period <= limit - shown;
		for (size_t i = 0; i < (repeats ? period : 1); i++, shown++)
			put_frame(t, &frames->items[at + i], indent);
		if (repeats)
			text_repetition(t, period, times, indent);
		at += repeats ? period * times : 1;
	}
}

static void put_known(struct text *t, const struct model_stack *stack, size_t indent)
{
	const struct known_stack *known = known_stack_find(t->model, stack);
	if (!known)
		return;
	text_spaces(t, indent);
	text_words(t, TEXT_DIM, known->remark, indent, indent);
}

void text_stack(struct text *t, const struct model_stack *stack, uint32_t previous, size_t indent)
{
	uint32_t common = previous ? common_node(t->model, previous, stack->node) : 0;
	struct frames frames;
	put_known(t, stack, indent);
	if (!take_frames(t, skip_plumbing(t, stack->node, indent), common, &frames))
		return;
	put_frames(t, &frames, indent);
	free(frames.items);
	if (stack->end != STACK_COMPLETE)
		text_remark(t, indent, TEXT_WARN, end_reason(t, stack->end));
}
