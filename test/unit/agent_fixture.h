/* SPDX-License-Identifier: MIT */
/*
 * The agent's parts at work inside a test program, which links all objects of the agent but hooks.o:
 * a segment in a folder of its own, and a reader of it that shares no code with the product.  Functions
 * whose names begin with fixture_ abort the program when the machine, not the agent, fails them.
 */
#ifndef MEMTRACK_TEST_UNIT_AGENT_FIXTURE_H
#define MEMTRACK_TEST_UNIT_AGENT_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/layout.h"

/* xorshift64*: the same numbers on every machine.  The state must not be 0. */
uint64_t fixture_random(uint64_t *state);
/* One of 0 ... count - 1. */
uint64_t fixture_below(uint64_t *state, uint64_t count);

/* Does what lifecycle.c does at a program's start, in this process, once. */
void fixture_start(uint32_t depth, uint32_t buckets);
/* Removes the folder. */
void fixture_stop(void);

/* The byte at an offset of the segment, read through a mapping of the file of our own. */
const void *fixture_at(uint64_t offset);
/* Record `index` of a segmented array: chunks counted off one by one. */
const void *fixture_record(const uint64_t *chunks, uint32_t first, size_t size, uint32_t index);
const struct seg_node *fixture_node(uint32_t id);

/* The return addresses of a stack, innermost first; returns how many there are (more than `room`: the
 * rest is left out) and the root. */
unsigned fixture_path(uint32_t node, uintptr_t *addresses, unsigned room, uint32_t *root);

/* A zeroed header that the agent takes for its segment, for tests that need no more; NULL: the real one
 * again, if there is one. */
void fixture_use_header(struct seg_header *header);

/* `size` bytes that end where unreadable memory begins, and begin after such memory when `size` is a
 * multiple of the page size. */
void *fixture_guarded(size_t size);

#endif
