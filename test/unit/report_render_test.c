/* SPDX-License-Identifier: MIT */
/*
 * What reports look like: the JSON contract key by key, the text column by
 * column, CSV, hostile names. Expected texts are written by hand from the
 * recording made here.  Links all of report/ and report_fixture.o.
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

#include "report/utf8.h"
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

/*
 * main -> parse -> load [inlined: push_back], 6 MiB at the peak, 2 of 12 blocks
 * leaked; main -> other -> load, 1 MiB; a stack cut off in libstripped.so, 1
 * MiB.
 */
static void write_any_sample(const char *path, int64_t mean, const struct cost_variances *v)
{
	struct fixture f;
	struct rec_process prog = fixture_prog();
	prog.sample_mean = mean;
	prog.peak_bytes = 8 << 20;
	prog.peak_blocks = 16;
	prog.peak_time_ns = 810000000;
	prog.peak_rss_bytes = 10 << 20;
	prog.unknown_frees = 1;
	fixture_create(&f, path);
	fixture_process(&f, &prog);
	struct rec_frame load[] = {
		{ "std::vector<int, std::allocator<int> >::push_back(int const&)",
		  "/usr/include/c++/12/v.h", 9, true },
		{ "load", "/src/load.c", 40, false },
	};
	rec_id load_location = fixture_location_of(&f, f.prog, 0x1234, load, 2);
	rec_id main_node = fixture_node(&f, none, fixture_location(&f, "main", "main.c", 3));
	rec_id init = fixture_node(&f, main_node, fixture_location(&f, "init", "main.c", 30));
	rec_id parse = fixture_node(&f, init, fixture_location(&f, "parse", "parse.c", 9));
	rec_id other = fixture_node(&f, init, fixture_location(&f, "other", "other.c", 5));
	fixture_stack(&f, fixture_node(&f, parse, load_location), STACK_COMPLETE,
		      &(struct costs){ 1200, 20 << 20, 1198, 19 << 20, 600, 4, 12, 6 << 20, 2,
				       1 << 20, *v, NO_SLACK });
	fixture_stack(
		&f, fixture_node(&f, other, load_location), STACK_COMPLETE,
		&(struct costs){ 3, 1 << 20, 3, 1 << 20, 0, 0, 3, 1 << 20, 0, 0, *v, NO_SLACK });
	rec_id stripped = fixture_location_of(&f, f.stripped, 0xbeef, NULL, 0);
	fixture_stack(&f, fixture_node(&f, none, stripped), STACK_NO_UNWIND_INFO,
		      &(struct costs){ 1, 1 << 20, 1, 1 << 20, 0, 0, 1, 1 << 20, 0, 0, EXACT });
	struct rec_sample sample = { 100000000, 4096, 3, 8192 };
	struct diag diag;
	assert_int_equal(rec_add_sample(f.rec, f.process, &sample, &diag), 0);
	fixture_finish(&f);
}

static void write_sample(const char *path)
{
	write_any_sample(path, 0, &(struct cost_variances){ 0 });
}

/* Estimates: the same, and the two stacks of load have a standard error each, of 300 blocks, 2 MiB and so on. */
static void write_estimates(const char *path)
{
	const double mib = 1 << 20;
	struct cost_variances v = {
		.allocations = 300 * 300,
		.allocated_bytes = 4 * mib * mib,
		.frees = 16,
		.freed_bytes = 9,
		.temporary_allocations = 100 * 100,
		.reallocations = 4,
		.peak_blocks = 9,
		.peak_bytes = mib * mib / 100,
		.leaked_blocks = 25,
		.leaked_bytes = mib * mib / 2e6,
	};
	write_any_sample(path, 512 << 10, &v);
}

static cJSON *parse_report(struct report_options *options, const char *path)
{
	options->format = REPORT_FORMAT_JSON;
	char *text = fixture_report_ok(options, path);
	cJSON *json = cJSON_Parse(text);
	if (!json)
		fail_msg("no JSON: %s", text);
	free(text);
	return json;
}

/* Exactly these keys, in this order. */
static void expect_keys(const cJSON *object, const char *keys)
{
	char found[1024] = "";
	for (const cJSON *item = object->child; item; item = item->next) {
		strcat(found, item->string);
		strcat(found, item->next ? " " : "");
	}
	assert_string_equal(found, keys);
}

static double number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	assert_true(cJSON_IsNumber(item));
	return item->valuedouble;
}

static const char *string(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	assert_true(cJSON_IsString(item));
	return item->valuestring;
}

static const cJSON *get(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	assert_non_null(item);
	return item;
}

static void test_json_follows_the_contract(void **state)
{
	(void)state;
	struct report_options options;
	report_options_init(&options);
	write_sample(fixture_path("a.dat"));
	cJSON *json = parse_report(&options, fixture_path("a.dat"));
	expect_keys(
		json,
		"memtrack schema sampled sample_bytes process processes totals sites timeline errors guards");
	assert_int_equal(cJSON_GetArraySize(get(json, "errors")), 0);
	assert_int_equal(cJSON_GetArraySize(get(json, "guards")), 0);
	assert_int_equal(number(json, "schema"), 1);
	assert_true(cJSON_IsFalse(get(json, "sampled")));
	assert_true(cJSON_IsNull(get(json, "sample_bytes")));
	const cJSON *process = get(json, "process");
	expect_keys(
		process,
		"id pid command executable parent_pid start_time duration_s exit allocator notes");
	assert_int_equal(number(process, "pid"), 4242);
	assert_string_equal(get(process, "command")->child->valuestring, "./prog");
	assert_string_equal(string(process, "start_time"), "1970-01-01T00:00:01Z");
	assert_true(number(process, "duration_s") == 1.25);
	assert_int_equal(number(get(process, "exit"), "code"), 0);
	assert_true(cJSON_IsNull(get(get(process, "exit"), "signal")));
	assert_true(cJSON_IsTrue(get(get(process, "exit"), "complete")));
	expect_keys(get(json, "processes")->child,
		    "id pid parent command peak_bytes leaked_bytes allocations");
	const cJSON *totals = get(json, "totals");
	expect_keys(
		totals,
		"allocations allocated_bytes frees freed_bytes reallocations temporary_allocations "
		"leaked_blocks leaked_bytes peak_bytes peak_blocks peak_time_s peak_error_bytes "
		"unknown_frees double_frees dropped_events unattributed_allocations truncated_stacks stacks threads peak_rss_bytes");
	assert_int_equal(number(totals, "allocations"), 1204);
	assert_int_equal(number(totals, "allocated_bytes"), 22 << 20);
	assert_int_equal(number(totals, "peak_bytes"), 8 << 20);
	assert_true(number(totals, "peak_time_s") == 0.81);
	assert_int_equal(number(totals, "truncated_stacks"), 1);
	assert_int_equal(number(totals, "stacks"), 3);
	expect_keys(get(json, "timeline")->child, "t_s heap_bytes blocks rss_bytes");
	assert_true(number(get(json, "timeline")->child, "t_s") == 0.1);
	cJSON_Delete(json);
}

static void test_json_sites_and_frames(void **state)
{
	(void)state;
	struct report_options options;
	report_options_init(&options);
	write_sample(fixture_path("a.dat"));
	cJSON *json = parse_report(&options, fixture_path("a.dat"));
	const cJSON *sites = get(json, "sites");
	assert_int_equal(cJSON_GetArraySize(sites), 2);
	const cJSON *site = sites->child;
	expect_keys(
		site,
		"function file line module tag allocations allocated_bytes peak_bytes peak_blocks "
		"leaked_bytes leaked_blocks temporary_allocations stacks");
	assert_string_equal(string(site, "function"), "load");
	assert_string_equal(string(site, "file"), "/src/load.c");
	assert_int_equal(number(site, "line"), 40);
	assert_string_equal(string(site, "module"), "/abs/prog");
	assert_int_equal(number(site, "peak_bytes"), 7 << 20);
	assert_int_equal(number(site, "leaked_blocks"), 2);
	assert_int_equal(cJSON_GetArraySize(get(site, "stacks")), 2);
	const cJSON *stack = get(site, "stacks")->child;
	expect_keys(stack,
		    "allocations allocated_bytes peak_bytes peak_blocks leaked_bytes leaked_blocks "
		    "temporary_allocations truncated frames");
	assert_int_equal(number(stack, "peak_bytes"), 6 << 20);
	assert_true(cJSON_IsFalse(get(stack, "truncated")));
	const cJSON *frames = get(stack, "frames");
	assert_int_equal(cJSON_GetArraySize(frames), 5);
	expect_keys(frames->child, "function file line module address inlined");
	assert_true(cJSON_IsTrue(get(frames->child, "inlined")));
	assert_string_equal(string(frames->child->next, "function"), "load");
	assert_string_equal(string(frames->child->next, "address"), "0x1234");
	assert_true(cJSON_IsFalse(get(frames->child->next, "inlined")));
	const cJSON *nameless = sites->child->next;
	assert_true(cJSON_IsNull(get(nameless, "function")));
	assert_true(cJSON_IsNull(get(nameless, "line")));
	assert_true(cJSON_IsTrue(get(get(nameless, "stacks")->child, "truncated")));
	cJSON_Delete(json);
	options.by = REPORT_BY_STACK;
	options.top = 2;
	json = parse_report(&options, fixture_path("a.dat"));
	assert_int_equal(cJSON_GetArraySize(get(json, "sites")), 2);
	assert_int_equal(cJSON_GetArraySize(get(get(json, "sites")->child, "stacks")), 1);
	assert_int_equal(number(get(json, "totals"), "stacks"), 3);
	cJSON_Delete(json);
}

static void test_json_of_estimates(void **state)
{
	(void)state;
	struct report_options options;
	report_options_init(&options);
	write_estimates(fixture_path("a.dat"));
	cJSON *json = parse_report(&options, fixture_path("a.dat"));
	assert_true(cJSON_IsTrue(get(json, "sampled")));
	assert_int_equal(number(json, "sample_bytes"), 524288);
	const cJSON *totals = get(get(json, "totals"), "standard_errors");
	expect_keys(totals, "allocations allocated_bytes peak_bytes peak_blocks leaked_bytes "
			    "leaked_blocks temporary_allocations frees freed_bytes reallocations");
	assert_true(number(totals, "allocations") == 424.264); /* two times 300 squared */
	assert_true(number(totals, "frees") == 5.657);
	const cJSON *process = get(json, "processes")->child;
	expect_keys(process,
		    "id pid parent command peak_bytes leaked_bytes allocations standard_errors");
	expect_keys(get(process, "standard_errors"), "peak_bytes leaked_bytes allocations");
	assert_true(number(get(process, "standard_errors"), "peak_bytes") == 148291.040);
	const cJSON *site = get(json, "sites")->child;
	expect_keys(
		site,
		"function file line module tag allocations allocated_bytes peak_bytes peak_blocks "
		"leaked_bytes leaked_blocks temporary_allocations standard_errors stacks");
	const char *keys = "allocations allocated_bytes peak_bytes peak_blocks leaked_bytes "
			   "leaked_blocks temporary_allocations";
	expect_keys(get(site, "standard_errors"), keys);
	assert_true(number(get(site, "standard_errors"), "peak_blocks") == 4.243);
	const cJSON *stack = get(get(site, "stacks")->child, "standard_errors");
	expect_keys(stack, keys);
	assert_true(number(stack, "allocations") == 300);
	assert_true(number(stack, "peak_bytes") == 104857.6);
	assert_true(number(stack, "leaked_bytes") == 741.455);
	assert_true(number(get(site->next, "standard_errors"), "allocations") == 0);
	cJSON_Delete(json);
}

static void test_json_keeps_large_numbers_and_odd_names(void **state)
{
	(void)state;
	struct fixture f;
	struct report_options options;
	struct rec_process prog = fixture_prog();
	static const char *const argv[] = { "", "a\"b\\c\n\x01", "\xff\xc3\xa9\xc3", NULL };
	const char *path = fixture_path("a.dat");
	prog.argv = argv;
	prog.exit_code = -1;
	prog.exit_signal = 9;
	fixture_create(&f, path);
	fixture_process(&f, &prog);
	rec_id node = fixture_node(&f, none, fixture_location(&f, "f\xe9", "x.c", 1));
	fixture_stack(&f, node, STACK_COMPLETE, &(struct costs){ .allocations = 9007199254740993 });
	fixture_finish(&f);
	report_options_init(&options);
	options.format = REPORT_FORMAT_JSON;
	char *text = fixture_report_ok(&options, path);
	assert_non_null(strstr(text, "\"allocations\": 9007199254740993"));
	cJSON *json = cJSON_Parse(text);
	assert_non_null(json);
	const cJSON *command = get(get(json, "process"), "command");
	assert_string_equal(cJSON_GetArrayItem(command, 0)->valuestring, "");
	assert_string_equal(cJSON_GetArrayItem(command, 1)->valuestring, "a\"b\\c\n\x01");
	assert_string_equal(cJSON_GetArrayItem(command, 2)->valuestring,
			    "\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
	assert_int_equal(number(get(get(json, "process"), "exit"), "signal"), 9);
	assert_true(cJSON_IsNull(get(get(get(json, "process"), "exit"), "code")));
	cJSON_Delete(json);
	free(text);
}

/*
 * Five errors of one guarded process: each sort of sentence that can be said of one.  Another
 * process, which comes later, has one.
 */
static void write_errors(const char *path)
{
	struct fixture f;
	struct rec_process prog = fixture_prog();
	prog.double_frees = 1;
	fixture_create(&f, path);
	fixture_process(&f, &prog);
	struct rec_frame copy[] = {
		{ "copy\033[31m", "/src/copy.h", 9, true },
		{ "fill", "/src/fill.c", 12, false },
	};
	rec_id start = fixture_node(
		&f, none,
		fixture_location_of(&f, f.libc, 0x999,
				    &(struct rec_frame){ "__libc_start_main", NULL, 0, false }, 1));
	rec_id main_node = fixture_node(&f, start, fixture_location(&f, "main", "main.c", 3));
	rec_id fill = fixture_node(&f, main_node, fixture_location_of(&f, f.prog, 0x1234, copy, 2));
	rec_id make = fixture_node(&f, main_node, fixture_location(&f, "make", "make.c", 7));
	rec_id drop =
		fixture_node(&f, main_node,
			     fixture_location(&f, "drop_this_and_that_and_all_of_the_other_things",
					      "drop_this_and_that.c", 8));
	rec_id nameless =
		fixture_node(&f, none, fixture_location_of(&f, f.stripped, 0xbeef, NULL, 0));
	struct rec_error error = { .pid = 4242,
				   .source = ERROR_FROM_STOMP,
				   .kind = ERROR_BUFFER_OVERFLOW,
				   .access = ERROR_WRITE,
				   .address = 0x7f0000001000,
				   .has_block = true,
				   .block_address = 0x7f0000000ff0,
				   .block_size = 16,
				   .thread = 2,
				   .allocated_thread = 1,
				   .tid = 4243,
				   .t_ns = 500000000,
				   .count = 1,
				   .stacks = { { fill, STACK_COMPLETE }, { make, STACK_DEPTH } } };
	fixture_error(&f, error);
	error.kind = ERROR_USE_AFTER_FREE;
	error.access = ERROR_READ;
	error.address = 0x7f0000000ff4;
	error.block_freed = true;
	error.freed_thread = 3;
	error.stacks[ERROR_FREED].node = drop;
	fixture_error(&f, error);
	error.kind = ERROR_CORRUPTION;
	error.access = ERROR_NO_ACCESS;
	error.block_freed = false;
	error.corrupt_bytes = 3;
	error.address = 0x7f0000000fe8;
	error.continued = true;
	error.stacks[ERROR_FREED].node = none;
	fixture_error(&f, error);
	error = (struct rec_error){ .pid = 4242,
				    .source = ERROR_FROM_AGENT,
				    .kind = ERROR_DOUBLE_FREE,
				    .address = 0x55550000,
				    .has_block = true,
				    .block_freed = true,
				    .block_address = 0x55550000,
				    .block_size = 1,
				    .thread = 1,
				    .t_ns = -1,
				    .count = 3,
				    .by_realloc = true,
				    .stacks = { { drop, STACK_NO_UNWIND_INFO },
						{ make, STACK_COMPLETE } } };
	fixture_error(&f, error);
	fixture_error(&f, (struct rec_error){ .process = { -1 },
					      .pid = 99,
					      .source = ERROR_FROM_STOMP,
					      .kind = ERROR_INVALID_FREE,
					      .address = 0x1000,
					      .t_ns = -1,
					      .count = 1,
					      .stacks = { { nameless, STACK_COMPLETE },
							  { none, STACK_UNATTRIBUTED } } });
	fixture_guard(&f,
		      &(struct rec_guard){ GUARD_MPROTECT, { 5, 0, 400000, 7 }, 32000, 2, 5, 1 });
	prog.pid = 4250;
	prog.start_time_ns += 5;
	fixture_process(&f, &prog);
	error.pid = 4250;
	error.has_block = false;
	error.count = 1;
	error.kind = ERROR_INVALID_FREE;
	fixture_error(&f, error);
	fixture_finish(&f);
}

static void test_json_of_errors(void **state)
{
	(void)state;
	struct report_options options;
	const char *path = fixture_path("a.dat"), *focus = "main";
	report_options_init(&options);
	options.top = 1;
	options.ignore = (struct report_list){ &focus, 1 };
	write_errors(path);
	cJSON *json = parse_report(&options, path);
	const cJSON *errors = get(json, "errors"), *error = errors->child;
	assert_int_equal(cJSON_GetArraySize(errors), 5); /* no filter hides any, nor does --top */
	expect_keys(error,
		    "kind access address block stack allocated freed source process pid t_s thread "
		    "allocated_thread freed_thread corrupt_bytes count continued by_realloc");
	assert_string_equal(string(error, "kind"), "heap-buffer-overflow");
	assert_string_equal(string(error, "access"), "write");
	assert_string_equal(string(error, "address"), "0x7f0000001000");
	expect_keys(get(error, "block"), "address size offset freed");
	assert_string_equal(string(get(error, "block"), "address"), "0x7f0000000ff0");
	assert_int_equal(number(get(error, "block"), "size"), 16);
	assert_int_equal(number(get(error, "block"), "offset"), 16);
	assert_int_equal(cJSON_GetArraySize(get(error, "stack")), 4);
	expect_keys(get(error, "stack")->child, "function file line module address inlined");
	assert_string_equal(string(get(error, "allocated")->child, "function"), "make");
	assert_true(cJSON_IsNull(get(error, "freed")));
	assert_string_equal(string(error, "source"), "stomp");
	assert_int_equal(number(error, "process"), 1);
	assert_int_equal(number(error, "thread"), 2);
	assert_int_equal(number(error, "allocated_thread"), 1);
	assert_true(cJSON_IsNull(get(error, "freed_thread")));
	assert_true(cJSON_IsNull(get(error, "corrupt_bytes")));
	assert_true(number(error, "t_s") == 0.5);
	error = error->next;
	assert_string_equal(string(error, "kind"), "heap-use-after-free");
	assert_string_equal(string(error, "access"), "read");
	assert_true(strncmp(string(get(error, "freed")->child, "function"), "drop", 4) == 0);
	assert_int_equal(number(error, "freed_thread"), 3);
	assert_true(cJSON_IsTrue(get(get(error, "block"), "freed")));
	assert_true(cJSON_IsFalse(get(error, "continued")));
	error = error->next;
	assert_string_equal(string(error, "kind"), "heap-corruption");
	assert_int_equal(number(get(error, "block"), "offset"), -8);
	assert_int_equal(number(error, "corrupt_bytes"), 3);
	assert_true(cJSON_IsNull(get(error, "access")));
	assert_true(cJSON_IsTrue(get(error, "continued")));
	error = error->next;
	assert_string_equal(string(error, "source"), "agent");
	assert_int_equal(number(error, "count"), 3);
	assert_true(cJSON_IsTrue(get(error, "by_realloc")));
	assert_true(cJSON_IsNull(get(error, "t_s")));
	assert_true(cJSON_IsNull(get(error, "freed")));
	error = error->next;
	assert_true(cJSON_IsNull(get(error, "block")));
	assert_true(cJSON_IsNull(get(error, "process")));
	assert_true(cJSON_IsNull(get(error, "thread")));
	assert_int_equal(number(error, "pid"), 99);
	assert_int_equal(cJSON_GetArraySize(get(error, "allocated")), 0);
	const cJSON *guard = get(json, "guards")->child;
	assert_int_equal(cJSON_GetArraySize(get(json, "guards")), 1);
	expect_keys(guard,
		    "process method madvise_blocks mprotect_blocks canary_blocks unguarded_blocks "
		    "budget refused errors errors_lost");
	assert_string_equal(string(guard, "method"), "mprotect");
	assert_int_equal(number(guard, "mprotect_blocks"), 400000);
	assert_int_equal(number(guard, "canary_blocks"), 7);
	assert_int_equal(number(guard, "unguarded_blocks"), 5);
	assert_int_equal(number(guard, "errors_lost"), 1);
	cJSON_Delete(json);
	options.process = 2;
	json = parse_report(&options, path);
	assert_int_equal(cJSON_GetArraySize(get(json, "errors")), 2);
	assert_int_equal(number(get(json, "errors")->child, "pid"), 99);
	assert_int_equal(number(get(json, "errors")->child->next, "process"), 2);
	assert_int_equal(cJSON_GetArraySize(get(json, "guards")), 0);
	cJSON_Delete(json);
	options.process = 0;
	options.all = true;
	json = parse_report(&options, path);
	assert_int_equal(cJSON_GetArraySize(get(json, "errors")), 6);
	cJSON_Delete(json);
}

static void test_json_of_all_processes(void **state)
{
	(void)state;
	struct fixture f;
	struct report_options options;
	struct rec_process prog = fixture_prog();
	const char *path = fixture_path("a.dat");
	fixture_create(&f, path);
	rec_id node = fixture_node(&f, none, fixture_location(&f, "f", "x.c", 1));
	/* The second starts 1 s after the first and ends with it, at 1.25 s. */
	for (int i = 0; i < 2; i++) {
		prog.parent = i ? f.process : none;
		prog.start_time_ns += i * 1000000000;
		prog.duration_ns = i ? 250000000 : 1250000000;
		prog.peak_bytes = 100;
		fixture_process(&f, &prog);
		fixture_stack(&f, node, STACK_COMPLETE,
			      &(struct costs){ .allocations = 1, .peak_bytes = 100 });
		struct rec_sample sample = { 100000000, 10 + i, 1, 1000 };
		struct diag diag;
		assert_int_equal(rec_add_sample(f.rec, f.process, &sample, &diag), 0);
	}
	fixture_finish(&f);
	report_options_init(&options);
	options.all = true;
	cJSON *json = parse_report(&options, path);
	assert_true(cJSON_IsNull(get(json, "process")));
	assert_int_equal(number(get(json, "totals"), "peak_bytes"), 200);
	assert_int_equal(number(get(json, "processes")->child->next, "parent"), 1);
	const cJSON *timeline = get(json, "timeline");
	assert_int_equal(cJSON_GetArraySize(timeline), 4);
	assert_int_equal(number(cJSON_GetArrayItem(timeline, 0), "heap_bytes"), 10);
	assert_true(number(cJSON_GetArrayItem(timeline, 1), "t_s") == 1.1);
	assert_int_equal(number(cJSON_GetArrayItem(timeline, 1), "heap_bytes"), 21);
	assert_int_equal(number(cJSON_GetArrayItem(timeline, 3), "heap_bytes"), 0);
	cJSON_Delete(json);
}

static void expect_text(struct report_options *options, const char *expected)
{
	const char *path = fixture_path("a.dat");
	char *text = fixture_report_ok(options, path);
	/* The last line names the file, whose directory is another each time. */
	char *next = strstr(text, "Next    ");
	assert_non_null(next);
	assert_true(strstr(next, path) || strstr(next, "memtrack run "));
	*next = '\0';
	assert_string_equal(text, expected);
	free(text);
}

static void test_text_of_80_columns(void **state)
{
	(void)state;
	struct report_options options;
	report_options_init(&options);
	options.utf8 = true;
	write_sample(fixture_path("a.dat"));
	expect_text(&options,
		    "./prog -x (pid 4242) ran 1.25 s, exit status 0\n"
		    "Peak    8.0 MiB in 16 blocks after 810 ms\n"
		    "Leaked  1.0 MiB in 2 blocks\n"
		    "Total   1,204 allocations of 22.0 MiB, 49.8% temporary\n"
		    "Lost    1 stack cut off\n"
		    "Faults  1 free of an unknown block\n"
		    "Threads 1; 3 stacks; resident at most 10.0 MiB\n"
		    "\n"
		    "      Peak  Share        Allocations     Leaked  Site\n"
		    "   7.0 MiB  87.5% █████▎       1,203    1.0 MiB  load  load.c:40\n"
		    "    6.0 MiB in 12 blocks from\n"
		    "      via std::vector<…>::push_back\n"
		    "      load  load.c:40\n"
		    "      parse  parse.c:9\n"
		    "      init  main.c:30\n"
		    "      main  main.c:3\n"
		    "    1.0 MiB in 3 blocks from\n"
		    "      via std::vector<…>::push_back\n"
		    "      load  load.c:40\n"
		    "      other  other.c:5\n"
		    "      … 2 frames as above\n"
		    "\n"
		    "   1.0 MiB  12.5% ▊                1        0 B  libstripped.so+0xbeef\n"
		    "    libstripped.so+0xbeef\n"
		    "    … cut off: no unwind information beyond this point\n"
		    "\n"
		    "Note    no symbols for libstripped.so (stripped)\n");
}

static void test_text_of_errors(void **state)
{
	(void)state;
	struct report_options options;
	report_options_init(&options);
	options.utf8 = true;
	write_errors(fixture_path("a.dat"));
	expect_text(
		&options,
		"./prog -x (pid 4242) ran 1.25 s, exit status 0\n"
		"Peak    0 B in 0 blocks after 0.00 ms\n"
		"Leaked  nothing\n"
		"Total   0 allocations of 0 B\n"
		"Lost    1 error not kept\n"
		"Faults  1 free of an unknown block; 3 double frees\n"
		"Guarded 400,000 blocks by guard pages (mprotect), 7 by canaries (checked only\n"
		"        when freed), 5 not at all; at most 32,000 guard pages at a time; 2\n"
		"        blocks found no guard: the budget was spent, or the kernel refused\n"
		"Errors  1 heap-buffer-overflow, 1 heap-use-after-free, 1 double-free, 1\n"
		"        invalid-free, 1 heap-corruption; more in other processes: --all shows\n"
		"        them\n"
		"Threads 1; 0 stacks\n"
		"\n"
		"==4242==ERROR: memtrack stomp: heap-buffer-overflow on address 0x7f0000001000\n"
		"  (write) by thread 2\n"
		"    #0 copy?[31m  copy.h:9 (inlined)\n"
		"    #1 fill  fill.c:12\n"
		"    #2 main  main.c:3\n"
		"0x7f0000001000 is located 0 bytes after a block of 16 bytes\n"
		"  [0x7f0000000ff0,0x7f0000001000), allocated by thread 1 here:\n"
		"    #0 make  make.c:7\n"
		"    #1 main  main.c:3\n"
		"    … cut off: the stack is deeper than --depth\n"
		"\n"
		"==4242==ERROR: memtrack stomp: heap-use-after-free on address 0x7f0000000ff4\n"
		"  (read) by thread 2\n"
		"    #0 copy?[31m  copy.h:9 (inlined)\n"
		"    #1 fill  fill.c:12\n"
		"    #2 main  main.c:3\n"
		"0x7f0000000ff4 is located 4 bytes inside a freed block of 16 bytes\n"
		"  [0x7f0000000ff0,0x7f0000001000), allocated by thread 1 here:\n"
		"    #0 make  make.c:7\n"
		"    #1 main  main.c:3\n"
		"    … cut off: the stack is deeper than --depth\n"
		"freed by thread 3 here:\n"
		"    #0 drop_this_and_that_and_all_of_the_other_things  drop_this_and_that.c:8\n"
		"    #1 main  main.c:3\n"
		"\n"
		"==4242==ERROR: memtrack stomp: heap-corruption on address 0x7f0000000fe8 by\n"
		"  thread 2\n"
		"3 bytes were overwritten from offset -8 on, noticed when the block was freed\n"
		"  here:\n"
		"    #0 copy?[31m  copy.h:9 (inlined)\n"
		"    #1 fill  fill.c:12\n"
		"    #2 main  main.c:3\n"
		"0x7f0000000fe8 is located 8 bytes before a block of 16 bytes\n"
		"  [0x7f0000000ff0,0x7f0000001000), allocated by thread 1 here:\n"
		"    #0 make  make.c:7\n"
		"    #1 main  main.c:3\n"
		"    … cut off: the stack is deeper than --depth\n"
		"the program goes on\n"
		"--malloc=stomp:under stops at the write itself\n"
		"\n"
		"==4242==ERROR: memtrack: double-free on address 0x55550000 by thread 1, 3 times\n"
		"  in all\n"
		"attempting to free a block that was freed already, in realloc\n"
		"    #0 drop_this_and_that_and_all_of_the_other_things  drop_this_and_that.c:8\n"
		"    #1 main  main.c:3\n"
		"    … cut off: no unwind information beyond this point\n"
		"0x55550000 is the start of a freed block of 1 byte [0x55550000,0x55550001),\n"
		"  allocated here:\n"
		"    #0 make  make.c:7\n"
		"    #1 main  main.c:3\n"
		"freed (the stack is not known)\n"
		"\n"
		"==99==ERROR: memtrack stomp: invalid-free on address 0x1000\n"
		"attempting to free a pointer that no allocation returned\n"
		"    #0 libstripped.so+0xbeef\n"
		"\n"
		"Nothing was allocated.\n"
		"\n"
		"Note    2 processes, this is number 1; --all sums them, --process N picks one,\n"
		"        --all --by process lists them\n");
}

static void expect_in_report(struct report_options *options, const char *expected)
{
	char *text = fixture_report_ok(options, fixture_path("a.dat"));
	if (!strstr(text, expected))
		fail_msg("no %s in %s", expected, text);
	free(text);
}

/* Guarded, and nothing found. */
static void expect_guarded(const struct rec_guard *guard, const char *expected)
{
	struct fixture f;
	struct report_options options;
	struct rec_process prog = fixture_prog();
	fixture_create(&f, fixture_path("a.dat"));
	fixture_process(&f, &prog);
	fixture_guard(&f, guard);
	fixture_finish(&f);
	report_options_init(&options);
	options.width = 160;
	expect_in_report(&options, expected);
}

static void test_text_of_guards(void **state)
{
	(void)state;
	expect_guarded(&(struct rec_guard){ GUARD_MADVISE, { 0, 1, 0, 0 }, 0, 0, 0, 0 },
		       "Guarded 1 block by guard pages (MADV_GUARD_INSTALL), 0 by canaries\n"
		       "Errors  none\n");
	expect_guarded(&(struct rec_guard){ GUARD_MADVISE, { 0, 400000, 0, 0 }, 9, 1, 0, 0 },
		       "Guarded 400,000 blocks by guard pages (MADV_GUARD_INSTALL), 0 by canaries; "
		       "1 block found no guard: the budget was spent, or the kernel refused\n"
		       "Errors  none\n");
	expect_guarded(
		&(struct rec_guard){ GUARD_CANARY, { 2, 0, 1, 3 }, 1, 0, 0, 0 },
		"Guarded 1 block by guard pages (mprotect), 3 by canaries (checked only when freed), "
		"2 not at all; at most 1 guard page at a time\nErrors  none\n");
	expect_guarded(&(struct rec_guard){ GUARD_CANARY, { 0, 0, 0, 400000 }, 0, 0, 0, 0 },
		       "Guarded 400,000 blocks by canaries (checked only when freed)\n"
		       "Errors  none\n");
	expect_guarded(&(struct rec_guard){ GUARD_CANARY, { 0, 0, 0, 1 }, 0, 0, 0, 0 },
		       "Guarded 1 block by canaries (checked only when freed)\nErrors  none\n");
}

/* Canaries in the first process, guard pages and the only error in the second. */
static void test_text_of_errors_elsewhere(void **state)
{
	(void)state;
	struct fixture f;
	struct report_options options;
	struct rec_process prog = fixture_prog();
	fixture_create(&f, fixture_path("a.dat"));
	fixture_process(&f, &prog);
	fixture_guard(&f, &(struct rec_guard){ GUARD_CANARY, { 0, 0, 0, 3 }, 0, 0, 0, 0 });
	prog.pid = 4250;
	prog.start_time_ns += 5;
	fixture_process(&f, &prog);
	fixture_guard(&f, &(struct rec_guard){ GUARD_MADVISE, { 0, 2, 0, 0 }, 0, 0, 1, 0 });
	fixture_error(&f, (struct rec_error){ .pid = 4250,
					      .source = ERROR_FROM_STOMP,
					      .kind = ERROR_INVALID_FREE,
					      .address = 0x1000,
					      .t_ns = -1,
					      .count = 1 });
	fixture_finish(&f);
	report_options_init(&options);
	expect_in_report(&options, "Guarded 3 blocks by canaries (checked only when freed)\n"
				   "Errors  none here, but in other processes: --all shows them\n"
				   "Threads 1; 0 stacks\n"
				   "\n"
				   "Nothing was allocated.\n");
	options.process = 2;
	expect_in_report(&options,
			 "Guarded 2 blocks by guard pages (MADV_GUARD_INSTALL), 0 by canaries\n"
			 "Errors  1 invalid-free\n");
	options.process = 0;
	options.all = true;
	options.width = 160;
	expect_in_report(&options,
			 "Guarded 2 blocks by guard pages (MADV_GUARD_INSTALL), 3 by canaries "
			 "(checked only when freed)\n"
			 "Errors  1 invalid-free\n");
}

/* The end of what a report says of a corruption: how to find it at once, or nothing of that. */
static void expect_hint(struct rec_error error, const char *expected)
{
	struct fixture f;
	struct report_options options;
	struct rec_process prog = fixture_prog();
	error.pid = 4242;
	error.source = ERROR_FROM_STOMP;
	error.kind = ERROR_CORRUPTION;
	error.corrupt_bytes = 1;
	error.block_address = error.has_block ? 0x2000 : 0;
	error.block_size = error.has_block ? 16 : 0;
	error.t_ns = -1;
	error.count = 1;
	fixture_create(&f, fixture_path("a.dat"));
	fixture_process(&f, &prog);
	fixture_error(&f, error);
	fixture_finish(&f);
	report_options_init(&options);
	options.width = 160;
	expect_in_report(&options, expected);
}

static void test_text_of_hints(void **state)
{
	(void)state;
	expect_hint((struct rec_error){ .address = 0x1fff, .has_block = true },
		    "allocated (the stack is not known)\n"
		    "--malloc=stomp:under stops at the write itself\n\n");
	expect_hint((struct rec_error){ .address = 0x2010, .has_block = true },
		    "allocated (the stack is not known)\n"
		    "--malloc=stomp:align=1 stops at the write itself\n\n");
	expect_hint((struct rec_error){ .address = 0x2004, .has_block = true, .block_freed = true },
		    "freed (the stack is not known)\n\n");
	expect_hint((struct rec_error){ .address = 0x2010 },
		    "1 byte was overwritten, noticed when the block was freed here:\n\n");
}

static void test_text_of_errors_in_160_columns(void **state)
{
	(void)state;
	struct report_options options;
	report_options_init(&options);
	options.width = 160;
	options.full_paths = true;
	options.frames = 1;
	options.top = 3;
	write_errors(fixture_path("a.dat"));
	expect_text(
		&options,
		"./prog -x (pid 4242) ran 1.25 s, exit status 0\n"
		"Peak    0 B in 0 blocks after 0.00 ms\n"
		"Leaked  nothing\n"
		"Total   0 allocations of 0 B\n"
		"Lost    1 error not kept\n"
		"Faults  1 free of an unknown block; 3 double frees\n"
		"Guarded 400,000 blocks by guard pages (mprotect), 7 by canaries (checked only when freed), 5 not at all; at most 32,000 guard pages at a time; 2 blocks found no\n"
		"        guard: the budget was spent, or the kernel refused\n"
		"Errors  1 heap-buffer-overflow, 1 heap-use-after-free, 1 double-free, 1 invalid-free, 1 heap-corruption; more in other processes: --all shows them\n"
		"Threads 1; 0 stacks\n"
		"\n"
		"==4242==ERROR: memtrack stomp: heap-buffer-overflow on address 0x7f0000001000 (write) by thread 2\n"
		"    #0 copy?[31m  /src/copy.h:9 (inlined)\n"
		"    ... 2 more frames\n"
		"0x7f0000001000 is located 0 bytes after a block of 16 bytes [0x7f0000000ff0,0x7f0000001000), allocated by thread 1 here:\n"
		"    #0 make  /src/make.c:7\n"
		"    #1 main  /src/main.c:3\n"
		"    ... cut off: the stack is deeper than --depth\n"
		"\n"
		"==4242==ERROR: memtrack stomp: heap-use-after-free on address 0x7f0000000ff4 (read) by thread 2\n"
		"    #0 copy?[31m  /src/copy.h:9 (inlined)\n"
		"    ... 2 more frames\n"
		"0x7f0000000ff4 is located 4 bytes inside a freed block of 16 bytes [0x7f0000000ff0,0x7f0000001000), allocated by thread 1 here:\n"
		"    #0 make  /src/make.c:7\n"
		"    #1 main  /src/main.c:3\n"
		"    ... cut off: the stack is deeper than --depth\n"
		"freed by thread 3 here:\n"
		"    #0 drop_this_and_that_and_all_of_the_other_things  /src/drop_this_and_that.c:8\n"
		"    #1 main  /src/main.c:3\n"
		"\n"
		"==4242==ERROR: memtrack stomp: heap-corruption on address 0x7f0000000fe8 by thread 2\n"
		"3 bytes were overwritten from offset -8 on, noticed when the block was freed here:\n"
		"    #0 copy?[31m  /src/copy.h:9 (inlined)\n"
		"    ... 2 more frames\n"
		"0x7f0000000fe8 is located 8 bytes before a block of 16 bytes [0x7f0000000ff0,0x7f0000001000), allocated by thread 1 here:\n"
		"    #0 make  /src/make.c:7\n"
		"    #1 main  /src/main.c:3\n"
		"    ... cut off: the stack is deeper than --depth\n"
		"the program goes on\n"
		"--malloc=stomp:under stops at the write itself\n"
		"\n"
		"... 2 more errors (--top N shows more)\n"
		"\n"
		"Nothing was allocated.\n"
		"\n"
		"Note    2 processes, this is number 1; --all sums them, --process N picks one, --all --by process lists them\n");
}

static void test_text_of_160_columns_in_ascii(void **state)
{
	(void)state;
	struct report_options options;
	report_options_init(&options);
	options.width = 160;
	options.full_paths = true;
	options.frames = 2;
	options.top = 1;
	options.sort = REPORT_SORT_ALLOCATIONS;
	write_sample(fixture_path("a.dat"));
	expect_text(&options,
		    "./prog -x (pid 4242) ran 1.25 s, exit status 0\n"
		    "Peak    8.0 MiB in 16 blocks after 810 ms\n"
		    "Leaked  1.0 MiB in 2 blocks\n"
		    "Total   1,204 allocations of 22.0 MiB, 49.8% temporary\n"
		    "Lost    1 stack cut off\n"
		    "Faults  1 free of an unknown block\n"
		    "Threads 1; 3 stacks; resident at most 10.0 MiB\n"
		    "\n"
		    "Allocations  Share         Allocated       Peak  Site\n"
		    "      1,203  99.9% #####    21.0 MiB    7.0 MiB  load  /src/load.c:40\n"
		    "    1,200 allocations from\n"
		    "      via std::vector<...>::push_back\n"
		    "      load  /src/load.c:40\n"
		    "      parse  /src/parse.c:9\n"
		    "      ... 2 more frames\n"
		    "    ... 1 more stack with 3 allocations\n"
		    "\n"
		    "... 1 more site with 1 allocation (--top N shows more)\n"
		    "\n"
		    "Note    no symbols for /abs/libstripped.so (stripped)\n");
}

static void test_text_of_estimates(void **state)
{
	(void)state;
	struct report_options options;
	report_options_init(&options);
	options.utf8 = true;
	options.top = 1;
	options.frames = 1;
	write_estimates(fixture_path("a.dat"));
	expect_text(&options,
		    "./prog -x (pid 4242) ran 1.25 s, exit status 0\n"
		    "Peak    8.0 MiB ±1.8% in 16 ±27% blocks after 810 ms\n"
		    "Leaked  1.0 MiB ±0.1% in 2 ±>100% blocks\n"
		    "Total   1,204 ±35% allocations of 22.0 MiB ±13%, 49.8% temporary\n"
		    "Lost    1 stack cut off\n"
		    "Faults  1 free of an unknown block\n"
		    "Sampled one allocation per 512.0 KiB. All figures are estimates, ± their\n"
		    "        standard error. Unknown and double frees cannot be told.\n"
		    "Threads 1; 3 stacks; resident at most 10.0 MiB\n"
		    "\n"
		    "      Peak         Share Allocations         Site\n"
		    "   7.0 MiB ±2.0%   87.5%       1,203 ±35%    load  load.c:40\n"
		    "    7.0 MiB ±2.0% in 15 ±28% blocks from 2 stacks alike\n"
		    "      via std::vector<…>::push_back\n"
		    "      load  load.c:40\n"
		    "      … 3 more frames\n"
		    "\n"
		    "… 1 more site with 1.0 MiB ±0% (--top N shows more)\n"
		    "\n"
		    "Note    no symbols for libstripped.so (stripped)\n");
	options.width = 160;
	expect_text(
		&options,
		"./prog -x (pid 4242) ran 1.25 s, exit status 0\n"
		"Peak    8.0 MiB ±1.8% in 16 ±27% blocks after 810 ms\n"
		"Leaked  1.0 MiB ±0.1% in 2 ±>100% blocks\n"
		"Total   1,204 ±35% allocations of 22.0 MiB ±13%, 49.8% temporary\n"
		"Lost    1 stack cut off\n"
		"Faults  1 free of an unknown block\n"
		"Sampled one allocation per 512.0 KiB. All figures are estimates, ± their standard error. Unknown and double frees cannot be told.\n"
		"Threads 1; 3 stacks; resident at most 10.0 MiB\n"
		"\n"
		"      Peak         Share             Blocks        Allocations            Leaked         Site\n"
		"   7.0 MiB ±2.0%   87.5% █████▎          15 ±28%         1,203 ±35%      1.0 MiB ±0.1%   load  load.c:40\n"
		"    7.0 MiB ±2.0% in 15 ±28% blocks from 2 stacks alike\n"
		"      via std::vector<…>::push_back\n"
		"      load  load.c:40\n"
		"      … 3 more frames\n"
		"\n"
		"… 1 more site with 1.0 MiB ±0% (--top N shows more)\n"
		"\n"
		"Note    no symbols for libstripped.so (stripped)\n");
	options.utf8 = false;
	options.sort = REPORT_SORT_TEMPORARY;
	expect_text(
		&options,
		"./prog -x (pid 4242) ran 1.25 s, exit status 0\n"
		"Peak    8.0 MiB +-1.8% in 16 +-27% blocks after 810 ms\n"
		"Leaked  1.0 MiB +-0.1% in 2 +->100% blocks\n"
		"Total   1,204 +-35% allocations of 22.0 MiB +-13%, 49.8% temporary\n"
		"Lost    1 stack cut off\n"
		"Faults  1 free of an unknown block\n"
		"Sampled one allocation per 512.0 KiB. All figures are estimates, +- their standard error. Unknown and double frees cannot be told.\n"
		"Threads 1; 3 stacks; resident at most 10.0 MiB\n"
		"\n"
		"  Temporary          Share         Of all  Allocated          Site\n"
		"        600 +-24%   100.0% ######   49.9%   21.0 MiB +-13%    load  load.c:40\n"
		"    600 +-17% temporary allocations from\n"
		"      via std::vector<...>::push_back\n"
		"      load  load.c:40\n"
		"      ... 3 more frames\n"
		"    ... 1 more stack with 0 +->100% temporary allocations\n"
		"\n"
		"... 1 more site with 0 temporary allocations (--top N shows more)\n"
		"\n"
		"Note    no symbols for libstripped.so (stripped)\n");
	options.sort = REPORT_SORT_LEAKED;
	options.width = 80;
	expect_text(&options,
		    "./prog -x (pid 4242) ran 1.25 s, exit status 0\n"
		    "Peak    8.0 MiB +-1.8% in 16 +-27% blocks after 810 ms\n"
		    "Leaked  1.0 MiB +-0.1% in 2 +->100% blocks\n"
		    "Total   1,204 +-35% allocations of 22.0 MiB +-13%, 49.8% temporary\n"
		    "Lost    1 stack cut off\n"
		    "Faults  1 free of an unknown block\n"
		    "Sampled one allocation per 512.0 KiB. All figures are estimates, +- their\n"
		    "        standard error. Unknown and double frees cannot be told.\n"
		    "Threads 1; 3 stacks; resident at most 10.0 MiB\n"
		    "\n"
		    "    Leaked          Share      Blocks          Site\n"
		    "   1.0 MiB +-0.1%  100.0%           2 +->100%  load  load.c:40\n"
		    "    1.0 MiB +-<0.1% in 2 +->100% blocks from\n"
		    "      via std::vector<...>::push_back\n"
		    "      load  load.c:40\n"
		    "      ... 3 more frames\n"
		    "    ... 1 more stack with 0 B +->100%\n"
		    "\n"
		    "... 1 more site with 0 B (--top N shows more)\n"
		    "\n"
		    "Note    no symbols for libstripped.so (stripped)\n");
}

static void test_csv_of_estimates(void **state)
{
	(void)state;
	struct report_options options;
	report_options_init(&options);
	options.format = REPORT_FORMAT_CSV;
	write_estimates(fixture_path("a.dat"));
	char *text = fixture_report_ok(&options, fixture_path("a.dat"));
	assert_string_equal(
		text,
		"process,pid,function,file,line,module,address,tag,allocations,allocated_bytes,peak_bytes,peak_blocks,"
		"leaked_bytes,leaked_blocks,temporary_allocations,stacks,allocations_standard_error,"
		"allocated_bytes_standard_error,peak_bytes_standard_error,peak_blocks_standard_error,"
		"leaked_bytes_standard_error,leaked_blocks_standard_error,"
		"temporary_allocations_standard_error\n"
		",,load,/src/load.c,40,/abs/prog,,,1203,22020096,7340032,15,1048576,2,600,2,"
		"424.264,2965820.801,148291.040,4.243,1048.576,7.071,141.421\n"
		",,,,,/abs/libstripped.so,0xbeef,,1,1048576,1048576,1,0,0,0,1,"
		"0.000,0.000,0.000,0.000,0.000,0.000,0.000\n");
	free(text);
}

/* main's callers are left out; a stack of nothing else is shown as it is. */
static void test_text_without_startup_frames(void **state)
{
	(void)state;
	static const struct rec_frame start_main = { "__libc_start_main", "/glibc/libc-start.c",
						     360, false };
	static const struct rec_frame thread = { "start_thread", NULL, 0, false };
	struct report_options options;
	struct fixture f;
	struct rec_process prog = fixture_prog();
	const char *path = fixture_path("a.dat");
	fixture_create(&f, path);
	fixture_process(&f, &prog);
	rec_id start = fixture_node(&f, none, fixture_location(&f, "_start", NULL, 0));
	rec_id libc = fixture_node(&f, start, fixture_location_of(&f, f.libc, 1, &start_main, 1));
	rec_id main_node = fixture_node(&f, libc, fixture_location(&f, "main", "main.c", 3));
	struct costs costs = { .allocations = 1, .peak_bytes = 7 };
	fixture_stack(&f, main_node, STACK_COMPLETE, &costs);
	fixture_stack(&f, fixture_node(&f, none, fixture_location_of(&f, f.libc, 2, &thread, 1)),
		      STACK_COMPLETE, &costs);
	fixture_finish(&f);
	report_options_init(&options);
	char *text = fixture_report_ok(&options, path);
	assert_non_null(strstr(text, "\n    main  main.c:3\n\n"));
	assert_null(strstr(text, "_start "));
	assert_null(strstr(text, "__libc_start_main"));
	assert_non_null(strstr(text, "\n    start_thread  [libc.so.6]\n"));
	free(text);
}

static void test_text_without_leaks(void **state)
{
	(void)state;
	struct report_options options;
	struct fixture f;
	struct rec_process prog = fixture_prog();
	const char *path = fixture_path("a.dat");
	fixture_create(&f, path);
	fixture_process(&f, &prog);
	fixture_finish(&f);
	report_options_init(&options);
	options.sort = REPORT_SORT_LEAKED;
	char *text = fixture_report_ok(&options, path);
	assert_non_null(strstr(text, "Leaked  nothing\n"));
	assert_non_null(strstr(text, "Lost    nothing\n"));
	assert_non_null(strstr(text, "Nothing leaked.\n"));
	free(text);
	options.sort = REPORT_SORT_PEAK;
	text = fixture_report_ok(&options, path);
	assert_non_null(strstr(text, "Nothing was allocated.\n"));
	free(text);
}

/* A run of 1.25 s whose peak, 8 MiB after 625 ms, is between samples, and of which 4 MiB are left. */
static void write_curve(const char *path, const struct rec_sample *samples, size_t count)
{
	struct diag diag;
	struct fixture f;
	struct rec_process prog = fixture_prog();
	prog.peak_bytes = 8 << 20;
	prog.peak_time_ns = 625000000;
	fixture_create(&f, path);
	fixture_process(&f, &prog);
	fixture_stack(&f, none, STACK_COMPLETE,
		      &(struct costs){ .allocations = 2,
				       .allocated_bytes = 8 << 20,
				       .peak_blocks = 2,
				       .peak_bytes = 8 << 20,
				       .leaked_blocks = 1,
				       .leaked_bytes = 4 << 20 });
	for (size_t i = 0; i < count; i++)
		assert_int_equal(rec_add_sample(f.rec, f.process, &samples[i], &diag), 0);
	fixture_finish(&f);
}

/* All samples are on the lines from nothing at the start to the peak, and on to what is left at the end. */
static void test_text_of_the_heap(void **state)
{
	(void)state;
	static const struct rec_sample samples[] = { { 156250000, 2 << 20, 1, 0 },
						     { 312500000, 4 << 20, 1, 0 },
						     { 937500000, 6 << 20, 1, 0 } };
	struct report_options options;
	report_options_init(&options);
	write_curve(fixture_path("a.dat"), samples, 3);
	options.width = 37; /* 16 columns: up by a level each, down by half a level */
	char *text = fixture_report_ok(&options, fixture_path("a.dat"));
	assert_non_null(strstr(text, "\nHeap    _.:-=+*###**++==  0 to 1.25 s\n"));
	free(text);
	write_curve(fixture_path("b.dat"), samples, 2);
	text = fixture_report_ok(&options, fixture_path("b.dat"));
	assert_null(strstr(text, "\nHeap "));
	free(text);
}

/* Which library served malloc, each once; and the one row of a recording without stacks. */
static void test_text_of_allocators(void **state)
{
	(void)state;
	struct report_options options;
	struct fixture f;
	struct rec_process prog = fixture_prog();
	const char *path = fixture_path("a.dat");
	fixture_create(&f, path);
	prog.allocator = "/lib/libmimalloc.so.2";
	fixture_process(&f, &prog);
	fixture_stack(&f, none, STACK_UNATTRIBUTED,
		      &(struct costs){ .allocations = 1, .peak_bytes = 5 });
	fixture_process(&f, &prog);
	prog.allocator = "/lib/libc.so.6";
	fixture_process(&f, &prog);
	fixture_finish(&f);
	report_options_init(&options);
	char *text = fixture_report_ok(&options, path);
	assert_non_null(strstr(text, "\nMalloc  /lib/libmimalloc.so.2\n"));
	assert_non_null(strstr(text, "no stack: recorded without\n"));
	free(text);
	options.all = true;
	text = fixture_report_ok(&options, path);
	assert_non_null(strstr(text, "\nMalloc  /lib/libmimalloc.so.2, /lib/libc.so.6\n"));
	free(text);
}

/*
 * No line is wider than the terminal, whatever the names; nothing in them
 * reaches it as control.
 */
static void test_text_fits_and_is_clean(void **state)
{
	(void)state;
	struct report_options options;
	struct fixture f;
	struct rec_process prog = fixture_prog();
	char function[3000];
	const char *path = fixture_path("a.dat");
	memset(function, 'x', sizeof(function) - 1);
	function[sizeof(function) - 1] = '\0';
	memcpy(function, "f\033[31m\r\n\xff\xe2\x80\xae", 11);
	prog.notes =
		"a note with words and words and words and words and words and words and words and words";
	fixture_create(&f, path);
	fixture_process(&f, &prog);
	rec_id node = fixture_node(&f, none, fixture_location(&f, function, "file.c", 1));
	fixture_stack(&f, fixture_node(&f, node, fixture_location(&f, function, "other.c", 1)),
		      STACK_DEPTH, &(struct costs){ .allocations = 1, .peak_bytes = 5 });
	fixture_finish(&f);
	report_options_init(&options);
	for (int round = 0; round < 2; round++) {
		options.utf8 = round;
		options.width = 90;
		char *text = fixture_report_ok(&options, path);
		assert_null(strchr(text, '\033'));
		assert_null(strchr(text, '\r'));
		*strstr(text, "Next    ") = '\0'; /* one word that is long: the file's name */
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			if (utf8_width(line) > 90)
				fail_msg("too wide: %s", line);
			for (const char *p = line; !round && *p; p++)
				assert_true((unsigned char)*p < 0x80);
		}
		free(text);
	}
}

static void test_colour_is_only_added(void **state)
{
	(void)state;
	struct report_options options;
	write_sample(fixture_path("a.dat"));
	report_options_init(&options);
	char *plain = fixture_report_ok(&options, fixture_path("a.dat"));
	options.color = true;
	char *color = fixture_report_ok(&options, fixture_path("a.dat"));
	assert_non_null(strstr(color, "\033[1m"));
	char *out = color;
	for (const char *p = color; *p;) {
		if (*p == '\033')
			p += strcspn(p, "m") + 1;
		else
			*out++ = *p++;
	}
	*out = '\0';
	assert_string_equal(color, plain);
	free(color);
	free(plain);
}

static void test_csv(void **state)
{
	(void)state;
	struct report_options options;
	struct fixture f;
	struct rec_process prog = fixture_prog();
	const char *path = fixture_path("a.dat");
	fixture_create(&f, path);
	fixture_process(&f, &prog);
	rec_id node = fixture_node(&f, none, fixture_location(&f, "f(int, char \"x\")", "a.c", 7));
	fixture_stack(&f, node, STACK_COMPLETE,
		      &(struct costs){ 1, 2, 0, 0, 3, 0, 4, 5, 6, 7, EXACT });
	fixture_finish(&f);
	report_options_init(&options);
	options.format = REPORT_FORMAT_CSV;
	char *text = fixture_report_ok(&options, path);
	assert_string_equal(
		text,
		"process,pid,function,file,line,module,address,tag,allocations,allocated_bytes,peak_bytes,peak_blocks,"
		"leaked_bytes,leaked_blocks,temporary_allocations,stacks\n"
		",,\"f(int, char \"\"x\"\")\",/src/a.c,7,/abs/prog,,,1,2,5,4,7,6,3,1\n");
	free(text);
}

static void expect_wrong(struct report_options *options, const char *words)
{
	struct diag diag = { 0 };
	int error;
	assert_null(fixture_report(options, fixture_path("a.dat"), &error, &diag));
	assert_int_equal(error, -EINVAL);
	if (!strstr(diag.text, words))
		fail_msg("'%s' not in '%s'", words, diag.text);
	report_options_init(options);
}

static void test_wrong_options(void **state)
{
	(void)state;
	static const char *const bad_filter[] = { "function~(" }, *const bad_regex[] = { "[" };
	struct report_options options;
	write_sample(fixture_path("a.dat"));
	report_options_init(&options);
	options.by = REPORT_BY_THREAD;
	options.focus = (struct report_list){ bad_regex, 1 };
	expect_wrong(&options, "--by thread cannot");
	options.by = REPORT_BY_SIZE;
	options.suppressions = (struct report_list){ bad_regex, 1 };
	expect_wrong(&options, "--by size cannot");
	options.process = 2;
	expect_wrong(&options, "no process 2");
	options.excludes = (struct report_list){ bad_filter, 1 };
	expect_wrong(&options, "(");
	options.focus = (struct report_list){ bad_regex, 1 };
	expect_wrong(&options, "[");
	options.plumbing = (struct report_list){ bad_regex, 1 };
	expect_wrong(&options, "[");
}

static void test_output_that_fails(void **state)
{
	(void)state;
	struct report_options options;
	struct diag diag = { 0 };
	const char *path = fixture_path("a.dat");
	write_sample(path);
	report_options_init(&options);
	options.files = (struct report_list){ &path, 1 };
	options.out = fopen("/dev/full", "w");
	assert_non_null(options.out);
	assert_int_equal(report_run(&options, &diag), -ENOSPC);
	assert_non_null(strstr(diag.text, "cannot write the report"));
	fclose(options.out);
}

static void test_name_tables(void **state)
{
	(void)state;
	assert_int_equal(report_name_find(report_sort_names, "leaked"), REPORT_SORT_LEAKED);
	assert_int_equal(report_name_find(report_by_names, "process"), REPORT_BY_PROCESS);
	assert_int_equal(report_name_find(report_format_names, "csv"), REPORT_FORMAT_CSV);
	assert_int_equal(report_name_find(report_by_names, "colour"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_json_follows_the_contract, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json_sites_and_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json_keeps_large_numbers_and_odd_names, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_json_of_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json_of_all_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_of_80_columns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_of_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_of_guards, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_of_errors_elsewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_of_hints, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_of_errors_in_160_columns, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_text_of_160_columns_in_ascii, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_without_startup_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_without_leaks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_of_allocators, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_of_the_heap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_fits_and_is_clean, setup, teardown),
		cmocka_unit_test_setup_teardown(test_colour_is_only_added, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json_of_estimates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text_of_estimates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_csv_of_estimates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_csv, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_options, setup, teardown),
		cmocka_unit_test_setup_teardown(test_output_that_fails, setup, teardown),
		cmocka_unit_test(test_name_tables),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
