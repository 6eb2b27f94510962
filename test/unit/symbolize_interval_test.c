/* SPDX-License-Identifier: MIT */
/*
 * Interval sets against a plain search over all of what was added.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbolize/interval.h"

#define COUNT_MAX 60
#define SPACE	  200

struct plain {
	uint64_t low, high, rank;
};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static uint32_t find_plain(const struct plain *all, uint32_t count, uint64_t address)
{
	uint32_t best = INTERVAL_NONE;

	for (uint32_t i = 0; i < count; i++) {
		if (address < all[i].low || address >= all[i].high)
			continue;
		if (best == INTERVAL_NONE || all[i].rank > all[best].rank)
			best = i;
	}
	return best;
}

static void test_random(void **state)
{
	uint32_t seed = 42;

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct interval_set set = { 0 };
		struct plain all[COUNT_MAX];
		uint32_t count = next_random(&seed) % COUNT_MAX;

		for (uint32_t i = 0; i < count; i++) {
			all[i].low = next_random(&seed) % SPACE;
			all[i].high = all[i].low + next_random(&seed) % 40;
			all[i].rank = (uint64_t)(next_random(&seed) % 1000) * COUNT_MAX + i;
			assert_int_equal(
				interval_add(&set, all[i].low, all[i].high, all[i].rank, i), 0);
		}
		assert_int_equal(interval_seal(&set), 0);
		for (uint64_t address = 0; address < SPACE + 50; address++)
			assert_int_equal(interval_find(&set, address),
					 find_plain(all, count, address));
		interval_release(&set);
	}
}

static void test_edges(void **state)
{
	struct interval_set set = { 0 }, copy = { 0 };

	(void)state;
	assert_int_equal(interval_find(&set, 0), INTERVAL_NONE);
	assert_int_equal(interval_seal(&set), 0);
	assert_int_equal(interval_find(&set, 0), INTERVAL_NONE);
	assert_int_equal(interval_add(&set, 5, 5, 1, 1), 0);
	assert_int_equal(interval_add(&set, 6, 5, 1, 1), 0);
	assert_int_equal(interval_add(&set, 0, UINT64_MAX, 1, 7), 0);
	assert_int_equal(interval_add(&set, UINT64_MAX - 1, UINT64_MAX, 2, 8), 0);
	assert_int_equal(interval_seal(&set), 0);
	assert_int_equal(interval_find(&set, 0), 7);
	assert_int_equal(interval_find(&set, UINT64_MAX - 2), 7);
	assert_int_equal(interval_find(&set, UINT64_MAX - 1), 8);
	assert_int_equal(interval_find(&set, UINT64_MAX), INTERVAL_NONE);
	assert_int_equal(interval_add_all(&copy, &set, 3, 9), 0);
	assert_int_equal(interval_seal(&copy), 0);
	assert_int_equal(interval_find(&copy, 0), 9);
	assert_int_equal(interval_find(&copy, UINT64_MAX), INTERVAL_NONE);
	interval_release(&copy);
	interval_release(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_edges),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("interval", tests, NULL, NULL);
}
