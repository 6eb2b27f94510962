/* SPDX-License-Identifier: MIT */
/* Numbers in and out.  Links report/units.o. */
#include "report/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

static void test_parse_size(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "64K", 65536 },
		{ "64k", 65536 },
		{ "64KiB", 65536 },
		{ "64KB", 65536 },
		{ "17B", 17 },
		{ "1.5M", 1572864 },
		{ "2G", 2147483648 },
		{ "1T", 1099511627776 },
		{ "0.5K", 512 },
		{ "1.9", 1 },
		{ "0.1K", 102 },
		{ "15E", 17293822569102704640u },
		{ "18446744073709551615", UINT64_MAX },
		{ "1.0000000000000000000000000001K", 1024 },
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t bytes = 1;
		assert_int_equal(units_parse_size(good[i].text, &bytes), 0);
		assert_true(bytes == good[i].bytes);
	}
}

static void test_refuse_size(void **state)
{
	(void)state;
	static const char *const bad[] = { "",	 "K",  "-1", "+1",  " 1",   "1 K", "1KK",
					   "1X", "1.", ".5", "1.K", "0x10", "1e3", "1iB" };
	uint64_t bytes = 77;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(units_parse_size(bad[i], &bytes), -EINVAL);
	assert_int_equal(units_parse_size("16E", &bytes), -ERANGE);
	assert_int_equal(units_parse_size("18446744073709551616", &bytes), -ERANGE);
	assert_int_equal(units_parse_size("99999999999999999999999999999999999999999G", &bytes),
			 -ERANGE);
	assert_int_equal(bytes, 77);
}

static void test_parse_time(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t t_ns;
	} good[] = {
		{ "0", 0 },
		{ "0.2", 200000000 },
		{ "0.2s", 200000000 },
		{ "150ms", 150000000 },
		{ "1m30s", 90000000000 },
		{ "1min30s", 90000000000 },
		{ "2h", 7200000000000 },
		{ "1h1m1s1ms1us1ns", 3661001001001 },
		{ "1h1ns", 3600000000001 },
		{ "1.5h", 5400000000000 },
		{ "0.5ns", 0 },
		{ "0.0000000019", 1 },
		{ "2.5us", 2500 },
		{ "9223372036.854775807", INT64_MAX },
		{ "9223372036854775807ns", INT64_MAX },
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		int64_t t_ns = -1;
		assert_int_equal(units_parse_time(good[i].text, &t_ns), 0);
		assert_true(t_ns == good[i].t_ns);
	}
}

static void test_refuse_time(void **state)
{
	(void)state;
	static const char *const bad[] = { "",	   "s",	   "-1",   "+1",  " 1",	    "1 s",
					   "1.",   ".5",   "1.s",  "1x",  "1S",	    "1sec",
					   "1s1m", "1m1m", "1m30", "1e3", "30s0.5", "1min1m",
					   "50%",  "1s ",  "1s-",  "0x1" };
	static const char *const large[] = {
		"9223372036.854775808",	 "9223372037s",
		"9223372036854775808ns", "2562048h",
		"2562047h9223372036s",	 "99999999999999999999999999999999999999999999h"
	};
	int64_t t_ns = 77;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(units_parse_time(bad[i], &t_ns), -EINVAL);
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		assert_int_equal(units_parse_time(large[i], &t_ns), -ERANGE);
	assert_int_equal(t_ns, 77);
}

static void test_parse_percent(void **state)
{
	(void)state;
	static const char *const bad[] = { "",	     "%",    "50",
					   "50 %",   "-1%",  "50%%",
					   "100.1%", "1e1%", "99999999999999999999%" };
	int64_t part = 77;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(units_parse_percent(bad[i], &part), -EINVAL);
	assert_int_equal(part, 77);
	assert_int_equal(units_parse_percent("0%", &part), 0);
	assert_int_equal(part, 0);
	assert_int_equal(units_parse_percent("12.5%", &part), 0);
	assert_int_equal(part, 125000);
	assert_int_equal(units_parse_percent("100%", &part), 0);
	assert_int_equal(part, 1000000);
}

static void test_size(void **state)
{
	(void)state;
	char text[UNITS_TEXT];
	assert_string_equal(units_size(text, 0), "0 B");
	assert_string_equal(units_size(text, 1023), "1023 B");
	assert_string_equal(units_size(text, 1024), "1.0 KiB");
	assert_string_equal(units_size(text, 1024 * 1024 - 1), "1.0 MiB");
	assert_string_equal(units_size(text, 537184666), "512.3 MiB");
	assert_string_equal(units_size(text, -1536), "-1.5 KiB");
	assert_string_equal(units_size(text, INT64_MAX), "8.0 EiB");
	assert_string_equal(units_size(text, INT64_MIN), "-8.0 EiB");
}

static void test_count(void **state)
{
	(void)state;
	char text[UNITS_TEXT];
	assert_string_equal(units_count(text, 0), "0");
	assert_string_equal(units_count(text, 999), "999");
	assert_string_equal(units_count(text, 1000), "1,000");
	assert_string_equal(units_count(text, 1234567), "1,234,567");
	assert_string_equal(units_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(units_signed_count(text, -1234), "-1,234");
	assert_string_equal(units_signed_count(text, INT64_MIN), "-9,223,372,036,854,775,808");
}

static void test_percent(void **state)
{
	(void)state;
	char text[UNITS_TEXT];
	assert_string_equal(units_percent(text, 1, 3), "33.3%");
	assert_string_equal(units_percent(text, 2, 3), "66.7%");
	assert_string_equal(units_percent(text, 5, 5), "100.0%");
	assert_string_equal(units_percent(text, 0, 5), "0.0%");
	assert_string_equal(units_percent(text, -1, 8), "-12.5%");
	assert_string_equal(units_percent(text, 5, 0), "-");
	assert_string_equal(units_percent(text, INT64_MAX, 1), ">999%");
}

static void test_error(void **state)
{
	(void)state;
	char text[UNITS_TEXT];
	assert_string_equal(units_error(text, 1000, 42 * 42, true), "±4.2%");
	assert_string_equal(units_error(text, -1000, 42 * 42, true), "±4.2%");
	assert_string_equal(units_error(text, 1000, 42 * 42, false), "+-4.2%");
	assert_string_equal(units_error(text, 1000, 99.4 * 99.4, true), "±9.9%");
	assert_string_equal(units_error(text, 1000, 99.6 * 99.6, true), "±10%");
	assert_string_equal(units_error(text, 1000, 1e6, true), "±100%");
	assert_string_equal(units_error(text, 1000, 1.001e6, true), "±>100%");
	assert_string_equal(units_error(text, 1e6, 1, true), "±<0.1%");
	assert_string_equal(units_error(text, 1e6, 0, true), "±0%");
	assert_string_equal(units_error(text, 0, 1e-300, true), "±>100%");
	assert_string_equal(units_error(text, 1, 1.7e308, true), "±>100%");
}

static void test_duration(void **state)
{
	(void)state;
	char text[UNITS_TEXT];
	assert_string_equal(units_duration(text, 120000), "0.12 ms");
	assert_string_equal(units_duration(text, 350000000), "350 ms");
	assert_string_equal(units_duration(text, 1259999999), "1.25 s");
	assert_string_equal(units_duration(text, 125000000000), "2 min 05 s");
	assert_string_equal(units_duration(text, 11220000000000), "3 h 07 min");
	assert_string_equal(units_duration(text, -1), "-");
	units_duration(text, INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_size),    cmocka_unit_test(test_refuse_size),
		cmocka_unit_test(test_parse_time),    cmocka_unit_test(test_refuse_time),
		cmocka_unit_test(test_parse_percent), cmocka_unit_test(test_size),
		cmocka_unit_test(test_count),	      cmocka_unit_test(test_percent),
		cmocka_unit_test(test_duration),      cmocka_unit_test(test_error),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
