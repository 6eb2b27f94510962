/* SPDX-License-Identifier: MIT */
/*
 * Capturing a stack: the verified stack cache.
 *
 * A thread keeps the frames of its last stack.  A new capture walks from the innermost frame outward until its frame
 * is one of the kept ones: same slot (address of the return address), same return address, same frame pointer register.
 * A frame's caller is a function of exactly these three and of the words read on the way (the return address, the saved
 * frame pointer, and for realigned frames the saved CFA).  So when all those words, from the joining frame outward, are
 * what they were, the rest of the stack is what it was, and its node is known.  The check must go outward and
 * stop at the first difference: in that order it reads only what a plain walk would read.
 *
 * The frame pointer register counts only where it leads somewhere: where the rule of the frame, or of a frame further
 * out that sees the same value, computes an address from it.  In code built without frame pointers it is a register
 * like others, and neither compared nor checked.
 *
 * The innermost frames of a capture are kept only when the next one begins with the same: most often it does not, and
 * they would be put down for nothing.
 *
 * Never kept: a frame whose check needs memory other than the thread's own stack, which may be gone the next time (a
 * fiber's stack, a word that a stray frame pointer led to); a frame whose caller cannot be had from those words (RULE_HARD,
 * signal frames); frames on another stack than the outermost ones; and everything inward of them.
 */
#ifndef MEMTRACK_AGENT_STACK_CACHE_H
#define MEMTRACK_AGENT_STACK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/modules.h"
#include "agent/stack_memory.h"
#include "agent/unwind.h"

struct return_site;

/* What a frame's rule does with the frame pointer register. */
enum fp_role {
	FP_PASSED,   /* nothing: the caller finds it as it is */
	FP_RESTORED, /* the caller gets another value from memory; the present one leads nowhere */
	FP_USED,     /* the caller's place is computed from it */
};

enum frame_flags {
	/* Kept frames: `fp` leads somewhere, by its own rule or by that of a frame further out. */
	FRAME_FP_NEEDED = 1,
	FRAME_TRANSIENT = 2,   /* never kept, nor anything inward of it */
	FRAME_INTERRUPTED = 4, /* by a signal: see struct seg_node */
	FRAME_KEPT = 8,
};

/* One cache line.  Frames come from a pool of the thread's and are linked: walked frames become kept ones where they
 * are. */
struct stack_frame {
	uintptr_t slot; /* where the return address was found */
	uintptr_t
		address; /* the return address; of an interrupted frame, one more than its address */
	uintptr_t fp;	 /* the frame pointer register after returning to `address` */
	struct stack_frame *outer;
	struct return_site *site; /* what is known of `address`; NULL: nothing */
	union {
		struct stack_frame *inner; /* while walked: the frame this one called */
		struct {
			uint32_t node;	 /* of the stack that ends here; 0: there is none */
			uint32_t checks; /* how many checks the frames outward need; see below */
		};			 /* when kept */
	};
	int32_t fp_at;	/* slot + fp_at is where `fp` was saved; 0: it was still in the register */
	int32_t cfa_at; /* the same of the word that gave slot + 8, of a realigned callee; 0: none */
	uint16_t depth; /* kept frames: how many are outward */
	uint8_t fp_role;
	uint8_t flags; /* enum frame_flags */
};
_Static_assert(sizeof(struct stack_frame) == 64, "one cache line");

/* The words of kept frames that must be as they were, outermost frame first: one to three for each frame. */
struct stack_check {
	const uintptr_t *at;
	uintptr_t value;
};

enum { STACK_CHECKS_BEFORE = 3, STACK_MEMO_BITS = 7, STACK_MEMO_CHECKS = 6 };

/* A way from a hook's caller to a kept frame: see stack_memo.h. */
struct stack_memo {
	uintptr_t slot, address, fp;	/* of the first frame; slot 0: none */
	const struct stack_frame *base; /* the kept frame it led to, as it was then: */
	uintptr_t base_slot, base_fp;
	uint32_t base_node, node;
	struct stack_check checks[STACK_MEMO_CHECKS]; /* of the words between, from the innermost */
	bool fp_needed;
};

struct stack_cache {
	/* The innermost kept frame, and the checks outward of it, ready to be compared with the next event's. */
	struct {
		uintptr_t slot, address, fp; /* slot 0: nothing is kept */
		uint64_t modules;	     /* modules_state when the frames were walked */
		const struct stack_check *first, *end;
		uint32_t node;
		bool fp_needed;
	} last;
	uint64_t modules;	 /* as last.modules */
	uint64_t stamp;		 /* of rules, in that state */
	struct stack_frame *top; /* the innermost kept frame; NULL: none */
	/*
	 * Frames of the last capture that are not (yet) among the kept ones, from the outermost, which `top` called, to
	 * the innermost, which was found at walked_slot.
	 */
	struct stack_frame *walked;
	uintptr_t walked_slot, walked_address;
	uint32_t walked_count;
	struct stack_frame *pool;   /* free frames, linked by `outer` */
	struct stack_frame *chunks; /* all frames: the first of a chunk links to the next */
	struct stack_check *
		checks; /* of all kept frames but the innermost, which is compared as a whole; see there */
	uint32_t checks_capacity;
	uint32_t frames; /* made so far */
	uint32_t root;	 /* how the walk ended */
	uintptr_t *cut;	 /* room for the addresses of a stack longer than the limit */
	uintptr_t end_slot,
		end_value; /* the word that is no return address, at which it ended; 0: none */
	struct stack_memory memory;
	struct unwind_cursor cursor;
	const struct stack_memo *memo; /* that the last capture found */
	uint32_t memo_repeats;	       /* how often before, without another between */
	uint32_t memo_turn;	       /* which of two places is written next */
	struct stack_memo memos[2 << STACK_MEMO_BITS];
};

/* Limits for all captures; once at start.  0: there are no stacks, each capture gives SEG_ROOT_NONE. */
void stack_cache_start(uint32_t depth);
/* For a thread that takes over a shard. */
void stack_cache_reset(struct stack_cache *cache);
/* After a capture that was left before its end. */
void stack_cache_forget(struct stack_cache *cache);

/* Gives the walked frames back to the pool. */
void stack_cache_drop_walked(struct stack_cache *cache);
/* Puts all frames into the pool: nothing is kept or walked. */
void stack_cache_collect(struct stack_cache *cache);
/* Gives the kept frames from the innermost on up to, not including, `until` back to the pool. */
void stack_cache_drop(struct stack_cache *cache, const struct stack_frame *until);
uint32_t stack_capture_slowly(struct stack_cache *cache, const uintptr_t *frame);

static inline bool stack_check_holds(const struct stack_check *check)
{
	return *check->at == check->value;
}

/* The first check that fails, from the innermost before `end` outward to `first`: one after the other, as a walk would
 * read.  NULL: all hold.  Four a turn: before the first there are STACK_CHECKS_BEFORE others that always hold. */
static inline const struct stack_check *stack_checks_differ(const struct stack_check *first,
							    const struct stack_check *end)
{
	while (end > first && stack_check_holds(&end[-1]) && stack_check_holds(&end[-2]) &&
	       stack_check_holds(&end[-3]) && stack_check_holds(&end[-4]))
		end -= 4;
	if (__builtin_expect(end <= first, 1))
		return NULL;
	while (stack_check_holds(&end[-1]))
		end--;
	return end - 1;
}

/* The stack above a hook's frame: frame[0] is the caller's frame pointer, frame[1] the return address.  Returns the node;
 * SEG_ROOT_NONE when there is no room for it. */
static inline uint32_t stack_capture(struct stack_cache *c, const uintptr_t *frame)
{
	if (__builtin_expect(c->last.slot == (uintptr_t)&frame[1] && c->last.address == frame[1] &&
				     (!c->last.fp_needed || c->last.fp == frame[0]) &&
				     c->last.modules == modules_now() &&
				     !stack_checks_differ(c->last.first, c->last.end),
			     1))
		return c->last.node;
	return stack_capture_slowly(c, frame);
}

#endif
