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
	/* The largest of each span, and the last one goes on; nothing before the first. */
	const struct rec_sample some[] = { { 12, 5, 0, 0 }, { 14, 9, 0, 0 }, { 16, 3, 0, 0 } };
	expect_columns(40, some, 3, (int64_t[]){ 0, 9, 3, 3 });
	/* A moment on a boundary begins a span, and the end belongs to the last. */
	const struct rec_sample edges[] = { { 0, 1, 0, 0 }, { 10, 2, 0, 0 }, { 40, 3, 0, 0 } };
	expect_columns(40, edges, 3, (int64_t[]){ 1, 2, 2, 3 });
	/* What cannot be, as from a damaged file. */
	const struct rec_sample wild[] = { { INT64_MIN, 4, 0, 0 },
					   { INT64_MAX / 2, 6, 0, 0 },
					   { INT64_MAX, 5, 0, 0 } };
	expect_columns(INT64_MAX, wild, 3, (int64_t[]){ 4, 6, 6, 5 });
	expect_columns(0, wild, 1, (int64_t[]){ 4, 4, 4, 4 });
	expect_columns(-1, NULL, 0, (int64_t[]){ 0, 0, 0, 0 });
	/* The second half of a timeline may come out of order: the column keeps the largest. */
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
