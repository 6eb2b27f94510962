/* SPDX-License-Identifier: MIT */
/* See error_text.h. */
#include "report/error_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/plumbing.h"
#include "report/recursion.h"
#include "report/render.h"
#include "report/text.h"
#include "report/units.h"

#define FRAME_INDENT   4
#define LABEL_ROOM_MIN 20

/* A sentence being made; taken by end_sentence. */
static FILE *begin_sentence(struct text *t, char **sentence, size_t *size)
{
	FILE *stream = open_memstream(sentence, size);
	if (!stream)
		t->error = -ENOMEM;
	return stream;
}

static void end_sentence(struct text *t, FILE *stream, char **sentence, enum text_style style)
{
	if (fclose(stream))
		t->error = -ENOMEM;
	else
		text_words(t, style, *sentence, 0, 2);
	free(*sentence);
}

static const char *tool_name(const struct rec_error *rec)
{
	return rec->source == ERROR_FROM_STOMP ? "memtrack stomp" : "memtrack";
}

static void put_headline(struct text *t, const struct rec_error *rec)
{
	char *text, number[UNITS_TEXT];
	size_t size;
	FILE *out = begin_sentence(t, &text, &size);
	if (!out)
		return;
	fprintf(out, "==%d==ERROR: %s: %s on address 0x%" PRIx64, rec->pid, tool_name(rec),
		error_kind_name(rec->kind), rec->address);
	if (rec->access)
		fprintf(out, " (%s)", error_access_name(rec->access));
	if (rec->thread)
		fprintf(out, " by thread %" PRIu32, rec->thread);
	if (rec->count > 1)
		fprintf(out, ", %s times in all", units_count(number, rec->count));
	end_sentence(t, out, &text, TEXT_WARN);
}

static int64_t offset_of(const struct rec_error *rec)
{
	return (int64_t)(rec->address - rec->block_address);
}

static bool is_free(const struct rec_error *rec)
{
	return rec->kind == ERROR_DOUBLE_FREE || rec->kind == ERROR_INVALID_FREE;
}

/* What the kind alone does not say. */
static void put_detail(struct text *t, const struct rec_error *rec)
{
	const char *in_realloc = rec->by_realloc ? ", in realloc" : "";
	char *text, number[UNITS_TEXT], offset[UNITS_TEXT];
	size_t size;
	if (!is_free(rec) && rec->kind != ERROR_CORRUPTION)
		return;
	FILE *out = begin_sentence(t, &text, &size);
	if (!out)
		return;
	if (rec->kind == ERROR_DOUBLE_FREE) {
		fprintf(out, "attempting to free a block that was freed already%s", in_realloc);
	} else if (rec->kind == ERROR_INVALID_FREE) {
		fprintf(out, "attempting to free a pointer that no allocation returned%s",
			in_realloc);
	} else {
		fprintf(out, "%s byte%s overwritten", units_count(number, rec->corrupt_bytes),
			rec->corrupt_bytes == 1 ? " was" : "s were");
		if (rec->has_block)
			fprintf(out, " from offset %s on",
				units_signed_count(offset, offset_of(rec)));
		fputs(rec->block_freed ? " after the block was freed, noticed later here:"
				       : ", noticed when the block was freed here:",
		      out);
	}
	end_sentence(t, out, &text, TEXT_PLAIN);
}

/* "#3 0x55d0c0a1b2c3 in fill /src/fill.c:12", or what is known of that. */
static void put_frame(struct text *t, const struct shown_frame *frame, size_t number)
{
	struct text_label label = text_frame_label(t, frame);
	const char *mark = frame->inlined ? " (inlined)" : "";
	char start[64];
	int length = frame->runtime ? snprintf(start, sizeof(start), "#%zu 0x%" PRIx64 " in ",
					       number, frame->runtime)
				    : snprintf(start, sizeof(start), "#%zu ", number);
	text_spaces(t, FRAME_INDENT);
	text_put(t, TEXT_DIM, start);
	if (t->width == SIZE_MAX) {
		/* As tools expect it that read such lines. */
		text_put(t, TEXT_PLAIN, label.name);
		fputs(*label.place ? " " : "", t->out);
		text_put(t, TEXT_DIM, label.place);
	} else {
		text_label_put(
			t, TEXT_PLAIN, &label,
			text_room(t, FRAME_INDENT + (size_t)length + strlen(mark), LABEL_ROOM_MIN));
	}
	text_put(t, TEXT_DIM, mark);
	fputc('\n', t->out);
	text_label_release(&label);
}

/* Without the startup frames at the outer end, unless there are no others. */
static size_t without_startup(const struct error_text_stack *stack)
{
	size_t last = 0;
	bool at_entry = false; /* whoever calls the entry is _start, named or not */
	for (size_t i = 0; i < stack->count; i++) {
		const struct shown_frame *frame = &stack->frames[i];
		if (!text_is_startup(frame) && !at_entry)
			last = i + 1;
		at_entry = frame->function && plumbing_entry(frame->function);
	}
	return last ? last : stack->count;
}

/* At most `limit` frames, what is repeated counting once; returns how many of all they stand for. */
static size_t put_frames(struct text *t, const struct shown_frame *frames, size_t count,
			 size_t limit, bool fold)
{
	size_t at = 0, shown = 0;
	/* One last frame takes no more room than the remark would. */
	while (at < count && (shown < limit || at + 1 == count)) {
		size_t times = 1;
		size_t period = fold ? recursion_period(frames + at, count - at, &times) : 0;
		bool repeats = period && period <= limit - shown;
		for (size_t i = 0; i < (repeats ? period : 1); i++, shown++)
			put_frame(t, &frames[at + i], at + i);
		if (repeats)
			text_repetition(t, period, times, FRAME_INDENT);
		at += repeats ? period * times : 1;
	}
	return at;
}

static void put_stack(struct text *t, const struct error_text *error, enum error_stack which)
{
	const struct error_text_stack *stack = &error->stacks[which];
	enum stack_end end = error->rec->stacks[which].end;
	size_t count = error->frames ? without_startup(stack) : stack->count;
	size_t limit = error->frames ? error->frames : SIZE_MAX;
	char remark[64];
	size_t shown = put_frames(t, stack->frames, count, limit, !error->standalone);
	if (shown < count) {
		snprintf(remark, sizeof(remark), "%zu more frames", count - shown);
		text_remark(t, FRAME_INDENT, TEXT_DIM, remark);
	}
	if (end != STACK_COMPLETE && stack->count)
		text_remark(t, FRAME_INDENT, TEXT_WARN, text_end_reason(end));
}

static void put_thread(FILE *out, const char *verb, uint32_t thread)
{
	fputs(verb, out);
	if (thread)
		fprintf(out, " by thread %" PRIu32, thread);
}

static void put_distance(FILE *out, const struct rec_error *rec)
{
	int64_t offset = offset_of(rec);
	char number[UNITS_TEXT];
	const char *relation = "inside";
	uint64_t distance = (uint64_t)offset;
	if (offset < 0) {
		relation = "before";
		distance = -(uint64_t)offset;
	} else if ((uint64_t)offset >= rec->block_size && !(is_free(rec) && offset == 0)) {
		relation = "after";
		distance = (uint64_t)offset - rec->block_size;
	}
	if (offset == 0 && is_free(rec))
		fputs("the start of", out);
	else
		fprintf(out, "located %s byte%s %s", units_count(number, distance),
			distance == 1 ? "" : "s", relation);
}

static void put_block(struct text *t, const struct error_text *error)
{
	const struct rec_error *rec = error->rec;
	char *text, number[UNITS_TEXT];
	size_t size;
	if (!rec->has_block)
		return;
	FILE *out = begin_sentence(t, &text, &size);
	if (!out)
		return;
	fprintf(out, "0x%" PRIx64 " is ", rec->address);
	put_distance(out, rec);
	fprintf(out, " a %sblock of %s byte%s [0x%" PRIx64 ",0x%" PRIx64 "), ",
		rec->block_freed		  ? "freed "
		: rec->kind == ERROR_INVALID_FREE ? "live "
						  : "",
		units_count(number, rec->block_size), rec->block_size == 1 ? "" : "s",
		rec->block_address, rec->block_address + rec->block_size);
	put_thread(out, "allocated", rec->allocated_thread);
	fputs(error->stacks[ERROR_ALLOCATED].count ? " here:" : " (the stack is not known)", out);
	end_sentence(t, out, &text, TEXT_PLAIN);
	put_stack(t, error, ERROR_ALLOCATED);
}

static void put_freed(struct text *t, const struct error_text *error)
{
	const struct rec_error *rec = error->rec;
	char *text;
	size_t size;
	if (!rec->block_freed)
		return;
	FILE *out = begin_sentence(t, &text, &size);
	if (!out)
		return;
	put_thread(out, "freed", rec->freed_thread);
	fputs(error->stacks[ERROR_FREED].count ? " here:" : " (the stack is not known)", out);
	end_sentence(t, out, &text, TEXT_PLAIN);
	put_stack(t, error, ERROR_FREED);
}

/* The frame that says most: the innermost of the program itself, named or not. */
static const struct shown_frame *telling_frame(const struct error_text_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++) {
		const struct shown_frame *frame = &stack->frames[i];
		if (!(frame->module && plumbing_module(frame->module)))
			return frame;
	}
	return stack->count ? stack->frames : NULL;
}

static void put_summary(struct text *t, const struct error_text *error)
{
	const struct shown_frame *frame = telling_frame(&error->stacks[ERROR_STACK]);
	bool full_paths = t->full_paths;
	fprintf(t->out, "SUMMARY: %s: %s", tool_name(error->rec),
		error_kind_name(error->rec->kind));
	if (frame) {
		t->full_paths = false;
		struct text_label label = text_frame_label(t, frame);
		t->full_paths = full_paths;
		fprintf(t->out, " %s%s%s", label.place, *label.place ? " in " : "", label.name);
		text_label_release(&label);
	}
	fputc('\n', t->out);
}

/* What was found at the free only is found at the instruction by another way to guard. */
static void put_hint(struct text *t, const struct rec_error *rec)
{
	if (rec->kind != ERROR_CORRUPTION || !rec->has_block || rec->block_freed)
		return;
	fprintf(t->out, "--malloc=stomp:%s stops at the write itself\n",
		offset_of(rec) < 0 ? "under" : "align=1");
}

void error_text_put(struct text *t, const struct error_text *error)
{
	if (error->standalone)
		fputs("=================================================================\n",
		      t->out);
	put_headline(t, error->rec);
	put_detail(t, error->rec);
	put_stack(t, error, ERROR_STACK);
	put_block(t, error);
	put_freed(t, error);
	if (error->rec->continued)
		fputs("the program goes on\n", t->out);
	put_hint(t, error->rec);
	if (error->standalone)
		put_summary(t, error);
}
