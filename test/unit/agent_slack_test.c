/* SPDX-License-Identifier: MIT */
/* Slack beside the counters, read out of the segment; the allocator is one of the test's own. */
#include "agent/record_slack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "agent/counters.h"
#include "agent/layout.h"
#include "agent/real.h"
#include "agent/record.h"
#include "agent/rt/sys.h"
#include "test/unit/agent_fixture.h"

enum {
	BLOCKS = 200,
	OWN_NODES = 500, /* the stacks of the tests have smaller ones */
	NODES = 3000,
};

/* -- the allocator: the usable size of a block is what the test says --------------------------------- */

static size_t usable[BLOCKS];

static void *block_of(unsigned id)
{
	return (void *)(uintptr_t)(0x7f1200000000 + 64ul * id);
}

static size_t tell(void *block)
{
	return usable[((uintptr_t)block - 0x7f1200000000) / 64];
}

/* -- what is in the segment ------------------------------------------------------------------------- */

static const struct seg_shard *shard_record(uint32_t index)
{
	const struct seg_header *h = fixture_at(0);

	return fixture_record(h->shard_chunks, SEG_SHARD_FIRST, sizeof(struct seg_shard), index);
}

struct sums {
	uint64_t allocated, freed;
	int64_t peak; /* by the rule of peak.h */
};

static void add_record(struct sums *sums, const struct seg_slack *s)
{
	const struct seg_header *h = fixture_at(0);
	bool saved = !h->single_at_max && s->epoch == h->single_epoch;

	assert_false(h->several);
	sums->allocated += s->allocated;
	sums->freed += s->freed;
	sums->peak += saved ? s->peak : (int64_t)(s->allocated - s->freed);
}

/* Of the first shard, which is this thread's. */
static struct sums read_sums(void)
{
	const struct seg_shard *shard = shard_record(0);
	struct sums sums = { 0, 0, 0 };

	add_record(&sums, &shard->none_slack);
	for (uint32_t i = 0; i < shard->counter_count; i++)
		add_record(&sums, fixture_record(shard->slack_chunks, SEG_COUNTER_FIRST,
						 sizeof(struct seg_slack), i));
	return sums;
}

/* -- tests ------------------------------------------------------------------------------------------ */

__attribute__((noinline)) static void allocate(unsigned id, size_t size)
{
	record_alloc(block_of(id), size, __builtin_frame_address(0));
	__asm__ volatile("");
}

__attribute__((noinline)) static void allocate_elsewhere(unsigned id, size_t size)
{
	record_alloc(block_of(id), size, __builtin_frame_address(0));
	__asm__ volatile("");
}

__attribute__((noinline)) static void release(unsigned id)
{
	record_free(block_of(id), __builtin_frame_address(0));
	__asm__ volatile("");
}

/* Random blocks against plain sums: of slack that is never below zero, and is saved at the highest sum of sizes. */
static void test_sums(void **state)
{
	static size_t sizes[BLOCKS];
	static bool live[BLOCKS];
	uint64_t random = 3, allocated = 0, freed = 0, slack = 0, total = 0, highest = 0,
		 at_peak = 0;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		unsigned id = (unsigned)fixture_below(&random, BLOCKS);
		struct sums sums;

		if (live[id]) {
			uint64_t lost = usable[id] > sizes[id] ? usable[id] - sizes[id] : 0;

			release(id);
			freed += lost;
			slack -= lost;
			total -= sizes[id];
		} else {
			sizes[id] = fixture_below(&random, 5000);
			/* One that claims to be smaller than it must be. */
			usable[id] =
				sizes[id] + fixture_below(&random, 100) - (id ? 0 : sizes[id] / 2);
			(id % 2 ? allocate : allocate_elsewhere)(id, sizes[id]);
			uint64_t lost = usable[id] > sizes[id] ? usable[id] - sizes[id] : 0;

			allocated += lost;
			slack += lost;
			total += sizes[id];
		}
		live[id] = !live[id];
		if (total > highest) {
			highest = total;
			at_peak = slack;
		}
		if (round % 64)
			continue;
		sums = read_sums();
		assert_int_equal(sums.allocated, allocated);
		assert_int_equal(sums.freed, freed);
		assert_int_equal(sums.peak, at_peak);
	}
	for (unsigned id = 0; id < BLOCKS; id++)
		if (live[id])
			release(id);
	assert_int_equal(read_sums().freed, allocated);
}

/* The old block of a realloc has the slack that was asked before it. */
static void test_resizing(void **state)
{
	struct sums before = read_sums(), after;
	struct block old;
	uint64_t slack;

	(void)state;
	usable[7] = 108;
	allocate(7, 100);
	old = block_take(block_of(7));
	slack = record_slack_of(block_of(7), old.size);
	usable[7] = 250; /* it has grown where it was */
	record_replaced_apart(block_of(7), &old, slack, __builtin_frame_address(0), true);
	allocate_elsewhere(7, 200);
	release(7);
	after = read_sums();
	assert_int_equal(after.allocated - before.allocated, 8 + 50);
	assert_int_equal(after.freed - before.freed, 8 + 50);
}

/* Slack lies under the index of its counter, however many there are; a child gets what is live of all shards by node. */
static void test_many_counters(void **state)
{
	const struct seg_shard *mine = shard_record(0), *other;
	bool borrowed;
	struct shard *shard = shard_enter((uintptr_t)__builtin_frame_address(0), &borrowed),
		     *second = shard_new();
	int64_t *live;

	(void)state;
	assert_non_null(second);
	for (uint32_t i = SEG_FIRST_NODE; i < NODES; i++) {
		uint32_t node = i, same = i;

		record_slack_allocated(shard, counter_of(shard, &node), 1000000 + 10ull * i);
		record_slack_freed(second, counter_of(second, &same), 1000000 + 9ull * i);
		assert_int_equal(node, i);
	}
	shard_leave(shard, borrowed);
	live = record_slack_gather(NODES - 5);
	for (uint32_t i = 0; i < mine->counter_count; i++) {
		const struct seg_counter *c = fixture_record(mine->chunks, SEG_COUNTER_FIRST,
							     sizeof(struct seg_counter), i);
		const struct seg_slack *s = fixture_record(mine->slack_chunks, SEG_COUNTER_FIRST,
							   sizeof(struct seg_slack), i);

		if (c->node >= OWN_NODES)
			assert_int_equal(s->allocated, 1000000 + 10ull * c->node);
	}
	other = shard_record(second->index);
	assert_int_equal(other->counter_count, NODES - SEG_FIRST_NODE);
	for (uint32_t i = 0; i < other->counter_count; i++) {
		const struct seg_slack *s = fixture_record(other->slack_chunks, SEG_COUNTER_FIRST,
							   sizeof(struct seg_slack), i);

		assert_int_equal(s->freed, 1000000 + 9ull * (i + SEG_FIRST_NODE));
	}
	for (uint32_t i = OWN_NODES; i < NODES - 5; i++)
		assert_int_equal(live[i], i);
	record_slack_release(live, NODES - 5);
}

/* What a child inherits is what is live there, and nothing else. */
static void test_inheriting(void **state)
{
	int64_t *live = rt_map(NODES * sizeof(*live));
	struct shard *shard = shard_new();
	const struct seg_slack *s;
	uint32_t node = 40;

	(void)state;
	live[SEG_UNATTRIBUTED] = 5;
	live[40] = 77;
	live[41] = -3; /* a fork amid a free */
	record_slack_inherit(shard, live, NODES);
	assert_int_equal(shard->counts->none_slack.allocated, 5);
	assert_int_equal(shard->counts->counter_count, 1);
	s = counter_slack(shard, counter_of(shard, &node)).counts;
	assert_int_equal(s->allocated, 77);
	assert_int_equal(s->freed, 0);
	record_slack_release(live, NODES);
}

static unsigned depth;

static size_t tell_by_allocating(void *block)
{
	(void)block;
	if (++depth > 100)
		abort();
	usable[9] = 24;
	allocate(9, 16);
	release(9);
	return 100;
}

/* An allocator that allocates in order to tell comes to an end. */
static void test_recursion(void **state)
{
	(void)state;
	real.malloc_usable_size = tell_by_allocating;
	allocate(8, 90);
	assert_in_range(depth, 1, 30);
	real.malloc_usable_size = tell;
	depth = 0;
	assert_int_equal(record_slack_of(block_of(9), 20), 4);
}

/* Blocks of before the allocator could be reached have none. */
static void test_bootstrap(void **state)
{
	(void)state;
	assert_int_equal(record_slack_of(bootstrap_alloc(16, 10, 0), 10), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),	   cmocka_unit_test(test_resizing),
		cmocka_unit_test(test_recursion),  cmocka_unit_test(test_bootstrap),
		cmocka_unit_test(test_inheriting), cmocka_unit_test(test_many_counters),
	};
	int failed;

	real.malloc_usable_size = tell;
	record_mode = RECORD_SLACK;
	fixture_start(64, 64);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	fixture_stop();
	return failed;
}
