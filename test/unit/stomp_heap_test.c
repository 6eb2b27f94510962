/* SPDX-License-Identifier: MIT */
/*
 * Guarded blocks: where they lie, what faults around them, what is told of them.  Links the library without its hooks: malloc
 * stays the C library's.  Whether an address can be read is asked of the kernel, not of the library.
 * Built twice: under a name with "mprotect" in it, it tests that way of guarding.
 */
#include "allocators/stomp/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "allocators/stomp/options.h"

enum { PAGE = 4096, GAP = 3 * PAGE };

static struct stomp_caller caller(uint32_t node)
{
	return (struct stomp_caller){ .node = node, .thread = 1 };
}

/* A byte as another process would read it: no fault. */
static bool readable(uintptr_t address)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)address, 1 };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

static char *block_of(size_t size, size_t alignment, uint32_t node)
{
	enum stomp_guard how = STOMP_GUARD_NONE;
	char *block = heap_alloc(size, alignment, caller(node), &how);

	assert_non_null(block);
	assert_int_not_equal(how, STOMP_GUARD_NONE);
	assert_int_not_equal(how, STOMP_GUARD_CANARY);
	return block;
}

static void drop(char *block)
{
	struct stomp_finding f = { 0 };

	assert_true(heap_free(block, caller(99), &f));
}

static uint64_t below(uint64_t limit)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % limit;
}

/* -- places --------------------------------------------------------------------------------------- */

/* All of a block can be used, the page after its last one cannot; with the block at the guard to the byte when its size is a
 * multiple of the alignment. */
static void check_place(size_t size, size_t alignment)
{
	char *block = block_of(size, alignment, 20);
	uintptr_t at = (uintptr_t)block, end = at + size,
		  after = (end + PAGE - 1) & -(uintptr_t)PAGE;
	size_t told = 0;

	assert_int_equal(at % alignment, 0);
	assert_true(heap_size(block, &told));
	assert_int_equal(told, size);
	for (size_t i = 0; i < size; i += 997)
		assert_int_equal(block[i], 0);
	memset(block, 1, size);
	assert_false(readable(after));
	assert_false(readable(after + GAP - 1));
	assert_false(readable((at & -(uintptr_t)PAGE) - 1));
	if (!stomp_options.under && alignment <= PAGE && size % alignment == 0)
		assert_int_equal(end % PAGE, 0);
	if (stomp_options.under && alignment <= PAGE)
		assert_int_equal(at % PAGE, 0);
	drop(block);
	assert_false(heap_size(block, &told));
	for (size_t i = 0; i < size; i += PAGE)
		assert_false(readable(at + i));
	if (size)
		assert_false(readable(end - 1));
}

static void check_places(void)
{
	static const size_t sizes[] = {
		0,    1,     15,    16,	   17,	  4080,	  4095,	   4096,    4097,	   8192,
		8193, 20000, 32768, 32769, 40960, 100000, 1 << 20, 4 << 20, (4 << 20) + 1, 33 << 20,
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (size_t alignment = 1; alignment <= 4u << 20; alignment *= 4)
			check_place(sizes[i], alignment);
	for (int i = 0; i < 200; i++)
		check_place(below(1 + below(200000)), (size_t)1 << below(13));
}

static void test_places(void **state)
{
	(void)state;
	check_places();
}

static void test_places_under(void **state)
{
	(void)state;
	stomp_options.under = true;
	check_places();
	stomp_options.under = false;
}

/* Blocks that live at a time have nothing in common, and 2^13 bytes between their starts. */
static void test_apart(void **state)
{
	enum { COUNT = 2000 };
	static char *blocks[COUNT];
	static size_t sizes[COUNT];

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		sizes[i] = below(i % 50 ? 9000 : 300000);
		blocks[i] = block_of(sizes[i], 16, 20);
		memset(blocks[i], i & 255, sizes[i]);
	}
	for (int i = 0; i < COUNT; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			if ((unsigned char)blocks[i][k] != (i & 255))
				fail_msg("block %d was overwritten", i);
	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < i; k++)
			assert_true((uintptr_t)blocks[i] >> STOMP_APART_BITS !=
				    (uintptr_t)blocks[k] >> STOMP_APART_BITS);
	for (int i = 0; i < COUNT; i++)
		drop(blocks[i]);
}

/* -- the quarantine --------------------------------------------------------------------------------- */

/* A slot of a small block takes 16 KiB: no address comes back before so much was freed as is asked for. */
static void test_reused_last(void **state)
{
	enum { KEPT = 100 };
	char *first = block_of(24, 16, 20);

	(void)state;
	stomp_options.quarantine = KEPT * 16384ull;
	drop(first);
	for (int i = 0; i < KEPT - 1; i++) {
		char *block = block_of(24, 16, 20);

		assert_ptr_not_equal(block, first);
		drop(block);
	}
	for (int i = 0; i < 10 * KEPT; i++) {
		char *block = block_of(24, 16, 20);

		drop(block);
		if (block == first)
			break;
		assert_true(i < 9 * KEPT);
	}
	stomp_options.quarantine = 1ull << 30;
}

/* -- what is told ------------------------------------------------------------------------------------- */

static struct stomp_finding explain(uintptr_t address)
{
	struct stomp_finding f = { 0 };

	heap_explain(address, &f);
	return f;
}

static void expect_told(uintptr_t address, enum stomp_kind kind, const char *block, size_t size,
			uint32_t allocated, uint32_t freed)
{
	struct stomp_finding f = explain(address);

	assert_int_equal(f.kind, kind);
	assert_int_equal(f.address, address);
	assert_int_equal(f.block.address, (uintptr_t)block);
	assert_int_equal(f.block.size, size);
	assert_int_equal(f.block.allocated, allocated);
	assert_int_equal(f.block.freed, freed);
	assert_int_equal(f.block.was_freed, freed != 0);
}

static void test_explains(void **state)
{
	char *a = block_of(4096, 16, 31), *b = block_of(4096, 16, 32);
	uintptr_t end = (uintptr_t)a + 4096;

	(void)state;
	expect_told(end, STOMP_BUFFER_OVERFLOW, a, 4096, 31, 0);
	expect_told(end + 4096, STOMP_BUFFER_OVERFLOW, a, 4096, 31, 0);
	if ((uintptr_t)b == end + GAP) {
		expect_told((uintptr_t)b - 1, STOMP_BUFFER_UNDERFLOW, b, 4096, 32, 0);
		expect_told((uintptr_t)b - 4096, STOMP_BUFFER_UNDERFLOW, b, 4096, 32, 0);
	}
	drop(a);
	expect_told((uintptr_t)a + 5, STOMP_USE_AFTER_FREE, a, 4096, 31, 99);
	drop(b);
}

static char *first_of_all; /* not freed before test_replaced: see there */

/* Before the first slot of all lies what belongs to no slot: the first of the tests. */
static void test_explains_first(void **state)
{
	char *block;

	(void)state;
	stomp_options.under = true;
	block = block_of(100, 16, 37);
	stomp_options.under = false;
	expect_told((uintptr_t)block - 1, STOMP_BUFFER_UNDERFLOW, block, 100, 37, 0);
	expect_told((uintptr_t)block - GAP, STOMP_BUFFER_UNDERFLOW, block, 100, 37, 0);
	first_of_all = block;
}

static int count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	int count = 0;

	assert_non_null(maps);
	for (int c; (c = getc(maps)) != EOF;)
		count += c == '\n';
	fclose(maps);
	return count;
}

/* What was closed joins what is closed around it: mappings are not used up by blocks that are gone.  The kernel allows
 * 65530 of them by default.  Nothing must have been closed before: the first time joins all that is reserved. */
static void test_replaced(void **state)
{
	enum { COUNT = 10000, REPLACED = 5000 };
	static char *blocks[COUNT];

	(void)state;
	for (int i = 0; i < COUNT; i++)
		blocks[i] = block_of(40, 16, 38);
	for (int i = 0; i < REPLACED; i++) {
		char **b = &blocks[below(COUNT)];

		drop(*b);
		*b = block_of(40, 16, 39);
	}
	for (int i = 0; i < COUNT; i++)
		drop(blocks[i]);
	drop(first_of_all);
	assert_in_range(count_mappings(), 1, 2000);
}

static void expect_bad_free(void *block, enum stomp_kind kind)
{
	struct stomp_finding f = { 0 };

	assert_false(heap_free(block, caller(98), &f));
	assert_int_equal(f.kind, kind);
	assert_int_equal(f.address, (uintptr_t)block);
}

static void test_bad_frees(void **state)
{
	char *block = block_of(100, 16, 33);

	(void)state;
	expect_bad_free(block + 16, STOMP_INVALID_FREE);
	expect_bad_free(block - 1, STOMP_INVALID_FREE);
	drop(block);
	expect_bad_free(block, STOMP_DOUBLE_FREE);
	expect_bad_free(block, STOMP_DOUBLE_FREE);
	expect_bad_free(block + 16, STOMP_INVALID_FREE);
	expect_bad_free((void *)(stomp_arena.base + stomp_arena.size - 64), STOMP_INVALID_FREE);
}

/* Any byte of the slack, on either side, in any page; none of the block's own. */
static void test_smashed(void **state)
{
	(void)state;
	for (int i = 0; i < 500; i++) {
		size_t size = 1 + below(9000);
		char *block = block_of(size, 16, 34);
		uintptr_t low = (uintptr_t)block & -(uintptr_t)PAGE;
		uintptr_t high = ((uintptr_t)block + size + PAGE - 1) & -(uintptr_t)PAGE;
		uintptr_t at = low + below(high - low);
		bool inside = at - (uintptr_t)block < size;
		struct stomp_finding f = { 0 };

		*(volatile unsigned char *)at ^= 0x80;
		assert_int_equal(heap_free(block, caller(97), &f), inside);
		if (inside)
			continue;
		assert_int_equal(f.kind, STOMP_CORRUPTION);
		assert_int_equal(f.address, at);
		assert_int_equal(f.corrupt_bytes, 1);
		assert_int_equal(f.block.address, (uintptr_t)block);
		assert_false(f.block.was_freed);
	}
}

/* stomp:continue opens a page; the next block in the slot is as guarded as any. */
static void test_let_pass(void **state)
{
	char *block = block_of(64, 16, 35), *again = NULL;
	uintptr_t end = (uintptr_t)block + 64;

	(void)state;
	stomp_options.quarantine = 0;
	assert_true(heap_let_pass(end));
	*(volatile char *)end = 1;
	drop(block);
	for (int i = 0; i < 1000 && again != block; i++) {
		again = block_of(64, 16, 36);
		if (again != block)
			drop(again);
	}
	assert_ptr_equal(again, block);
	assert_false(readable(end));
	assert_int_equal(again[0], 0);
	drop(again);
	stomp_options.quarantine = 1ull << 30;
}

static int start(void **state)
{
	(void)state;
	if (strstr(program_invocation_short_name, "mprotect"))
		stomp_options.guard = STOMP_GUARD_MPROTECT;
	return heap_start() ? 0 : -1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_explains_first), cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_places),	       cmocka_unit_test(test_places_under),
		cmocka_unit_test(test_apart),	       cmocka_unit_test(test_reused_last),
		cmocka_unit_test(test_explains),       cmocka_unit_test(test_bad_frees),
		cmocka_unit_test(test_smashed),	       cmocka_unit_test(test_let_pass),
	};

	(void)argc;
	(void)argv;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, NULL);
}
