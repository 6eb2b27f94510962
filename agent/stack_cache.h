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
 * Not kept: a frame whose caller cannot be had from those words (RULE_HARD, signal frames), frames on another stack
 * than the outermost ones, and everything inward of them.
 */
#ifndef MEMTRACK_AGENT_STACK_CACHE_H
#define MEMTRACK_AGENT_STACK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/stack_memory.h"
#include "agent/unwind.h"

struct stack_frame {
	uintptr_t slot; /* where the return address was found */
	uintptr_t
		address; /* the return address; of an interrupted frame, one more than its address */
	uintptr_t fp;	 /* the frame pointer register after returning to `address` */
	uintptr_t fp_slot;  /* where that was saved; 0: it was still in the register */
	uintptr_t cfa_slot; /* the word that gave slot + 8, of a realigned callee; 0: none */
	uint32_t node;	    /* of the stack that ends here; 0: not asked for yet */
	uint32_t checks;    /* kept frames: how many checks those outward of it need; see below */
	bool transient;	    /* never kept, nor anything inward of it */
	bool interrupted;   /* by a signal: see struct seg_node */
};

struct frame_list {
	struct stack_frame *frames;
	uint32_t count, capacity;
};

/* The words of kept frames that must be as they were, outermost frame first: one to three for each frame. */
struct stack_check {
	const uintptr_t *at;
	uintptr_t value;
};

struct check_list {
	struct stack_check *checks;
	uint32_t count, capacity;
};

struct stack_cache {
	struct frame_list kept; /* outermost first */
	struct check_list
		checks; /* of all kept frames but the innermost, which is compared as a whole */
	struct frame_list walked; /* innermost first: frames of this capture not (yet) in `kept` */
	uint32_t generation;	  /* of the load map when `kept` was walked */
	uint32_t root;		  /* how the walk ended */
	uintptr_t end_slot,
		end_value; /* the word that is no return address, at which it ended; 0: none */
	struct stack_memory memory;
	struct unwind_cursor cursor;
};

/* Limits for all captures; once at start. */
void stack_cache_start(uint32_t depth);
/* For a thread that takes over a shard. */
void stack_cache_reset(struct stack_cache *cache);
/* The stack above a hook's frame: frame[0] is the caller's frame pointer, frame[1] the return address.  Returns the node;
 * SEG_ROOT_NONE when there is no room for it. */
uint32_t stack_capture(struct stack_cache *cache, const uintptr_t *frame);

#endif
