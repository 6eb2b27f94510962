/* SPDX-License-Identifier: MIT */
/*
 * Limits as they are written, and verdicts at and beside them.  Recordings are
 * made here, so every expected figure follows from the test itself.  Links all
 * of report/ and report_fixture.o.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/check.h"
#include "test/unit/report_fixture.h"

static const rec_id none = { 0 };

static int setup(void **state)
{
	(void)state;
	fixture_enter();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_leave();
	return 0;
}

static void test_limits(void **state)
{
	(void)state;
	static const struct {
		enum check_budget budget;
		const char *text;
		bool good, percent;
		uint64_t amount;
		double percentage;
	} limits[] = {
		{ CHECK_MAX_PEAK, "4096", true, false, 4096, 0 },
		{ CHECK_MAX_PEAK, "1.5K", true, false, 1536, 0 },
		{ CHECK_MAX_PEAK, "0", true, false, 0, 0 },
		{ CHECK_MAX_PEAK, "5%", false, false, 0, 0 },
		{ CHECK_MAX_PEAK, "", false, false, 0, 0 },
		{ CHECK_MAX_LEAKED, "-1", false, false, 0, 0 },
		{ CHECK_MAX_LEAKED_BLOCKS, "17", true, false, 17, 0 },
		{ CHECK_MAX_LEAKED_BLOCKS, "17K", false, false, 0, 0 },
		{ CHECK_MAX_ALLOCATIONS, "18446744073709551615", true, false, UINT64_MAX, 0 },
		{ CHECK_MAX_ALLOCATIONS, "18446744073709551616", false, false, 0, 0 },
		{ CHECK_MAX_ALLOCATIONS, "+1", false, false, 0, 0 },
		{ CHECK_MAX_ERRORS, "0", true, false, 0, 0 },
		{ CHECK_MAX_TEMPORARY, "50", true, true, 0, 50 },
		{ CHECK_MAX_TEMPORARY, "50%", true, true, 0, 50 },
		{ CHECK_MAX_TEMPORARY, "2.5%", true, true, 0, 2.5 },
		{ CHECK_MAX_TEMPORARY, "%", false, true, 0, 0 },
		{ CHECK_MAX_TEMPORARY, ".", false, true, 0, 0 },
		{ CHECK_MAX_TEMPORARY, "1.2.3", false, true, 0, 0 },
		{ CHECK_MAX_TEMPORARY, "nan", false, true, 0, 0 },
		{ CHECK_MAX_TEMPORARY, "0x10", false, true, 0, 0 },
		{ CHECK_MAX_TEMPORARY, "-5", false, true, 0, 0 },
		{ CHECK_MAX_PEAK_GROWTH, "5%", true, true, 0, 5 },
		{ CHECK_MAX_PEAK_GROWTH, "64K", true, false, 65536, 0 },
		{ CHECK_MAX_PEAK_GROWTH, "5", true, false, 5, 0 },
		{ CHECK_MAX_ALLOCATIONS_GROWTH, "5", true, false, 5, 0 },
		{ CHECK_MAX_ALLOCATIONS_GROWTH, "5K", false, false, 0, 0 },
	};
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct check_limit limit = { .amount = 99 };
		const char *expected = NULL;
		int error = check_limit_parse(&limit, limits[i].budget, limits[i].text, &expected);
		if (error != (limits[i].good ? 0 : -EINVAL))
			fail_msg("'%s': %d", limits[i].text, error);
		assert_non_null(expected);
		assert_int_equal(limit.set, limits[i].good);
		if (!limits[i].good)
			continue;
		assert_int_equal(limit.percent, limits[i].percent);
		assert_int_equal(limit.amount, limits[i].amount);
		assert_true(limit.percentage == limits[i].percentage);
	}
}

/* One site for each of two functions: `a` and `b` blocks of 100 bytes that stay, `gone` temporary ones by a. */
static void write_recording(const char *name, unsigned a, unsigned b, unsigned gone)
{
	struct fixture f;
	struct rec_process prog = fixture_prog();
	prog.peak_bytes = 100 * (a + b);
	prog.peak_blocks = a + b;
	fixture_create(&f, fixture_path(name));
	fixture_process(&f, &prog);
	fixture_stack(&f, fixture_node(&f, none, fixture_location(&f, "a", "x.c", 3)),
		      STACK_COMPLETE,
		      &(struct costs){ a + gone, 100 * (a + gone), gone, 100 * gone, gone, 0, a,
				       100 * a, a, 100 * a, EXACT });
	fixture_stack(&f, fixture_node(&f, none, fixture_location(&f, "b", "x.c", 9)),
		      STACK_COMPLETE,
		      &(struct costs){ b, 100 * b, 0, 0, 0, 0, b, 100 * b, b, 100 * b, EXACT });
	fixture_finish(&f);
}

static void init_options(struct check_options *options, enum check_budget budget, const char *limit)
{
	const char *expected;
	*options = (struct check_options){ .format = CHECK_FORMAT_TEXT };
	report_options_init(&options->report);
	assert_int_equal(check_limit_parse(&options->limits[budget], budget, limit, &expected), 0);
}

static char *run_check(struct check_options *options, struct check_verdict *verdict)
{
	const char *file = fixture_path("new.dat");
	char *text = NULL;
	size_t size = 0;
	struct diag diag = { 0 };
	options->report.files = (struct report_list){ &file, 1 };
	options->report.out = open_memstream(&text, &size);
	assert_non_null(options->report.out);
	if (check_run(options, verdict, &diag))
		fail_msg("%s", diag.text);
	assert_int_equal(fclose(options->report.out), 0);
	return text;
}

static void expect_text(enum check_budget budget, const char *limit, bool against,
			const char *expected)
{
	struct check_options options;
	struct check_verdict verdict;
	init_options(&options, budget, limit);
	if (against)
		options.against = fixture_path("old.dat");
	char *text = run_check(&options, &verdict);
	assert_string_equal(text, expected);
	assert_int_equal(verdict.broken, strncmp(expected, "ok", 2) != 0);
	free(text);
}

#define KEPT "ok: 1 budget kept\n"

static void test_budgets(void **state)
{
	(void)state;
	write_recording("new.dat", 30, 70, 100);
	expect_text(CHECK_MAX_PEAK, "10000", false, KEPT);
	expect_text(CHECK_MAX_PEAK, "9999", false,
		    "max-peak: 9.8 KiB, 1 B over the limit of 9.8 KiB; most by b (x.c:9): 6.8 KiB, "
		    "70.0%\n");
	expect_text(CHECK_MAX_LEAKED, "10000", false, KEPT);
	expect_text(
		CHECK_MAX_LEAKED, "0", false,
		"max-leaked: 9.8 KiB, 9.8 KiB over the limit of 0 B; most by b (x.c:9): 6.8 KiB, "
		"70.0%\n");
	expect_text(CHECK_MAX_LEAKED_BLOCKS, "100", false, KEPT);
	expect_text(
		CHECK_MAX_LEAKED_BLOCKS, "99", false,
		"max-leaked-blocks: 100 blocks, 1 over the limit of 99 blocks; most by b (x.c:9): "
		"70 blocks, 70.0%\n");
	expect_text(CHECK_MAX_ALLOCATIONS, "200", false, KEPT);
	expect_text(
		CHECK_MAX_ALLOCATIONS, "1", false,
		"max-allocations: 200 allocations, 199 over the limit of 1 allocation; most by a "
		"(x.c:3): 130 allocations, 65.0%\n");
	expect_text(CHECK_MAX_TEMPORARY, "50", false, KEPT);
	expect_text(CHECK_MAX_TEMPORARY, "49.9%", false,
		    "max-temporary: 50.0% of 200 allocations, over the limit of 49.9%; most by a "
		    "(x.c:3): 100 allocations, 100.0%\n");
	expect_text(CHECK_MAX_ERRORS, "0", false, KEPT);
}

static void test_growth(void **state)
{
	(void)state;
	write_recording("old.dat", 50, 50, 0);
	write_recording("new.dat", 45, 60, 95);
	/* From 100 blocks to 105: by 5 %, b by 10 and a by -5; from 100 to 200 allocations. */
	expect_text(CHECK_MAX_PEAK_GROWTH, "5%", true, KEPT);
	expect_text(CHECK_MAX_PEAK_GROWTH, "500", true, KEPT);
	expect_text(CHECK_MAX_PEAK_GROWTH, "4.9%", true,
		    "max-peak-growth: +500 B (+5.0%), from 9.8 KiB to 10.3 KiB, over the limit of "
		    "4.9%; most by b (x.c:9): +1000 B\n");
	expect_text(
		CHECK_MAX_LEAKED_GROWTH, "499", true,
		"max-leaked-growth: +500 B (+5.0%), from 9.8 KiB to 10.3 KiB, over the limit of "
		"499 B; most by b (x.c:9): +1000 B\n");
	expect_text(CHECK_MAX_ALLOCATIONS_GROWTH, "100", true, KEPT);
	expect_text(
		CHECK_MAX_ALLOCATIONS_GROWTH, "99", true,
		"max-allocations-growth: +100 allocations (+100.0%), from 100 allocations to 200 "
		"allocations, over the limit of 99 allocations; most by a (x.c:3): +90 "
		"allocations\n");
	/* Less is no growth. */
	write_recording("new.dat", 10, 10, 0);
	expect_text(CHECK_MAX_PEAK_GROWTH, "0%", true, KEPT);
	expect_text(CHECK_MAX_PEAK_GROWTH, "0", true, KEPT);
}

/* From nothing, growth is infinite in per cent, and what it is as a size. */
static void test_growth_from_nothing(void **state)
{
	(void)state;
	write_recording("old.dat", 0, 0, 0);
	write_recording("new.dat", 0, 1, 0);
	expect_text(
		CHECK_MAX_PEAK_GROWTH, "1000000%", true,
		"max-peak-growth: +100 B, from 0 B to 100 B, over the limit of 1000000%; most by "
		"b (x.c:9): +100 B\n");
	expect_text(CHECK_MAX_PEAK_GROWTH, "100", true, KEPT);
	write_recording("new.dat", 0, 0, 0);
	expect_text(CHECK_MAX_PEAK_GROWTH, "0%", true, KEPT);
	struct check_options options;
	struct check_verdict verdict;
	init_options(&options, CHECK_MAX_LEAKED_GROWTH, "3%");
	options.against = fixture_path("old.dat");
	options.format = CHECK_FORMAT_JSON;
	write_recording("new.dat", 0, 1, 0);
	char *text = run_check(&options, &verdict);
	assert_non_null(strstr(text, "\"limit\": 3, \"actual\": null, \"unit\": \"percent\", "
				     "\"old\": 0, \"new\": 100"));
	free(text);
}

/* Errors of which nothing is kept count, too. */
static void test_errors(void **state)
{
	(void)state;
	struct fixture f;
	struct rec_process prog = fixture_prog();
	prog.unknown_frees = 5;
	fixture_create(&f, fixture_path("new.dat"));
	fixture_process(&f, &prog);
	rec_id node = fixture_node(&f, none, fixture_location(&f, "drop\033[2J", "x.c", 7));
	fixture_error(&f, (struct rec_error){ .pid = 4242,
					      .source = ERROR_FROM_AGENT,
					      .kind = ERROR_INVALID_FREE,
					      .count = 2,
					      .t_ns = -1,
					      .stacks = { [ERROR_STACK] = { .node = node } } });
	fixture_guard(&f, &(struct rec_guard){ .errors = 3, .errors_lost = 3 });
	fixture_finish(&f);
	expect_text(CHECK_MAX_ERRORS, "8", false, KEPT);
	expect_text(CHECK_MAX_ERRORS, "7", false,
		    "max-errors: 8 errors, 1 over the limit of 7 errors; first: invalid-free in "
		    "drop?[2J (x.c:7)\n");
}

static void test_doubts(void **state)
{
	(void)state;
	struct fixture f;
	struct check_options options;
	struct check_verdict verdict;
	struct rec_process prog = fixture_prog();
	prog.complete = false;
	prog.dropped_events = 4;
	prog.unattributed = 3;
	prog.sample_mean = 4096;
	fixture_create(&f, fixture_path("new.dat"));
	fixture_process(&f, &prog);
	fixture_process(&f, &prog);
	fixture_finish(&f);
	write_recording("old.dat", 1, 0, 0);
	init_options(&options, CHECK_MAX_PEAK, "1");
	options.against = fixture_path("old.dat");
	options.quiet = true;
	char *text = run_check(&options, &verdict);
	assert_string_equal(text, "");
	free(text);
	const struct check_doubts *new = &verdict.doubts[SIDE_NEW];
	assert_int_equal(new->dropped, 4);
	assert_int_equal(new->unattributed, 3);
	assert_int_equal(new->incomplete, 1);
	assert_int_equal(new->unchecked, 1);
	assert_true(new->sampled);
	const struct check_doubts no_doubts = { 0 };
	assert_memory_equal(&verdict.doubts[SIDE_OLD], &no_doubts, sizeof(no_doubts));
}

static void test_useless_options(void **state)
{
	(void)state;
	struct check_options options;
	struct diag diag;
	init_options(&options, CHECK_MAX_PEAK, "1");
	assert_int_equal(check_options_test(&options, &diag), 0);
	options.limits[CHECK_MAX_PEAK].set = false;
	assert_int_equal(check_options_test(&options, &diag), -EINVAL);
	init_options(&options, CHECK_MAX_PEAK_GROWTH, "1");
	assert_int_equal(check_options_test(&options, &diag), -EINVAL);
	options.against = "old.dat";
	assert_int_equal(check_options_test(&options, &diag), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),		TEST(test_budgets), TEST(test_growth),
		TEST(test_growth_from_nothing),		TEST(test_errors),  TEST(test_doubts),
		cmocka_unit_test(test_useless_options),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("report_check", tests, NULL, NULL);
}
