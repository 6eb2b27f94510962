/* SPDX-License-Identifier: MIT */
/*
 * Suppressions: what a file of them may hold, what a pattern matches, and which
 * figures change.  Links all of report/ and report_fixture.o.
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

#include "report/model.h"
#include "report/suppressions.h"
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

static const char *write_file(const char *text, size_t size)
{
	const char *path = fixture_path("suppressions");
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, size, out), size);
	assert_int_equal(fclose(out), 0);
	return path;
}

static int load_text(struct suppressions *set, const char *text, struct diag *diag)
{
	return suppressions_load(set, write_file(text, strlen(text)), diag);
}

static bool matches(const char *pattern, const char *name)
{
	struct suppressions set = { 0 };
	struct diag diag = { 0 };
	char line[128];
	snprintf(line, sizeof(line), "leak:%s\n", pattern);
	assert_int_equal(load_text(&set, line, &diag), 0);
	assert_int_equal(set.count, 1);
	bool result = suppression_matches(&set.items[0], name);
	suppressions_release(&set);
	return result;
}

static void test_patterns(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *name;
		bool expected;
	} cases[] = {
		{ "load", "load", true },
		{ "load", "reload_all", true },
		{ "load", "Load", false },
		{ "load", "loa", false },
		{ "^load", "load_all", true },
		{ "^load", "reload", false },
		{ "load$", "reload", true },
		{ "load$", "loads", false },
		{ "load$", "load, then load", true }, /* not the first one only */
		{ "^load$", "load", true },
		{ "^load$", "loadload", false },
		{ "^lo*ad$", "load", true },
		{ "^lo*ad$", "lo, bad", true },
		{ "^lo*ad$", "load, bad, worse", false },
		{ "a*b*a", "xaxbxax", true },
		{ "a*b*a", "xaxbx", false },
		{ "^a*a$", "a", false }, /* one letter cannot be both */
		{ "^a*a$", "aa", true },
		{ "ab*ba", "aba", false },
		{ "*", "anything", true },
		{ "*load", "load", true },
		{ "^*load", "reload", true },
		{ "load**all", "load all", true },
		{ "/src/*.c$", "/src/deep/load.c", true },
		{ "/src/*.c$", "/src/deep/load.cc", false },
		{ "foo(int*)", "foo(int const*)", true },
		{ "a^b", "a^b", true }, /* anchors only at the ends */
		{ "a$b", "xa$b", true },
		{ "a b", "a b", true },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (matches(cases[i].pattern, cases[i].name) != cases[i].expected)
			fail_msg("'%s' %s '%s'", cases[i].pattern,
				 cases[i].expected ? "should match" : "matches", cases[i].name);
	}
}

static void test_lines(void **state)
{
	(void)state;
	struct suppressions set = { 0 };
	struct diag diag = { 0 };
	assert_int_equal(load_text(&set,
				   "# leak:no\n\n  leak:one  \r\n\t\n leak:two # three\nleak:last",
				   &diag),
			 0);
	assert_int_equal(set.count, 3);
	assert_string_equal(set.items[0].pattern, "one");
	assert_string_equal(set.items[1].pattern, "two # three");
	assert_string_equal(set.items[2].pattern, "last");
	/* Another file adds to it. */
	assert_int_equal(load_text(&set, "leak:more\n", &diag), 0);
	assert_int_equal(set.count, 4);
	assert_int_equal(load_text(&set, "", &diag), 0);
	assert_int_equal(set.count, 4);
	suppressions_release(&set);
}

static void expect_refused(const char *text, size_t size, int error, const char *what)
{
	struct suppressions set = { 0 };
	struct diag diag = { 0 };
	assert_int_equal(suppressions_load(&set, write_file(text, size), &diag), error);
	if (!strstr(diag.text, what))
		fail_msg("no '%s' in: %s", what, diag.text);
	suppressions_release(&set);
}

static void test_bad_files(void **state)
{
	(void)state;
	struct suppressions set = { 0 };
	struct diag diag = { 0 };
	static const char nul[] = "leak:a\nleak:b\0c\n";
	expect_refused("\nrace:foo\n", 10, -EINVAL, "line 2: 'race:foo'");
	expect_refused("leak:a\nfoo", 10, -EINVAL, "line 2: 'foo'");
	expect_refused("leak:  \n", 8, -EINVAL, "line 1: no pattern");
	expect_refused(nul, sizeof(nul) - 1, -EINVAL, "line 2: it has a NUL");
	char *huge = malloc((16 << 20) + 1);
	assert_non_null(huge);
	memset(huge, '\n', (16 << 20) + 1);
	expect_refused(huge, (16 << 20) + 1, -EFBIG, "File too large");
	free(huge);
	assert_int_equal(suppressions_load(&set, fixture_path("nothing"), &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "/nothing': No such file"));
	assert_int_equal(suppressions_load(&set, fixture_path(""), &diag), -EISDIR);
	suppressions_release(&set);
}

/*
 * main < parse < load leaks 1000 in 10 blocks, main < load 200 in 2, main 30 in 3
 * (of them none at the peak), code without a name in libstripped.so 4 in 4, and a
 * stack of which nothing is known 5 in 5.  quiet leaks nothing.
 */
static const char *write_leaks(int64_t mean)
{
	struct fixture f;
	struct rec_process prog = fixture_prog();
	const char *path = fixture_path("leaks.dat");
	prog.sample_mean = mean;
	prog.peak_bytes = 5000;
	fixture_create(&f, path);
	fixture_process(&f, &prog);
	rec_id load = fixture_location(&f, "load", "load.c", 40);
	rec_id main_node = fixture_node(&f, none, fixture_location(&f, "main", "main.c", 3));
	rec_id parse = fixture_node(&f, main_node, fixture_location(&f, "parse", "parse.c", 9));
	rec_id quiet = fixture_node(&f, main_node, fixture_location(&f, "quiet", "quiet.c", 9));
	rec_id stripped =
		fixture_node(&f, none, fixture_location_of(&f, f.stripped, 0xbeef, NULL, 0));
	struct cost_variances v = { .leaked_bytes = 400, .leaked_blocks = 9, .peak_bytes = 100 };
	fixture_stack(&f, fixture_node(&f, parse, load), STACK_COMPLETE,
		      &(struct costs){ 20, 3000, 10, 2000, 0, 0, 10, 1000, 10, 1000, v, NO_SLACK });
	fixture_stack(&f, fixture_node(&f, main_node, load), STACK_COMPLETE,
		      &(struct costs){ 2, 200, 0, 0, 0, 0, 2, 200, 2, 200, v, NO_SLACK });
	fixture_stack(&f, main_node, STACK_COMPLETE,
		      &(struct costs){ 3, 30, 0, 0, 0, 0, 0, 0, 3, 30, EXACT });
	fixture_stack(&f, quiet, STACK_COMPLETE,
		      &(struct costs){ 1, 50, 1, 50, 1, 0, 0, 0, 0, 0, EXACT });
	fixture_stack(&f, stripped, STACK_COMPLETE,
		      &(struct costs){ 4, 4, 0, 0, 0, 0, 4, 4, 4, 4, EXACT });
	fixture_stack(&f, none, STACK_UNATTRIBUTED,
		      &(struct costs){ 5, 5, 0, 0, 0, 0, 5, 5, 5, 5, EXACT });
	fixture_finish(&f);
	return path;
}

struct result {
	struct model model;
	struct suppressions set;
};

static void apply(struct result *r, const char *path, const char *text)
{
	struct diag diag = { 0 };
	struct model_options options = { .files = &path, .file_count = 1 };
	*r = (struct result){ 0 };
	assert_int_equal(load_text(&r->set, text, &diag), 0);
	assert_int_equal(model_load(&r->model, &options, &diag), 0);
	assert_int_equal(suppressions_apply(&r->set, &r->model, &diag), 0);
}

static void release(struct result *r)
{
	model_release(&r->model);
	suppressions_release(&r->set);
}

static void expect_leak(const struct costs *costs, int64_t bytes, int64_t blocks)
{
	assert_int_equal(costs->leaked_bytes, bytes);
	assert_int_equal(costs->leaked_blocks, blocks);
}

static void test_figures(void **state)
{
	(void)state;
	struct result r;
	apply(&r, write_leaks(0), "leak:^load$\nleak:parse.c\nleak:quiet\nleak:prog.nothing\n");
	const struct costs *total = &r.model.totals.costs;
	expect_leak(total, 39, 12);
	expect_leak(&r.set.costs, 1200, 12);
	/* A leak counts for the first pattern that matches it. */
	expect_leak(&r.set.items[0].costs, 1200, 12);
	expect_leak(&r.set.items[1].costs, 0, 0);
	assert_true(r.set.items[1].matched);
	/* What did not leak is nothing to suppress. */
	assert_false(r.set.items[2].matched);
	assert_false(r.set.items[3].matched);
	for (size_t i = 0; i < r.model.stack_count; i++)
		assert_true(r.model.stacks[i].costs.leaked_bytes < 200);
	/* No other figure changes. */
	assert_int_equal(total->allocations, 35);
	assert_int_equal(total->allocated_bytes, 3289);
	assert_int_equal(total->frees, 11);
	assert_int_equal(total->peak_bytes, 5000);
	assert_int_equal(total->temporary_allocations, 1);
	release(&r);
}

static void test_modules_and_unknown_stacks(void **state)
{
	(void)state;
	struct result r;
	apply(&r, write_leaks(0), "leak:libstripped.so$\n");
	expect_leak(&r.set.costs, 4, 4);
	expect_leak(&r.model.totals.costs, 1235, 20);
	release(&r);
	/* Even a pattern that matches any name needs a name. */
	apply(&r, fixture_path("leaks.dat"), "leak:*\n");
	expect_leak(&r.set.costs, 1234, 19);
	expect_leak(&r.model.totals.costs, 5, 5);
	release(&r);
	apply(&r, fixture_path("leaks.dat"), "# none\n");
	expect_leak(&r.model.totals.costs, 1239, 24);
	release(&r);
}

static void test_estimates(void **state)
{
	(void)state;
	struct result r;
	apply(&r, write_leaks(512), "leak:parse\n");
	expect_leak(&r.model.totals.costs, 239, 14);
	assert_true(r.set.costs.variances.leaked_bytes == 400);
	assert_true(r.set.costs.variances.leaked_blocks == 9);
	assert_true(r.model.totals.costs.variances.leaked_bytes == 400);
	assert_true(r.model.totals.costs.variances.leaked_blocks == 9);
	assert_true(r.model.totals.costs.variances.peak_bytes == 200);
	release(&r);
}

/* libstdc++'s pool, as its library's start makes it, and the same call with another size. */
static const char *write_pool(void)
{
	static const struct rec_frame init = { "call_init", "dl-init.c", 70, false };
	const char *path = fixture_path("pool.dat");
	struct fixture f;
	struct rec_process prog = fixture_prog();
	fixture_create(&f, path);
	fixture_process(&f, &prog);
	rec_id loader = fixture_module(&f, "/lib64/ld-linux-x86-64.so.2", "symtab");
	rec_id library = fixture_module(&f, "/lib/libstdc++.so.6.0.33", "none");
	rec_id start = fixture_node(&f, none, fixture_location_of(&f, loader, 0x10, &init, true));
	for (unsigned i = 0; i < 2; i++)
		fixture_stack(&f,
			      fixture_node(&f, start,
					   fixture_location_of(&f, library, 0x100 + i, NULL, 0)),
			      STACK_COMPLETE,
			      &(struct costs){ .allocations = 1,
					       .allocated_bytes = 73728 + i,
					       .leaked_blocks = 1,
					       .leaked_bytes = 73728 + i });
	fixture_finish(&f);
	return path;
}

static void test_known_stacks(void **state)
{
	(void)state;
	struct result r;
	apply(&r, write_pool(), "leak:emergency pool\n");
	expect_leak(&r.set.costs, 73728, 1);
	expect_leak(&r.model.totals.costs, 73729, 1);
	assert_true(r.set.items[0].matched);
	release(&r);
	/* It counts for the first pattern here, too. */
	apply(&r, fixture_path("pool.dat"), "leak:emergency pool\nleak:libstdc++\n");
	expect_leak(&r.set.items[0].costs, 73728, 1);
	expect_leak(&r.set.items[1].costs, 73729, 1);
	release(&r);
	apply(&r, write_leaks(0), "leak:emergency pool\n");
	assert_false(r.set.items[0].matched);
	release(&r);
}

static char *report_with(const char *text, enum report_format format)
{
	struct report_options options;
	const char *file = write_file(text, strlen(text));
	report_options_init(&options);
	options.format = format;
	options.sort = REPORT_SORT_LEAKED;
	options.suppressions = (struct report_list){ &file, 1 };
	return fixture_report_ok(&options, fixture_path("leaks.dat"));
}

static void expect_text(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void test_reports(void **state)
{
	(void)state;
	write_leaks(0);
	char *text = report_with("leak:load\nleak:\033[31m\nleak:^main$\n", REPORT_FORMAT_TEXT);
	expect_text(text, "\nLeaked  9 B in 9 blocks\n");
	expect_text(text, "\nSuppressed 1.2 KiB in 15 blocks by 2 patterns\n");
	expect_text(text, "\nUnused  leak:?[31m matches no leak\n");
	free(text);
	text = report_with("leak:nothing\n", REPORT_FORMAT_TEXT);
	expect_text(text, "\nSuppressed nothing\n");
	free(text);
	text = report_with("leak:load\nleak:a\"b\n", REPORT_FORMAT_JSON);
	expect_text(
		text,
		"\"suppressed\": {\"leaked_bytes\": 1200, \"leaked_blocks\": 12, \"patterns\": [\n"
		"    {\"pattern\": \"load\", \"leaked_bytes\": 1200, \"leaked_blocks\": 12},\n"
		"    {\"pattern\": \"a\\\"b\", \"leaked_bytes\": 0, \"leaked_blocks\": 0}]}");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_patterns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_figures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modules_and_unknown_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_estimates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_known_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reports, setup, teardown),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
