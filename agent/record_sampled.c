/* SPDX-License-Identifier: MIT */
/* Events of a sampled recording; see record_sampled.h. */
#include "agent/record_sampled.h"

#include "agent/counters.h"
#include "agent/peak.h"
#include "agent/sample.h"
#include "agent/segment.h"
#include "agent/stack_tree.h"
#include "agent/truth.h"

/* Does a point fall on this allocation?  Takes its bytes off the way to the next one. */
static bool is_hit(size_t size)
{
	struct thread *t = &thread_self;
	uint64_t measured = size < SAMPLE_SMALLEST ? SAMPLE_SMALLEST : size;

	if (!t->sample_left)
		t->sample_left = sample_gap(&t->sample_random);
	if (measured < t->sample_left) {
		t->sample_left -= measured;
		return false;
	}
	t->sample_left = sample_gap(&t->sample_random);
	return true;
}

/* Before a change: saves the live variances with the live values. */
static void stamp(struct seg_counter *counter, struct seg_variance *v, uint32_t epoch)
{
	if (v && counter->epoch != epoch) {
		v->peak_blocks = v->allocations - v->frees;
		v->peak_bytes = v->bytes - v->freed_bytes;
	}
	counter_stamp(counter, epoch);
}

static void add_free(struct shard *shard, const struct block *b, bool temporary, bool by_realloc)
{
	struct sample_weight w = sample_weigh(b->size);
	uint32_t node = b->node;
	struct seg_counter *counter = counter_of(shard, &node);
	struct seg_variance *v = counter_variance(shard, counter);

	stamp(counter, v, peak_change(shard->counts, -(int64_t)w.bytes));
	counter->frees += w.blocks;
	counter->freed_bytes += w.bytes;
	counter->temporary += temporary ? w.blocks : 0;
	counter->reallocations += by_realloc ? w.blocks : 0;
	shard->counts->live_blocks -= (int64_t)w.blocks;
	if (!v)
		return;
	v->frees += w.blocks_variance;
	v->freed_bytes += w.bytes_variance;
	v->temporary += temporary ? w.blocks_variance : 0;
	v->reallocations += by_realloc ? w.blocks_variance : 0;
}

static void add_to(struct shard *shard, struct seg_counter *counter, const struct sample_weight *w)
{
	struct seg_variance *v = counter_variance(shard, counter);

	counter->allocations += w->blocks;
	counter->bytes += w->bytes;
	shard->counts->live_blocks += (int64_t)w->blocks;
	if (!v)
		return;
	v->allocations += w->blocks_variance;
	v->bytes += w->bytes_variance;
}

static void add_alloc(struct shard *shard, const void *block, uint32_t node, size_t size)
{
	struct sample_weight w = sample_weigh(size);
	struct seg_counter *counter = counter_of(shard, &node);
	struct block former;

	if (!block_put(block, node, size, &former))
		segment_drop(SEG_UNTRACKED_BLOCKS, 1);
	if (former.state == BLOCK_LIVE) {
		segment_drop(SEG_UNSEEN_FREES, 1);
		add_free(shard, &former, false, false);
		sample_filter_remove(block);
		counter = counter_of(shard, &node);
	}
	sample_filter_add(block);
	stamp(counter, counter_variance(shard, counter),
	      peak_change(shard->counts, (int64_t)w.bytes));
	add_to(shard, counter, &w);
	thread_self.last = block;
	thread_self.sample_last = thread_self.sample_left;
}

void record_sampled_alloc(const void *block, size_t size, const uintptr_t *frame)
{
	bool borrowed;
	struct shard *shard;
	uint32_t node;

	if (!is_hit(size))
		return;
	shard = shard_enter((uintptr_t)frame, &borrowed);
	if (!shard) {
		segment_drop(SEG_DROPPED_ALLOCS, 1);
		segment_drop(SEG_DROPPED_BYTES, size);
		return;
	}
	node = stack_capture(&shard->stacks, frame);
	truth_check(shard, frame, node);
	add_alloc(shard, block, node, size);
	shard_leave(shard, borrowed);
}

void record_sampled_early(const void *block, size_t size, uintptr_t caller)
{
	bool borrowed;
	struct shard *shard;

	if (!is_hit(size))
		return;
	shard = shard_enter((uintptr_t)__builtin_frame_address(0), &borrowed);
	if (!shard)
		return;
	add_alloc(shard, block, stack_tree_early(caller), size);
	shard_leave(shard, borrowed);
}

void record_sampled_inherited(struct shard *shard, const struct block *b)
{
	struct sample_weight w = sample_weigh(b->size);
	uint32_t node = b->node;

	add_to(shard, counter_of(shard, &node), &w);
	shard->counts->live_bytes += (int64_t)w.bytes;
}

void record_sampled_free(const void *block, const struct block *b, uintptr_t frame, bool by_realloc)
{
	bool borrowed;
	struct shard *shard;

	if (b->state != BLOCK_LIVE)
		return;
	sample_filter_remove(block);
	shard = shard_enter(frame, &borrowed);
	if (!shard) {
		segment_drop(SEG_DROPPED_FREES, 1);
		return;
	}
	/* No allocation since: then nothing was taken off the way to the next point. */
	add_free(shard, b,
		 thread_self.last == block && thread_self.sample_last == thread_self.sample_left,
		 by_realloc);
	shard_leave(shard, borrowed);
}
