/* SPDX-License-Identifier: MIT */
/* Stacks of the library's own, by the agent's verified cache (agent/stack_cache.h), put down in private memory. */
#ifndef MEMTRACK_ALLOCATORS_STOMP_STACKS_H
#define MEMTRACK_ALLOCATORS_STOMP_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "allocators/stomp/heap.h"

bool stacks_start(void);
/* The stack and thread of a hook's caller; `frame` is the hook's own frame. */
struct stomp_caller stacks_caller(const uintptr_t *frame);
uint32_t stacks_thread(void);

/* The frames of a node, or of a context, from the innermost, at most STOMP_DEPTH; returns how many.  *root: enum seg_root.
 * Their modules are those of the load map (agent/modules.h).  One thread at a time. */
uint32_t stacks_of_node(uint32_t node, struct stomp_frame *frames, uint32_t *root);
uint32_t stacks_of_context(const ucontext_t *context, struct stomp_frame *frames, uint32_t *root);

void stacks_before_fork(void);
void stacks_after_fork(bool in_child);

#endif
