/* SPDX-License-Identifier: MIT */
/*
 * Whole texts of `diff` against test/golden/, as report_golden_test.c has them of reports.
 * Links all of report/, report_fixture.o, golden.o and golden_recordings.o.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "report/diff.h"
#include "test/unit/golden.h"
#include "test/unit/golden_recordings.h"
#include "test/unit/report_fixture.h"

/* The defaults of the command line. */
#define DEFAULTS  .top = 10, .frames = 8

#define ONE(text) .items = (const char *const[]){ text }, .count = 1

struct golden_diff {
	const char *name; /* of the file in test/golden/ */
	void (*old)(const char *), (*new)(const char *);
	struct report_options options;
};

/* clang-format off */
static const struct golden_diff diffs[] = {
	{ "diff", golden_tidy, golden_server, { DEFAULTS } },
	{ "diff-back", golden_server, golden_tidy, { DEFAULTS } },
	{ "diff-leaked", golden_tidy, golden_server, { DEFAULTS, .sort = REPORT_SORT_LEAKED } },
	{ "diff-allocations", golden_tidy, golden_server,
	  { DEFAULTS, .sort = REPORT_SORT_ALLOCATIONS } },
	{ "diff-by-stack", golden_tidy, golden_server,
	  { DEFAULTS, .by = REPORT_BY_STACK, .sort = REPORT_SORT_TEMPORARY } },
	{ "diff-by-module", golden_tidy, golden_server, { DEFAULTS, .by = REPORT_BY_MODULE } },
	{ "diff-by-process", golden_processes, golden_empty,
	  { DEFAULTS, .by = REPORT_BY_PROCESS, .all = true } },
	{ "diff-top-1", golden_tidy, golden_server, { .top = 1, .frames = 2, .full_paths = true } },
	{ "diff-filter", golden_tidy, golden_server, { DEFAULTS, .filters = { ONE("function~main") } } },
	{ "diff-nothing", golden_server, golden_server, { DEFAULTS } },
	{ "diff-to-sampled", golden_server, golden_sampled, { DEFAULTS } },
	{ "diff-of-sampled", golden_sampled, golden_tidy, { DEFAULTS, .sort = REPORT_SORT_TEMPORARY } },
	{ "diff-limits", golden_limits, golden_recursion, { DEFAULTS } },
	{ "diff-hostile", golden_empty, golden_hostile, { DEFAULTS } },
};
/* clang-format on */

#define DIFFS (sizeof(diffs) / sizeof(diffs[0]))

static int home = -1;

static int group_setup(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	golden_open();
	home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return home < 0;
}

static int group_teardown(void **state)
{
	(void)state;
	golden_close();
	return close(home);
}

/* The text names the files, so they have the same names each time. */
static int setup(void **state)
{
	(void)state;
	fixture_enter();
	return chdir(fixture_path("."));
}

static int teardown(void **state)
{
	(void)state;
	int error = fchdir(home);
	fixture_leave();
	return error;
}

static char *render(const void *what, const struct golden_shape *shape)
{
	static const char *const files[] = { "old.dat", "new.dat" };
	const struct golden_diff *diff = what;
	struct diff_options options = { .report = diff->options };
	struct diag diag = { 0 };
	char *text = NULL;
	size_t size = 0;
	options.report.files = (struct report_list){ files, 2 };
	options.report.width = shape->width;
	options.report.utf8 = shape->utf8;
	options.report.out = open_memstream(&text, &size);
	assert_non_null(options.report.out);
	if (diff_run(&options, &diag))
		fail_msg("%s", diag.text);
	assert_int_equal(fclose(options.report.out), 0);
	return text;
}

static void test_diff(void **state)
{
	const struct golden_diff *diff = *state;
	diff->old("old.dat");
	diff->new ("new.dat");
	golden_check(diff->name, render, diff);
}

int main(void)
{
	struct CMUnitTest tests[DIFFS];
	for (size_t i = 0; i < DIFFS; i++)
		tests[i] = (struct CMUnitTest){ diffs[i].name, test_diff, setup, teardown,
						(void *)&diffs[i] };
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("report_diff_golden", tests, group_setup,
					   group_teardown);
}
