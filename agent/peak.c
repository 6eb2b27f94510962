/* SPDX-License-Identifier: MIT */
/* Peak accounting; see peak.h. */
#include "agent/peak.h"

#include <stdbool.h>

#include "agent/arch.h"
#include "agent/segment.h"

uint32_t peak_without_clock;

#define LOW_MASK ((1ull << SEG_PACKED_BITS) - 1)

enum {
	QUANTUM_MIN = 160,   /* bytes: threads that make and free small blocks need not publish */
	ERROR_SHARE = 16000, /* all quanta together: this part of the peak */
};

static void pack(const struct seg_account *a, uint64_t word[2])
{
	word[0] = ((uint64_t)a->total & LOW_MASK) | (uint64_t)a->max << SEG_PACKED_BITS;
	word[1] = ((uint64_t)a->max >> 16 & 0xffffffff) | (uint64_t)a->at_max << 32 |
		  (uint64_t)a->epoch << 33;
}

/* Applies a change; true when it set a new maximum.  The total may be below zero for a while: frees published
 * before the allocations they belong to. */
static bool apply(struct seg_account *a, int64_t bytes)
{
	a->total += bytes;
	if (a->total > a->max) {
		a->max = a->total;
		a->at_max = 1;
		return true;
	}
	if (a->at_max)
		a->epoch = (a->epoch + 1) & SEG_EPOCH_MASK;
	a->at_max = 0;
	return false;
}

/*
 * Bounds what the threads may hold back, now and from when they were fewer and their quanta larger: threads that come
 * one by one hold a share, a half, a third ...  Never lowered: an earlier moment may have been higher than the
 * maximum by as much as was unknown then.
 */
static void note_error(uint64_t max, uint32_t holders)
{
	uint64_t bits = 32u - (uint32_t)__builtin_clz(holders);
	uint64_t error = max / ERROR_SHARE * (1 + bits) + (uint64_t)holders * QUANTUM_MIN;

	if (error > __atomic_load_n(&segment->peak_error, __ATOMIC_RELAXED))
		__atomic_store_n(&segment->peak_error, error, __ATOMIC_RELAXED);
}

static void adapt_quantum(uint64_t max)
{
	uint32_t holders = __atomic_load_n(&segment->held_shards, __ATOMIC_RELAXED);
	uint64_t quantum = 0;

	if (holders > 1) {
		quantum = max / ERROR_SHARE / holders;
		if (quantum < QUANTUM_MIN)
			quantum = QUANTUM_MIN;
		note_error(max, holders);
	}
	if (quantum != __atomic_load_n(&segment->quantum, __ATOMIC_RELAXED))
		__atomic_store_n(&segment->quantum, quantum, __ATOMIC_RELAXED);
}

static void note_raise(uint64_t max)
{
	__atomic_store_n(&segment->peak_tsc, peak_now(), __ATOMIC_RELAXED);
	adapt_quantum(max);
}

static uint32_t publish(int64_t bytes)
{
	uint64_t seen[2], next[2];
	struct seg_account a;
	bool raised;
	uint32_t before;

	seen[0] = __atomic_load_n(&segment->packed[0], __ATOMIC_RELAXED);
	seen[1] = __atomic_load_n(&segment->packed[1], __ATOMIC_RELAXED);
	do {
		a = seg_unpack(seen);
		before = a.epoch;
		raised = apply(&a, bytes);
		pack(&a, next);
	} while (!arch_swap_double(segment->packed, seen, next));
	if (raised)
		note_raise((uint64_t)a.max);
	return raised ? before : a.epoch;
}

uint32_t peak_change_common(struct seg_shard *shard)
{
	int64_t pending = shard->live_bytes - shard->published;
	uint64_t quantum = __atomic_load_n(&segment->quantum, __ATOMIC_RELAXED);

	if (quantum && (uint64_t)(pending < 0 ? -pending : pending) <= quantum)
		return (uint32_t)(__atomic_load_n(&segment->packed[1], __ATOMIC_RELAXED) >> 33);
	shard->published = shard->live_bytes;
	return publish(pending);
}

void peak_go_common(struct seg_shard *first)
{
	struct seg_account a = {
		.total = first->live_bytes,
		.max = segment->single_max,
		.epoch = segment->single_epoch,
		.at_max = segment->single_at_max,
	};

	first->published = first->live_bytes;
	pack(&a, segment->packed);
	adapt_quantum((uint64_t)a.max);
	__atomic_store_n(&segment->several, 1, __ATOMIC_RELEASE);
}

void peak_settle(struct seg_shard *shard)
{
	int64_t pending = shard->live_bytes - shard->published;

	if (!segment->several || !pending)
		return;
	shard->published = shard->live_bytes;
	publish(pending);
}

void peak_set_holders(int change)
{
	__atomic_fetch_add(&segment->held_shards, (uint32_t)change, __ATOMIC_RELAXED);
	if (segment->several) {
		uint64_t word[2] = { segment->packed[0], segment->packed[1] };

		adapt_quantum((uint64_t)seg_unpack(word).max);
	}
}
