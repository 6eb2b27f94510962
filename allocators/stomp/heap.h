/* SPDX-License-Identifier: MIT */
/*
 * Guarded blocks: one to a slot of the arena.
 *
 *   end of the slot (default):  [ guard ... | pattern, block, pattern for alignment | guard ]
 *   stomp:under:                [ guard | block, pattern | guard ... ]
 *
 * Only the pages that the block touches are open.  A freed block's pages are closed at once, and wait in the quarantine, a
 * queue, until so much was freed after them.  Threads: any.
 */
#ifndef MEMTRACK_ALLOCATORS_STOMP_HEAP_H
#define MEMTRACK_ALLOCATORS_STOMP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocators/stomp/arena.h"
#include "allocators/stomp/finding.h"

/* Who allocates or frees. */
struct stomp_caller {
	uint32_t node;	 /* its stack */
	uint32_t thread; /* from 1 */
};

bool heap_start(void);
/* Around a fork, by the thread that forks; after it in both: the heap is nobody's meanwhile. */
void heap_before_fork(void);
void heap_after_fork(bool in_child);

/* Zeroed.  NULL: no guards are to be had; *how says by what it is guarded else. */
void *heap_alloc(size_t size, size_t alignment, struct stomp_caller caller, enum stomp_guard *how);
/* Frees a block of the arena.  False: it is none, or was damaged: *finding says what is wrong.  A damaged block is freed
 * all the same. */
bool heap_free(void *block, struct stomp_caller caller, struct stomp_finding *finding);
/* The size asked for; false: no live block begins there. */
bool heap_size(const void *block, size_t *size);

/* Explains a fault at an address of the arena. */
void heap_explain(uintptr_t address, struct stomp_finding *finding);
/* What can be said of a pointer into the arena that is no live block. */
void heap_explain_free(uintptr_t address, struct stomp_finding *finding);
/* Opens the page of a fault, so that the program can go on. */
bool heap_let_pass(uintptr_t address);

#endif
