/* SPDX-License-Identifier: MIT */
/* The block map; see blocks.h. */
#include "agent/blocks.h"

#include "agent/growth.h"
#include "agent/rt/sys.h"

enum {
	SIDE_SIZE = 1024,
	SPARSE_AT_ONCE = 1 << 16, /* entries made writable at a time: 512 KiB */
};

uint64_t **blocks_top[1u << BLOCK_TOP_BITS];

/* Blocks of 4 GiB and more.  Under the growth lock. */
static struct {
	uintptr_t address;
	uint64_t size;
} side[SIDE_SIZE];

/* Where blocks lie far apart: no leaves are made for this range. */
static struct {
	uintptr_t base, size;
	unsigned bits;
	uint64_t *entries;
	uint64_t used;	/* entries from here on were never written, and cannot be read */
	uint64_t ready; /* entries below can be written; under the growth lock */
} sparse;

void blocks_sparse(uintptr_t base, uintptr_t size, unsigned bits)
{
	sparse.entries = rt_reserve((size >> bits) * sizeof(*sparse.entries));
	if (!sparse.entries)
		return;
	sparse.base = base;
	sparse.size = size;
	sparse.bits = bits;
}

static bool is_sparse(uintptr_t address)
{
	return address - sparse.base < sparse.size;
}

/* NULL: nothing was recorded there. */
static uint64_t *sparse_entry(uintptr_t address)
{
	uint64_t index = (address - sparse.base) >> sparse.bits;

	return index < __atomic_load_n(&sparse.used, __ATOMIC_ACQUIRE) ? &sparse.entries[index]
								       : NULL;
}

/* Makes entries up to and including `index` writable. */
static bool back_sparse(uint64_t index)
{
	uint64_t ready = (index / SPARSE_AT_ONCE + 1) * SPARSE_AT_ONCE;
	bool backed;

	if (!rt_lock_try(&growth_lock))
		return false;
	backed = ready <= sparse.ready || rt_use(&sparse.entries[sparse.ready],
						 (ready - sparse.ready) * sizeof(*sparse.entries));
	if (backed && ready > sparse.ready) {
		sparse.ready = ready;
		__atomic_store_n(&sparse.used, ready, __ATOMIC_RELEASE);
	}
	rt_unlock(&growth_lock);
	return backed;
}

static uint64_t *make_sparse_entry(uintptr_t address)
{
	uint64_t index = (address - sparse.base) >> sparse.bits;

	if (index >= __atomic_load_n(&sparse.used, __ATOMIC_ACQUIRE) && !back_sparse(index))
		return NULL;
	return &sparse.entries[index];
}

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

static uint64_t *make_entry(uintptr_t address)
{
	const unsigned leaf_shift = BLOCK_GRANULE_BITS + BLOCK_LEAF_BITS;
	uint64_t ***top = &blocks_top[address >> (leaf_shift + BLOCK_MIDDLE_BITS)], **middle;

	middle = table_at((void **)top, sizeof(uint64_t *) << BLOCK_MIDDLE_BITS);
	if (!middle)
		return NULL;
	middle += address >> leaf_shift & ((1u << BLOCK_MIDDLE_BITS) - 1);
	return table_at((void **)middle, sizeof(uint64_t) << BLOCK_LEAF_BITS) ? block_entry(address)
									      : NULL;
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
	uint64_t size = BLOCK_HUGE;

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

struct block block_read_entry(uint64_t word, uintptr_t address)
{
	struct block b = { BLOCK_UNKNOWN, 0, 0 };

	if (!word)
		return b;
	b.node = (uint32_t)(word >> 32) & 0x7fffffff;
	b.size = word & BLOCK_HUGE;
	b.state = word & BLOCK_WAS_FREED ? BLOCK_FREED : BLOCK_LIVE;
	if (b.state == BLOCK_LIVE && b.size == BLOCK_HUGE)
		b.size = side_take(address);
	return b;
}

struct block block_take_slowly(uintptr_t address)
{
	uint64_t *entry = is_sparse(address) ? sparse_entry(address) : NULL;
	uint64_t word = entry ? __atomic_load_n(entry, __ATOMIC_RELAXED) : 0;
	struct block b = block_read_entry(word, address);

	if (word)
		__atomic_store_n(entry, word | BLOCK_WAS_FREED, __ATOMIC_RELAXED);
	return b;
}

bool block_put_slowly(uintptr_t address, uint32_t node, uint64_t size, struct block *former)
{
	uint64_t *entry = is_sparse(address) ? make_sparse_entry(address) : block_entry(address);
	uint64_t short_size = size < BLOCK_HUGE ? size : BLOCK_HUGE;

	if (!entry && !is_sparse(address))
		entry = address >> 47 ? NULL : make_entry(address);
	*former = block_read_entry(entry ? __atomic_load_n(entry, __ATOMIC_RELAXED) : 0, address);
	if (!entry)
		return false;
	if (short_size == BLOCK_HUGE && !side_put(address, size)) {
		__atomic_store_n(entry, 0, __ATOMIC_RELAXED); /* what was there has gone */
		return false;
	}
	__atomic_store_n(entry, (uint64_t)node << 32 | short_size, __ATOMIC_RELAXED);
	return true;
}

/* Of the block that begins in the 2^bits bytes at an address. */
static uint64_t side_size(uintptr_t address, unsigned bits)
{
	for (unsigned i = 0; i < SIDE_SIZE; i++)
		if (side[i].address >> bits == address >> bits)
			return side[i].size;
	return BLOCK_HUGE;
}

static void visit_entries(const uint64_t *entries, uint64_t count, uintptr_t base, unsigned bits,
			  void (*visit)(const struct block *, void *), void *context)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t word = entries[i];
		struct block b = { BLOCK_LIVE, (uint32_t)(word >> 32), word & BLOCK_HUGE };

		if (!word || word & BLOCK_WAS_FREED)
			continue;
		if (b.size == BLOCK_HUGE)
			b.size = side_size(base + (i << bits), bits);
		visit(&b, context);
	}
}

void blocks_visit(void (*visit)(const struct block *, void *), void *context)
{
	for (uintptr_t t = 0; t < 1u << BLOCK_TOP_BITS; t++)
		for (uintptr_t m = 0; blocks_top[t] && m < 1u << BLOCK_MIDDLE_BITS; m++)
			if (blocks_top[t][m])
				visit_entries(blocks_top[t][m], 1u << BLOCK_LEAF_BITS,
					      (t << BLOCK_MIDDLE_BITS | m)
						      << (BLOCK_LEAF_BITS + BLOCK_GRANULE_BITS),
					      BLOCK_GRANULE_BITS, visit, context);
	visit_entries(sparse.entries, sparse.used, sparse.base, sparse.bits, visit, context);
}
