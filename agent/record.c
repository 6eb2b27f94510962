/* SPDX-License-Identifier: MIT */
/* One event: stack, peak, counter, block map; see record.h. */
#include "agent/record.h"

#include "agent/counters.h"
#include "agent/peak.h"
#include "agent/segment.h"
#include "agent/threads.h"
#include "agent/truth.h"

void record_alloc(const void *block, size_t size, const uintptr_t *frame)
{
	bool borrowed;
	struct shard *shard = shard_enter((uintptr_t)frame, &borrowed);
	struct seg_counter *counter;
	uint32_t node, epoch;

	if (!shard) {
		segment_drop(SEG_DROPPED_ALLOCS, 1);
		segment_drop(SEG_DROPPED_BYTES, size);
		return;
	}
	node = stack_capture(&shard->stacks, frame);
	truth_check(shard, frame, node);
	counter = counter_of(shard, &node);
	epoch = peak_change(shard->counts, (int64_t)size);
	counter_stamp(counter, epoch);
	counter->allocations++;
	counter->bytes += size;
	shard->counts->live_blocks++;
	if (!block_put(block, node, size))
		segment_drop(SEG_UNTRACKED_BLOCKS, 1);
	thread_self.last = block;
	shard_leave(shard, borrowed);
}

/* Counts the end of a live block against the stack that allocated it. */
static void count_free(const void *block, const struct block *b, uintptr_t frame, bool by_realloc)
{
	bool borrowed;
	struct shard *shard = shard_enter(frame, &borrowed);
	struct seg_counter *counter;
	uint32_t node = b->node;

	if (!shard) {
		segment_drop(SEG_DROPPED_FREES, 1);
		return;
	}
	counter = counter_of(shard, &node);
	counter_stamp(counter, peak_change(shard->counts, -(int64_t)b->size));
	counter->frees++;
	counter->freed_bytes += b->size;
	counter->temporary += thread_self.last == block;
	counter->reallocations += by_realloc;
	shard->counts->live_blocks--;
	shard_leave(shard, borrowed);
}

static void count_if_live(const void *block, const struct block *b, uintptr_t frame,
			  bool by_realloc)
{
	if (b->state == BLOCK_LIVE)
		count_free(block, b, frame, by_realloc);
	else
		segment_drop(b->state == BLOCK_FREED ? SEG_DOUBLE_FREES : SEG_UNKNOWN_FREES, 1);
}

void record_free(const void *block, const uintptr_t *frame)
{
	struct block b = block_take(block);

	count_if_live(block, &b, (uintptr_t)frame, false);
}

void record_replaced(const void *block, const struct block *old, const uintptr_t *frame, bool moved)
{
	count_if_live(block, old, (uintptr_t)frame, moved);
}

void record_put_back(const void *block, const struct block *old)
{
	if (old->state == BLOCK_LIVE)
		block_put(block, old->node, old->size);
}
