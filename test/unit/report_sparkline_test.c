/* SPDX-License-Identifier: MIT */
/* A curve in one line.  Links sparkline.o only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "report/sparkline.h"

static void expect_columns(int64_t end_ns, const struct rec_sample *points, size_t count,
			   const int64_t expected[4])
{
	int64_t columns[4] = { -7, -7, -7, -7 };
	sparkline_columns(columns, 4, end_ns, points, count);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(columns[i], expected[i]);
}

static void test_columns(void **state)
{
	(void)state;
	/* Straight lines: the end of each span is its highest on the way up, its start on the way down. */
	const struct rec_sample hill[] = { { 0, 0, 0, 0 }, { 20, 40, 0, 0 }, { 40, 0, 0, 0 } };
	expect_columns(40, hill, 3, (int64_t[]){ 20, 40, 40, 20 });
	/* A steady growth of which only the ends are known. */
	const struct rec_sample growth[] = { { 0, 0, 0, 0 }, { 40, 8, 0, 0 } };
	expect_columns(40, growth, 2, (int64_t[]){ 2, 4, 6, 8 });
	/* The largest of a span is a point within; nothing is known before the first and after the last. */
	const struct rec_sample some[] = { { 12, 5, 0, 0 }, { 14, 9, 0, 0 }, { 16, 3, 0, 0 } };
	expect_columns(40, some, 3, (int64_t[]){ 0, 9, 0, 0 });
	/* Two points at one moment are a step; it lies on a boundary, which begins a span. */
	const struct rec_sample step[] = {
		{ 0, 4, 0, 0 }, { 20, 4, 0, 0 }, { 20, 9, 0, 0 }, { 40, 9, 0, 0 }
	};
	expect_columns(40, step, 4, (int64_t[]){ 4, 4, 9, 9 });
	/* What cannot be, as from a damaged file. */
	const struct rec_sample wild[] = { { INT64_MIN, INT64_MIN, 0, 0 },
					   { INT64_MAX / 2, INT64_MAX, 0, 0 },
					   { INT64_MAX, INT64_MIN, 0, 0 } };
	expect_columns(INT64_MAX, wild, 3, (int64_t[]){ 0, INT64_MAX, INT64_MAX, 0 });
	expect_columns(0, wild + 1, 1, (int64_t[]){ INT64_MAX, 0, 0, 0 });
	expect_columns(-1, NULL, 0, (int64_t[]){ 0, 0, 0, 0 });
	/* What comes out of order is not joined to what it follows. */
	const struct rec_sample back[] = { { 30, 8, 0, 0 }, { 1, 9, 0, 0 } };
	expect_columns(40, back, 2, (int64_t[]){ 9, 0, 0, 8 });
}

static void test_column_of_a_moment(void **state)
{
	(void)state;
	assert_int_equal(sparkline_column(8, 80, 0), 0);
	assert_int_equal(sparkline_column(8, 80, 9), 0);
	assert_int_equal(sparkline_column(8, 80, 10), 1);
	assert_int_equal(sparkline_column(8, 80, 79), 7);
	assert_int_equal(sparkline_column(8, 80, 80), 7);
	assert_int_equal(sparkline_column(8, 80, -1), 0);
	assert_int_equal(sparkline_column(8, 80, INT64_MAX), 7);
	assert_int_equal(sparkline_column(8, INT64_MAX, INT64_MAX / 2), 3);
}

static void expect_drawn(const int64_t *columns, size_t count, const char *utf8, const char *ascii)
{
	char *drawn = sparkline_draw(columns, count, true);
	assert_string_equal(drawn, utf8);
	free(drawn);
	drawn = sparkline_draw(columns, count, false);
	assert_string_equal(drawn, ascii);
	free(drawn);
}

static void test_drawing(void **state)
{
	(void)state;
	expect_drawn((int64_t[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8 }, 9, "▁▁▂▃▄▅▆▇█", "__.:-=+*#");
	expect_drawn((int64_t[]){ 101, 100, 800, 701, 700 }, 5, "▂▁██▇", "._##*");
	expect_drawn((int64_t[]){ -5, 0, INT64_MAX }, 3, "▁▁█", "__#");
	expect_drawn((int64_t[]){ 0, 0 }, 2, "▁▁", "__");
	expect_drawn(NULL, 0, "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_column_of_a_moment),
		cmocka_unit_test(test_drawing),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
