/* SPDX-License-Identifier: MIT */
/* Remembering ways; see stack_memo.h. */
#include "agent/stack_memo.h"

static const uintptr_t nothing;

/* Collects the checks of a way from its outer end; the first frame is compared as a whole. */
struct way {
	struct stack_check checks[STACK_MEMO_CHECKS];
	int left; /* free places, before those that are taken */
	const struct stack_memory
		*memory; /* words are to be in the thread's own stack, as for kept frames */
	bool fp_needed;	 /* of the frame added last */
};

static bool add_check(struct way *w, uintptr_t at, uintptr_t value)
{
	if (!w->left || !stack_memory_owns(w->memory, at))
		return false;
	w->checks[--w->left] = (struct stack_check){ (const uintptr_t *)at, value };
	return true;
}

/* The words by which the walk came to this frame, read before those of the frames further out. */
static bool add_words(struct way *w, const struct stack_frame *f)
{
	return !f->cfa_at && add_check(w, f->slot, f->address) &&
	       (!w->fp_needed || !f->fp_at || add_check(w, f->slot + (uintptr_t)f->fp_at, f->fp));
}

static bool add_frame(struct way *w, const struct stack_frame *f)
{
	w->fp_needed = f->fp_role == FP_USED || (f->fp_role == FP_PASSED && w->fp_needed);
	return !f->inner || add_words(w, f);
}

void stack_memo_put(struct stack_cache *c, uint32_t node)
{
	const struct stack_frame *base = c->top, *f, *first = NULL;
	struct way w = { .left = STACK_MEMO_CHECKS, .memory = &c->memory };
	struct stack_memo *m;

	w.fp_needed = base->flags & FRAME_FP_NEEDED;
	if (!add_words(&w, base))
		return;
	for (f = c->walked; f; f = f->inner) {
		if (f->flags || !add_frame(&w, f))
			return;
		first = f;
	}
	while (w.left)
		w.checks[--w.left] = (struct stack_check){ &nothing, 0 };
	m = stack_memo_pair(c, first->slot, first->address) + (c->memo_turn++ & 1);
	*m = (struct stack_memo){
		.slot = first->slot,
		.address = first->address,
		.fp = first->fp,
		.base = base,
		.base_slot = base->slot,
		.base_fp = base->fp,
		.base_node = base->node,
		.node = node,
		.fp_needed = w.fp_needed,
	};
	for (int i = 0; i < STACK_MEMO_CHECKS; i++)
		m->checks[i] = w.checks[i];
}

void stack_memo_forget(struct stack_cache *c)
{
	for (int i = 0; i < 2 << STACK_MEMO_BITS; i++)
		c->memos[i].slot = 0;
}
