/* SPDX-License-Identifier: MIT */
/*
 * What `diff` takes for the same in two recordings, and what it says of the
 * rest.  Recordings are made here, so every expected figure follows from the
 * test itself.  Links all of report/ and report_fixture.o.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff.h"
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

static void begin(struct fixture *f, const char *name)
{
	struct rec_process prog = fixture_prog();
	fixture_create(f, fixture_path(name));
	fixture_process(f, &prog);
}

/* Addresses differ from one recording to the other. */
static uint64_t next_address(void)
{
	static uint64_t address = 0x100000;
	return address += 16;
}

static rec_id place(struct fixture *f, rec_id module, const char *function, const char *file,
		    uint32_t line)
{
	struct rec_frame frame = { function, file, line, false };
	return fixture_location_of(f, module, next_address(), &frame, function || file);
}

static rec_id call(struct fixture *f, rec_id caller, const char *function, const char *file,
		   uint32_t line)
{
	return fixture_node(f, caller, place(f, f->prog, function, file, line));
}

/* So many blocks of 100 bytes, all of which stay. */
static void allocate(struct fixture *f, rec_id node, unsigned blocks)
{
	fixture_stack(f, node, STACK_COMPLETE,
		      &(struct costs){ blocks, 100 * blocks, 0, 0, 0, 0, blocks, 100 * blocks,
				       blocks, 100 * blocks, EXACT });
}

static void init_options(struct diff_options *options)
{
	*options = (struct diff_options){ .match = DIFF_MATCH_NAME };
	report_options_init(&options->report);
	options->report.top = 0;
}

static char *run_diff(struct diff_options *options, int expected)
{
	const char *files[] = { fixture_path("old.dat"), fixture_path("new.dat") };
	char *text = NULL;
	size_t size = 0;
	struct diag diag = { 0 };
	options->report.files = (struct report_list){ files, 2 };
	options->report.out = open_memstream(&text, &size);
	assert_non_null(options->report.out);
	int error = diff_run(options, &diag);
	assert_int_equal(fclose(options->report.out), 0);
	if (error != expected)
		fail_msg("error %d: %s", error, diag.text);
	return text;
}

/* The rows as "function status old->new;", by the number of allocations. */
static char *rows(struct diff_options *options)
{
	static char line[1024];
	options->report.format = REPORT_FORMAT_JSON;
	char *text = run_diff(options, 0);
	cJSON *json = cJSON_Parse(text);
	const cJSON *row;
	size_t used = 0;
	if (!json)
		fail_msg("no JSON: %s", text);
	line[0] = '\0';
	cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "sites"))
	{
		const char *function = cJSON_GetStringValue(cJSON_GetObjectItem(row, "function"));
		const cJSON *of[] = { cJSON_GetObjectItem(row, "old"),
				      cJSON_GetObjectItem(row, "new") };
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s %s %d->%d;",
					 function ? function : "?",
					 cJSON_GetStringValue(cJSON_GetObjectItem(row, "status")),
					 cJSON_GetObjectItem(of[0], "allocations")->valueint,
					 cJSON_GetObjectItem(of[1], "allocations")->valueint);
	}
	cJSON_Delete(json);
	free(text);
	return line;
}

static void expect_rows(enum report_by by, enum diff_match match, const char *expected)
{
	struct diff_options options;
	init_options(&options);
	options.report.by = by;
	options.match = match;
	assert_string_equal(rows(&options), expected);
}

/* main -> load, twice from two lines, and main -> save, below `folder`, lines moved by `lines`. */
static void write_build(const char *name, const char *folder, uint32_t lines, unsigned loads)
{
	struct fixture f;
	char main_c[64], load_c[64];
	snprintf(main_c, sizeof(main_c), "%s/src/main.c", folder);
	snprintf(load_c, sizeof(load_c), "%s/src/load.c", folder);
	begin(&f, name);
	rec_id start = fixture_node(&f, none, place(&f, f.libc, "__libc_start_main", NULL, 0));
	rec_id first = call(&f, start, "main", main_c, 10 + lines);
	rec_id second = call(&f, start, "main", main_c, 11 + lines);
	allocate(&f, call(&f, first, "load", load_c, 3 + lines), loads);
	allocate(&f, call(&f, second, "load", load_c, 4 + lines), 2);
	allocate(&f, call(&f, first, "save", load_c, 9 + lines), 7);
	fixture_finish(&f);
}

static void test_another_build(void **state)
{
	(void)state;
	write_build("old.dat", "/build/1", 0, 5);
	write_build("new.dat", "/tmp/other", 100, 5);
	expect_rows(REPORT_BY_SITE, DIFF_MATCH_NAME, "");
	expect_rows(REPORT_BY_STACK, DIFF_MATCH_NAME, "");
	expect_rows(REPORT_BY_FILE, DIFF_MATCH_NAME, "");
	/* By line nothing is the same, and sites of one function are apart. */
	expect_rows(REPORT_BY_SITE, DIFF_MATCH_LINE,
		    "save added 0->7;save removed 7->0;load added 0->5;load removed 5->0;"
		    "load added 0->2;load removed 2->0;");
	write_build("new.dat", "/tmp/other", 0, 6);
	expect_rows(REPORT_BY_SITE, DIFF_MATCH_NAME, "load changed 7->8;");
	expect_rows(REPORT_BY_SITE, DIFF_MATCH_LINE, "load changed 5->6;");
	/* main's two calls of load are one stack by name. */
	expect_rows(REPORT_BY_STACK, DIFF_MATCH_NAME, "load changed 7->8;");
	expect_rows(REPORT_BY_STACK, DIFF_MATCH_LINE, "load changed 5->6;");
}

/* Static functions of one name in two files of one base name. */
static void write_namesakes(const char *name, const char *folder, unsigned in_net, unsigned in_disk)
{
	struct fixture f;
	char net[64], disk[64];
	snprintf(net, sizeof(net), "%s/net/init.c", folder);
	snprintf(disk, sizeof(disk), "%s/disk/init.c", folder);
	begin(&f, name);
	if (in_net)
		allocate(&f, call(&f, none, "init", net, 3), in_net);
	if (in_disk)
		allocate(&f, call(&f, none, "init", disk, 3), in_disk);
	fixture_finish(&f);
}

static void test_namesakes(void **state)
{
	(void)state;
	write_namesakes("old.dat", "/build/1", 1, 20);
	write_namesakes("new.dat", "/build/2", 1, 20);
	expect_rows(REPORT_BY_SITE, DIFF_MATCH_NAME, "");
	write_namesakes("new.dat", "/build/2", 3, 20);
	expect_rows(REPORT_BY_SITE, DIFF_MATCH_NAME, "init changed 1->3;");
	write_namesakes("old.dat", "/build/1", 0, 20);
	expect_rows(REPORT_BY_SITE, DIFF_MATCH_NAME, "init added 0->3;");
	expect_rows(REPORT_BY_FILE, DIFF_MATCH_NAME, "? added 0->3;");
	expect_rows(REPORT_BY_MODULE, DIFF_MATCH_NAME, "? changed 20->23;");
}

static void write_one(const char *name, const char *module, const char *function, const char *file,
		      unsigned blocks)
{
	struct fixture f;
	begin(&f, name);
	rec_id id = fixture_module(&f, module, "dwarf");
	allocate(&f, fixture_node(&f, none, place(&f, id, function, file, 1)), blocks);
	fixture_finish(&f);
}

static void test_names(void **state)
{
	(void)state;
	static const struct {
		const char *module, *function, *file;
		bool same;
	} others[] = {
		{ "/opt/2/lib/libx.so", "grow", "/src/grow.c", true },
		{ "/abs/libx.so", "grow.constprop.0", "/src/grow.c", true },
		{ "/abs/libx.so", "grow.part.3.isra.1", "/src/grow.c", true },
		{ "/abs/libx.so", "grow [clone .cold]", "/src/grow.c", true },
		{ "/abs/libx.so", "grow", NULL, true },
		{ "/abs/libx.so", "grower", "/src/grow.c", false },
		{ "/abs/libx.so", "grow", "/src/shrink.c", false },
		{ "/abs/liby.so", "grow", "/src/grow.c", false },
	};
	write_one("old.dat", "/abs/libx.so", "grow", "/src/grow.c", 4);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char expected[128] = "";
		write_one("new.dat", others[i].module, others[i].function, others[i].file, 4);
		if (!others[i].same)
			snprintf(expected, sizeof(expected), "%s added 0->4;grow removed 4->0;",
				 others[i].function);
		expect_rows(REPORT_BY_SITE, DIFF_MATCH_NAME, expected);
	}
}

/* The program itself may be called otherwise. */
static void write_program(const char *name, const char *path)
{
	struct fixture f;
	struct rec_process prog = fixture_prog();
	prog.executable = path;
	fixture_create(&f, fixture_path(name));
	fixture_process(&f, &prog);
	rec_id module = fixture_module(&f, path, "dwarf");
	allocate(&f, fixture_node(&f, none, place(&f, module, "main", "/src/main.c", 3)), 4);
	fixture_finish(&f);
}

static void test_program_of_another_name(void **state)
{
	(void)state;
	write_program("old.dat", "/bin/tool");
	write_program("new.dat", "/tmp/tool-new");
	expect_rows(REPORT_BY_SITE, DIFF_MATCH_NAME, "");
	expect_rows(REPORT_BY_MODULE, DIFF_MATCH_NAME, "");
	expect_rows(REPORT_BY_PROCESS, DIFF_MATCH_NAME, "");
}

/* Without a name: module and address; of code of no file, the address means nothing. */
static void write_nameless(const char *name, uint64_t address, uint64_t jit_address)
{
	struct fixture f;
	begin(&f, name);
	allocate(&f, fixture_node(&f, none, fixture_location_of(&f, f.stripped, address, NULL, 0)),
		 4);
	allocate(&f, fixture_node(&f, none, fixture_location_of(&f, none, jit_address, NULL, 0)),
		 5);
	fixture_finish(&f);
}

static void test_nameless(void **state)
{
	(void)state;
	write_nameless("old.dat", 0x1234, 0x7f0000001000);
	write_nameless("new.dat", 0x1234, 0x7fff00002000);
	expect_rows(REPORT_BY_SITE, DIFF_MATCH_NAME, "");
	expect_rows(REPORT_BY_STACK, DIFF_MATCH_NAME, "");
	write_nameless("new.dat", 0x1238, 0x7fff00002000);
	expect_rows(REPORT_BY_SITE, DIFF_MATCH_NAME, "? added 0->4;? removed 4->0;");
}

/* main -> load -> grow, with load inlined into main, or not. */
static void write_inlined(const char *name, bool inlined)
{
	struct fixture f;
	struct rec_frame both[] = { { "load", "/src/load.c", 4, true },
				    { "main", "/src/main.c", 9, false } };
	begin(&f, name);
	rec_id caller =
		inlined ? fixture_node(&f, none,
				       fixture_location_of(&f, f.prog, next_address(), both, 2))
			: call(&f, call(&f, none, "main", "/src/main.c", 9), "load", "/src/load.c",
			       4);
	allocate(&f, call(&f, caller, "grow", "/src/grow.c", 1), 4);
	fixture_finish(&f);
}

static void test_inlining(void **state)
{
	(void)state;
	write_inlined("old.dat", false);
	write_inlined("new.dat", true);
	expect_rows(REPORT_BY_STACK, DIFF_MATCH_NAME, "");
	expect_rows(REPORT_BY_STACK, DIFF_MATCH_LINE, "");
}

/* Who called main is not the same everywhere; stacks that never came there are told apart by it. */
static void write_startup(const char *name, const char *starter, unsigned in_loader)
{
	struct fixture f;
	begin(&f, name);
	rec_id start = fixture_node(&f, none, place(&f, f.prog, "_start", NULL, 0));
	rec_id before = fixture_node(&f, start, place(&f, f.libc, starter, NULL, 0));
	allocate(&f, call(&f, before, "main", "/src/main.c", 3), 4);
	rec_id inner = place(&f, f.libc, "_dl_inner", NULL, 0);
	rec_id first = fixture_node(&f, none, place(&f, f.libc, "_dl_first", NULL, 0));
	rec_id second = fixture_node(&f, none, place(&f, f.libc, "_dl_second", NULL, 0));
	allocate(&f, fixture_node(&f, first, inner), in_loader);
	allocate(&f, fixture_node(&f, second, inner), 2);
	fixture_finish(&f);
}

static void test_startup(void **state)
{
	(void)state;
	write_startup("old.dat", "__libc_start_main", 3);
	write_startup("new.dat", "__libc_start_main_impl", 3);
	expect_rows(REPORT_BY_STACK, DIFF_MATCH_NAME, "");
	write_startup("new.dat", "__libc_start_main_impl", 8);
	expect_rows(REPORT_BY_STACK, DIFF_MATCH_NAME, "_dl_inner changed 3->8;");
}

/* Sites of `count` functions, each with its number of blocks; 0: none. */
static void write_functions(const char *name, const unsigned *blocks, size_t count)
{
	struct fixture f;
	char function[] = "a";
	begin(&f, name);
	for (size_t i = 0; i < count; i++, function[0]++) {
		if (blocks[i])
			allocate(&f, call(&f, none, function, "/src/x.c", 1), blocks[i]);
	}
	fixture_finish(&f);
}

static void test_order_and_status(void **state)
{
	(void)state;
	write_functions("old.dat", (const unsigned[]){ 1, 9, 5, 3, 0, 7 }, 6);
	write_functions("new.dat", (const unsigned[]){ 3, 2, 5, 0, 3, 9 }, 6);
	/* b -7; then d and e, by 3, growth first; then a and f, by 2, in the order of their names. */
	expect_rows(REPORT_BY_SITE, DIFF_MATCH_NAME,
		    "b changed 9->2;e added 0->3;d removed 3->0;a changed 1->3;f changed 7->9;");
	struct diff_options options;
	init_options(&options);
	options.report.top = 2;
	assert_string_equal(rows(&options), "b changed 9->2;e added 0->3;");
}

static double number(const cJSON *object, const char *path)
{
	char key[32];
	while (*path) {
		size_t length = strcspn(path, ".");
		snprintf(key, sizeof(key), "%.*s", (int)length, path);
		object = cJSON_GetObjectItem(object, key);
		if (!object)
			fail_msg("no %s", path);
		path += length + (path[length] == '.');
	}
	return object->valuedouble;
}

static cJSON *diff_json(struct diff_options *options)
{
	options->report.format = REPORT_FORMAT_JSON;
	char *text = run_diff(options, 0);
	cJSON *json = cJSON_Parse(text);
	assert_non_null(json);
	free(text);
	return json;
}

static void test_json(void **state)
{
	(void)state;
	struct diff_options options;
	write_functions("old.dat", (const unsigned[]){ 9 }, 1);
	write_functions("new.dat", (const unsigned[]){ 2 }, 1);
	init_options(&options);
	options.report.by = REPORT_BY_STACK;
	cJSON *json = diff_json(&options);
	assert_int_equal(number(json, "old.allocations"), 9);
	assert_int_equal(number(json, "new.leaked_bytes"), 200);
	assert_int_equal(number(json, "delta.allocated_bytes"), -700);
	assert_int_equal(number(json, "delta.peak_rss_bytes"), 0);
	const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "sites"), 0);
	assert_int_equal(number(row, "delta.leaked_blocks"), -7);
	assert_int_equal(number(row, "line"), 1);
	assert_null(cJSON_GetObjectItem(row, "chance"));
	assert_null(cJSON_GetObjectItem(cJSON_GetObjectItem(row, "delta"), "standard_errors"));
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "file")), "/src/x.c");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "module")), "/abs/prog");
	const cJSON *frame = cJSON_GetArrayItem(cJSON_GetObjectItem(row, "frames"), 0);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(frame, "function")), "a");
	cJSON_Delete(json);
}

/* One site with so many bytes at the peak, and their variance; sampled when that is not 0. */
static void write_estimate(const char *name, int64_t bytes, double variance)
{
	struct fixture f;
	struct rec_process prog = fixture_prog();
	prog.sample_mean = variance > 0 ? 4096 : 0;
	fixture_create(&f, fixture_path(name));
	fixture_process(&f, &prog);
	fixture_stack(&f, call(&f, none, "a", "/src/x.c", 1), STACK_COMPLETE,
		      &(struct costs){ .allocations = 1,
				       .allocated_bytes = (uint64_t)bytes,
				       .peak_bytes = bytes,
				       .variances = { .peak_bytes = variance } });
	fixture_finish(&f);
}

static void expect_chance(int64_t old, double old_variance, int64_t new, double new_variance,
			  bool chance, double standard_error)
{
	struct diff_options options;
	write_estimate("old.dat", old, old_variance);
	write_estimate("new.dat", new, new_variance);
	init_options(&options);
	cJSON *json = diff_json(&options);
	const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "sites"), 0);
	assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(row, "chance")), chance);
	assert_int_equal(cJSON_IsFalse(cJSON_GetObjectItem(row, "chance")), !chance);
	assert_int_equal(number(row, "delta.standard_errors.peak_bytes"), standard_error);
	assert_int_equal(cJSON_HasObjectItem(cJSON_GetObjectItem(row, "old"), "standard_errors"),
			 old_variance > 0);
	assert_int_equal(cJSON_HasObjectItem(cJSON_GetObjectItem(row, "new"), "standard_errors"),
			 new_variance > 0);
	cJSON_Delete(json);
}

/* Two samples of standard errors 300 and 400: 500 together, so that 1000 may be chance. */
static void test_chance(void **state)
{
	(void)state;
	expect_chance(10000, 90000, 11000, 160000, true, 500);
	expect_chance(10000, 90000, 11001, 160000, false, 500);
	expect_chance(11000, 160000, 10000, 90000, true, 500);
	/* One recording is exact. */
	expect_chance(10000, 0, 10800, 160000, true, 400);
	expect_chance(10801, 160000, 10000, 0, false, 400);
}

static void test_nothing_changed(void **state)
{
	(void)state;
	struct diff_options options;
	write_functions("old.dat", (const unsigned[]){ 9 }, 1);
	write_functions("new.dat", (const unsigned[]){ 9 }, 1);
	init_options(&options);
	char *text = run_diff(&options, 0);
	assert_non_null(strstr(text, "\nNothing changed.\n"));
	free(text);
}

static void test_bad_options(void **state)
{
	(void)state;
	struct diff_options options;
	write_functions("old.dat", (const unsigned[]){ 9 }, 1);
	init_options(&options);
	free(run_diff(&options, -ENOENT)); /* new.dat */
	options.report.filters = (struct report_list){ (const char *const[]){ "function~(" }, 1 };
	free(run_diff(&options, -EINVAL));
	options.report.filters.count = 0;
	options.report.by = REPORT_BY_THREAD;
	free(run_diff(&options, -EINVAL));
	options.report.by = REPORT_BY_SITE;
	options.report.process = 2;
	write_functions("new.dat", (const unsigned[]){ 9 }, 1);
	free(run_diff(&options, -EINVAL));
}

/* So many bytes stay of one block that load.c:LINE allocates; 0: it is freed. */
struct line {
	uint32_t line;
	int64_t leaked;
};

static void write_lines(const char *name, const struct line *lines, size_t count)
{
	struct fixture f;
	begin(&f, name);
	for (size_t i = 0; i < count; i++) {
		bool leaks = lines[i].leaked != 0;
		fixture_stack(&f, call(&f, none, "load", "/src/load.c", lines[i].line),
			      STACK_COMPLETE,
			      &(struct costs){ .allocations = 1,
					       .allocated_bytes = 5000,
					       .frees = !leaks,
					       .leaked_blocks = leaks,
					       .leaked_bytes = lines[i].leaked,
					       .peak_bytes = 5000,
					       .peak_blocks = 1 });
	}
	fixture_finish(&f);
}

#define WRITE_LINES(name, ...)                           \
 write_lines(name, (const struct line[]){ __VA_ARGS__ }, \
	     sizeof((const struct line[]){ __VA_ARGS__ }) / sizeof(struct line))

/* The one row shows this line, in JSON and CSV, in the text, and in the stack under it. */
static void expect_line(unsigned line)
{
	struct diff_options options;
	char label[64], cell[64];
	init_options(&options);
	options.report.sort = REPORT_SORT_LEAKED;
	cJSON *json = diff_json(&options);
	const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "sites"), 0);
	assert_int_equal(number(row, "line"), line);
	cJSON_Delete(json);
	options.report.format = REPORT_FORMAT_CSV;
	char *text = run_diff(&options, 0);
	snprintf(cell, sizeof(cell), "load,/src/load.c,%u,", line);
	if (!strstr(text, cell))
		fail_msg("no %s in %s", cell, text);
	free(text);
	options.report.format = REPORT_FORMAT_TEXT;
	text = run_diff(&options, 0);
	snprintf(label, sizeof(label), "load.c:%u\n", line);
	unsigned lines = 0, wanted = 0;
	for (const char *p = text; (p = strstr(p, "load.c:")); p++, lines++)
		wanted += strncmp(p, label, strlen(label)) == 0;
	if (wanted != 2 || lines != 2)
		fail_msg("%u of %u times %s in %s", wanted, lines, label, text);
	free(text);
}

static void test_line_that_changed(void **state)
{
	(void)state;
	/* The leak at 10 is gone; 20 never leaked. */
	WRITE_LINES("old.dat", { 10, 700 }, { 20, 0 });
	WRITE_LINES("new.dat", { 20, 0 });
	expect_line(10);
	WRITE_LINES("old.dat", { 10, 700 });
	expect_line(10);
	WRITE_LINES("new.dat", { 10, 0 }, { 20, 0 });
	expect_line(10);
	/* It came. */
	WRITE_LINES("old.dat", { 20, 0 });
	WRITE_LINES("new.dat", { 10, 700 }, { 20, 0 });
	expect_line(10);
	/* 20 has more, but as before. */
	WRITE_LINES("old.dat", { 10, 700 }, { 20, 4000 });
	WRITE_LINES("new.dat", { 10, 900 }, { 20, 4000 });
	expect_line(10);
	WRITE_LINES("new.dat", { 20, 4000 });
	expect_line(10);
	/* Two changed. */
	WRITE_LINES("new.dat", { 10, 100 }, { 20, 3500 });
	expect_line(10);
	/* Moved, and less of it: the line that it is at now. */
	WRITE_LINES("old.dat", { 10, 700 });
	WRITE_LINES("new.dat", { 12, 300 });
	expect_line(12);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_another_build), TEST(test_namesakes),
		TEST(test_names),	  TEST(test_program_of_another_name),
		TEST(test_nameless),	  TEST(test_inlining),
		TEST(test_startup),	  TEST(test_order_and_status),
		TEST(test_json),	  TEST(test_line_that_changed),
		TEST(test_chance),	  TEST(test_nothing_changed),
		TEST(test_bad_options),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("report_diff", tests, NULL, NULL);
}
