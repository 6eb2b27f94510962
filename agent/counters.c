/* SPDX-License-Identifier: MIT */
/* Finding and making counters; see counters.h. */
#include "agent/counters.h"

#include "agent/growth.h"
#include "agent/rt/sys.h"
#include "agent/segment.h"

enum { BACK_COUNTERS = 224 /* made writable at a time: about 16 KiB */ };

uint32_t record_mode;

static inline uint32_t hash_of(uint32_t node)
{
	return (node * 0x9e3779b1u) >> 7;
}

static struct seg_counter *counter_at(const struct shard *shard, uint32_t index)
{
	struct seg_place place = seg_chunk_of(index, SEG_COUNTER_FIRST);

	return &shard->chunks[place.chunk][place.position];
}

/* Makes the variances of the same counters writable. */
static bool back_variances(struct shard *shard, struct seg_place place, uint32_t size,
			   uint32_t count)
{
	struct seg_variance **chunk = &shard->variance_chunks[place.chunk];

	if (!*chunk)
		*chunk = segment_alloc(size * sizeof(struct seg_variance), 0,
				       &shard->counts->variance_chunks[place.chunk]);
	return *chunk &&
	       segment_back(&(*chunk)[place.position], count * sizeof(struct seg_variance));
}

/* Likewise their slack. */
static bool back_slack(struct shard *shard, struct seg_place place, uint32_t size, uint32_t count)
{
	struct seg_slack **chunk = &shard->slack_chunks[place.chunk];
	int64_t **live = &shard->live_slack[place.chunk];

	if (!*live)
		*live = rt_map(size * sizeof(**live));
	if (!*chunk)
		*chunk = segment_alloc(size * sizeof(struct seg_slack), 0,
				       &shard->counts->slack_chunks[place.chunk]);
	return *live && *chunk &&
	       segment_back(&(*chunk)[place.position], count * sizeof(struct seg_slack));
}

static bool back_beside(struct shard *shard, struct seg_place place, uint32_t size, uint32_t count)
{
	switch ((enum record_mode)record_mode) {
	case RECORD_SAMPLED:
		return back_variances(shard, place, size, count);
	case RECORD_SLACK:
		return back_slack(shard, place, size, count);
	case RECORD_EXACT:
		break;
	}
	return true;
}

/* Makes counter number `index` and some after it writable.  Under the growth lock. */
static bool back(struct shard *shard, uint32_t index)
{
	struct seg_place place = seg_chunk_of(index, SEG_COUNTER_FIRST);
	uint32_t size = SEG_COUNTER_FIRST << place.chunk;
	uint32_t count =
		size - place.position < BACK_COUNTERS ? size - place.position : BACK_COUNTERS;

	if (place.chunk >= SEG_COUNTER_CHUNKS)
		return false;
	if (!shard->chunks[place.chunk])
		shard->chunks[place.chunk] = segment_alloc(size * sizeof(struct seg_counter), 0,
							   &shard->counts->chunks[place.chunk]);
	if (!shard->chunks[place.chunk] ||
	    !segment_back(&shard->chunks[place.chunk][place.position],
			  count * sizeof(struct seg_counter)) ||
	    !back_beside(shard, place, size, count))
		return false;
	shard->backed_counters = index + count;
	return true;
}

/* Doubles the look-up table.  It belongs to the shard's holder alone, so the old one can go. */
static void grow(struct shard *shard)
{
	uint32_t mask = 2 * shard->slot_mask + 1;
	struct counter_slot *slots = rt_map(((size_t)mask + 1) * sizeof(*slots)),
			    *old = shard->slots;

	if (!slots)
		return;
	for (uint32_t i = 0; i <= shard->slot_mask; i++) {
		uint32_t at = hash_of(old[i].node);

		if (!old[i].node)
			continue;
		while (slots[at & mask].node)
			at++;
		slots[at & mask] = old[i];
	}
	shard->slots = slots;
	if (old != (struct counter_slot *)(shard + 1))
		rt_unmap(old, ((size_t)shard->slot_mask + 1) * sizeof(*old));
	shard->slot_mask = mask;
}

__attribute__((noinline)) static struct seg_counter *make(struct shard *shard, uint32_t node)
{
	uint32_t index = shard->counts->counter_count, at;
	struct seg_counter *c;

	if (index >= shard->backed_counters) {
		bool done;

		if (!rt_lock_try(&growth_lock))
			return NULL;
		done = back(shard, index);
		rt_unlock(&growth_lock);
		if (!done)
			return NULL;
	}
	if (index >= shard->slot_mask / 4 * 3)
		grow(shard);
	if (index >= shard->slot_mask)
		return NULL;
	c = counter_at(shard, index);
	c->node = node;
	__atomic_store_n(&shard->counts->counter_count, index + 1, __ATOMIC_RELEASE);
	for (at = hash_of(node); shard->slots[at & shard->slot_mask].node; at++)
		;
	shard->slots[at & shard->slot_mask] = (struct counter_slot){ node, index };
	return c;
}

static struct seg_counter *find(const struct shard *shard, uint32_t node)
{
	for (uint32_t at = hash_of(node);; at++) {
		const struct counter_slot *slot = &shard->slots[at & shard->slot_mask];

		if (slot->node == node)
			return counter_at(shard, slot->index);
		if (!slot->node)
			return NULL;
	}
}

struct seg_counter *counter_find(struct shard *shard, uint32_t *node)
{
	struct seg_counter *c;

	if (*node < SEG_FIRST_NODE) {
		*node = SEG_UNATTRIBUTED;
		return &shard->counts->none;
	}
	c = find(shard, *node);
	if (!c)
		c = make(shard, *node);
	if (!c) {
		*node = SEG_UNATTRIBUTED;
		return &shard->counts->none;
	}
	shard->last = c;
	return c;
}

/* Where a counter lies that is not `none`. */
static bool find_place(const struct shard *shard, const struct seg_counter *counter,
		       struct seg_place *place)
{
	for (uint32_t k = 0; k < SEG_COUNTER_CHUNKS && shard->chunks[k]; k++) {
		size_t position = (size_t)(counter - shard->chunks[k]);

		if (counter >= shard->chunks[k] && position < (size_t)SEG_COUNTER_FIRST << k) {
			*place = (struct seg_place){ k, (uint32_t)position };
			return true;
		}
	}
	return false;
}

struct seg_variance *counter_variance(struct shard *shard, const struct seg_counter *counter)
{
	struct seg_place place;

	if (counter == &shard->counts->none)
		return &shard->counts->none_variance;
	if (!find_place(shard, counter, &place) || !shard->variance_chunks[place.chunk])
		return NULL;
	return &shard->variance_chunks[place.chunk][place.position];
}

struct counter_slack counter_slack(struct shard *shard, const struct seg_counter *counter)
{
	struct seg_place place;

	if (counter == &shard->counts->none)
		return (struct counter_slack){ &shard->counts->none_slack,
					       &shard->live_none_slack };
	if (!find_place(shard, counter, &place) || !shard->slack_chunks[place.chunk])
		return (struct counter_slack){ NULL, NULL };
	return (struct counter_slack){ &shard->slack_chunks[place.chunk][place.position],
				       &shard->live_slack[place.chunk][place.position] };
}
