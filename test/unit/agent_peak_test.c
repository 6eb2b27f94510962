/* SPDX-License-Identifier: MIT */
/*
 * The peak and everybody's share of it, against a model that copies all live values at each new maximum.
 * Links the agent without hooks.o.
 */
#include "agent/peak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/counters.h"
#include "agent/layout.h"
#include "agent/record.h"
#include "test/unit/agent_fixture.h"

enum { SITES = 7, SHARDS = 40, MOST_BLOCKS = 400 };

/* -- the model ------------------------------------------------------------------------------------ */

struct amount {
	int64_t bytes, blocks;
};

struct model {
	struct amount live[SITES], at_peak[SITES];
	int64_t total, peak;
	struct {
		unsigned site;
		int64_t size;
	} blocks[MOST_BLOCKS];
	unsigned count;
};

static struct model model;

static void model_change(unsigned site, int64_t bytes, int64_t blocks)
{
	model.live[site].bytes += bytes;
	model.live[site].blocks += blocks;
	model.total += bytes;
	if (model.total <= model.peak)
		return;
	model.peak = model.total;
	memcpy(model.at_peak, model.live, sizeof(model.live));
}

/* -- the product, driven as record.c does --------------------------------------------------------- */

static struct seg_header header;
static struct seg_shard shards[SHARDS];
static struct seg_counter counters[SHARDS][SITES];

static void reset(void)
{
	memset(&model, 0, sizeof(model));
	memset(&header, 0, sizeof(header));
	memset(shards, 0, sizeof(shards));
	memset(counters, 0, sizeof(counters));
	fixture_use_header(&header);
}

static void count_alloc(unsigned shard, unsigned site, int64_t size)
{
	struct seg_counter *c = &counters[shard][site];

	counter_stamp(c, peak_change(&shards[shard], size));
	c->allocations++;
	c->bytes += (uint64_t)size;
	model_change(site, size, 1);
}

static void count_free(unsigned shard, unsigned site, int64_t size)
{
	struct seg_counter *c = &counters[shard][site];

	counter_stamp(c, peak_change(&shards[shard], -size));
	c->frees++;
	c->freed_bytes += (uint64_t)size;
	model_change(site, -size, -1);
}

/* What a reader makes of it, by the words of peak.h. */
struct result {
	int64_t peak, error;
	struct amount shares[SITES];
	int64_t shares_bytes;
};

static struct result read_result(void)
{
	struct seg_account a = seg_unpack(header.packed);
	struct result r = { 0 };
	uint32_t epoch = header.several ? a.epoch : header.single_epoch;
	bool at_max = header.several ? a.at_max : header.single_at_max;

	r.peak = header.several ? a.max : header.single_max;
	r.error = header.several ? (int64_t)header.peak_error : 0;
	for (unsigned s = 0; s < SHARDS; s++)
		for (unsigned i = 0; i < SITES; i++) {
			const struct seg_counter *c = &counters[s][i];
			bool saved = !at_max && c->epoch == epoch;

			r.shares[i].bytes +=
				saved ? c->peak_bytes : (int64_t)(c->bytes - c->freed_bytes);
			r.shares[i].blocks +=
				saved ? c->peak_blocks : (int64_t)(c->allocations - c->frees);
		}
	for (unsigned i = 0; i < SITES; i++)
		r.shares_bytes += r.shares[i].bytes;
	return r;
}

static void expect_exact(void)
{
	struct result r = read_result();

	assert_int_equal(r.peak, model.peak);
	assert_int_equal(r.error, 0);
	for (unsigned i = 0; i < SITES; i++) {
		assert_int_equal(r.shares[i].bytes, model.at_peak[i].bytes);
		assert_int_equal(r.shares[i].blocks, model.at_peak[i].blocks);
	}
}

static void expect_within_error(void)
{
	struct result r = read_result();

	assert_in_range(r.peak, model.peak > r.error ? model.peak - r.error : 0,
			model.peak + r.error);
	assert_in_range(r.shares_bytes, r.peak > r.error ? r.peak - r.error : 0, r.peak + r.error);
}

/* -- random programs ------------------------------------------------------------------------------ */

/* Few different sizes, so that the maximum is often met again exactly. */
static int64_t any_size(uint64_t *random, unsigned flavour)
{
	static const int64_t sizes[][6] = {
		{ 0, 1, 1, 2, 2, 3 },
		{ 0, 0, 0, 16, 16, 32 },
		{ 1, 24, 100, 4096, 1 << 20, 1 << 20 },
		{ 0, 1ll << 33, 1ll << 40, 7, 1ll << 40, 1ll << 33 },
	};

	return sizes[flavour % 4][fixture_below(random, 6)];
}

static void add_block(unsigned shard, unsigned site, int64_t size)
{
	model.blocks[model.count].site = site;
	model.blocks[model.count++].size = size;
	count_alloc(shard, site, size);
}

/* Whoever frees need not be who allocated. */
static void remove_block(unsigned shard, unsigned index)
{
	unsigned site = model.blocks[index].site;
	int64_t size = model.blocks[index].size;

	model.blocks[index] = model.blocks[--model.count];
	count_free(shard, site, size);
}

/* `phase` makes the heap grow, shrink or hover. */
static void random_event(uint64_t *random, unsigned shard, unsigned flavour, unsigned phase)
{
	static const unsigned allocs_of_ten[] = { 7, 3, 5, 5, 9, 1 };
	unsigned site = (unsigned)fixture_below(random, SITES);
	bool grow = fixture_below(random, 10) < allocs_of_ten[phase % 6];

	if (!model.count || (grow && model.count < MOST_BLOCKS)) {
		add_block(shard, site, any_size(random, flavour));
		return;
	}
	remove_block(shard, (unsigned)fixture_below(random, model.count));
	if (fixture_below(random, 4) == 0) /* it was a realloc */
		add_block(shard, site, any_size(random, flavour));
}

static void test_one_shard(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned sequence = 0; sequence < 3000; sequence++) {
		reset();
		for (unsigned i = 0; i < 150; i++) {
			random_event(&random, 0, sequence, i / 20 + sequence);
			expect_exact();
		}
	}
}

/* The first moment of the maximum counts, not a later one, and blocks of no bytes have a share too. */
static void test_first_moment(void **state)
{
	(void)state;
	reset();
	count_alloc(0, 0, 0);
	expect_exact();
	count_alloc(0, 1, 100);
	count_alloc(0, 2, 0);
	expect_exact();
	count_free(0, 1, 100);
	count_alloc(0, 3, 100);
	expect_exact();
	assert_int_equal(read_result().shares[0].blocks, 1);
	assert_int_equal(read_result().shares[1].bytes, 100);
	assert_int_equal(read_result().shares[2].blocks, 0);
	assert_int_equal(read_result().shares[3].bytes, 0);
	count_alloc(0, 3, 1);
	expect_exact();
	assert_int_equal(read_result().shares[2].blocks, 1);
	assert_int_equal(read_result().shares[3].bytes, 101);
}

static void go_common(void)
{
	peak_go_common(&shards[0]);
}

/* From one shard to several at any moment.  While at most one thread holds a shard nothing is held back: a
 * thread that ended and one that came after it. */
static void test_transition(void **state)
{
	uint64_t random = 2;

	(void)state;
	for (unsigned sequence = 0; sequence < 2000; sequence++) {
		unsigned when = (unsigned)fixture_below(&random, 100), holder = 0;

		reset();
		peak_set_holders(1);
		for (unsigned i = 0; i < 150; i++) {
			if (i == when)
				go_common();
			if (i >= when && fixture_below(&random, 5) == 0) {
				peak_settle(&shards[holder]);
				peak_set_holders(-1);
				holder = (unsigned)fixture_below(&random, SHARDS);
				peak_set_holders(1);
			}
			random_event(&random, holder, sequence, i / 20 + sequence);
			expect_exact();
		}
	}
}

/* -- several holders ------------------------------------------------------------------------------ */

/* All threads hold their shards before the first event and to the end. */
static void test_several_holders(void **state)
{
	uint64_t random = 3;

	(void)state;
	for (unsigned sequence = 0; sequence < 300; sequence++) {
		unsigned holders = 2 + sequence % 15;

		reset();
		peak_set_holders(1);
		go_common();
		peak_set_holders((int)holders - 1);
		add_block(0, 0, 100000); /* a new maximum that is published */
		for (unsigned i = 0; i < 800; i++) {
			random_event(&random, (unsigned)fixture_below(&random, holders), sequence,
				     i / 50 + sequence);
			expect_within_error();
		}
	}
}

/* When all have given their shards back the total is exact. */
static void test_settled(void **state)
{
	uint64_t random = 4;

	(void)state;
	for (unsigned sequence = 0; sequence < 300; sequence++) {
		unsigned holders = 2 + sequence % 15;

		reset();
		peak_set_holders((int)holders);
		go_common();
		for (unsigned i = 0; i < 300; i++)
			random_event(&random, (unsigned)fixture_below(&random, holders), sequence,
				     i / 50);
		for (unsigned i = 0; i < holders; i++) {
			peak_settle(&shards[i]);
			peak_set_holders(-1);
		}
		assert_int_equal(seg_unpack(header.packed).total, model.total);
		assert_int_equal(header.held_shards, 0);
	}
}

/* The maximum was reached by one thread; what the second adds is less than a quantum and never published. */
static void test_error_after_transition(void **state)
{
	(void)state;
	reset();
	peak_set_holders(1);
	count_alloc(0, 0, 1000);
	go_common();
	peak_set_holders(1);
	assert_true(header.quantum > 8); /* as much as a thread may hold back */
	count_alloc(1, 1, (int64_t)header.quantum);
	expect_within_error();
	count_alloc(0, 2, 8);
	expect_within_error();
}

/* A maximum among several threads was missed by less than the bound; when one thread is left and goes a
 * little higher than what was published, the bound still holds. */
static void test_error_is_not_forgotten(void **state)
{
	(void)state;
	reset();
	peak_set_holders(2);
	go_common();
	count_alloc(0, 0, 100000);
	count_alloc(1, 1, (int64_t)header.quantum);
	count_free(1, 1, (int64_t)header.quantum);
	expect_within_error();
	peak_settle(&shards[1]);
	peak_set_holders(-1);
	count_alloc(0, 0, 1);
	expect_within_error();
}

/* Threads come one after another; each holds back as much as it may at that time, and sleeps. */
static void test_error_of_sleepers(void **state)
{
	(void)state;
	reset();
	peak_set_holders(1);
	go_common();
	count_alloc(0, 0, 1 << 30);
	peak_set_holders(1);
	count_alloc(0, 0, 1 << 30);
	for (unsigned i = 1; i < SHARDS; i++) {
		if (i > 1)
			peak_set_holders(1);
		count_alloc(i, 1, (int64_t)header.quantum);
		expect_within_error();
	}
	count_alloc(0, 0, 1 << 24);
	expect_within_error();
}

/* Threads come and go at any time. */
static void test_changing_holders(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (unsigned sequence = 0; sequence < 300; sequence++) {
		bool held[SHARDS] = { true };
		unsigned holders = 1;

		reset();
		peak_set_holders(1);
		for (unsigned i = 0; i < 800; i++) {
			unsigned s = (unsigned)fixture_below(&random, SHARDS);

			if (i == 50)
				go_common();
			if (i > 50 && !held[s] && fixture_below(&random, 40) == 0) {
				held[s] = true;
				holders++;
				peak_set_holders(1);
			} else if (held[s] && holders > 1 && fixture_below(&random, 40) == 0) {
				peak_settle(&shards[s]);
				peak_set_holders(-1);
				held[s] = false;
				holders--;
			}
			while (!held[s])
				s = (s + 1) % SHARDS;
			random_event(&random, s, sequence, i / 50);
			expect_within_error();
		}
	}
}

/* -- real threads --------------------------------------------------------------------------------- */

enum { THREADS = 6, SLOTS = 512, MOST_SIZE = 600, EVENTS = 60000, RAMP = 400, RAMP_SIZE = 20000 };

/* A block on its way between threads; the map takes numbers for addresses. */
static uint64_t slots[SLOTS];

static uint64_t block_of(uint64_t id)
{
	return 0x100000000000 + id * 16;
}

struct worker {
	pthread_t thread;
	pthread_barrier_t *barrier;
	unsigned index;
	uint64_t random, next_id;
	struct amount live[SITES];
	int64_t allocations;
	int64_t by_size[SEG_SIZES]; /* allocations, under the index of their counter */
};

static uint64_t sizes_by_id[1 << 21]; /* size << 8 | site */
static uintptr_t callers[SITES];      /* the return address of each site's call */

/* Stands for a hook: has a frame of its own. */
__attribute__((noinline)) static void hook_alloc(uint64_t id, unsigned site, uint64_t size)
{
	__atomic_store_n(&callers[site], (uintptr_t)__builtin_return_address(0), __ATOMIC_RELAXED);
	record_alloc((void *)block_of(id), size, __builtin_frame_address(0));
	__asm__ volatile("");
}

__attribute__((noinline)) static void hook_free(uint64_t id)
{
	record_free((void *)block_of(id), __builtin_frame_address(0));
	__asm__ volatile("");
}

#define SITE(n)                                                             \
 __attribute__((noinline)) static void site_##n(uint64_t id, uint64_t size) \
 {                                                                          \
  hook_alloc(id, n, size);                                                  \
  __asm__ volatile("");                                                     \
 }
SITE(0)
SITE(1)
SITE(2)
SITE(3)
SITE(4)
SITE(5)
SITE(6)

static void (*const sites[SITES])(uint64_t, uint64_t) = { site_0, site_1, site_2, site_3,
							  site_4, site_5, site_6 };

/* By comparison: 1 to 8 bytes are 2, and each further index has twice as many. */
static unsigned index_of_size(uint64_t size)
{
	unsigned index = 2;

	if (!size)
		return SEG_SIZES - 1;
	for (uint64_t most = 8; size > most; most *= 2)
		index++;
	return index;
}

static uint64_t worker_alloc(struct worker *w, unsigned site, uint64_t size)
{
	uint64_t id = w->next_id;

	w->next_id += THREADS + 1;
	sizes_by_id[id] = size << 8 | site;
	sites[site](id, size);
	w->live[site].bytes += (int64_t)size;
	w->live[site].blocks++;
	w->allocations++;
	w->by_size[index_of_size(size)]++;
	return id;
}

static void worker_free(struct worker *w, uint64_t id)
{
	unsigned site = sizes_by_id[id] & 255;

	hook_free(id);
	w->live[site].bytes -= (int64_t)(sizes_by_id[id] >> 8);
	w->live[site].blocks--;
}

/* Puts a block into a slot and frees the one that was there, often another thread's. */
static void churn(struct worker *w)
{
	for (unsigned i = 0; i < EVENTS; i++) {
		unsigned site = (unsigned)fixture_below(&w->random, SITES - 1);
		uint64_t id = worker_alloc(w, site, fixture_below(&w->random, MOST_SIZE));
		uint64_t *slot = &slots[fixture_below(&w->random, SLOTS)];
		uint64_t old = __atomic_exchange_n(slot, id, __ATOMIC_ACQ_REL);

		if (old)
			worker_free(w, old);
	}
}

/* Only allocations, so many that the maximum is at their end; then only frees. */
static void ramp(struct worker *w)
{
	uint64_t ids[RAMP];

	for (unsigned i = 0; i < RAMP; i++)
		ids[i] = worker_alloc(w, SITES - 1, RAMP_SIZE + i % 97);
	pthread_barrier_wait(w->barrier);
	pthread_barrier_wait(w->barrier); /* the main thread looks here */
	for (unsigned i = 0; i < RAMP; i++)
		worker_free(w, ids[i]);
}

static void *work(void *context)
{
	struct worker *w = context;

	churn(w);
	pthread_barrier_wait(w->barrier);
	ramp(w);
	return NULL;
}

static unsigned site_of(uint32_t node)
{
	uintptr_t innermost = fixture_node(node)->address;

	for (unsigned i = 0; i < SITES; i++)
		if (callers[i] == innermost)
			return i;
	fail_msg("node %u is of no site", node);
	return 0;
}

struct sums {
	struct amount live[SITES], shares[SITES];
	int64_t allocations, shard_bytes, shard_blocks, sizes_bytes, sizes_share;
	int64_t allocations_by_size[64];
};

static void add_sizes(struct sums *s, const struct seg_shard *shard, const struct seg_account *a)
{
	for (unsigned i = 0; i < SEG_SIZES; i++) {
		const struct seg_counter *c = &shard->sizes[i];
		int64_t live = (int64_t)(c->bytes - c->freed_bytes);

		s->allocations_by_size[i] += (int64_t)c->allocations;
		s->shard_blocks += (int64_t)(c->allocations - c->frees);
		s->sizes_bytes += live;
		s->sizes_share += !a->at_max && c->epoch == a->epoch ? c->peak_bytes : live;
	}
}

/* Adds up all shards of the real segment, as a reader does. */
static struct sums add_up(void)
{
	const struct seg_header *h = fixture_at(0);
	struct seg_account a = seg_unpack(h->packed);
	struct sums s = { 0 };

	for (uint32_t i = 0; i < h->shard_count; i++) {
		const struct seg_shard *shard =
			fixture_record(h->shard_chunks, SEG_SHARD_FIRST, sizeof(*shard), i);

		s.shard_bytes += shard->live_bytes;
		add_sizes(&s, shard, &a);
		assert_int_equal(shard->none.allocations, 0);
		for (uint32_t k = 0; k < shard->counter_count; k++) {
			const struct seg_counter *c =
				fixture_record(shard->chunks, SEG_COUNTER_FIRST, sizeof(*c), k);
			unsigned site = site_of(c->node);
			bool saved = !a.at_max && c->epoch == a.epoch;

			s.allocations += (int64_t)c->allocations;
			s.live[site].bytes += (int64_t)(c->bytes - c->freed_bytes);
			s.live[site].blocks += (int64_t)(c->allocations - c->frees);
			s.shares[site].bytes +=
				saved ? c->peak_bytes : (int64_t)(c->bytes - c->freed_bytes);
		}
	}
	return s;
}

static int64_t total_of(const struct amount live[SITES])
{
	int64_t total = 0;

	for (unsigned i = 0; i < SITES; i++)
		total += live[i].bytes;
	return total;
}

/* Exact sums, whoever allocated and freed. */
static void expect_sums(const struct worker *workers, unsigned count)
{
	struct sums s = add_up();
	struct amount live[SITES] = { 0 };
	int64_t blocks = 0, allocations = 0;

	for (unsigned i = 0; i < count; i++) {
		allocations += workers[i].allocations;
		for (unsigned k = 0; k < SITES; k++) {
			live[k].bytes += workers[i].live[k].bytes;
			live[k].blocks += workers[i].live[k].blocks;
			blocks += workers[i].live[k].blocks;
		}
	}
	assert_int_equal(s.allocations, allocations);
	assert_int_equal(s.shard_bytes, total_of(live));
	assert_int_equal(s.shard_blocks, blocks);
	assert_int_equal(s.sizes_bytes, total_of(live));
	for (unsigned k = 0; k < SEG_SIZES; k++) {
		int64_t expected = 0;

		for (unsigned i = 0; i < count; i++)
			expected += workers[i].by_size[k];
		assert_int_equal(s.allocations_by_size[k], expected);
	}
	for (unsigned k = 0; k < SITES; k++) {
		assert_int_equal(s.live[k].bytes, live[k].bytes);
		assert_int_equal(s.live[k].blocks, live[k].blocks);
	}
}

static void expect_near(int64_t value, int64_t expected, int64_t error)
{
	assert_in_range(value, expected > error ? expected - error : 0, expected + error);
}

static void expect_peak(int64_t peak, const struct amount at_peak[SITES])
{
	const struct seg_header *h = fixture_at(0);
	struct seg_account a = seg_unpack(h->packed);
	struct sums s = add_up();
	int64_t error = (int64_t)h->peak_error;

	assert_in_range(error, 1, (uint64_t)peak / 1000 + 4096); /* one in a thousand */
	expect_near(a.max, peak, error);
	expect_near(total_of(s.shares), peak, error);
	assert_int_equal(s.sizes_share, total_of(s.shares));
	for (unsigned i = 0; i < SITES; i++)
		expect_near(s.shares[i].bytes, at_peak[i].bytes, error);
}

static void add_live(struct amount live[SITES], const struct worker *w)
{
	for (unsigned k = 0; k < SITES; k++) {
		live[k].bytes += w->live[k].bytes;
		live[k].blocks += w->live[k].blocks;
	}
}

/* The main thread is at work alone, then beside the others when the first of them comes. */
static void test_threads(void **state)
{
	static struct worker workers[THREADS + 1];
	struct amount at_peak[SITES] = { 0 };
	pthread_barrier_t barrier;

	(void)state;
	fixture_use_header(NULL);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (unsigned i = 0; i <= THREADS; i++)
		workers[i] = (struct worker){
			.index = i, .next_id = i + 1, .random = 100 + i, .barrier = &barrier
		};
	churn(&workers[THREADS]);
	expect_sums(workers, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	churn(&workers[THREADS]);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	expect_sums(workers, THREADS + 1);
	for (unsigned i = 0; i <= THREADS; i++)
		add_live(at_peak, &workers[i]);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	expect_sums(workers, THREADS + 1);
	expect_peak(total_of(at_peak), at_peak);
	pthread_barrier_destroy(&barrier);
}

static void *short_life(void *context)
{
	struct worker *w = context;

	worker_free(w, worker_alloc(w, 0, 10));
	worker_alloc(w, 1, 1);
	return NULL;
}

static uint32_t count_holders(void)
{
	const struct seg_header *h = fixture_at(0);
	uint32_t holders = 0;

	for (uint32_t i = 0; i < h->shard_count; i++) {
		const struct seg_shard *shard =
			fixture_record(h->shard_chunks, SEG_SHARD_FIRST, sizeof(*shard), i);

		assert_in_range(shard->holders, 1, UINT32_MAX);
		holders += shard->holders;
	}
	return holders;
}

/* The first threads get a shard each.  A later one takes an earlier one's over, counts included; then nothing is
 * unpublished. */
static void test_short_threads(void **state)
{
	const struct seg_header *h = fixture_at(0);
	struct sums before = add_up(), after;
	uint32_t thread_count = h->thread_count;
	struct worker w = { .next_id = 2000000, .random = 9 };

	(void)state;
	for (unsigned i = 0; i < 500; i++) {
		assert_int_equal(pthread_create(&w.thread, NULL, short_life, &w), 0);
		pthread_join(w.thread, NULL);
	}
	after = add_up();
	assert_int_equal(h->shard_count, SEG_OWN_SHARDS);
	assert_int_equal(h->thread_count, thread_count + 500);
	assert_int_equal(count_holders(), h->thread_count);
	assert_int_equal(after.allocations, before.allocations + 1000);
	assert_int_equal(after.shard_bytes, before.shard_bytes + 500);
	worker_alloc(&w, 1, 100000); /* the only holder: publishes all it has */
	assert_int_equal(seg_unpack(h->packed).total, before.shard_bytes + 100500);
}

static int start(void **state)
{
	(void)state;
	fixture_start(64, 1024);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	fixture_use_header(NULL);
	fixture_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_shard),
		cmocka_unit_test(test_first_moment),
		cmocka_unit_test(test_transition),
		cmocka_unit_test(test_several_holders),
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_error_after_transition),
		cmocka_unit_test(test_error_is_not_forgotten),
		cmocka_unit_test(test_error_of_sleepers),
		cmocka_unit_test(test_changing_holders),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_short_threads),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, stop);
}
