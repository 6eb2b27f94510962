/* SPDX-License-Identifier: MIT */
/*
 * The block map: pointer -> (stack node, size), a shadow of the address space at 16 bytes a granule.  Three levels: two
 * small directories and leaves of 2 MiB, each for 4 MiB of addresses, mapped on first use.  No locks: a block has one
 * owner at a time.  Private memory, so a forked child inherits it.
 */
#ifndef MEMTRACK_AGENT_BLOCKS_H
#define MEMTRACK_AGENT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/rt/hidden.h"

enum block_state { BLOCK_UNKNOWN, BLOCK_LIVE, BLOCK_FREED };

struct block {
	enum block_state state;
	uint32_t node; /* of the stack that allocated it */
	uint64_t size; /* as asked for */
};

/*
 * An entry: 0, or bit 63 freed, bits 62-32 node, bits 31-0 size.  A size of 4 GiB - 1 or more is BLOCK_HUGE here and in
 * full in a side table.
 */
#define BLOCK_WAS_FREED (1ull << 63)
#define BLOCK_HUGE	0xffffffffull

enum {
	BLOCK_GRANULE_BITS = 4,
	BLOCK_LEAF_BITS = 18, /* entries of a leaf: 4 MiB of addresses */
	BLOCK_MIDDLE_BITS = 13,
	BLOCK_TOP_BITS = 12, /* 12 + 13 + 18 + 4 = 47 bits of user addresses */
};

extern HIDDEN uint64_t **blocks_top[1u << BLOCK_TOP_BITS];

/* The entry of an address, or NULL when nothing near it was ever recorded. */
static inline uint64_t *block_entry(uintptr_t address)
{
	const unsigned leaf_shift = BLOCK_GRANULE_BITS + BLOCK_LEAF_BITS;
	uint64_t **middle, *leaf;

	if (__builtin_expect(address >> 47, 0))
		return NULL;
	/* Acquire, as in table_at: the tables are zero when they are seen. */
	middle = __atomic_load_n(&blocks_top[address >> (leaf_shift + BLOCK_MIDDLE_BITS)],
				 __ATOMIC_ACQUIRE);
	if (__builtin_expect(!middle, 0))
		return NULL;
	leaf = __atomic_load_n(&middle[address >> leaf_shift & ((1u << BLOCK_MIDDLE_BITS) - 1)],
			       __ATOMIC_ACQUIRE);
	if (__builtin_expect(!leaf, 0))
		return NULL;
	return &leaf[address >> BLOCK_GRANULE_BITS & ((1u << BLOCK_LEAF_BITS) - 1)];
}

/* The entry of a block that is about to be recorded, which begins to be fetched; NULL: there is none yet. */
static inline uint64_t *block_expect(const void *block)
{
	uint64_t *entry = block_entry((uintptr_t)block);

	if (__builtin_expect(entry != NULL, 1))
		__builtin_prefetch(entry, 1);
	return entry;
}

/* The slow ways of the two below: new tables, huge blocks, sparse ranges. */
bool block_put_slowly(uintptr_t address, uint32_t node, uint64_t size, struct block *former);
struct block block_read_entry(uint64_t word, uintptr_t address);
struct block block_take_slowly(uintptr_t address);

/* Records a live block, at the entry that block_expect told.  False: no memory for the map; the block's free will be
 * unknown.  *former is BLOCK_LIVE when a live block was recorded there, whose free was never seen. */
static inline bool block_put_at(uint64_t *entry, const void *block, uint32_t node, uint64_t size,
				struct block *former)
{
	uint64_t word;

	if (__builtin_expect(entry && size < BLOCK_HUGE, 1)) {
		word = __atomic_load_n(entry, __ATOMIC_RELAXED);
		if (__builtin_expect(!word || word & BLOCK_WAS_FREED, 1)) {
			former->state = BLOCK_UNKNOWN;
			__atomic_store_n(entry, (uint64_t)node << 32 | size, __ATOMIC_RELAXED);
			return true;
		}
	}
	return block_put_slowly((uintptr_t)block, node, size, former);
}

static inline bool block_put(const void *block, uint32_t node, uint64_t size, struct block *former)
{
	return block_put_at(block_entry((uintptr_t)block), block, node, size, former);
}

/* What is known of a block that is being freed; it counts as freed from now on. */
static inline struct block block_take(const void *block)
{
	uint64_t *entry = block_entry((uintptr_t)block), word;
	struct block b;

	if (__builtin_expect(!entry, 0))
		return block_take_slowly((uintptr_t)block);
	word = __atomic_load_n(entry, __ATOMIC_RELAXED);
	b = (struct block){ BLOCK_LIVE, (uint32_t)(word >> 32), word & BLOCK_HUGE };
	if (__builtin_expect(!word || word & BLOCK_WAS_FREED || b.size == BLOCK_HUGE, 0))
		b = block_read_entry(word, (uintptr_t)block);
	if (word)
		__atomic_store_n(entry, word | BLOCK_WAS_FREED, __ATOMIC_RELAXED);
	return b;
}

/*
 * In a range of addresses [base, base + size), 4 MiB-aligned, no two blocks begin in the same 2^bits bytes: one entry for so
 * many is enough.  Once, before the first block; a leaf of the usual kind would take a page for each block.
 */
void blocks_sparse(uintptr_t base, uintptr_t size, unsigned bits);

/* Calls `visit` for all live blocks.  Only in a process with one thread (a forked child). */
void blocks_visit(void (*visit)(const struct block *block, void *context), void *context);

#endif
