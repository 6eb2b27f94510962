/* SPDX-License-Identifier: MIT */
/*
 * Whole text reports against test/golden/.  A new report is a line in the table below (or a
 * table of its own in another test, with golden_check()), and `make update-golden`.  Links all
 * of report/, report_fixture.o, golden.o and golden_recordings.o.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/unit/golden.h"
#include "test/unit/golden_recordings.h"
#include "test/unit/report_fixture.h"

/* The defaults of the command line. */
#define DEFAULTS .top = 10, .frames = 8

/* A list of one. */
#define ONE(text) .items = (const char *const[]){ text }, .count = 1

struct golden_report {
	const char *name;	       /* of the file in test/golden/ */
	void (*write)(const char *);   /* the recording */
	struct report_options options; /* no file: memtrack.dat */
};

/* clang-format off */
static const struct golden_report reports[] = {
	{ "sort-peak", golden_server, { DEFAULTS } },
	{ "sort-leaked", golden_server, { DEFAULTS, .sort = REPORT_SORT_LEAKED } },
	{ "sort-allocated", golden_server, { DEFAULTS, .sort = REPORT_SORT_ALLOCATED } },
	{ "sort-allocations", golden_server, { DEFAULTS, .sort = REPORT_SORT_ALLOCATIONS } },
	{ "sort-temporary", golden_server, { DEFAULTS, .sort = REPORT_SORT_TEMPORARY } },
	{ "by-stack", golden_server, { DEFAULTS, .by = REPORT_BY_STACK } },
	{ "by-function", golden_server, { DEFAULTS, .by = REPORT_BY_FUNCTION } },
	{ "by-file", golden_server, { DEFAULTS, .by = REPORT_BY_FILE } },
	{ "by-module", golden_server, { DEFAULTS, .by = REPORT_BY_MODULE } },
	{ "by-process", golden_processes, { DEFAULTS, .by = REPORT_BY_PROCESS, .all = true } },
	{ "top-2-full-paths", golden_server, { .top = 2, .frames = 2, .full_paths = true } },
	{ "full-names", golden_server, { DEFAULTS, .full_names = true } },
	{ "pool", golden_pool, { DEFAULTS, .sort = REPORT_SORT_LEAKED } },
	{ "pool-alone", golden_pool, { DEFAULTS, .focus = { ONE("pool::pool") } } },
	{ "overloads", golden_overloads, { DEFAULTS, .by = REPORT_BY_FUNCTION } },
	{ "filter", golden_server, { DEFAULTS, .filters = { ONE("function~Buffer") } } },
	{ "filter-leaked", golden_server, { DEFAULTS, .sort = REPORT_SORT_LEAKED, .focus = { ONE("Cache|log") }, .excludes = { ONE("file~nowhere") }, .plumbing = { ONE("^Buffer") } } },
	{ "by-stack-all-frames", golden_server, { .top = 1, .by = REPORT_BY_STACK, .sort = REPORT_SORT_TEMPORARY } },
	{ "sampled-temporary", golden_sampled, { .top = 1, .frames = 1, .sort = REPORT_SORT_TEMPORARY } },
	{ "filter-nothing", golden_server, { DEFAULTS, .focus = { ONE("no_such_function") } } },
	{ "other-file", golden_server, { DEFAULTS, .files = { ONE("it's mine.dat") } } },
	{ "sampled", golden_sampled, { DEFAULTS } },
	{ "sampled-leaked", golden_sampled, { DEFAULTS, .sort = REPORT_SORT_LEAKED } },
	{ "recursion", golden_recursion, { DEFAULTS } },
	{ "recursion-all-frames", golden_recursion, { .top = 10 } },
	{ "one-of-processes", golden_processes, { DEFAULTS } },
	{ "all-processes", golden_processes, { DEFAULTS, .all = true } },
	{ "errors", golden_errors, { DEFAULTS } },
	{ "errors-top-1", golden_errors, { .top = 1, .frames = 1 } },
	{ "empty", golden_empty, { DEFAULTS } },
	{ "tidy", golden_tidy, { DEFAULTS } },
	{ "tidy-leaked", golden_tidy, { DEFAULTS, .sort = REPORT_SORT_LEAKED } },
	{ "limits", golden_limits, { DEFAULTS } },
	{ "by-size", golden_parts, { DEFAULTS, .by = REPORT_BY_SIZE } },
	{ "by-size-leaked", golden_parts, { .top = 2, .by = REPORT_BY_SIZE, .sort = REPORT_SORT_LEAKED } },
	{ "by-thread", golden_parts, { DEFAULTS, .by = REPORT_BY_THREAD } },
	{ "by-thread-temporary", golden_parts, { DEFAULTS, .by = REPORT_BY_THREAD, .sort = REPORT_SORT_TEMPORARY } },
	{ "hostile", golden_hostile, { DEFAULTS } },
	{ "tree-callers", golden_server, { DEFAULTS, .tree = REPORT_TREE_CALLERS } },
	{ "tree-callees", golden_server, { .top = 10, .tree = REPORT_TREE_CALLEES } },
	{ "tree-sampled", golden_sampled, { DEFAULTS, .tree = REPORT_TREE_CALLERS } },
	{ "tree-recursion", golden_recursion, { .top = 10, .tree = REPORT_TREE_CALLEES } },
	{ "tree-hostile", golden_hostile, { .top = 10, .tree = REPORT_TREE_CALLEES } },
};
/* clang-format on */

#define REPORTS (sizeof(reports) / sizeof(reports[0]))

static int home = -1;

static int group_setup(void **state)
{
	(void)state;
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

/* Reports name the file that they show, so it has the same name each time. */
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

static const char *recording_name(const struct golden_report *report)
{
	return report->options.files.count ? report->options.files.items[0] : "memtrack.dat";
}

static char *render(const void *what, const struct golden_shape *shape)
{
	const struct golden_report *report = what;
	struct report_options options = report->options;
	options.width = shape->width;
	options.utf8 = shape->utf8;
	return fixture_report_ok(&options, recording_name(report));
}

static void test_report(void **state)
{
	const struct golden_report *report = *state;
	report->write(recording_name(report));
	golden_check(report->name, render, report);
}

int main(void)
{
	struct CMUnitTest tests[REPORTS];
	for (size_t i = 0; i < REPORTS; i++)
		tests[i] = (struct CMUnitTest){ reports[i].name, test_report, setup, teardown,
						(void *)&reports[i] };
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("report_golden", tests, group_setup, group_teardown);
}
