/* SPDX-License-Identifier: MIT */
/* The block map; see blocks.h. */
#include "agent/blocks.h"

#include "agent/growth.h"
#include "agent/rt/sys.h"

/*
 * An entry: 0, or bit 63 freed, bits 62-32 node, bits 31-0 size.  A size of 4 GiB - 1 or more is HUGE_SIZE here and
 * in full in the side table.
 */
#define FREED	  (1ull << 63)
#define HUGE_SIZE 0xffffffffull

enum {
	GRANULE_BITS = 4,
	LEAF_BITS = 18, /* entries of a leaf: 4 MiB of addresses */
	MIDDLE_BITS = 13,
	TOP_BITS = 12, /* 12 + 13 + 18 + 4 = 47 bits of user addresses */
	SIDE_SIZE = 1024,
};

static uint64_t **top[1u << TOP_BITS];

/* Blocks of 4 GiB and more.  Under the growth lock. */
static struct {
	uintptr_t address;
	uint64_t size;
} side[SIDE_SIZE];

/* The table at *where, mapped when it is missing; the first of two threads wins. */
static void *table_at(void **where, size_t size)
{
	void *t = __atomic_load_n(where, __ATOMIC_ACQUIRE), *seen = NULL;

	if (t)
		return t;
	t = rt_map(size);
	if (!t)
		return NULL;
	if (__atomic_compare_exchange_n(where, &seen, t, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return t;
	rt_unmap(t, size);
	return seen;
}

static inline uint32_t top_index(uintptr_t address)
{
	return (uint32_t)(address >> (GRANULE_BITS + LEAF_BITS + MIDDLE_BITS));
}

static inline uint32_t middle_index(uintptr_t address)
{
	return (address >> (GRANULE_BITS + LEAF_BITS)) & ((1u << MIDDLE_BITS) - 1);
}

static inline uint32_t leaf_index(uintptr_t address)
{
	return (address >> GRANULE_BITS) & ((1u << LEAF_BITS) - 1);
}

__attribute__((noinline)) static uint64_t *make_entry(uintptr_t address)
{
	uint64_t **middle, *leaf;

	middle = table_at((void **)&top[top_index(address)], sizeof(uint64_t *) << MIDDLE_BITS);
	if (!middle)
		return NULL;
	leaf = table_at((void **)&middle[middle_index(address)], sizeof(uint64_t) << LEAF_BITS);
	return leaf ? &leaf[leaf_index(address)] : NULL;
}

/* The entry of an address, or NULL when nothing near it was ever recorded. */
static inline uint64_t *find_entry(uintptr_t address)
{
	uint64_t **middle, *leaf;

	if (address >> 47)
		return NULL;
	middle = __atomic_load_n(&top[top_index(address)], __ATOMIC_ACQUIRE);
	leaf = middle ? __atomic_load_n(&middle[middle_index(address)], __ATOMIC_ACQUIRE) : NULL;
	return leaf ? &leaf[leaf_index(address)] : NULL;
}

/* Puts a huge block's size aside (address != 0), or moves it out. */
static bool side_put(uintptr_t address, uint64_t size)
{
	bool done = false;

	if (!rt_lock_try(&growth_lock))
		return false;
	for (unsigned i = 0; i < SIDE_SIZE && !done; i++) {
		if (side[i].address && side[i].address != address)
			continue;
		side[i].address = address;
		side[i].size = size;
		done = true;
	}
	rt_unlock(&growth_lock);
	return done;
}

static uint64_t side_take(uintptr_t address)
{
	uint64_t size = HUGE_SIZE;

	if (!rt_lock_try(&growth_lock))
		return size;
	for (unsigned i = 0; i < SIDE_SIZE; i++)
		if (side[i].address == address) {
			size = side[i].size;
			side[i].address = 0;
			break;
		}
	rt_unlock(&growth_lock);
	return size;
}

static struct block read_entry(uint64_t word, uintptr_t address)
{
	struct block b = { BLOCK_UNKNOWN, 0, 0 };

	if (!word)
		return b;
	b.node = (uint32_t)(word >> 32) & 0x7fffffff;
	b.size = word & HUGE_SIZE;
	b.state = word & FREED ? BLOCK_FREED : BLOCK_LIVE;
	if (b.state == BLOCK_LIVE && b.size == HUGE_SIZE)
		b.size = side_take(address);
	return b;
}

bool block_put(const void *block, uint32_t node, uint64_t size, struct block *former)
{
	uintptr_t address = (uintptr_t)block;
	uint64_t *entry = find_entry(address);
	uint64_t short_size = size < HUGE_SIZE ? size : HUGE_SIZE;

	if (!entry)
		entry = address >> 47 ? NULL : make_entry(address);
	*former = read_entry(entry ? __atomic_load_n(entry, __ATOMIC_RELAXED) : 0, address);
	if (!entry || (short_size == HUGE_SIZE && !side_put(address, size)))
		return false;
	__atomic_store_n(entry, (uint64_t)(node & 0x7fffffff) << 32 | short_size, __ATOMIC_RELAXED);
	return true;
}

struct block block_take(const void *block)
{
	uintptr_t address = (uintptr_t)block;
	uint64_t *entry = find_entry(address);
	uint64_t word = entry ? __atomic_load_n(entry, __ATOMIC_RELAXED) : 0;
	struct block b = read_entry(word, address);

	if (word)
		__atomic_store_n(entry, word | FREED, __ATOMIC_RELAXED);
	return b;
}

static uint64_t side_size(uintptr_t address)
{
	for (unsigned i = 0; i < SIDE_SIZE; i++)
		if (side[i].address == address)
			return side[i].size;
	return HUGE_SIZE;
}

static void visit_leaf(const uint64_t *leaf, uintptr_t base,
		       void (*visit)(const struct block *, void *), void *context)
{
	for (uint32_t i = 0; i < 1u << LEAF_BITS; i++) {
		struct block b = { BLOCK_LIVE, (uint32_t)(leaf[i] >> 32), leaf[i] & HUGE_SIZE };

		if (!leaf[i] || leaf[i] & FREED)
			continue;
		if (b.size == HUGE_SIZE)
			b.size = side_size(base + ((uintptr_t)i << GRANULE_BITS));
		visit(&b, context);
	}
}

void blocks_visit(void (*visit)(const struct block *, void *), void *context)
{
	for (uint32_t t = 0; t < 1u << TOP_BITS; t++)
		for (uint32_t m = 0; top[t] && m < 1u << MIDDLE_BITS; m++)
			if (top[t][m])
				visit_leaf(top[t][m],
					   ((uintptr_t)t << MIDDLE_BITS | m)
						   << (LEAF_BITS + GRANULE_BITS),
					   visit, context);
}
