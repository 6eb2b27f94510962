/* SPDX-License-Identifier: MIT */
/*
 * The walk of a capture: from the hook's caller outward, until it meets the kept frames (stack_cache.h) or the stack ends.
 * By fast rules where they do, else with all registers.
 */
#ifndef MEMTRACK_AGENT_STACK_WALK_H
#define MEMTRACK_AGENT_STACK_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/stack_cache.h"

/* Fills c->walked, which is empty.  c->top is what the walked frames were called from, verified; when it is NULL, c->root
 * says why the stack ends.  frame: as for stack_capture. */
void stack_walk(struct stack_cache *c, const uintptr_t *frame);

/* A frame of a stack that is not put into the tree. */
struct stack_address {
	uintptr_t address; /* a return address, or that of an interrupted instruction */
	bool interrupted;
};

/* The whole stack from the cursor's frame on, with all registers; returns how many frames there are.  *root (enum seg_root)
 * says why the last is the outermost. */
uint32_t stack_walk_from(struct unwind_cursor *cursor, struct stack_memory *memory,
			 struct stack_address *frames, uint32_t room, uint32_t *root);

#endif
