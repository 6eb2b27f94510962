/* SPDX-License-Identifier: MIT */
/*
 * The first few of many in order, against a sort of them all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/order.h"

enum { COUNT = 1000 };

struct item {
	uint32_t key;
	char rest[100];
};

static int compare(const void *a, const void *b, void *context)
{
	const struct item *x = a, *y = b;

	++*(size_t *)context;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* Different keys in an order that is none: 7919 and 1000 have no factor in common. */
static void fill(struct item *items)
{
	for (uint32_t i = 0; i < COUNT; i++)
		items[i] = (struct item){ i * 7919 % COUNT, { (char)i } };
}

static void check(size_t first)
{
	static struct item items[COUNT];
	char seen[COUNT] = { 0 };
	size_t compared = 0;

	fill(items);
	order_first(items, COUNT, sizeof(*items), first, compare, &compared);
	for (size_t i = 0; i < first && i < COUNT; i++)
		assert_int_equal(items[i].key, i);
	for (size_t i = 0; i < COUNT; i++) {
		assert_true(items[i].key < COUNT);
		assert_int_equal(seen[items[i].key]++, 0);
	}
	if (first < 20)
		assert_true(compared < (size_t)4 * COUNT);
}

static void test_first(void **state)
{
	const size_t firsts[] = { 0, 1, 2, 3, 10, 19, 500, COUNT - 1, COUNT, COUNT + 1, SIZE_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(firsts) / sizeof(*firsts); i++)
		check(firsts[i]);
}

static void test_none(void **state)
{
	size_t compared = 0;

	(void)state;
	order_first(NULL, 0, sizeof(struct item), 10, compare, &compared);
	assert_int_equal(compared, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_none),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
