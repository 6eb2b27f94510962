/* SPDX-License-Identifier: MIT */
/*
 * Short ways from a hook's caller to a kept frame that were gone before (stack_cache.h).  A program calls the allocator from
 * many places between two calls of the frames further out: their ways differ by a few frames, and come again and again.
 *
 * A way is a function of the first frame's slot, return address and frame pointer, and of the words read on it.  When all
 * are what they were, and the kept frame it led to is still the end of the same stack (same slot, same node, its own
 * words checked as always), the stack is the same as it was then.
 */
#ifndef MEMTRACK_AGENT_STACK_MEMO_H
#define MEMTRACK_AGENT_STACK_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/stack_cache.h"

/* The two places of the ways that begin so. */
static inline struct stack_memo *stack_memo_pair(struct stack_cache *c, uintptr_t slot,
						 uintptr_t address)
{
	uint64_t h = (address ^ slot << 20) * 0x9e3779b97f4a7c15ull;

	return &c->memos[2 * (h >> (64 - STACK_MEMO_BITS))];
}

static inline bool stack_memo_holds(const struct stack_memo *m, const uintptr_t *frame)
{
	const struct stack_frame *base = m->base;

	if (m->slot != (uintptr_t)&frame[1] || m->address != frame[1] ||
	    (m->fp_needed && m->fp != frame[0]))
		return false;
	if (!(base->flags & FRAME_KEPT) || base->slot != m->base_slot ||
	    base->node != m->base_node || (base->flags & FRAME_FP_NEEDED && base->fp != m->base_fp))
		return false;
	/* Unused checks hold. */
	for (int i = 0; i < STACK_MEMO_CHECKS; i++)
		if (!stack_check_holds(&m->checks[i]))
			return false;
	return true;
}

/* The way from a hook's frame to the end of its stack, when it is known; NULL: it is not.  The load map is as c->modules
 * says. */
static inline const struct stack_memo *stack_memo_find(struct stack_cache *c,
						       const uintptr_t *frame)
{
	const struct stack_memo *m = stack_memo_pair(c, (uintptr_t)&frame[1], frame[1]);

	if (!stack_memo_holds(m, frame) && !stack_memo_holds(++m, frame))
		return NULL;
	return stack_checks_differ(c->checks, c->checks + m->base->checks) ? NULL : m;
}

/* Remembers the way just walked: c->walked, called by the kept frame c->top. */
void stack_memo_put(struct stack_cache *c, uint32_t node);
void stack_memo_forget(struct stack_cache *c);

#endif
