/* SPDX-License-Identifier: MIT */
/*
 * The walk of a capture: from the hook's caller outward, until it meets the kept frames (stack_cache.h) or the stack ends.
 * By fast rules where they do, else with all registers.
 */
#ifndef MEMTRACK_AGENT_STACK_WALK_H
#define MEMTRACK_AGENT_STACK_WALK_H

#include <stdint.h>

#include "agent/stack_cache.h"

/* Fills c->walked, which is empty.  c->top is what the walked frames were called from, verified; when it is NULL, c->root
 * says why the stack ends.  frame: as for stack_capture. */
void stack_walk(struct stack_cache *c, const uintptr_t *frame);

#endif
