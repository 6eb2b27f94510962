/* SPDX-License-Identifier: MIT */
/* The kept frames and their nodes; see stack_cache.h. */
#include "agent/stack_cache.h"

#include "agent/layout.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "agent/rules.h"
#include "agent/stack_memo.h"
#include "agent/stack_tree.h"
#include "agent/stack_walk.h"

enum {
	FIRST_CHECKS = 512, /* two pages */
	CHECKS = 3,	    /* at most, for a frame */
	WAIT_MOST = 6,	    /* so many innermost frames are not kept at once; */
	WAIT = 3,	    /* when there are more, all but so many are */
	MOST_REPEATS = 4,   /* of a way, until its frames are kept */
	KEEP_OUTER_FROM =
		64, /* from this depth limit on, an eighth of it is for the outermost frames */
};

static uint32_t depth_limit = 256;
static uint32_t outer_frames = 32; /* of them, for the outermost frames of a longer stack */

void stack_cache_start(uint32_t depth)
{
	depth_limit = depth;
	outer_frames = depth >= KEEP_OUTER_FROM ? depth / 8 : 0;
}

void stack_cache_forget(struct stack_cache *c)
{
	stack_cache_collect(c); /* the walk may have been left at any point */
	c->last.slot = 0;
}

void stack_cache_reset(struct stack_cache *c)
{
	stack_cache_drop_walked(c);
	stack_cache_drop(c, NULL);
	c->last.slot = 0;
	stack_memory_reset(&c->memory);
}

/* Room for the checks of one more frame; when there is none, `checks` keep what they are. */
__attribute__((noinline, cold)) static bool grow_checks(struct stack_cache *c)
{
	static const uintptr_t nothing;
	uint32_t before = c->checks_capacity + STACK_CHECKS_BEFORE;
	uint32_t count = c->checks_capacity ? 2 * before : FIRST_CHECKS;
	struct stack_check *checks = rt_map(count * sizeof(*checks));

	if (!checks)
		return false;
	if (c->checks) {
		memcpy(checks, c->checks - STACK_CHECKS_BEFORE, before * sizeof(*checks));
		rt_unmap(c->checks - STACK_CHECKS_BEFORE, before * sizeof(*checks));
	}
	for (int i = 0; i < STACK_CHECKS_BEFORE; i++)
		checks[i].at = &nothing; /* and the value is 0 */
	c->checks = checks + STACK_CHECKS_BEFORE;
	c->checks_capacity = count - STACK_CHECKS_BEFORE;
	return true;
}

/* The checks that outward frames need, in the order a walk reads them: outward, so the last added is the first checked. */
struct seal {
	struct stack_check *checks;
	uint32_t count;
	bool lasting; /* all of these words can be read whenever the thread runs */
};

static inline void add_check(struct seal *s, const struct stack_memory *m, uintptr_t at,
			     uintptr_t value)
{
	s->checks[s->count++] = (struct stack_check){ (const uintptr_t *)at, value };
	s->lasting &= stack_memory_owns(m, at);
}

/* Adds the checks of the innermost kept frame, before another is put on it; before the outermost frame is put down, that
 * of the word at which the walk ended, if it was one. */
static inline struct seal seal(const struct stack_cache *c, const struct stack_frame *top)
{
	struct seal s = { c->checks, top ? top->checks : 0, true };
	uintptr_t fp_slot;

	if (__builtin_expect(!top, 0)) {
		if (c->end_slot)
			add_check(&s, &c->memory, c->end_slot, c->end_value);
		return s;
	}
	fp_slot = top->slot + (uintptr_t)top->fp_at;
	if (top->fp_at && top->flags & FRAME_FP_NEEDED)
		add_check(&s, &c->memory, fp_slot, top->fp);
	else if (top->fp_at)
		s.lasting &= stack_memory_owns(&c->memory, fp_slot);
	add_check(&s, &c->memory, top->slot, top->address);
	if (__builtin_expect(top->cfa_at != 0, 0))
		add_check(&s, &c->memory, top->slot + (uintptr_t)top->cfa_at, top->slot + 8);
	return s;
}

/* How the tree names a frame's address. */
static inline uintptr_t tree_address(const struct stack_frame *frame)
{
	return __builtin_expect(frame->flags & FRAME_INTERRUPTED, 0)
		       ? (frame->address - 1) | SEG_INTERRUPTED
		       : frame->address;
}

static inline uint32_t child_of(uint32_t parent, const struct stack_frame *frame)
{
	struct return_site *site = frame->site;
	uint64_t hint;
	uint32_t node;

	if (__builtin_expect(!site || frame->flags & FRAME_INTERRUPTED, 0))
		return stack_tree_child(parent, tree_address(frame));
	hint = __atomic_load_n(&site->child, __ATOMIC_ACQUIRE);
	if (hint >> 32 == parent)
		return (uint32_t)hint;
	node = stack_tree_child(parent, frame->address);
	if (node)
		__atomic_store_n(&site->child, (uint64_t)parent << 32 | node, __ATOMIC_RELEASE);
	return node;
}

/* The node of a frame that is the innermost of a stack longer than the limit: the outermost frames, a mark, the
 * innermost ones.  Their addresses are read outward and entered inward. */
static uint32_t node_of_cut(struct stack_cache *c, const struct stack_frame *frame)
{
	uint32_t inner = depth_limit - outer_frames, node = SEG_ROOT_DEPTH;

	if (!c->cut && !(c->cut = rt_map(depth_limit * sizeof(*c->cut))))
		return SEG_ROOT_NONE;
	for (uint32_t i = 0; i < inner; i++, frame = frame->outer)
		c->cut[i] = tree_address(frame);
	if (outer_frames) {
		while (frame->depth >= outer_frames)
			frame = frame->outer;
		node = frame->node ? stack_tree_child(frame->node, SEG_ADDRESS_CUT) : SEG_ROOT_NONE;
	}
	while (inner-- && node)
		node = stack_tree_child(node, c->cut[inner]);
	return node;
}

/* May this kept frame be joined later?  It must be on the stack of those outward of it, found from the kept words, and have
 * its node (there may have been no room for one just now). */
static inline bool can_keep(const struct stack_frame *f)
{
	return !(f->flags & FRAME_TRANSIENT) && (!f->outer || f->slot < f->outer->slot) &&
	       (f->node || f->depth >= depth_limit);
}

/* Makes the `count` outermost of the walked frames kept ones, each with its node.  *good is the innermost kept frame that a
 * later capture may join. */
static void adopt(struct stack_cache *c, uint32_t count, struct stack_frame **good)
{
	struct stack_frame *top = c->top, *frame = c->walked;
	uint32_t node = top ? top->node : c->root;

	for (; count; count--) {
		struct stack_frame *inner = frame->inner;
		uint32_t depth = top ? top->depth + 1u : 0;
		struct seal sealed;

		if ((top ? top->checks : 0) + CHECKS > c->checks_capacity && !grow_checks(c))
			break;
		sealed = seal(c, top);
		node = node && depth < depth_limit ? child_of(node, frame) : 0;
		frame->flags |= FRAME_KEPT;
		if (frame->fp_role == FP_USED)
			frame->flags |= FRAME_FP_NEEDED;
		else if (frame->fp_role == FP_PASSED && top)
			frame->flags |= top->flags & FRAME_FP_NEEDED;
		frame->outer = top;
		frame->depth = (uint16_t)depth;
		frame->node = node;
		frame->checks = sealed.count;
		if (*good == top && sealed.lasting && can_keep(frame))
			*good = frame;
		top = frame;
		frame = inner;
		c->walked_count--;
	}
	c->walked = frame;
	c->top = top;
}

/* Makes the innermost kept frame ready for the comparison in stack_capture. */
static inline void set_last(struct stack_cache *c)
{
	const struct stack_frame *top = c->top;

	if (!top || !top->node)
		return;
	c->last.slot = top->slot;
	c->last.address = top->address;
	c->last.fp = top->fp;
	c->last.fp_needed = top->flags & FRAME_FP_NEEDED;
	c->last.node = top->node;
	c->last.modules = c->modules;
	c->last.first = c->checks;
	c->last.end = c->checks + top->checks;
}

static bool begins_as_walked(const struct stack_cache *c, const uintptr_t *frame)
{
	return c->walked && c->walked_slot == (uintptr_t)&frame[1] && c->walked_address == frame[1];
}

/* The frames of the last capture that were not kept: kept after all when this one begins with the same. */
static void settle_walked(struct stack_cache *c, const uintptr_t *frame)
{
	struct stack_frame *good = c->top;

	if (begins_as_walked(c, frame)) {
		adopt(c, c->walked_count, &good);
		stack_cache_drop(c, good);
	}
	stack_cache_drop_walked(c);
}

/* A stack of which all frames are put down: longer than the limit, or with some that cannot be kept.  *good: as above. */
static uint32_t adopt_all(struct stack_cache *c, struct stack_frame *good)
{
	uint32_t node;

	adopt(c, c->walked_count, &good);
	if (__builtin_expect(c->walked || !c->top, 0)) {
		stack_cache_forget(c); /* no room */
		return SEG_ROOT_NONE;
	}
	if (!c->top->node && c->top->depth >= depth_limit)
		c->top->node = node_of_cut(c, c->top);
	node = c->top->node;
	stack_cache_drop(c, good);
	set_last(c);
	return node;
}

/* The node of the innermost walked frame, with as few frames put down as promise to be met again. */
static uint32_t adopt_some(struct stack_cache *c)
{
	struct stack_frame *good = c->top;
	uint32_t node;

	bool few = c->walked_count <= WAIT_MOST;

	if (!few) {
		adopt(c, c->walked_count - WAIT, &good);
		if (good != c->top)
			return adopt_all(c, good);
	}
	node = c->top ? c->top->node : c->root;
	for (const struct stack_frame *f = c->walked; f && node; f = f->inner)
		node = child_of(node, f);
	if (few && c->top && node)
		stack_memo_put(c, node);
	return node;
}

static inline bool is_within_limit(const struct stack_cache *c)
{
	return (c->top ? c->top->depth + 1u : 0) + c->walked_count <= depth_limit;
}

/* What was learnt in another state of the load map, or in one that may change at any moment, is worth nothing. */
__attribute__((noinline, cold)) static void start_anew(struct stack_cache *c, uint64_t modules)
{
	stack_cache_drop(c, NULL);
	if (c->stamp) /* else none was ever written, nor is its memory there */
		stack_memo_forget(c);
	c->modules = modules_closing(modules) ? UINT64_MAX : modules;
	c->stamp = rule_stamp(modules);
}

/* Goes a known way; 0: there is none, or it is gone so often that its frames had better be kept. */
static inline uint32_t recall(struct stack_cache *c, const uintptr_t *frame)
{
	const struct stack_memo *m = stack_memo_find(c, frame);

	if (!m)
		return 0;
	c->memo_repeats = m == c->memo ? c->memo_repeats + 1 : 0;
	c->memo = m;
	c->walked_slot = 0; /* what was walked before was not met this time */
	if (c->memo_repeats < MOST_REPEATS)
		return m->node;
	c->memo_repeats = 0;
	return 0;
}

uint32_t stack_capture_slowly(struct stack_cache *c, const uintptr_t *frame)
{
	uint64_t modules = modules_now();
	uint32_t node;

	if (__builtin_expect(c->modules == modules, 1)) {
		if (!begins_as_walked(c, frame) && (node = recall(c, frame)))
			return node;
	}
	c->last.slot = 0;
	if (c->walked)
		settle_walked(c, frame);
	if (__builtin_expect(c->modules != modules || !c->stamp, 0)) {
		if (!depth_limit) /* then nothing is ever kept, and every capture comes here */
			return SEG_ROOT_NONE;
		start_anew(c, modules);
	}
	stack_memory_enter(&c->memory, (uintptr_t)frame);
	stack_walk(c, frame);
	c->walked_slot = (uintptr_t)&frame[1];
	c->walked_address = frame[1];
	return c->walked && is_within_limit(c) ? adopt_some(c) : adopt_all(c, c->top);
}
