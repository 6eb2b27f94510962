/* SPDX-License-Identifier: MIT */
/* The table of bad frees; see bad_frees.h.  Made when the first comes; most programs have none. */
#include "agent/bad_frees.h"

#include <stddef.h>

#include "agent/blocks.h"
#include "agent/growth.h"
#include "agent/layout.h"
#include "agent/segment.h"

static struct seg_bad_free *table;

static struct seg_bad_free *find_table(void)
{
	struct seg_bad_free *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	const size_t size = SEG_BAD_FREES * sizeof(*t);

	if (t || !rt_lock_try(&growth_lock))
		return t;
	if (!table && !segment->bad_frees)
		__atomic_store_n(&table, segment_alloc(size, size, &segment->bad_frees),
				 __ATOMIC_RELEASE);
	rt_unlock(&growth_lock);
	return table;
}

/* The place of a key, taken for it when it is new; NULL: all are taken. */
static struct seg_bad_free *find_place(struct seg_bad_free *t, uint64_t key, bool *is_new)
{
	uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32);

	for (uint32_t n = 0; n < SEG_BAD_FREES; n++, i++) {
		struct seg_bad_free *place = &t[i % SEG_BAD_FREES];
		uint64_t seen = 0;

		*is_new = __atomic_compare_exchange_n(&place->key, &seen, key, false,
						      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		if (*is_new || seen == key)
			return place;
	}
	return NULL;
}

void bad_free_count(const void *address, const struct block *block, uint32_t node, uint32_t thread)
{
	uint32_t allocated = block->state == BLOCK_FREED ? block->node : 0;
	uint64_t key = (uint64_t)allocated << 32 | node;
	struct seg_bad_free *t = key ? find_table() : NULL, *place;
	bool is_new;

	place = t ? find_place(t, key, &is_new) : NULL;
	if (!place)
		return;
	if (is_new) {
		place->address = (uintptr_t)address;
		place->size = allocated ? block->size : 0;
		place->state = block->state == BLOCK_FREED;
		place->thread = thread;
	}
	__atomic_fetch_add(&place->count, 1, __ATOMIC_RELAXED);
}

void bad_frees_forget(void)
{
	table = NULL;
}
