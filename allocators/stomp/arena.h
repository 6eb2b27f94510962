/* SPDX-License-Identifier: MIT */
/*
 * The address space of guarded blocks: one range, reserved at start, so that one comparison tells its pointers from others.
 *
 *   arena: spans of 4 MiB, given out in order; each holds slots of one class, or is a part of one slot larger than a span
 *   slot:  [ data pages, as many as the class has | STOMP_GAP guard pages ]
 *
 * Pages are closed (guard.h) but for those of the block that lives in the slot.  A slot holds one block at a time and has a
 * record, which outlives the block: what is known of a freed one comes from there.
 *
 * Threads: arena_take and arena_give under the heap's lock; look-up by any thread, also in signal handlers.
 */
#ifndef MEMTRACK_ALLOCATORS_STOMP_ARENA_H
#define MEMTRACK_ALLOCATORS_STOMP_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocators/stomp/layout.h"

/* Three, so that what misses a block by a page or two still hits no other. */
#define STOMP_GAP 3u
/* Two blocks never begin in the same 2^STOMP_APART_BITS bytes: the gap is larger. */
#define STOMP_APART_BITS 13

enum stomp_state {
	SLOT_UNUSED = 0,
	SLOT_LIVE = 1,
	SLOT_FREEING = 2, /* by one thread, before the pages are closed */
	SLOT_FREED = 3,
};

/* Pages of a slot that are not as its state says. */
enum stomp_oddity {
	SLOT_UNCLOSED = 1, /* freed, but the kernel would not close its pages */
	SLOT_PASSED = 2,   /* others than the block's were opened after an error (stomp:continue) */
};

struct stomp_record {
	uintptr_t address; /* of the block */
	uint64_t size;
	struct stomp_record *next; /* in the quarantine, or among the free slots of its class */
	uint32_t state;		   /* enum stomp_state */
	uint32_t allocated, freed; /* stack nodes; 0: unknown */
	uint16_t allocated_by, freed_by; /* threads */
	uint32_t reserved;
	uint32_t odd; /* enum stomp_oddity */
};
_Static_assert(sizeof(struct stomp_record) == 48, "records of at most 64 bytes");

struct arena_slot {
	char *data, *end; /* of the pages for blocks; then the gap */
	struct stomp_record *record;
};

extern struct arena {
	uintptr_t base, size;
} stomp_arena;

static inline bool arena_owns(const void *address)
{
	return (uintptr_t)address - stomp_arena.base < stomp_arena.size;
}

/* Reserves the range.  False: there is no address space. */
bool arena_start(void);
/* A page that no slot will have. */
char *arena_spare_page(void);

/* A slot with room for `pages` pages, all closed; its record is as the last block left it. */
bool arena_take(size_t pages, struct arena_slot *slot);
/* The slot can be taken again. */
void arena_give(const struct arena_slot *slot);
/* The slot that an address lies in; false: none was made there. */
bool arena_find(uintptr_t address, struct arena_slot *slot);
/* The slot after this one in the address space; false: none is known. */
bool arena_following(const struct arena_slot *slot, struct arena_slot *next);
/* How the pages of a slot are guarded: there are few large ones, and guards for each of their pages would cost more than a
 * mapping. */
enum stomp_guard arena_guard(const struct arena_slot *slot);
/* The same of any page of the arena. */
enum stomp_guard arena_guard_at(uintptr_t address);
/* Bytes of address space that a slot takes. */
static inline size_t arena_slot_size(const struct arena_slot *slot)
{
	return (size_t)(slot->end - slot->data) + STOMP_GAP * 4096ul;
}

#endif
