/* SPDX-License-Identifier: MIT */
/*
 * Blocks without guards: those beyond the budget or outside of what was asked to be guarded.  They come from the next
 * malloc, with a pattern on either side that is looked at when they are freed; a freed block is filled with the pattern, and
 * given back when so much was freed after it.  The agent's block map (agent/blocks.h), a copy of our own, knows which
 * pointers are blocks.
 *
 *   [ struct canary, ends with pattern | block | pattern ]
 *
 * Threads: any.
 */
#ifndef MEMTRACK_ALLOCATORS_STOMP_CANARY_H
#define MEMTRACK_ALLOCATORS_STOMP_CANARY_H

#include <stdbool.h>
#include <stddef.h>

#include "allocators/stomp/finding.h"
#include "allocators/stomp/heap.h"

/* As those of heap.h.  Only when the next malloc is known. */
void *canary_alloc(size_t size, size_t alignment, struct stomp_caller caller, bool zeroed);
bool canary_free(void *block, struct stomp_caller caller, struct stomp_finding *finding);
bool canary_size(const void *block, size_t *size);

void canary_before_fork(void);
void canary_after_fork(bool in_child);

#endif
