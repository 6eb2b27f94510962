/* SPDX-License-Identifier: MIT */
/*
 * Lists of moments against a full account of the same sequence: whatever was thinned, each moment that is left says of every
 * stack what it had then.
 */
#include "cmd/moments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { STACKS = 40, LONGEST = 5000, NO_LIMIT = 1 << 30 };

/* What each stack really has, at each time. */
static struct moment_live history[LONGEST][STACKS];
static uint64_t random_state;

static uint64_t below(uint64_t count)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 8) % count;
}

/* Nodes lie apart, as in a tree where most are but the way to others. */
static uint32_t node_of(size_t stack)
{
	return (uint32_t)(SEG_FIRST_NODE + 977 * (stack * 7 % STACKS));
}

/* In parts, as from several threads, one of which has freed what others have allocated. */
static void hand_over(struct moments *m, uint32_t node, struct moment_live live)
{
	uint64_t freed = below(1000);

	moments_take(m, node, (uint64_t)live.blocks + freed, (uint64_t)live.bytes + 16 * freed);
	moments_take(m, node, -freed, -16 * freed);
}

/* At time t, `busy` of 100 stacks have changed, most of them back to nothing or to one of few values. */
static void go_on(struct moments *m, size_t t, unsigned busy, size_t most)
{
	if (t)
		memcpy(history[t], history[t - 1], sizeof(history[t]));
	else
		memset(history[t], 0, sizeof(history[t]));
	for (size_t i = 0; i < STACKS; i++)
		if (below(100) < busy) {
			int64_t blocks = (int64_t)below(3);

			history[t][i] = (struct moment_live){ blocks, 100 * blocks };
		}
	moments_begin(m);
	for (size_t i = 0; i < STACKS; i++)
		hand_over(m, node_of(i), history[t][i]);
	moments_end(m, (int64_t)t, most);
}

/* Every moment that is left is one that was, and no change is none. */
static void check(const struct moments *m)
{
	struct moment_live live[STACKS] = { 0 };
	int64_t last = -1;

	for (size_t i = 0; i < m->count; i++) {
		size_t end = i + 1 < m->count ? m->list[i + 1].first : m->change_count;

		assert_true(m->list[i].t_ns > last);
		last = m->list[i].t_ns;
		assert_in_range(end, m->list[i].first, m->change_count);
		for (size_t c = m->list[i].first; c < end; c++) {
			const struct moment_change *change = &m->changes[c];
			size_t stack = 0;

			while (node_of(stack) != m->stacks[change->stack].node)
				assert_true(++stack < STACKS);
			assert_memory_not_equal(&live[stack], &change->live, sizeof(*live));
			live[stack] = change->live;
		}
		assert_memory_equal(live, history[last], sizeof(live));
	}
}

static void test_values_are_those_of_their_time(void **state)
{
	static const unsigned busy[] = { 0, 1, 10, 100 };

	(void)state;
	random_state = 4711;
	for (size_t b = 0; b < sizeof(busy) / sizeof(busy[0]); b++)
		for (size_t length = 1; length < LONGEST; length += length < 600 ? 37 : 977) {
			struct moments m = { 0 };

			for (size_t t = 0; t < length; t++)
				go_on(&m, t, busy[b], NO_LIMIT);
			check(&m);
			/* Half as many are left, or more, and the last one always. */
			assert_in_range(m.count,
					length < MOMENTS_MOST / 2 ? length : MOMENTS_MOST / 2,
					MOMENTS_MOST - 1);
			assert_int_equal(m.list[m.count - 1].t_ns, length - 1);
			moments_release(&m);
		}
}

static void test_changes_have_a_limit(void **state)
{
	(void)state;
	random_state = 815;
	for (size_t most = STACKS; most < 100 * STACKS; most = most * 3 / 2) {
		struct moments m = { 0 };

		for (size_t t = 0; t < 700; t++) {
			go_on(&m, t, 30, most);
			assert_in_range(m.change_count, 0, most);
			assert_in_range(m.count, 1, MOMENTS_MOST - 1);
		}
		check(&m);
		assert_int_equal(m.list[m.count - 1].t_ns, 699);
		moments_release(&m);
	}
}

/* More live stacks than may be kept: no moment at all rather than a part of one; and the rate falls. */
static void test_a_moment_that_is_too_large(void **state)
{
	struct moments m = { 0 };

	(void)state;
	random_state = 1;
	memset(history, 0, sizeof(history));
	for (size_t t = 0; t < 8; t++) {
		moments_begin(&m);
		for (size_t i = 0; i < STACKS; i++)
			moments_take(&m, node_of(i), 1, t + 1);
		moments_end(&m, (int64_t)t, STACKS - 1);
		assert_int_equal(m.count, 0);
		assert_int_equal(m.change_count, 0);
	}
	assert_true(m.every_ns >= 8 * 10000000ul);
	/* What fits again is there in full. */
	moments_begin(&m);
	moments_take(&m, node_of(3), 1, 8);
	moments_end(&m, 100, STACKS - 1);
	assert_int_equal(m.count, 1);
	assert_int_equal(m.change_count, 1);
	assert_int_equal(m.changes[0].live.bytes, 8);
	moments_release(&m);
}

/* A free is seen before its allocation: the other thread's counter was read earlier. */
static void test_never_below_zero(void **state)
{
	struct moments m = { 0 };

	(void)state;
	moments_begin(&m);
	moments_take(&m, 100, (uint64_t)-1, (uint64_t)-64);
	moments_take(&m, 200, 2, 64);
	moments_end(&m, 0, NO_LIMIT);
	assert_int_equal(m.change_count, 1);
	assert_int_equal(m.stacks[m.changes[0].stack].node, 200);
	moments_begin(&m);
	moments_take(&m, 200, (uint64_t)-1, (uint64_t)-64);
	moments_end(&m, 0, NO_LIMIT); /* a clock that stands: time goes on all the same */
	assert_int_equal(m.count, 2);
	assert_int_equal(m.list[1].t_ns, 1);
	assert_int_equal(m.changes[1].live.blocks, 0);
	assert_int_equal(m.changes[1].live.bytes, 0);
	moments_begin(&m);
	moments_end(&m, -5, NO_LIMIT);
	assert_int_equal(m.list[m.count - 1].t_ns, 2);
	moments_release(&m);
	moments_begin(&m);
	moments_end(&m, -5, NO_LIMIT); /* before the start: the header is damaged */
	assert_int_equal(m.count, 0);
	moments_release(&m);
}

static void test_no_more_once_stopped(void **state)
{
	struct moments m = { 0 };

	(void)state;
	moments_begin(&m);
	moments_take(&m, 100, 1, 64);
	moments_end(&m, 7, NO_LIMIT);
	moments_stop(&m);
	moments_begin(&m);
	moments_take(&m, 100, 2, 64);
	moments_take(&m, 100000, 2, 64);
	moments_end(&m, 8, NO_LIMIT);
	assert_int_equal(m.count, 1);
	assert_int_equal(m.change_count, 1);
	assert_int_equal(m.stack_count, 1);
	moments_release(&m);
}

static void test_budget(void **state)
{
	size_t sum = 0;

	(void)state;
	assert_int_equal(moments_budget(0, 1000), 100000);
	assert_int_equal(moments_budget(0, 1000000), 500000);
	/* A thousand small processes have not a thousand times as much. */
	for (size_t i = 0; i < 1000; i++)
		sum += moments_budget(i, 100);
	assert_in_range(sum, 100000, 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_are_those_of_their_time),
		cmocka_unit_test(test_changes_have_a_limit),
		cmocka_unit_test(test_a_moment_that_is_too_large),
		cmocka_unit_test(test_never_below_zero),
		cmocka_unit_test(test_no_more_once_stopped),
		cmocka_unit_test(test_budget),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
