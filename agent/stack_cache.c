/* SPDX-License-Identifier: MIT */
/* Stack capture; see stack_cache.h. */
#include "agent/stack_cache.h"

#include "agent/layout.h"
#include "agent/modules.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "agent/rules.h"
#include "agent/stack_tree.h"

enum {
	FIRST_CAPACITY = 340, /* frames: four pages */
	MOST_FRAMES = 1 << 16,
	KEEP_OUTER_FROM =
		64,	 /* from this depth limit on, an eighth of it is for the outermost frames */
	OWN_FRAMES = 16, /* frames of the agent itself below a hook: far fewer */
};

static uint32_t depth_limit = 256;
static uint32_t outer_frames = 32; /* of them, for the outermost frames of a longer stack */

void stack_cache_start(uint32_t depth)
{
	depth_limit = depth;
	outer_frames = depth >= KEEP_OUTER_FROM ? depth / 8 : 0;
}

void stack_cache_reset(struct stack_cache *cache)
{
	cache->kept.count = 0;
	stack_memory_reset(&cache->memory);
}

static bool make_room(struct frame_list *list)
{
	uint32_t capacity = list->capacity ? 2 * list->capacity : FIRST_CAPACITY;
	struct stack_frame *frames;

	if (list->count < list->capacity)
		return true;
	if (capacity > 2 * MOST_FRAMES || !(frames = rt_map(capacity * sizeof(*frames))))
		return false;
	memcpy(frames, list->frames, list->count * sizeof(*frames));
	if (list->frames)
		rt_unmap(list->frames, list->capacity * sizeof(*frames));
	list->frames = frames;
	list->capacity = capacity;
	return true;
}

static bool push(struct frame_list *list, const struct stack_frame *frame)
{
	if (!make_room(list))
		return false;
	list->frames[list->count++] = *frame;
	return true;
}

static bool push_check(struct check_list *list, uintptr_t at, uintptr_t value)
{
	if (list->count == list->capacity) {
		uint32_t capacity = list->capacity ? 2 * list->capacity : 2 * FIRST_CAPACITY;
		struct stack_check *checks = rt_map(capacity * sizeof(*checks));

		if (!checks)
			return false;
		memcpy(checks, list->checks, list->count * sizeof(*checks));
		if (list->checks)
			rt_unmap(list->checks, list->capacity * sizeof(*checks));
		list->checks = checks;
		list->capacity = capacity;
	}
	list->checks[list->count++] = (struct stack_check){ (const uintptr_t *)at, value };
	return true;
}

/* Adds the checks of the innermost kept frame, before another is put on it. */
static bool seal_top(struct stack_cache *c)
{
	const struct stack_frame *top = &c->kept.frames[c->kept.count - 1];

	c->checks.count = top->checks;
	/* In the order a walk reads them: outward, so the last added is the first checked. */
	return (!top->fp_slot || push_check(&c->checks, top->fp_slot, top->fp)) &&
	       push_check(&c->checks, top->slot, top->address) &&
	       (!top->cfa_slot || push_check(&c->checks, top->cfa_slot, top->slot + 8));
}

/* Before the outermost frame is put down: the word that ended the walk, if it was one. */
static bool seal_end(struct stack_cache *c)
{
	c->checks.count = 0;
	return !c->end_slot || push_check(&c->checks, c->end_slot, c->end_value);
}

static inline bool holds(const struct stack_check *check)
{
	return *check->at == check->value;
}

/* Checks the frames outward of the innermost kept one, and the word at which the walk ended.  False: *good of those
 * frames, from the innermost, are as they were. */
static inline bool verify(const struct stack_cache *c, uint32_t *good)
{
	uint32_t i = c->kept.count - 1;
	const struct stack_check *first = c->checks.checks,
				 *check = first + c->kept.frames[i].checks;

	/* One after the other, as a walk would read; four a turn. */
	while (check - first >= 4 && holds(&check[-1]) && holds(&check[-2]) && holds(&check[-3]) &&
	       holds(&check[-4]))
		check -= 4;
	while (check != first && holds(&check[-1]))
		check--;
	if (__builtin_expect(check == first, 1))
		return true;
	/* The failing check belongs to the outermost frame with fewer than that many checks outward of it; the word at
	 * the end to the outermost frame of all. */
	for (*good = 0;
	     *good + 1 < i && c->kept.frames[i - 1 - *good].checks >= (uint32_t)(check - first);
	     ++*good)
		;
	return false;
}

/* Is `frame` the innermost kept frame that is left?  Drops those that the walk has passed. */
static inline bool meets(struct frame_list *kept, const struct stack_frame *frame)
{
	const struct stack_frame *top;

	while (kept->count && kept->frames[kept->count - 1].slot < frame->slot)
		kept->count--;
	if (!kept->count)
		return false;
	top = &kept->frames[kept->count - 1];
	return top->slot == frame->slot && top->address == frame->address && top->fp == frame->fp;
}

enum walk { WALK_ON, WALK_DONE, WALK_HARD };

static enum walk stop(struct stack_cache *c, uint32_t root)
{
	c->root = root;
	c->end_slot = 0;
	c->kept.count = 0;
	return WALK_DONE;
}

/* The words that led to the joining frame this time; the old ones may have been overwritten since. */
static void adopt_sources(struct frame_list *kept, const struct stack_frame *frame)
{
	struct stack_frame *top = &kept->frames[kept->count - 1];

	top->fp_slot = frame->fp_slot;
	top->cfa_slot = frame->cfa_slot;
}

/* The frame is kept: either the whole rest is true (done), or the walk goes on from the last true frame. */
static enum walk join(struct stack_cache *c, struct stack_frame *frame)
{
	struct frame_list *kept = &c->kept;
	uint32_t good;

	adopt_sources(kept, frame);
	if (verify(c, &good))
		return WALK_DONE;
	if (kept->count == 1) {
		kept->count = 0; /* the walk goes on from the joining frame itself */
		return WALK_ON;
	}
	/* The good ones count as walked; the last of them is where the walk continues. */
	for (; good; good--)
		if (!push(&c->walked, &kept->frames[--kept->count]))
			return stop(c, SEG_ROOT_DEPTH);
	*frame = kept->frames[--kept->count];
	kept->count = kept->count ? kept->count - 1 : 0; /* the one that is no more */
	frame->node = 0;
	return WALK_ON;
}

/* frame -> its caller, by the frame pointer chain; the caller is checked when its rule is looked up. */
static bool follow_chain(struct stack_frame *frame, struct stack_memory *memory)
{
	uintptr_t fp = frame->fp;

	if (fp <= frame->slot || !stack_memory_ok(memory, fp) || !stack_memory_ok(memory, fp + 8))
		return false;
	frame->slot = fp + 8;
	frame->address = *(const uintptr_t *)(fp + 8);
	frame->fp = *(const uintptr_t *)fp;
	frame->fp_slot = fp;
	frame->cfa_slot = 0;
	return true;
}

/* The canonical frame address by a fast rule; 0: unreadable. */
static uintptr_t cfa_by(unwind_rule rule, struct stack_frame *frame, struct stack_memory *memory)
{
	uintptr_t at;

	frame->cfa_slot = 0;
	if (rule_kind(rule) == RULE_SP)
		return frame->slot + 8 + (uintptr_t)rule_cfa_offset(rule);
	at = frame->fp + (uintptr_t)rule_cfa_offset(rule);
	if (rule_kind(rule) == RULE_FP)
		return at;
	if (!stack_memory_ok(memory, at))
		return 0;
	frame->cfa_slot = at;
	return *(const uintptr_t *)at;
}

static enum walk follow_fast(struct stack_cache *c, struct stack_frame *frame, unwind_rule rule)
{
	uintptr_t fp = frame->fp, cfa = cfa_by(rule, frame, &c->memory);
	int64_t save = rule_fp_save(rule);

	if (!cfa)
		return stop(c, SEG_ROOT_UNREADABLE);
	if (cfa - 8 <= frame->slot || cfa % 8)
		return stop(c, SEG_ROOT_BAD_FRAME);
	if (!stack_memory_ok(&c->memory, cfa - 8))
		return stop(c, SEG_ROOT_UNREADABLE);
	frame->fp_slot = 0;
	if (save) {
		frame->fp_slot = rule_kind(rule) == RULE_FP_DEREF ? fp + 8 * (uintptr_t)(save - 1)
								  : cfa + 8 * (uintptr_t)save;
		if (!stack_memory_ok(&c->memory, frame->fp_slot))
			return stop(c, SEG_ROOT_UNREADABLE);
		frame->fp = *(const uintptr_t *)frame->fp_slot;
	}
	frame->slot = cfa - 8;
	frame->address = *(const uintptr_t *)frame->slot;
	return WALK_ON;
}

/* What ends the walk at a frame whose address is no place of code.  The word may be another one next time. */
static enum walk stop_at(struct stack_cache *c, const struct stack_frame *frame, bool by_chain)
{
	/* 0 is the convention for a thread's or fiber's first frame. */
	uint32_t root = frame->address == 0 ? SEG_ROOT_COMPLETE
			: by_chain	    ? SEG_ROOT_NO_UNWIND
					    : SEG_ROOT_BAD_FRAME;

	stop(c, root);
	c->end_slot = frame->interrupted ? 0 : frame->slot;
	c->end_value = frame->address;
	return WALK_DONE;
}

/* Walks by fast rules from the hook's caller. */
static enum walk walk_fast(struct stack_cache *c, struct stack_frame frame)
{
	bool by_chain = false;

	for (;;) {
		unwind_rule rule;
		enum walk w = WALK_ON;

		if (meets(&c->kept, &frame)) {
			w = join(c, &frame);
			if (w == WALK_DONE)
				return w;
		}
		rule = rule_of(frame.address, &c->cursor.work);
		if (rule_kind(rule) == RULE_IMPLAUSIBLE && c->walked.count)
			return stop_at(c, &frame, by_chain);
		if (c->walked.count >= MOST_FRAMES || !push(&c->walked, &frame))
			return stop(c, SEG_ROOT_DEPTH);
		frame.node = 0;
		by_chain = false;
		switch (rule_kind(rule)) {
		case RULE_OUTERMOST:
			return stop(c, SEG_ROOT_COMPLETE);
		case RULE_HARD:
			return WALK_HARD;
		case RULE_CHAIN:
		case RULE_IMPLAUSIBLE:
			by_chain = true;
			if (!follow_chain(&frame, &c->memory))
				return stop(c, SEG_ROOT_NO_UNWIND);
			break;
		default:
			w = follow_fast(c, &frame, rule);
			if (w != WALK_ON)
				return w;
		}
	}
}

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

/* The cursor's frame as a stack_frame. */
static struct stack_frame frame_at(const struct unwind_cursor *cursor)
{
	uint64_t pc = cursor->registers[ARCH_REG_RA];

	return (struct stack_frame){
		.slot = cursor->slot,
		.address = pc + cursor->interrupted,
		.fp = cursor->registers[ARCH_REG_FP],
		.interrupted = cursor->interrupted,
		.transient = cursor->interrupted || !(cursor->known >> ARCH_REG_FP & 1),
	};
}

/* A frame without unwind information in the midst of a full walk. */
static enum unwind_result step_by_chain(struct unwind_cursor *cursor, struct stack_memory *memory)
{
	struct stack_frame frame = frame_at(cursor);

	if (!(cursor->known >> ARCH_REG_FP & 1) || !follow_chain(&frame, memory))
		return UNWIND_NO_INFORMATION;
	cursor->registers[ARCH_REG_RA] = frame.address;
	cursor->registers[ARCH_REG_FP] = frame.fp;
	cursor->registers[ARCH_REG_SP] = frame.slot + 8;
	cursor->known = 1u << ARCH_REG_RA | 1u << ARCH_REG_FP | 1u << ARCH_REG_SP;
	cursor->interrupted = false;
	cursor->slot = frame.slot;
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
static bool explain_step(struct stack_frame *caller, const struct stack_frame *callee,
			 struct stack_cache *c)
{
	struct stack_frame copy = *callee;
	unwind_rule rule = rule_of(callee->address, &c->cursor.work);

	if (callee->transient || rule_kind(rule) == RULE_HARD)
		return false;
	if (rule_kind(rule) == RULE_CHAIN) {
		if (!follow_chain(&copy, &c->memory))
			return false;
	} else if (rule_kind(rule) > RULE_FP_DEREF ||
		   cfa_by(rule, &copy, &c->memory) != caller->slot + 8) {
		return false;
	} else {
		int64_t save = rule_fp_save(rule);

		copy.fp_slot = !save ? 0
			       : rule_kind(rule) == RULE_FP_DEREF
				       ? callee->fp + 8 * (uintptr_t)(save - 1)
				       : caller->slot + 8 + 8 * (uintptr_t)save;
	}
	caller->fp_slot = copy.fp_slot;
	caller->cfa_slot = copy.cfa_slot;
	return true;
}

/* The same walk with all registers. */
static enum walk walk_full(struct stack_cache *c, uintptr_t first_slot)
{
	if (!start_full(c, first_slot))
		return stop(c, SEG_ROOT_BAD_FRAME); /* with what the fast walk had found */
	c->walked.count = 0;
	for (;;) {
		struct stack_frame frame = frame_at(&c->cursor), *previous;
		enum unwind_result result;
		enum rule_kind kind;
		uint32_t good;

		previous = c->walked.count ? &c->walked.frames[c->walked.count - 1] : NULL;
		if (previous && !explain_step(&frame, previous, c))
			previous->transient =
				true; /* its caller cannot be had from the kept words */
		if (!frame.transient && meets(&c->kept, &frame) && verify(c, &good)) {
			adopt_sources(&c->kept, &frame);
			return WALK_DONE;
		}
		kind = rule_kind(rule_of(frame.address, &c->cursor.work));
		if (previous && !c->cursor.interrupted && kind == RULE_IMPLAUSIBLE)
			return stop_at(c, &frame, false);
		if (c->walked.count >= MOST_FRAMES || !push(&c->walked, &frame))
			return stop(c, SEG_ROOT_DEPTH);
		if (kind == RULE_OUTERMOST)
			return stop(c, SEG_ROOT_COMPLETE);
		result = unwind_step(&c->cursor, &c->memory);
		if (result == UNWIND_NO_INFORMATION)
			result = step_by_chain(&c->cursor, &c->memory);
		if (result != UNWIND_STEPPED)
			return stop(c, root_of(result));
	}
}

/* How the tree names a frame's address. */
static inline uintptr_t tree_address(const struct stack_frame *frame)
{
	return __builtin_expect(frame->interrupted, 0) ? (frame->address - 1) | SEG_INTERRUPTED
						       : frame->address;
}

/* The node of the frame at `index`, an innermost frame of a stack longer than the limit: the outermost frames, a
 * mark, the innermost ones. */
static uint32_t node_of_cut(struct frame_list *kept, uint32_t index)
{
	uint32_t inner = depth_limit - outer_frames;
	uint32_t node = SEG_ROOT_DEPTH;

	if (outer_frames && !kept->frames[outer_frames - 1].node)
		return SEG_ROOT_NONE;
	if (outer_frames)
		node = stack_tree_child(kept->frames[outer_frames - 1].node, SEG_ADDRESS_CUT);
	for (uint32_t i = index + 1 - inner; i <= index && node; i++)
		node = stack_tree_child(node, tree_address(&kept->frames[i]));
	return node;
}

/* Adds the walked frames to the kept ones, each with its node. */
static bool adopt(struct stack_cache *c)
{
	uint32_t node = c->kept.count ? c->kept.frames[c->kept.count - 1].node : c->root;

	while (c->walked.count) {
		struct stack_frame *frame = &c->walked.frames[--c->walked.count];

		frame->node = 0;
		if (c->kept.count < depth_limit)
			frame->node = node = node ? stack_tree_child(node, tree_address(frame)) : 0;
		if (!(c->kept.count ? seal_top(c) : seal_end(c)))
			return false;
		frame->checks = c->checks.count;
		if (!push(&c->kept, frame))
			return false;
	}
	return true;
}

/* May the frame at `index` be joined later?  It must be on the stack of those outward of it, found from the kept words,
 * and have its node (there may have been no room for one just now). */
static bool can_keep(const struct frame_list *kept, uint32_t index)
{
	const struct stack_frame *f = &kept->frames[index];

	return !f->transient && (!index || f->slot < kept->frames[index - 1].slot) &&
	       (f->node || index >= depth_limit);
}

/* Leaves only what a later capture may join. */
static void trim(struct frame_list *kept, uint32_t known)
{
	for (uint32_t i = known; i < kept->count; i++)
		if (!can_keep(kept, i)) {
			kept->count = i;
			return;
		}
}

uint32_t stack_capture(struct stack_cache *c, const uintptr_t *frame)
{
	struct stack_frame first = {
		.slot = (uintptr_t)(frame + 1),
		.address = frame[1],
		.fp = frame[0],
		.fp_slot = (uintptr_t)frame,
	};
	uint32_t generation = __atomic_load_n(&module_generation, __ATOMIC_ACQUIRE);
	uint32_t known, node;
	struct stack_frame *innermost;

	if (c->generation != generation || __atomic_load_n(&modules_closing, __ATOMIC_ACQUIRE)) {
		c->kept.count = 0;
		c->generation = generation;
	}
	c->walked.count = 0;
	stack_memory_enter(&c->memory, (uintptr_t)frame);
	if (walk_fast(c, first) == WALK_HARD)
		walk_full(c, first.slot);
	known = c->kept.count;
	if (!adopt(c)) {
		c->kept.count = 0;
		return SEG_ROOT_NONE;
	}
	innermost = &c->kept.frames[c->kept.count - 1];
	if (!innermost->node && c->kept.count > depth_limit)
		innermost->node = node_of_cut(&c->kept, c->kept.count - 1);
	node = innermost->node;
	trim(&c->kept, known);
	return node;
}
