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

/* A counter and its variances; NULL: there was no room for these. */
struct place {
	struct seg_counter *counter;
	struct seg_variance *variance;
};

static struct place place_of(struct shard *shard, uint32_t node)
{
	struct seg_counter *counter = counter_of(shard, &node);

	return (struct place){ counter, counter_variance(shard, counter) };
}

static struct place place_of_size(struct shard *shard, uint64_t size)
{
	return (struct place){ counter_of_size(shard, size),
			       shard->size_variances ? &shard->size_variances[seg_size_index(size)]
						     : NULL };
}

/* Before a change: saves the live variances with the live values. */
static void stamp(struct place p, uint32_t epoch)
{
	struct seg_variance *v = p.variance;

	if (v && p.counter->epoch != epoch) {
		v->peak_blocks = v->allocations - v->frees;
		v->peak_bytes = v->bytes - v->freed_bytes;
	}
	counter_stamp(p.counter, epoch);
}

static void count_free_in(struct place p, const struct sample_weight *w, bool temporary,
			  bool by_realloc)
{
	struct seg_variance *v = p.variance;

	p.counter->frees += w->blocks;
	p.counter->freed_bytes += w->bytes;
	p.counter->temporary += temporary ? w->blocks : 0;
	p.counter->reallocations += by_realloc ? w->blocks : 0;
	if (!v)
		return;
	v->frees += w->blocks_variance;
	v->freed_bytes += w->bytes_variance;
	v->temporary += temporary ? w->blocks_variance : 0;
	v->reallocations += by_realloc ? w->blocks_variance : 0;
}

static void add_free(struct shard *shard, const struct block *b, bool temporary, bool by_realloc)
{
	struct sample_weight w = sample_weigh(b->size);
	struct place places[] = { place_of(shard, b->node), place_of_size(shard, b->size) };
	uint32_t epoch = peak_change(shard->counts, -(int64_t)w.bytes);

	for (unsigned i = 0; i < 2; i++) {
		stamp(places[i], epoch);
		count_free_in(places[i], &w, temporary, by_realloc);
	}
}

static void count_alloc_in(struct place p, const struct sample_weight *w)
{
	struct seg_variance *v = p.variance;

	p.counter->allocations += w->blocks;
	p.counter->bytes += w->bytes;
	if (!v)
		return;
	v->allocations += w->blocks_variance;
	v->bytes += w->bytes_variance;
}

/* A block that was there from the start of the process, or that it allocated in `epoch`. */
static void add_block(struct shard *shard, uint32_t node, uint64_t size,
		      const struct sample_weight *w, uint32_t epoch)
{
	struct place places[] = { place_of(shard, node), place_of_size(shard, size) };

	for (unsigned i = 0; i < 2; i++) {
		stamp(places[i], epoch);
		count_alloc_in(places[i], w);
	}
}

static void add_alloc(struct shard *shard, const void *block, uint32_t node, size_t size)
{
	struct sample_weight w = sample_weigh(size);
	struct block former;

	counter_of(shard, &node); /* without room for one, the block is of no stack */
	if (!block_put(block, node, size, &former))
		segment_drop(SEG_UNTRACKED_BLOCKS, 1);
	if (former.state == BLOCK_LIVE) {
		segment_drop(SEG_UNSEEN_FREES, 1);
		add_free(shard, &former, false, false);
		sample_filter_remove(block);
	}
	sample_filter_add(block);
	add_block(shard, node, size, &w, peak_change(shard->counts, (int64_t)w.bytes));
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

	add_block(shard, b->node, b->size, &w, 0);
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
