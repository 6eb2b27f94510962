/* SPDX-License-Identifier: MIT */
/*
 * Perf maps: form, damage, overlaps.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbolize/symbolize.h"

static char work[256];

static struct sym_perf_map *map_of(const char *text, size_t size)
{
	struct sym_perf_map *map = NULL;
	char path[300];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/map", work);
	stream = fopen(path, "wb");
	assert_non_null(stream);
	if (size > 0)
		assert_int_equal(fwrite(text, 1, size, stream), size);
	fclose(stream);
	assert_int_equal(sym_perf_map_open(path, &map), 0);
	assert_non_null(map);
	return map;
}

static void test_find(void **state)
{
	static const char text[] = "1000 10 first\n0x2000 0x20 second name with blanks\r\n"
				   "1010 10 third\n7f0000000000 ff last";
	struct sym_perf_map *map = map_of(text, sizeof(text) - 1);

	(void)state;
	assert_string_equal(sym_perf_map_find(map, 0x1000), "first");
	assert_string_equal(sym_perf_map_find(map, 0x100f), "first");
	assert_string_equal(sym_perf_map_find(map, 0x1010), "third");
	assert_string_equal(sym_perf_map_find(map, 0x201f), "second name with blanks");
	assert_string_equal(sym_perf_map_find(map, 0x7f00000000fe), "last");
	assert_null(sym_perf_map_find(map, 0xfff));
	assert_null(sym_perf_map_find(map, 0x1020));
	assert_null(sym_perf_map_find(map, 0x7f00000000ff));
	assert_null(sym_perf_map_find(map, UINT64_MAX));
	sym_perf_map_close(map);
}

/* Code is freed and its place used again: the last line is what is there
 * now. */
static void test_overlap(void **state)
{
	static const char text[] = "1000 100 old\n1040 20 new\n1050 1000 newer\n1000 8 newest\n";
	struct sym_perf_map *map = map_of(text, sizeof(text) - 1);

	(void)state;
	assert_string_equal(sym_perf_map_find(map, 0x1007), "newest");
	assert_string_equal(sym_perf_map_find(map, 0x1008), "old");
	assert_string_equal(sym_perf_map_find(map, 0x1040), "new");
	assert_string_equal(sym_perf_map_find(map, 0x1050), "newer");
	assert_string_equal(sym_perf_map_find(map, 0x10ff), "newer");
	sym_perf_map_close(map);
}

static void test_malformed(void **state)
{
	static const char text[] =
		"\n \nzz 10 x\n1000\n1000 10\n1000 10 \n-1 10 x\n"
		"ffffffffffffffff 10 wraps\n11112222333344445 1 long\n"
		"2000 0 empty\n3000 4 good\n\0\0\0 junk\n4000 4 also good\n5000 4";
	struct sym_perf_map *map = map_of(text, sizeof(text) - 1);

	(void)state;
	assert_null(sym_perf_map_find(map, 0x1000));
	assert_null(sym_perf_map_find(map, 0x2000));
	assert_null(sym_perf_map_find(map, UINT64_MAX));
	assert_string_equal(sym_perf_map_find(map, 0x3000), "good");
	assert_string_equal(sym_perf_map_find(map, 0x4003), "also good");
	assert_null(sym_perf_map_find(map, 0x5000));
	sym_perf_map_close(map);
}

static void test_no_file(void **state)
{
	struct sym_perf_map *map = (struct sym_perf_map *)1;
	char path[300];

	(void)state;
	snprintf(path, sizeof(path), "%s/none", work);
	assert_int_equal(sym_perf_map_open(path, &map), 0);
	assert_null(map);
	assert_int_equal(sym_perf_map_open(work, &map), -EINVAL);
	assert_null(map);
	snprintf(path, sizeof(path), "%s/pipe", work);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(sym_perf_map_open(path, &map), -EINVAL);
	map = map_of("", 0);
	assert_null(sym_perf_map_find(map, 0));
	sym_perf_map_close(map);
	sym_perf_map_close(NULL);
}

static int make_work(void **state)
{
	const char *folder = getenv("MEMTRACK_TEST_TMP");

	(void)state;
	snprintf(work, sizeof(work), "%s/perf_map.XXXXXX", folder ? folder : "/tmp");
	return mkdtemp(work) ? 0 : -1;
}

static int remove_work(void **state)
{
	char path[300];

	(void)state;
	snprintf(path, sizeof(path), "%s/map", work);
	unlink(path);
	snprintf(path, sizeof(path), "%s/pipe", work);
	unlink(path);
	return rmdir(work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_no_file),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("perf_map", tests, make_work, remove_work);
}
