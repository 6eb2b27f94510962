/* SPDX-License-Identifier: MIT */
/* The table of bad frees in the segment. */
#include "agent/bad_frees.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/blocks.h"
#include "test/unit/agent_fixture.h"

static const struct seg_bad_free *record_of(uint32_t freed, uint32_t allocated)
{
	const struct seg_header *h = fixture_at(0);
	const struct seg_bad_free *all = h->bad_frees ? fixture_at(h->bad_frees) : NULL,
				  *found = NULL;

	for (uint32_t i = 0; all && i < SEG_BAD_FREES; i++)
		if (all[i].count && all[i].key == ((uint64_t)allocated << 32 | freed)) {
			assert_null(found); /* one record for each key */
			found = &all[i];
		}
	return found;
}

static void count(uint64_t address, enum block_state state, uint32_t allocated, uint64_t size,
		  uint32_t freed, uint32_t thread)
{
	struct block b = { state, allocated, size };

	bad_free_count((const void *)(uintptr_t)address, &b, freed, thread);
}

static void test_none(void **state)
{
	const struct seg_header *h = fixture_at(0);

	(void)state;
	assert_int_equal(h->bad_frees, 0);
}

static void test_first_is_told(void **state)
{
	const struct seg_bad_free *r;

	(void)state;
	count(0x1230, BLOCK_FREED, 20, 48, 30, 2);
	count(0x4560, BLOCK_FREED, 20, 64, 30, 3);
	count(0x7890, BLOCK_UNKNOWN, 20, 64, 30,
	      4); /* what an unknown one says of a block is nothing */
	r = record_of(30, 20);
	assert_non_null(r);
	assert_int_equal(r->count, 2);
	assert_int_equal(r->address, 0x1230);
	assert_int_equal(r->size, 48);
	assert_int_equal(r->state, 1);
	assert_int_equal(r->thread, 2);
	r = record_of(30, 0);
	assert_non_null(r);
	assert_int_equal(r->count, 1);
	assert_int_equal(r->address, 0x7890);
	assert_int_equal(r->size, 0);
	assert_int_equal(r->state, 0);
	assert_int_equal(r->thread, 4);
}

/* Without either stack there is nothing to say; and when all places are taken, no more than those. */
static void test_full(void **state)
{
	uint32_t kept = 0;

	(void)state;
	count(0x10, BLOCK_UNKNOWN, 0, 0, 0, 1);
	assert_null(record_of(0, 0));
	for (uint32_t i = 0; i < 2 * SEG_BAD_FREES; i++)
		count(0x10, BLOCK_UNKNOWN, 0, 0, 1000 + i, 1);
	for (uint32_t i = 0; i < 2 * SEG_BAD_FREES; i++)
		kept += record_of(1000 + i, 0) != NULL;
	assert_int_equal(kept, SEG_BAD_FREES - 2); /* two from before */
	assert_int_equal(record_of(30, 20)->count, 2);
	count(0x10, BLOCK_UNKNOWN, 0, 0, 1000, 1);
	assert_int_equal(record_of(1000, 0)->count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_first_is_told),
		cmocka_unit_test(test_full),
	};
	int failed;

	fixture_start(64, 64);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	fixture_stop();
	return failed;
}
