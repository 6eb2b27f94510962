/* SPDX-License-Identifier: MIT */
/* One event: stack, peak, counter, block map; see record.h. */
#include "agent/record.h"

#include "agent/bad_frees.h"
#include "agent/counters.h"
#include "agent/peak.h"
#include "agent/record_sampled.h"
#include "agent/record_slack.h"
#include "agent/segment.h"
#include "agent/stack_tree.h"
#include "agent/threads.h"
#include "agent/truth.h"

/* The common way of an event is one function, without calls. */
#define FLAT  static inline __attribute__((always_inline))
#define APART __attribute__((noinline, cold)) static

FLAT void count_free_in(struct seg_counter *counter, uint32_t epoch, uint64_t size, bool temporary,
			bool by_realloc)
{
	counter_stamp(counter, epoch);
	counter->frees++;
	counter->freed_bytes += size;
	counter->temporary += temporary;
	counter->reallocations += by_realloc;
}

FLAT void count_alloc_in(struct seg_counter *counter, uint32_t epoch, uint64_t size)
{
	counter_stamp(counter, epoch);
	counter->allocations++;
	counter->bytes += size;
}

FLAT struct seg_counter *add_free(struct shard *shard, const struct block *b, bool temporary,
				  bool by_realloc)
{
	uint32_t node = b->node, epoch;
	struct seg_counter *counter = counter_of(shard, &node);

	epoch = peak_change(shard->counts, -(int64_t)b->size);
	count_free_in(counter, epoch, b->size, temporary, by_realloc);
	count_free_in(counter_of_size(shard, b->size), epoch, b->size, temporary, by_realloc);
	return counter;
}

/* The block's address was given out while it counted as live: its free went past us. */
APART void add_unseen_free(struct shard *shard, const void *block, const struct block *b)
{
	struct seg_counter *counter;

	segment_drop(SEG_UNSEEN_FREES, 1);
	counter = add_free(shard, b, false, false);
	/* What its slack was cannot be asked any more; an address hardly ever changes its usable size where blocks come in
	 * classes of sizes. */
	if (record_mode == RECORD_SLACK)
		record_slack_freed(shard, counter, record_slack_of(block, b->size));
}

FLAT struct seg_counter *add_alloc(struct shard *shard, const void *block, uint64_t *entry,
				   uint32_t node, size_t size)
{
	struct seg_counter *counter = counter_of(shard, &node);
	struct block former;
	uint32_t epoch;

	if (!block_put_at(entry, block, node, size, &former))
		segment_drop(SEG_UNTRACKED_BLOCKS, 1);
	if (__builtin_expect(former.state == BLOCK_LIVE, 0)) {
		add_unseen_free(shard, block, &former);
		counter = counter_of(shard, &node);
	}
	epoch = peak_change(shard->counts, (int64_t)size);
	count_alloc_in(counter, epoch, size);
	count_alloc_in(counter_of_size(shard, size), epoch, size);
	thread_self.last = block;
	return counter;
}

FLAT void count_alloc(const void *block, size_t size, const uintptr_t *frame, bool with_slack)
{
	bool borrowed;
	struct shard *shard = shard_enter((uintptr_t)frame, &borrowed);
	struct seg_counter *counter;
	uint32_t node;
	uint64_t *entry;

	if (!shard) {
		segment_drop(SEG_DROPPED_ALLOCS, 1);
		segment_drop(SEG_DROPPED_BYTES, size);
		return;
	}
	entry = block_expect(block);
	node = stack_capture(&shard->stacks, frame);
	truth_check(shard, frame, node);
	counter = add_alloc(shard, block, entry, node, size);
	if (with_slack)
		record_slack_allocated(shard, counter, record_slack_of(block, size));
	shard_leave(shard, borrowed);
}

APART void record_alloc_apart(const void *block, size_t size, const uintptr_t *frame)
{
	if (record_mode == RECORD_SAMPLED)
		record_sampled_alloc(block, size, frame);
	else
		count_alloc(block, size, frame, true);
}

void record_alloc(const void *block, size_t size, const uintptr_t *frame)
{
	if (__builtin_expect(record_mode != RECORD_EXACT, 0))
		record_alloc_apart(block, size, frame);
	else
		count_alloc(block, size, frame, false);
}

void record_early_alloc(const void *block, size_t size, uintptr_t caller)
{
	bool borrowed;
	struct shard *shard;

	if (record_mode == RECORD_SAMPLED) {
		record_sampled_early(block, size, caller);
		return;
	}
	shard = shard_enter((uintptr_t)__builtin_frame_address(0), &borrowed);
	if (!shard)
		return;
	add_alloc(shard, block, block_expect(block), stack_tree_early(caller), size);
	shard_leave(shard, borrowed);
}

/* Counts the end of a live block against the stack that allocated it.  `slack`: NULL where that is not recorded. */
FLAT void count_free(const void *block, const struct block *b, const uint64_t *slack,
		     uintptr_t frame, bool by_realloc)
{
	bool borrowed;
	struct shard *shard = shard_enter(frame, &borrowed);
	struct seg_counter *counter;

	if (!shard) {
		segment_drop(SEG_DROPPED_FREES, 1);
		return;
	}
	counter = add_free(shard, b, thread_self.last == block, by_realloc);
	if (slack)
		record_slack_freed(shard, counter, *slack);
	shard_leave(shard, borrowed);
}

APART void count_bad_free(const void *block, const struct block *b, const uintptr_t *frame)
{
	bool borrowed;
	struct shard *shard = shard_enter((uintptr_t)frame, &borrowed);

	segment_drop(b->state == BLOCK_FREED ? SEG_DOUBLE_FREES : SEG_UNKNOWN_FREES, 1);
	if (!shard)
		return;
	bad_free_count(block, b, stack_capture(&shard->stacks, frame), shard->index + 1);
	shard_leave(shard, borrowed);
}

APART void count_with_slack(const void *block, const struct block *b, uint64_t slack,
			    uintptr_t frame, bool by_realloc)
{
	count_free(block, b, &slack, frame, by_realloc);
}

APART void count_apart(const void *block, const struct block *b, const uintptr_t *frame,
		       bool by_realloc)
{
	if (record_mode == RECORD_SAMPLED)
		record_sampled_free(block, b, (uintptr_t)frame, by_realloc);
	else if (b->state == BLOCK_LIVE)
		count_with_slack(block, b, record_slack_of(block, b->size), (uintptr_t)frame,
				 by_realloc);
	else
		count_bad_free(block, b, frame);
}

FLAT void count_if_live(const void *block, const struct block *b, const uintptr_t *frame,
			bool by_realloc)
{
	if (__builtin_expect(record_mode != RECORD_EXACT, 0))
		count_apart(block, b, frame, by_realloc);
	else if (__builtin_expect(b->state == BLOCK_LIVE, 1))
		count_free(block, b, NULL, (uintptr_t)frame, by_realloc);
	else
		count_bad_free(block, b, frame);
}

void record_free(const void *block, const uintptr_t *frame)
{
	struct block b = block_take(block);

	count_if_live(block, &b, frame, false);
}

void record_early_free(const void *block, const uintptr_t *frame)
{
	struct block b = block_take(block);

	if (b.state == BLOCK_LIVE)
		count_if_live(block, &b, frame, false);
}

void record_inherited(struct shard *shard, const struct block *b)
{
	uint32_t node = b->node;

	if (record_mode == RECORD_SAMPLED) {
		record_sampled_inherited(shard, b);
		return;
	}
	count_alloc_in(counter_of(shard, &node), 0, b->size);
	count_alloc_in(counter_of_size(shard, b->size), 0, b->size);
	shard->counts->live_bytes += (int64_t)b->size;
}

void record_replaced(const void *block, const struct block *old, const uintptr_t *frame, bool moved)
{
	count_if_live(block, old, frame, moved);
}

void record_replaced_apart(const void *block, const struct block *old, uint64_t slack,
			   const uintptr_t *frame, bool moved)
{
	if (record_mode == RECORD_SLACK && old->state == BLOCK_LIVE)
		count_with_slack(block, old, slack, (uintptr_t)frame, moved);
	else
		count_apart(block, old, frame, moved);
}

void record_put_back(const void *block, const struct block *old)
{
	struct block former;

	if (old->state == BLOCK_LIVE)
		block_put(block, old->node, old->size, &former);
}
