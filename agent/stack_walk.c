/* SPDX-License-Identifier: MIT */
/* Walking a stack; see stack_walk.h. */
#include "agent/stack_walk.h"

#include "agent/layout.h"
#include "agent/modules.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "agent/rules.h"

enum {
	FRAMES_AT_ONCE = 256, /* four pages */
	MOST_FRAMES = UINT16_MAX,
	OWN_FRAMES = 16, /* frames of the agent itself below a hook: far fewer */
};

/* -- the pool of frames ----------------------------------------------------------------------------- */

static void put_in_pool(struct stack_cache *c, struct stack_frame *chunk)
{
	for (uint32_t i = FRAMES_AT_ONCE; --i;) {
		chunk[i].outer = c->pool;
		chunk[i].flags = 0;
		c->pool = &chunk[i];
	}
}

void stack_cache_collect(struct stack_cache *c)
{
	c->top = c->walked = c->pool = NULL;
	c->walked_count = 0;
	for (struct stack_frame *chunk = c->chunks; chunk; chunk = chunk->outer)
		put_in_pool(c, chunk);
}

__attribute__((noinline, cold)) static bool refill(struct stack_cache *c)
{
	struct stack_frame *frames;

	if (c->frames + FRAMES_AT_ONCE > MOST_FRAMES)
		return false;
	frames = rt_map(FRAMES_AT_ONCE * sizeof(*frames));
	if (!frames)
		return false;
	c->frames += FRAMES_AT_ONCE;
	frames[0].outer = c->chunks;
	c->chunks = frames;
	put_in_pool(c, frames);
	return true;
}

/* A frame to fill in; NULL: there is no more room. */
static inline struct stack_frame *take(struct stack_cache *c)
{
	struct stack_frame *frame;

	if (__builtin_expect(!c->pool, 0) && !refill(c))
		return NULL;
	frame = c->pool;
	c->pool = frame->outer;
	return frame;
}

static inline void give(struct stack_cache *c, struct stack_frame *frame)
{
	frame->flags = 0; /* not kept any more */
	frame->outer = c->pool;
	c->pool = frame;
}

void stack_cache_drop(struct stack_cache *c, const struct stack_frame *until)
{
	while (c->top != until) {
		struct stack_frame *frame = c->top;

		c->top = frame->outer;
		give(c, frame);
	}
}

/* -- what is known of a frame's place --------------------------------------------------------------- */

/* Three values and, of a caller, where they came from: distances from the slot, as in struct stack_frame.  A fast rule is a
 * function from one to the next. */
struct place {
	uintptr_t slot, address, fp;
	int32_t fp_at, cfa_at; /* 0: not from memory */
};

static struct place place_of(const struct stack_frame *frame)
{
	return (struct place){ .slot = frame->slot, .address = frame->address, .fp = frame->fp };
}

/* A new walked frame, called by nobody yet. */
static inline struct stack_frame *add(struct stack_cache *c, const struct place *p)
{
	struct stack_frame *frame = take(c);

	if (!frame)
		return NULL;
	frame->slot = p->slot;
	frame->address = p->address;
	frame->fp = p->fp;
	frame->fp_at = p->fp_at;
	frame->cfa_at = p->cfa_at;
	frame->flags = 0;
	frame->inner = c->walked;
	c->walked = frame;
	c->walked_count++;
	return frame;
}

enum walk { WALK_ON, WALK_DONE, WALK_HARD };

static enum walk stop(struct stack_cache *c, uint32_t root)
{
	c->root = root;
	c->end_slot = 0;
	stack_cache_drop(c, NULL);
	return WALK_DONE;
}

/* -- meeting the kept frames ------------------------------------------------------------------------ */

/* Is this the innermost kept frame that is left?  Drops those that the walk has passed. */
static inline bool meets(struct stack_cache *c, const struct place *p)
{
	struct stack_frame *top = c->top;

	while (top && top->slot < p->slot) {
		struct stack_frame *outer = top->outer;

		give(c, top);
		top = outer;
	}
	c->top = top;
	return top && top->slot == p->slot && top->address == p->address &&
	       (!(top->flags & FRAME_FP_NEEDED) || top->fp == p->fp);
}

/* The words that led to the joining frame this time; the old ones may have been overwritten since. */
static inline void adopt_sources(struct stack_frame *top, const struct place *p)
{
	top->fp = p->fp;
	top->fp_at = p->fp_at;
	top->cfa_at = p->cfa_at;
}

/* The check of the innermost word that has changed outward of the innermost kept frame; NULL: none has. */
static inline const struct stack_check *difference(const struct stack_cache *c)
{
	return stack_checks_differ(c->checks, c->checks + c->top->checks);
}

/*
 * A word outward of the innermost kept frame has changed.  It belongs to the outermost frame with fewer checks outward of
 * it; the word at the end belongs to the outermost frame of all.  That frame is no more; those inward of it count as
 * walked, and the walk goes on from the last of them, *p.
 */
static void take_back(struct stack_cache *c, const struct stack_check *failed, struct place *p)
{
	uint32_t at = (uint32_t)(failed - c->checks);
	struct stack_frame *frame = c->top, *outer;

	for (;; frame = outer) {
		outer = frame->outer;
		frame->inner = c->walked;
		frame->flags = 0;
		c->walked = frame;
		c->walked_count++;
		if (!outer || outer->checks <= at)
			break;
		/* Not checked where it led nowhere, but here it may. */
		outer->fp = outer->fp_at
				    ? *(const uintptr_t *)(outer->slot + (uintptr_t)outer->fp_at)
				    : frame->fp;
	}
	*p = place_of(frame);
	c->top = outer;
	if (outer)
		stack_cache_drop(c, outer->outer);
}

/* -- by fast rules ---------------------------------------------------------------------------------- */

/* p -> its caller, by the frame pointer chain; the caller is checked when its rule is looked up. */
static bool follow_chain(struct place *p, struct stack_memory *memory)
{
	uintptr_t fp = p->fp;

	if (fp <= p->slot || !stack_memory_ok(memory, fp) || !stack_memory_ok(memory, fp + 8))
		return false;
	p->slot = fp + 8;
	p->address = *(const uintptr_t *)(fp + 8);
	p->fp = *(const uintptr_t *)fp;
	p->fp_at = -8;
	p->cfa_at = 0;
	return true;
}

/* How far a word is from the slot below a canonical frame address; 0: too far for the words of one frame. */
static int32_t distance(uintptr_t at, uintptr_t cfa)
{
	int64_t d = (int64_t)(at - (cfa - 8));

	return d == (int32_t)d ? (int32_t)d : 0;
}

/* Where the caller is found by a fast rule.  Of p all is set but the address; false: not to be read, or implausible. */
static inline bool find_words(unwind_rule rule, struct stack_memory *memory, struct place *p)
{
	uintptr_t at = p->fp + (uintptr_t)rule_cfa_offset(rule), cfa = at;
	int64_t save = rule_fp_save(rule);

	p->cfa_at = 0;
	p->fp_at = save ? 8 + 8 * (int32_t)save : 0;
	if (__builtin_expect(rule_kind(rule) == RULE_SP, 1)) {
		cfa = p->slot + 8 + (uintptr_t)rule_cfa_offset(rule);
	} else if (rule_kind(rule) == RULE_FP_DEREF) {
		if (!stack_memory_ok(memory, at))
			return false;
		cfa = *(const uintptr_t *)at;
		p->cfa_at = distance(at, cfa);
		p->fp_at = distance(p->fp + 8 * (uintptr_t)(save - 1), cfa);
		if (!p->cfa_at || !p->fp_at)
			return false;
	}
	p->slot = cfa - 8;
	return true;
}

static enum fp_role role_by(unwind_rule rule)
{
	switch (rule_kind(rule)) {
	case RULE_SP:
		return rule_fp_save(rule) ? FP_RESTORED : FP_PASSED;
	case RULE_OUTERMOST:
		return FP_RESTORED;
	default:
		return FP_USED;
	}
}

/* p -> its caller. */
static inline enum walk follow_fast(struct stack_cache *c, struct place *p, unwind_rule rule)
{
	uintptr_t callee = p->slot;

	if (!find_words(rule, &c->memory, p))
		return stop(c, SEG_ROOT_UNREADABLE);
	if (p->slot <= callee || p->slot % 8)
		return stop(c, SEG_ROOT_BAD_FRAME);
	if (!stack_memory_ok(&c->memory, p->slot))
		return stop(c, SEG_ROOT_UNREADABLE);
	if (p->fp_at) {
		uintptr_t fp_slot = p->slot + (uintptr_t)p->fp_at;

		if (!stack_memory_ok(&c->memory, fp_slot))
			return stop(c, SEG_ROOT_UNREADABLE);
		p->fp = *(const uintptr_t *)fp_slot;
	}
	p->address = *(const uintptr_t *)p->slot;
	return WALK_ON;
}

/* What ends the walk at an address that is no place of code.  The word may be another one next time. */
static enum walk stop_at(struct stack_cache *c, const struct place *p, bool by_chain)
{
	/* 0 is the convention for a thread's or fiber's first frame. */
	uint32_t root = p->address == 0 ? SEG_ROOT_COMPLETE
			: by_chain	? SEG_ROOT_NO_UNWIND
					: SEG_ROOT_BAD_FRAME;

	stop(c, root);
	c->end_slot = p->slot;
	c->end_value = p->address;
	return WALK_DONE;
}

static enum walk walk_fast(struct stack_cache *c, struct place p)
{
	bool by_chain = false, known = false; /* the frame at p is in the list of walked ones */

	for (;;) {
		struct stack_frame *frame;
		struct return_site *site;
		unwind_rule rule;

		if (meets(c, &p)) {
			const struct stack_check *failed;

			adopt_sources(c->top, &p);
			failed = difference(c);
			if (!failed)
				return WALK_DONE;
			take_back(c, failed, &p);
			known = true;
		}
		rule = rule_of(p.address, c->stamp, &c->cursor.work, &site);
		if (rule_kind(rule) == RULE_IMPLAUSIBLE && c->walked)
			return stop_at(c, &p, by_chain);
		frame = known ? c->walked : add(c, &p);
		if (!frame)
			return stop(c, SEG_ROOT_DEPTH);
		frame->site = site;
		frame->fp_role = (uint8_t)role_by(rule);
		by_chain = known = false;
		switch (rule_kind(rule)) {
		case RULE_OUTERMOST:
			return stop(c, SEG_ROOT_COMPLETE);
		case RULE_HARD:
			return WALK_HARD;
		case RULE_CHAIN:
		case RULE_IMPLAUSIBLE:
			by_chain = true;
			if (!follow_chain(&p, &c->memory))
				return stop(c, SEG_ROOT_NO_UNWIND);
			break;
		default:
			if (follow_fast(c, &p, rule) != WALK_ON)
				return WALK_DONE;
		}
	}
}

/* -- with all registers ----------------------------------------------------------------------------- */

static uint32_t root_of(enum unwind_result result)
{
	switch (result) {
	case UNWIND_OUTERMOST:
		return SEG_ROOT_COMPLETE;
	case UNWIND_NO_INFORMATION:
		return SEG_ROOT_NO_UNWIND;
	case UNWIND_UNREADABLE:
		return SEG_ROOT_UNREADABLE;
	default:
		return SEG_ROOT_BAD_FRAME;
	}
}

/* The cursor's frame. */
static struct place place_at(const struct unwind_cursor *cursor)
{
	return (struct place){
		.slot = cursor->slot,
		.address = cursor->registers[ARCH_REG_RA] + cursor->interrupted,
		.fp = cursor->registers[ARCH_REG_FP],
	};
}

static bool knows_fp(const struct unwind_cursor *cursor)
{
	return cursor->known >> ARCH_REG_FP & 1;
}

/* A frame without unwind information in the midst of a full walk. */
static enum unwind_result step_by_chain(struct unwind_cursor *cursor, struct stack_memory *memory)
{
	struct place p = place_at(cursor);

	if (!knows_fp(cursor) || !follow_chain(&p, memory))
		return UNWIND_NO_INFORMATION;
	cursor->registers[ARCH_REG_RA] = p.address;
	cursor->registers[ARCH_REG_FP] = p.fp;
	cursor->registers[ARCH_REG_SP] = p.slot + 8;
	cursor->known = 1u << ARCH_REG_RA | 1u << ARCH_REG_FP | 1u << ARCH_REG_SP;
	cursor->interrupted = false;
	cursor->slot = p.slot;
	return UNWIND_STEPPED;
}

/* Brings the cursor from here, inside the agent, to the hook's caller. */
__attribute__((noinline)) static bool start_full(struct stack_cache *c, uintptr_t first_slot)
{
	struct unwind_cursor *cursor = &c->cursor;

	ARCH_CAPTURE(cursor->registers);
	cursor->known = ARCH_CAPTURED;
	cursor->interrupted = false;
	cursor->slot = 0;
	for (int i = 0; i < OWN_FRAMES && cursor->slot != first_slot; i++)
		if (unwind_step(cursor, &c->memory) != UNWIND_STEPPED)
			return false;
	return cursor->slot == first_slot;
}

/* Fills in what the check of a kept frame needs when the step to it was by a fast rule. */
static bool explain_step(struct place *caller, const struct stack_frame *callee,
			 struct stack_cache *c)
{
	struct return_site *site;
	unwind_rule rule = rule_of(callee->address, c->stamp, &c->cursor.work, &site);
	struct place p = place_of(callee);

	if (callee->flags & FRAME_TRANSIENT || rule_kind(rule) == RULE_HARD)
		return false;
	if (rule_kind(rule) == RULE_CHAIN) {
		if (!follow_chain(&p, &c->memory))
			return false;
	} else if (rule_kind(rule) > RULE_FP_DEREF || !find_words(rule, &c->memory, &p) ||
		   p.slot != caller->slot) {
		return false;
	}
	caller->fp_at = p.fp_at;
	caller->cfa_at = p.cfa_at;
	return true;
}

void stack_cache_drop_walked(struct stack_cache *c)
{
	c->walked_count = 0;
	while (c->walked) {
		struct stack_frame *frame = c->walked;

		c->walked = frame->inner;
		give(c, frame);
	}
}

/* The same walk with all registers. */
static enum walk walk_full(struct stack_cache *c, uintptr_t first_slot)
{
	if (!start_full(c, first_slot))
		return stop(c, SEG_ROOT_BAD_FRAME); /* with what the fast walk had found */
	stack_cache_drop_walked(c);
	for (;;) {
		struct place p = place_at(&c->cursor);
		bool interrupted = c->cursor.interrupted,
		     transient = interrupted || !knows_fp(&c->cursor);
		struct stack_frame *frame, *previous = c->walked;
		struct return_site *site;
		enum unwind_result result;
		unwind_rule rule;

		if (previous && !explain_step(&p, previous, c))
			previous->flags |=
				FRAME_TRANSIENT; /* its caller cannot be had from the kept words */
		if (!transient && meets(c, &p) && !difference(c)) {
			adopt_sources(c->top, &p);
			return WALK_DONE;
		}
		rule = rule_of(p.address, c->stamp, &c->cursor.work, &site);
		if (previous && !interrupted && rule_kind(rule) == RULE_IMPLAUSIBLE)
			return stop_at(c, &p, false);
		frame = add(c, &p);
		if (!frame)
			return stop(c, SEG_ROOT_DEPTH);
		frame->site = site;
		frame->fp_role = (uint8_t)role_by(rule);
		frame->flags = (uint8_t)((interrupted ? FRAME_INTERRUPTED : 0) |
					 (transient ? FRAME_TRANSIENT : 0));
		if (rule_kind(rule) == RULE_OUTERMOST)
			return stop(c, SEG_ROOT_COMPLETE);
		result = unwind_step(&c->cursor, &c->memory);
		if (result == UNWIND_NO_INFORMATION)
			result = step_by_chain(&c->cursor, &c->memory);
		if (result != UNWIND_STEPPED)
			return stop(c, root_of(result));
	}
}

uint32_t stack_walk_from(struct unwind_cursor *cursor, struct stack_memory *memory,
			 struct stack_address *frames, uint32_t room, uint32_t *root)
{
	uint32_t count = 0;

	while (count < room) {
		enum unwind_result result;

		frames[count++] = (struct stack_address){ cursor->registers[ARCH_REG_RA],
							  cursor->interrupted };
		result = unwind_step(cursor, memory);
		if (result == UNWIND_NO_INFORMATION)
			result = step_by_chain(cursor, memory);
		if (result != UNWIND_STEPPED) {
			*root = root_of(result);
			return count;
		}
	}
	*root = SEG_ROOT_DEPTH;
	return count;
}

void stack_walk(struct stack_cache *c, const uintptr_t *frame)
{
	struct place first = {
		.slot = (uintptr_t)(frame + 1),
		.address = frame[1],
		.fp = frame[0],
		.fp_at = -8,
	};

	if (walk_fast(c, first) == WALK_HARD)
		walk_full(c, first.slot);
}
