/* SPDX-License-Identifier: MIT */
/*
 * Open addressing with linear probes.  Called by the string pool, the model and
 * the grouping.
 */
#include "report/hash_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void hash_index_release(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){ 0 };
}

uint32_t hash_index_find(const struct hash_index *index, uint32_t hash, hash_equal *equal,
			 const void *wanted)
{
	if (!index->slot_count)
		return 0;
	size_t mask = index->slot_count - 1;
	for (size_t i = hash & mask; index->slots[i].id; i = (i + 1) & mask) {
		if (index->slots[i].hash == hash && equal(wanted, index->slots[i].id))
			return index->slots[i].id;
	}
	return 0;
}

static void place(struct hash_slot *slots, size_t mask, struct hash_slot slot)
{
	size_t i = slot.hash & mask;
	while (slots[i].id)
		i = (i + 1) & mask;
	slots[i] = slot;
}

static int rehash(struct hash_index *index)
{
	size_t slot_count = index->slot_count ? index->slot_count * 2 : 256;
	struct hash_slot *slots = calloc(slot_count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->slot_count; i++) {
		if (index->slots[i].id)
			place(slots, slot_count - 1, index->slots[i]);
	}
	free(index->slots);
	index->slots = slots;
	index->slot_count = slot_count;
	return 0;
}

int hash_index_add(struct hash_index *index, uint32_t hash, uint32_t id)
{
	/* At most 5/8 full: probes stay short. */
	if ((index->used + 1) * 8 > index->slot_count * 5) {
		int error = rehash(index);
		if (error)
			return error;
	}
	place(index->slots, index->slot_count - 1, (struct hash_slot){ hash, id });
	index->used++;
	return 0;
}

uint32_t hash_mix(uint32_t hash, uint64_t value)
{
	uint64_t x = (value ^ ((uint64_t)hash << 32 | hash)) * 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return (uint32_t)(x >> 32);
}

uint32_t hash_bytes(const void *bytes, size_t size)
{
	const unsigned char *p = bytes;
	uint32_t hash = (uint32_t)size;
	while (size >= 8) {
		uint64_t word;
		memcpy(&word, p, sizeof(word));
		hash = hash_mix(hash, word);
		p += 8;
		size -= 8;
	}
	uint64_t rest = 0;
	memcpy(&rest, p, size);
	return hash_mix(hash, rest);
}

void *array_grow(void *items, size_t *capacity, size_t need, size_t item_size)
{
	if (need <= *capacity)
		return items;
	size_t wanted = *capacity ? *capacity : 16;
	while (wanted < need) {
		if (__builtin_mul_overflow(wanted, 2, &wanted))
			return NULL;
	}
	void *grown = reallocarray(items, wanted, item_size);
	if (grown)
		*capacity = wanted;
	return grown;
}
