/* SPDX-License-Identifier: MIT */
/*
 * A hash index over things that live elsewhere (arrays of the model, the string
 * pool): it maps a hash to the non-zero 32-bit ids of what has that hash, and
 * asks the caller which of them is meant.  Nothing is ever removed.  All zero
 * is the empty index.
 */
#ifndef MEMTRACK_REPORT_HASH_INDEX_H
#define MEMTRACK_REPORT_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint32_t hash;
	uint32_t id; /* 0: free */
};

struct hash_index {
	struct hash_slot *slots;
	size_t slot_count; /* a power of two, or 0 */
	size_t used;	   /* < slot_count, so that a probe always meets a free slot */
};

/* Does the thing with this id equal what is looked for? */
typedef bool hash_equal(const void *wanted, uint32_t id);

void hash_index_release(struct hash_index *index);
/* The id with this hash for which equal() holds, or 0. */
uint32_t hash_index_find(const struct hash_index *index, uint32_t hash, hash_equal *equal,
			 const void *wanted);
/* 0 or -ENOMEM. */
int hash_index_add(struct hash_index *index, uint32_t hash, uint32_t id)
	__attribute__((warn_unused_result));

uint32_t hash_bytes(const void *bytes, size_t size);
/* Mixes one more number into a hash. */
uint32_t hash_mix(uint32_t hash, uint64_t value);

/*
 * Grows an array to hold at least `need` items: the new place, or NULL (the old
 * one stays valid).
 */
void *array_grow(void *items, size_t *capacity, size_t need, size_t item_size);

#endif
