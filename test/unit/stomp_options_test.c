/* SPDX-License-Identifier: MIT */
/* The options of stomp as the library reads them. */
#include "allocators/stomp/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct stomp_options defaults = {
	.align = 16,
	.quarantine = 1ull << 30,
	.sample = 1,
	.max = UINT64_MAX,
};

static int setup(void **state)
{
	(void)state;
	stomp_options = defaults;
	return 0;
}

static void expect_same(const struct stomp_options *o)
{
	assert_int_equal(stomp_options.under, o->under);
	assert_int_equal(stomp_options.go_on, o->go_on);
	assert_int_equal(stomp_options.align, o->align);
	assert_int_equal(stomp_options.quarantine, o->quarantine);
	assert_int_equal(stomp_options.sample, o->sample);
	assert_int_equal(stomp_options.min, o->min);
	assert_int_equal(stomp_options.max, o->max);
	assert_int_equal(stomp_options.guard, o->guard);
}

static void test_nothing(void **state)
{
	(void)state;
	assert_null(stomp_options_read(NULL));
	assert_null(stomp_options_read(""));
	assert_null(stomp_options_read(",,:"));
	expect_same(&defaults);
}

static void test_all(void **state)
{
	struct stomp_options o = { true, true, 4, 3 << 20, 7, 8, 2048, STOMP_GUARD_CANARY };

	(void)state;
	assert_null(stomp_options_read(
		"under,continue,align=4,quarantine=3M:sample=7,min=8,max=2K,guard=canary"));
	expect_same(&o);
}

static void test_sizes(void **state)
{
	(void)state;
	assert_null(stomp_options_read("max=1"));
	assert_int_equal(stomp_options.max, 1);
	assert_null(stomp_options_read("max=2G"));
	assert_int_equal(stomp_options.max, 2ull << 30);
	assert_null(stomp_options_read("max=0"));
	assert_int_equal(stomp_options.max, 0);
}

/* What is wrong has no effect, and the first of it is told; what follows counts all the same. */
static void test_wrong(void **state)
{
	static const char *const words[] = {
		"undr",	   "under=1",	 "align",    "align=",	      "align=3",
		"align=0", "align=8192", "align=1x", "max=K",	      "max=1KK",
		"max=-1",  "sample=0",	 "guard=",   "guard=mprotec", "guard=mprotectt",
		"=",	   "continue=",	 "alignn=1", "alig=1",	      "ma=1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		setup(NULL);
		assert_ptr_equal(stomp_options_read(words[i]), words[i]);
		expect_same(&defaults);
	}
	setup(NULL);
	assert_string_equal(stomp_options_read("max=9,bad,align=1,worse"), "bad,align=1,worse");
	assert_int_equal(stomp_options.max, 9);
	assert_int_equal(stomp_options.align, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing, setup),
		cmocka_unit_test_setup(test_all, setup),
		cmocka_unit_test_setup(test_sizes, setup),
		cmocka_unit_test_setup(test_wrong, setup),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
