/* SPDX-License-Identifier: MIT */
/* The block map.  Links the agent without hooks.o.  Addresses are numbers here: the map never follows them. */
#include "agent/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/agent_fixture.h"

#define GIB	 (1ull << 30)
#define TIB	 (1ull << 40)
#define USER_END (1ull << 47) /* x86-64 with four-level page tables */

static const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

static bool put(uint64_t address, uint32_t node, uint64_t size)
{
	struct block former;

	return block_put(at(address), node, size, &former);
}

static void expect_block(const struct block *b, enum block_state state, uint32_t node,
			 uint64_t size)
{
	assert_int_equal(b->state, state);
	if (state != BLOCK_LIVE)
		return;
	assert_int_equal(b->node, node);
	assert_int_equal(b->size, size);
}

static void expect_take(uint64_t address, enum block_state state, uint32_t node, uint64_t size)
{
	struct block b = block_take(at(address));

	expect_block(&b, state, node, size);
}

/* -- one block ------------------------------------------------------------------------------------ */

static void life(uint64_t address, uint32_t node, uint64_t size)
{
	assert_true(put(address, node, size));
	expect_take(address, BLOCK_LIVE, node, size);
	expect_take(address, BLOCK_FREED, 0, 0);
	expect_take(address, BLOCK_FREED, 0, 0);
}

static void test_states(void **state)
{
	(void)state;
	expect_take(0x500000000000, BLOCK_UNKNOWN, 0, 0);
	expect_take(0x500000000000, BLOCK_UNKNOWN, 0, 0);
	life(0x500000000000, 16, 100);
	expect_take(0x500000000010, BLOCK_UNKNOWN, 0, 0); /* the neighbour */
	life(0x500000000000, 17, 200);			  /* the address again */
}

static const uint64_t sizes[] = {
	0,	     1,	       15,	    16,
	4095,	     1u << 31, 4 * GIB - 3, 4 * GIB - 2,
	4 * GIB - 1, 4 * GIB,  4 * GIB + 1, 8 * GIB,
	TIB - 1,     TIB,      TIB + 1,	    (1ull << 46) + 12345,
};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

static void test_sizes(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		life(0x510000000000, 16, sizes[i]);
		life(0x510000000000 + 64 * (i + 1), 0x7fffffff, sizes[i]);
	}
}

/* A block that takes the place of one whose free was never seen. */
static void test_replaced_unseen(void **state)
{
	struct block former;

	(void)state;
	for (size_t i = 0; i < SIZES; i++)
		for (size_t k = 0; k < SIZES; k++) {
			assert_true(put(0x520000000000, 16, sizes[i]));
			assert_true(block_put(at(0x520000000000), 99, sizes[k], &former));
			expect_block(&former, BLOCK_LIVE, 16, sizes[i]);
			expect_take(0x520000000000, BLOCK_LIVE, 99, sizes[k]);
			expect_take(0x520000000000, BLOCK_FREED, 0, 0);
		}
}

/* Both sides of every border of the map's tables (and of all other powers of two). */
static void test_borders(void **state)
{
	(void)state;
	for (unsigned bit = 12; bit < 47; bit++)
		for (uint64_t k = 1; k < 4; k++) {
			uint64_t border = k << bit;

			if (border >= USER_END || border < 4096)
				continue;
			assert_true(put(border - 16, 100 + bit, 1000 + k));
			assert_true(put(border, 200 + bit, 2000 + k));
			expect_take(border - 16, BLOCK_LIVE, 100 + bit, 1000 + k);
			expect_take(border, BLOCK_LIVE, 200 + bit, 2000 + k);
			expect_take(border - 16, BLOCK_FREED, 0, 0);
		}
	life(16, 16, 1);
	life(USER_END - 16, 16, 1);
	expect_take(USER_END - 32, BLOCK_UNKNOWN, 0, 0);
}

static void test_not_of_the_user(void **state)
{
	static const uint64_t addresses[] = {
		USER_END,	    USER_END + 16,	1ull << 48,	    1ull << 63,
		0x8000123400000000, 0xffff800000000000, 0xffff888812345670, 0xffffffff81000000,
		0xfffffffffffffff0, UINT64_MAX,		0x0100000000000010, /* a tagged pointer */
	};

	(void)state;
	assert_true(put(0x10, 16, 1)); /* what a lost high bit would lead to */
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		assert_false(put(addresses[i], 16, 100));
		assert_false(put(addresses[i], 16, TIB));
		expect_take(addresses[i], BLOCK_UNKNOWN, 0, 0);
	}
	expect_take(0x10, BLOCK_LIVE, 16, 1);
}

/* -- many blocks ---------------------------------------------------------------------------------- */

struct model {
	uint64_t address, size;
	uint32_t node;
	enum block_state state;
};

/* More huge blocks than any table of them may have room for: each is exact or was refused. */
static void test_many_huge(void **state)
{
	enum { COUNT = 3000 };
	static struct model blocks[COUNT];
	uint64_t random = 4711;
	unsigned accepted = 0;

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		blocks[i] = (struct model){
			.address = 0x300000000000 + i * 8192ull,
			.size = 4 * GIB - 1 + fixture_below(&random, 64 * GIB),
			.node = 16 + i,
		};
		if (put(blocks[i].address, blocks[i].node, blocks[i].size))
			blocks[i].state = BLOCK_LIVE;
		accepted += blocks[i].state == BLOCK_LIVE;
	}
	assert_true(accepted >= 1000);
	for (unsigned n = 0; n < COUNT; n++) {
		const struct model *m = &blocks[n * 1009 % COUNT];

		expect_take(m->address, m->state, m->node, m->size);
	}
	life(0x300000000000, 16, TIB); /* there is room again */
}

/* A block that could not be recorded is not the one that was there before, which has gone: it was told of as
 * `former`, and a second telling would count it twice. */
static void test_refused_over_live(void **state)
{
	struct block former;
	unsigned accepted = 0;

	(void)state;
	assert_true(put(0x310000000000, 16, 100));
	assert_true(put(0x310000000040, 17, TIB));
	while (accepted < 100000 && put(0x320000000000 + 64ull * accepted, 18, TIB))
		accepted++;
	if (!block_put(at(0x310000000000), 19, 2 * TIB, &former)) {
		expect_block(&former, BLOCK_LIVE, 16, 100);
		assert_int_not_equal(block_take(at(0x310000000000)).state, BLOCK_LIVE);
	} else {
		expect_take(0x310000000000, BLOCK_LIVE, 19, 2 * TIB);
	}
	expect_take(0x310000000040, BLOCK_LIVE, 17, TIB);
	while (accepted--)
		expect_take(0x320000000000 + 64ull * accepted, BLOCK_LIVE, 18, TIB);
}

enum { POOL = 40000 };
static struct model pool[POOL];

static uint64_t any_size(uint64_t *random)
{
	uint64_t kind = fixture_below(random, 2000);

	if (kind == 0)
		return sizes[fixture_below(random, SIZES)];
	return kind < 50 ? 0 : fixture_below(random, 1 << (1 + kind % 24));
}

#define SPARSE 0x650000000000ull

/* Addresses of many leaves, dense and sparse, all different. */
static void make_pool(uint64_t *random)
{
	for (unsigned i = 0; i < POOL; i++) {
		uint64_t base = 0x600000000000 + (i % 23 << 22) + ((uint64_t)(i % 3) << 35);

		pool[i] = (struct model){ .address = base + i / 23 * (i % 2 ? 16 : 2032) };
		if (i % 5 == 0) /* some where one entry serves for 8 KiB */
			pool[i].address = SPARSE + i * 8192ull + fixture_below(random, 512) * 16;
	}
	for (unsigned i = POOL - 1; i; i--) {
		unsigned k = (unsigned)fixture_below(random, i + 1);
		struct model m = pool[i];

		pool[i] = pool[k];
		pool[k] = m;
	}
}

static int by_address(const void *a, const void *b)
{
	const struct model *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* What was visited, as a multiset without addresses, which the visitor does not get. */
struct sums {
	uint64_t count, nodes, sizes, mixed;
};

static void add(struct sums *s, uint32_t node, uint64_t size)
{
	uint64_t mix = (size + 1) * 0x9e3779b97f4a7c15ull ^ node * 0xc2b2ae3d27d4eb4full;

	s->count++;
	s->nodes += node;
	s->sizes += size;
	s->mixed += (mix ^ mix >> 29) * 0xff51afd7ed558ccdull;
}

static void visit(const struct block *block, void *context)
{
	assert_int_equal(block->state, BLOCK_LIVE);
	add(context, block->node, block->size);
}

static void expect_live_set(void)
{
	struct sums expected = { 0 }, seen = { 0 };

	for (unsigned i = 0; i < POOL; i++)
		if (pool[i].state == BLOCK_LIVE)
			add(&expected, pool[i].node, pool[i].size);
	blocks_visit(visit, &seen);
	assert_int_equal(seen.count, expected.count);
	assert_int_equal(seen.nodes, expected.nodes);
	assert_int_equal(seen.sizes, expected.sizes);
	assert_int_equal(seen.mixed, expected.mixed);
}

static void random_step(uint64_t *random)
{
	struct model *m = &pool[fixture_below(random, POOL)];

	if (fixture_below(random, 20) < (m->state == BLOCK_LIVE ? 2 : 19)) {
		struct model before = *m;
		struct block former;

		m->size = any_size(random);
		m->node = 16 + (uint32_t)fixture_below(random, 0x7ffffff0);
		m->state = BLOCK_LIVE;
		assert_true(block_put(at(m->address), m->node, m->size, &former));
		if (before.state == BLOCK_LIVE)
			expect_block(&former, BLOCK_LIVE, before.node, before.size);
		else
			assert_int_not_equal(former.state, BLOCK_LIVE);
		return;
	}
	expect_take(m->address, m->state, m->node, m->size);
	if (m->state == BLOCK_LIVE)
		m->state = BLOCK_FREED;
}

/* Runs before the tests that leave blocks behind: the visitor sees the whole map. */
static void test_random_against_model(void **state)
{
	uint64_t random = 31337;
	struct sums none = { 0 };

	(void)state;
	blocks_visit(visit, &none);
	assert_int_equal(none.count, 0);
	blocks_sparse(SPARSE, GIB, 13);
	make_pool(&random);
	for (int i = 0; i < 600000; i++) {
		random_step(&random);
		if (i % 150000 == 1000)
			expect_live_set();
	}
	qsort(pool, POOL, sizeof(*pool), by_address);
	for (unsigned i = 0; i < POOL; i++)
		expect_take(pool[i].address, pool[i].state, pool[i].node, pool[i].size);
	blocks_visit(visit, &none);
	assert_int_equal(none.count, 0);
}

/* The range ends where it was said to: beyond there is an entry for each granule. */
static void test_sparse_borders(void **state)
{
	(void)state;
	life(SPARSE, 20, 5);
	expect_take(SPARSE + 8192, BLOCK_UNKNOWN, 0, 0);
	life(SPARSE + GIB - 16, 21, 5 * GIB);
	life(SPARSE - 16, 22, 7);
	expect_take(SPARSE - 32, BLOCK_UNKNOWN, 0, 0);
	life(SPARSE + GIB, 23, 8);
	expect_take(SPARSE + GIB + 16, BLOCK_UNKNOWN, 0, 0);
}

/* -- threads -------------------------------------------------------------------------------------- */

enum { THREADS = 4, GRANULES = 64, ROUNDS = 2000 };

struct worker {
	pthread_t thread;
	unsigned index;
	unsigned wrong;
	unsigned *arrived; /* all threads, over all rounds */
};

/* Lets go of all at the same moment. */
static void meet(const struct worker *w, unsigned round)
{
	__atomic_fetch_add(w->arrived, 1, __ATOMIC_ACQ_REL);
	for (unsigned i = 0; __atomic_load_n(w->arrived, __ATOMIC_ACQUIRE) < THREADS * (round + 1);
	     i++)
		if (i > 200)
			sched_yield();
}

/* Every THREADS-th granule belongs to a thread; each round is in leaves that nobody has touched. */
static void *work(void *context)
{
	struct worker *w = context;

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t base = round % 16 ? 0x700000000000 + ((uint64_t)round << 22)
					   : 0x010000000000 + ((uint64_t)round << 35);

		meet(w, round);
		for (unsigned i = 0; i < GRANULES; i++)
			w->wrong += !put(base + 16ull * (THREADS * i + w->index), 16 + w->index, i);
		for (unsigned i = 0; i < GRANULES; i++) {
			struct block b = block_take(at(base + 16ull * (THREADS * i + w->index)));

			w->wrong += b.state != BLOCK_LIVE || b.node != 16 + w->index || b.size != i;
		}
	}
	return NULL;
}

static void test_threads_share_leaves(void **state)
{
	struct worker workers[THREADS];
	unsigned arrived = 0;

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .index = i, .arrived = &arrived };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].wrong, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_against_model),
		cmocka_unit_test(test_sparse_borders),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_replaced_unseen),
		cmocka_unit_test(test_borders),
		cmocka_unit_test(test_not_of_the_user),
		cmocka_unit_test(test_many_huge),
		cmocka_unit_test(test_refused_over_live),
		cmocka_unit_test(test_threads_share_leaves),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
