/* SPDX-License-Identifier: MIT */
/* Arithmetic of the segment: segmented arrays and the packed account.  Links the agent without hooks.o. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/layout.h"
#include "agent/peak.h"
#include "test/unit/agent_fixture.h"

static const uint32_t firsts[] = {
	1, 2, SEG_SHARD_FIRST, SEG_COUNTER_FIRST, SEG_MODULE_FIRST, SEG_NODE_FIRST, 1u << 20
};
enum { FIRSTS = sizeof(firsts) / sizeof(*firsts) };

/* Every record from 0 on has the place right after the one before it. */
static void test_places_are_contiguous(void **state)
{
	(void)state;
	for (size_t i = 0; i < FIRSTS; i++) {
		uint32_t chunk = 0;
		uint64_t position = 0, length = firsts[i];

		for (uint32_t index = 0; index < 3000000; index++) {
			struct seg_place place = seg_chunk_of(index, firsts[i]);

			assert_int_equal(place.chunk, chunk);
			assert_int_equal(place.position, position);
			if (++position < length)
				continue;
			chunk++;
			position = 0;
			length *= 2;
		}
	}
}

static void check_place(uint64_t index, uint32_t first, uint64_t chunk, uint64_t position)
{
	struct seg_place place;

	if (index > UINT32_MAX)
		return;
	place = seg_chunk_of((uint32_t)index, first);
	assert_int_equal(place.chunk, chunk);
	assert_int_equal(place.position, position);
}

/* First and last record of every chunk, up to the largest index there is. */
static void test_places_at_boundaries(void **state)
{
	(void)state;
	for (size_t i = 0; i < FIRSTS; i++) {
		uint64_t start = 0, length = firsts[i];

		for (unsigned chunk = 0; chunk < 33; chunk++) {
			check_place(start, firsts[i], chunk, 0);
			check_place(start + 1, firsts[i], chunk + (length == 1), length > 1);
			check_place(start + length - 1, firsts[i], chunk, length - 1);
			if (start <= UINT32_MAX && UINT32_MAX < start + length)
				check_place(UINT32_MAX, firsts[i], chunk, UINT32_MAX - start);
			start += length;
			length *= 2;
		}
	}
}

/* `count` bits from bit `low` of the double word, one at a time, as layout.h describes them. */
static uint64_t bits(const uint64_t word[2], unsigned low, unsigned count)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < count; i++) {
		unsigned bit = low + i;

		if (word[bit / 64] >> (bit % 64) & 1)
			value += 1ull << i;
	}
	return value;
}

static void check_account(const struct seg_header *h, int64_t total, int64_t max, uint32_t epoch,
			  uint32_t at_max)
{
	struct seg_account a = seg_unpack(h->packed);

	assert_int_equal(a.total, total);
	assert_int_equal(a.max, max);
	assert_int_equal(a.epoch, epoch);
	assert_int_equal(a.at_max, at_max);
	assert_int_equal(bits(h->packed, 0, 48), (uint64_t)total & ((1ull << 48) - 1));
	assert_int_equal(bits(h->packed, 48, 48), max);
	assert_int_equal(bits(h->packed, 96, 1), at_max);
	assert_int_equal(bits(h->packed, 97, 31), epoch);
}

static struct seg_header header;
static struct seg_shard shard;

/* Puts an account into the common word by the one way there is. */
static void open_account(int64_t total, int64_t max, uint32_t epoch, uint32_t at_max)
{
	memset(&header, 0, sizeof(header));
	memset(&shard, 0, sizeof(shard));
	fixture_use_header(&header);
	shard.live_bytes = total;
	header.single_max = max;
	header.single_epoch = epoch;
	header.single_at_max = at_max;
	peak_go_common(&shard);
}

#define TOP 0x7fffffffffffll /* 2^47 - 1 */

static const int64_t totals[] = { 0,   1,    -1,      255, 1ll << 31, 1ll << 32, -(1ll << 32),
				  TOP, -TOP, -TOP - 1 };
static const int64_t maxima[] = { 0, 1, 0xffff, 0x10000, 1ll << 32, TOP, (1ll << 48) - 1 };
static const uint32_t epochs[] = { 0, 1, 2, 0x40000000, 0x7ffffffe, 0x7fffffff };

static void test_pack_and_unpack(void **state)
{
	(void)state;
	for (size_t t = 0; t < sizeof(totals) / sizeof(*totals); t++)
		for (size_t m = 0; m < sizeof(maxima) / sizeof(*maxima); m++)
			for (size_t e = 0; e < sizeof(epochs) / sizeof(*epochs); e++)
				for (uint32_t at_max = 0; at_max < 2; at_max++) {
					open_account(totals[t], maxima[m], epochs[e], at_max);
					check_account(&header, totals[t], maxima[m], epochs[e],
						      at_max);
				}
}

static void test_pack_random(void **state)
{
	uint64_t random = 20260131;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		int64_t total =
			(int64_t)fixture_random(&random) >> (16 + fixture_below(&random, 48));
		int64_t max =
			(int64_t)(fixture_random(&random) >> (16 + fixture_below(&random, 48)));
		uint32_t epoch = (uint32_t)fixture_random(&random) >> 1;
		uint32_t at_max = fixture_random(&random) >> 63;

		open_account(total, max, epoch, at_max);
		check_account(&header, total, max, epoch, at_max);
	}
}

/* One thread: each change goes to the common word at once. */
static void change(int64_t bytes)
{
	peak_change(&shard, bytes);
}

/* The epoch has 31 bits and wraps; the bits beside it stay. */
static void test_epoch_wraps(void **state)
{
	(void)state;
	open_account(100, 100, 0x7fffffff, 1);
	change(-1);
	check_account(&header, 99, 100, 0, 0);
	change(-1);
	check_account(&header, 98, 100, 0, 0);
	change(3);
	check_account(&header, 101, 101, 0, 1);
	change(0);
	check_account(&header, 101, 101, 1, 0);
}

/* Frees may be published before the allocations they belong to. */
static void test_total_below_zero(void **state)
{
	(void)state;
	open_account(10, 10, 7, 0);
	change(-1000);
	check_account(&header, -990, 10, 7, 0);
	change(-(1ll << 40));
	check_account(&header, -990 - (1ll << 40), 10, 7, 0);
	change((1ll << 40) + 1001);
	check_account(&header, 11, 11, 7, 1);
}

/* Twice as many sizes for each next index, from 8 on. */
static void test_size_indices(void **state)
{
	uint64_t least = 1, most = 8;

	(void)state;
	assert_int_equal(seg_size_index(0), SEG_SIZES - 1);
	for (unsigned index = SEG_SIZE_FIRST; index < SEG_SIZES - 1; index++) {
		assert_int_equal(seg_size_index(least), index);
		assert_int_equal(seg_size_index(most), index);
		least = most + 1;
		most *= 2;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_are_contiguous),
		cmocka_unit_test(test_places_at_boundaries),
		cmocka_unit_test(test_size_indices),
		cmocka_unit_test(test_pack_and_unpack),
		cmocka_unit_test(test_pack_random),
		cmocka_unit_test(test_epoch_wraps),
		cmocka_unit_test(test_total_below_zero),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
