/* SPDX-License-Identifier: MIT */
/*
 * The recording: what is written comes back, every wrong file is refused in its
 * own words, and no damage makes a reader crash.  Links all of report/ and
 * report_fixture.o.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/report_fixture.h"

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
 * Two processes; main -> parse -> load, main -> other; one stack cut off, one
 * unknown.
 */
static void write_sample(const char *path)
{
	struct fixture f;
	fixture_create(&f, path);
	struct rec_process prog = fixture_prog();
	prog.peak_bytes = 700;
	prog.peak_blocks = 7;
	prog.notes = "first\nsecond";
	fixture_process(&f, &prog);
	struct rec_frame inlined[] = { { "load", "/src/load.c", 40, true },
				       { "parse", "/src/parse.c", 9, false } };
	rec_id main_node =
		fixture_node(&f, (rec_id){ 0 }, fixture_location(&f, "main", "main.c", 3));
	rec_id load =
		fixture_node(&f, main_node, fixture_location_of(&f, f.prog, 0x500, inlined, 2));
	rec_id other =
		fixture_node(&f, main_node, fixture_location_of(&f, f.stripped, 0x77, NULL, 0));
	rec_id left_out = fixture_node(&f, (rec_id){ 0 }, (rec_id){ 0 });
	rec_id deep = fixture_node(&f, left_out, fixture_location(&f, "deep", NULL, 0));
	fixture_stack(&f, load, STACK_COMPLETE,
		      &(struct costs){ 10, 1000, 8, 800, 3, 2, 5, 500, 2, 200, EXACT });
	fixture_stack(&f, other, STACK_COMPLETE,
		      &(struct costs){ 1, 100, 0, 0, 0, 0, 1, 100, 1, 100, EXACT });
	fixture_stack(&f, deep, STACK_DEPTH,
		      &(struct costs){ 4, 400, 4, 400, 4, 0, 1, 100, 0, 0, EXACT });
	fixture_stack(&f, (rec_id){ 0 }, STACK_UNATTRIBUTED, &(struct costs){ .allocations = 1 });
	struct diag diag;
	for (int i = 0; i < 5; i++) {
		struct rec_sample sample = { i * 100000000, i * 100, i, 4096 * i };
		assert_int_equal(rec_add_sample(f.rec, f.process, &sample, &diag), 0);
	}
	struct rec_process child = fixture_prog();
	child.pid = 4243;
	child.parent = f.process;
	child.start_time_ns += 5;
	fixture_process(&f, &child);
	fixture_stack(&f, load, STACK_COMPLETE,
		      &(struct costs){ .allocations = 1, .allocated_bytes = 7 });
	fixture_finish(&f);
}

/* The first of two processes was sampled; main -> load, main -> other. */
static void write_sampled(const char *path)
{
	struct fixture f;
	fixture_create(&f, path);
	struct rec_process prog = fixture_prog();
	prog.peak_bytes = 800;
	prog.sample_mean = 524288;
	fixture_process(&f, &prog);
	rec_id main_node =
		fixture_node(&f, (rec_id){ 0 }, fixture_location(&f, "main", "main.c", 3));
	rec_id load = fixture_node(&f, main_node, fixture_location(&f, "load", "load.c", 4));
	rec_id other = fixture_node(&f, main_node, fixture_location(&f, "other", "other.c", 5));
	fixture_stack(&f, load, STACK_COMPLETE,
		      &(struct costs){ 10,
				       1000,
				       8,
				       800,
				       3,
				       2,
				       5,
				       500,
				       2,
				       200,
				       { 100, 1e4, 81, 6400, 9, 4, 25, 2.5e3, 1.44, 0.25 },
				       NO_SLACK });
	fixture_stack(&f, other, STACK_DEPTH,
		      &(struct costs){ 1, 300, 0, 0, 0, 0, 1, 300, 1, 300, EXACT });
	struct rec_process child = fixture_prog();
	child.pid = 4243;
	child.parent = f.process;
	child.start_time_ns += 5;
	fixture_process(&f, &child);
	/* What was not sampled has no variances, whatever it says. */
	fixture_stack(&f, load, STACK_COMPLETE,
		      &(struct costs){ .allocations = 1, .variances.allocations = 7 });
	fixture_finish(&f);
}

/* Of the second of two processes slack was recorded; main -> load, main -> other. */
static void write_slack(const char *path)
{
	struct fixture f;
	fixture_create(&f, path);
	struct rec_process prog = fixture_prog();
	fixture_process(&f, &prog);
	rec_id main_node =
		fixture_node(&f, (rec_id){ 0 }, fixture_location(&f, "main", "main.c", 3));
	rec_id load = fixture_node(&f, main_node, fixture_location(&f, "load", "load.c", 4));
	rec_id other = fixture_node(&f, main_node, fixture_location(&f, "other", "other.c", 5));
	/* What was not recorded is not stored, whatever it says. */
	fixture_stack(&f, load, STACK_COMPLETE,
		      &(struct costs){ .allocations = 1, .slack.peak_bytes = 9 });
	prog.pid = 4243;
	prog.start_time_ns += 5;
	prog.slack = true;
	prog.peak_bytes = 300;
	fixture_process(&f, &prog);
	fixture_stack(
		&f, load, STACK_COMPLETE,
		&(struct costs){ .allocations = 10, .peak_bytes = 100, .slack = { 40, 20, -1 } });
	fixture_stack(&f, other, STACK_DEPTH,
		      &(struct costs){ .allocations = 1,
				       .peak_bytes = 200,
				       .slack = { UINT64_MAX, 80, 7 } });
	fixture_finish(&f);
}

/* The first of two processes was guarded and overflowed a block; another's error belongs to no image. */
static void write_errors(const char *path)
{
	struct fixture f;
	fixture_create(&f, path);
	struct rec_process prog = fixture_prog();
	fixture_process(&f, &prog);
	rec_id main_node =
		fixture_node(&f, (rec_id){ 0 }, fixture_location(&f, "main", "main.c", 3));
	rec_id fill = fixture_node(&f, main_node, fixture_location(&f, "fill", "fill.c", 12));
	rec_id make = fixture_node(&f, main_node, fixture_location(&f, "make", "make.c", 7));
	fixture_stack(&f, make, STACK_COMPLETE,
		      &(struct costs){ 1, 16, 0, 0, 0, 0, 1, 16, 1, 16, EXACT });
	fixture_error(&f, (struct rec_error){
				  .pid = 4242,
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
				  .t_ns = 1500000000,
				  .count = 1,
				  .stacks = { { fill, STACK_DEPTH }, { make, STACK_COMPLETE } } });
	fixture_error(&f, (struct rec_error){ .process = { -1 },
					      .pid = 77,
					      .source = ERROR_FROM_AGENT,
					      .kind = ERROR_CORRUPTION,
					      .address = UINT64_MAX,
					      .block_freed = true,
					      .corrupt_bytes = UINT64_MAX,
					      .t_ns = -1,
					      .count = UINT64_MAX,
					      .continued = true,
					      .by_realloc = true,
					      .stacks = { { fill, STACK_COMPLETE },
							  { { 0 }, STACK_UNATTRIBUTED },
							  { make, STACK_COMPLETE } } });
	fixture_guard(&f, &(struct rec_guard){ GUARD_MADVISE, { 4, 1000, 20, 3 }, 32000, 5, 7, 6 });
	prog.pid = 4243;
	prog.start_time_ns += 5;
	fixture_process(&f, &prog);
	fixture_error(&f, (struct rec_error){ .pid = 4243,
					      .source = ERROR_FROM_AGENT,
					      .kind = ERROR_DOUBLE_FREE,
					      .t_ns = 0,
					      .count = 3,
					      .freed_thread = 9 });
	fixture_finish(&f);
}

static int64_t query(const char *path, const char *sql)
{
	struct recording *rec;
	struct diag diag = { 0 };
	sqlite3_stmt *statement;
	if (rec_open(&rec, path, &diag))
		fail_msg("%s", diag.text);
	assert_int_equal(sqlite3_prepare_v2(rec_database(rec), sql, -1, &statement, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	int64_t value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	rec_close(rec);
	return value;
}

static void change(const char *path, const char *sql)
{
	sqlite3 *db;
	char *message = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	sqlite3_close(db);
}

/* Where the writer of a.dat writes. */
static const char *temp_path(void)
{
	char name[64];
	snprintf(name, sizeof(name), ".a.dat.tmp-%d", (int)getpid());
	return fixture_path(name);
}

static void test_round_trip(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	write_sample(path);
	assert_int_equal(query(path, "PRAGMA application_id"), 0x6d74726b);
	assert_int_equal(query(path, "PRAGMA user_version"), 1);
	assert_int_equal(query(path, "SELECT count(*) FROM node"), 5);
	assert_int_equal(query(path, "SELECT allocations FROM totals WHERE process = 1"), 16);
	assert_int_equal(query(path, "SELECT leaked_bytes FROM totals WHERE process = 1"), 300);
	assert_int_equal(query(path, "SELECT peak_bytes FROM totals WHERE pid = 4242"), 700);
	assert_int_equal(
		query(path, "SELECT line FROM stacks WHERE function = 'load' AND process = 1"), 40);
	assert_int_equal(query(path, "SELECT count(*) FROM callers WHERE process = 1"), 4);
	assert_int_equal(query(path, "SELECT count(*) FROM timeline"), 5);
	assert_int_equal(query(path, "SELECT max(heap_bytes) FROM timeline WHERE t_s > 0.35"), 400);
	assert_int_equal(query(path, "SELECT count(*) FROM frames WHERE function IS NULL"), 1);
	assert_int_equal(query(path, "SELECT count(*) FROM meta WHERE value = 'host'"), 1);
	assert_int_equal(query(path, "SELECT value FROM meta WHERE key = 'min_readable_version'"),
			 1);
}

static void test_sampled_round_trip(void **state)
{
	(void)state;
	struct report_options options;
	const char *path = fixture_path("a.dat");
	write_sampled(path);
	assert_int_equal(query(path, "PRAGMA user_version"), 1);
	assert_int_equal(query(path, "SELECT mean_bytes FROM sampling WHERE process = 1"), 524288);
	assert_int_equal(query(path, "SELECT count(*) FROM sampling"), 1);
	assert_int_equal(query(path, "SELECT count(*) FROM variance"), 2);
	assert_int_equal(query(path, "SELECT 100 * leaked_blocks FROM variance WHERE node = 2"),
			 144);
	assert_int_equal(query(path, "SELECT sum(freed_bytes) FROM stack_errors"), 80);
	assert_int_equal(query(path, "SELECT 10 * leaked_bytes FROM stack_errors WHERE stack = 2"),
			 5);
	report_options_init(&options);
	options.format = REPORT_FORMAT_JSON;
	char *text = fixture_report_ok(&options, path);
	assert_non_null(strstr(text, "\"sampled\": true, \"sample_bytes\": 524288"));
	assert_non_null(strstr(
		text,
		"\"standard_errors\": {\"allocations\": 10.000, \"allocated_bytes\": 100.000, "
		"\"peak_bytes\": 50.000, \"peak_blocks\": 5.000, \"leaked_bytes\": 0.500, "
		"\"leaked_blocks\": 1.200, \"temporary_allocations\": 3.000, \"frees\": 9.000, "
		"\"freed_bytes\": 80.000, \"reallocations\": 2.000}}"));
	free(text);
	options.process = 2;
	text = fixture_report_ok(&options, path);
	assert_non_null(strstr(text, "\"sampled\": false, \"sample_bytes\": null"));
	free(text);
	/* As recordings were before there was sampling. */
	change(path, "DROP VIEW stack_errors; DROP TABLE variance; DROP TABLE sampling");
	options.process = 1;
	text = fixture_report_ok(&options, path);
	assert_non_null(strstr(text, "\"sampled\": false"));
	assert_null(strstr(text, "standard_errors"));
	free(text);
}

static void test_slack_round_trip(void **state)
{
	(void)state;
	struct report_options options;
	const char *path = fixture_path("a.dat");
	write_slack(path);
	assert_int_equal(query(path, "SELECT count(*) FROM slack WHERE process = 2"), 2);
	assert_int_equal(query(path, "SELECT count(*) FROM slack"), 2);
	assert_int_equal(query(path, "SELECT leaked_slack FROM slacks WHERE function = 'load'"),
			 -1);
	assert_int_equal(query(path, "SELECT peak_slack FROM slacks WHERE peak_bytes = 200"), 80);
	report_options_init(&options);
	options.format = REPORT_FORMAT_JSON;
	options.process = 2;
	options.sort = REPORT_SORT_SLACK;
	char *text = fixture_report_ok(&options, path);
	assert_non_null(strstr(
		text,
		"\"peak_rss_bytes\": 0, \"slack_bytes\": 100, "
		"\"slack_leaked_bytes\": 6, \"slack_allocated_bytes\": 9223372036854775847}"));
	assert_non_null(strstr(
		text,
		"\"temporary_allocations\": 0, \"slack_bytes\": 20, "
		"\"slack_leaked_bytes\": -1, \"slack_allocated_bytes\": 40, \"truncated\": false"));
	assert_true(strstr(text, "\"other\"") < strstr(text, "\"load\""));
	free(text);
	/* Stacks of two processes that become one. */
	options.process = 0;
	options.all = true;
	options.sort = REPORT_SORT_PEAK;
	text = fixture_report_ok(&options, path);
	assert_non_null(strstr(text,
			       "\"allocations\": 11, \"allocated_bytes\": 0, \"peak_bytes\": 100, "
			       "\"peak_blocks\": 0, \"leaked_bytes\": 0, \"leaked_blocks\": 0, "
			       "\"temporary_allocations\": 0, \"slack_bytes\": 20, "));
	free(text);
	options.all = false;
	text = fixture_report_ok(&options, path);
	assert_null(strstr(text, "slack_"));
	free(text);
	/* As recordings were before there was slack. */
	change(path, "DROP VIEW slacks; DROP TABLE slack");
	options.process = 2;
	text = fixture_report_ok(&options, path);
	assert_null(strstr(text, "slack_"));
	free(text);
}

static void expect_json(const char *path, const char *expected)
{
	struct report_options options;
	report_options_init(&options);
	options.format = REPORT_FORMAT_JSON;
	options.all = true;
	char *text = fixture_report_ok(&options, path);
	if (!strstr(text, expected))
		fail_msg("no %s in %s", expected, text);
	free(text);
}

static void test_errors_round_trip(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	write_errors(path);
	assert_int_equal(query(path, "PRAGMA user_version"), 1);
	assert_int_equal(query(path, "SELECT count(*) FROM errors"), 3);
	assert_int_equal(
		query(path,
		      "SELECT count(*) FROM errors WHERE error = 1 AND process = 1 AND pid = 4242"
		      " AND source = 'stomp' AND kind = 'heap-buffer-overflow' AND access = 'write'"
		      " AND address = '0x7f0000001000' AND block_address = '0x7f0000000ff0'"
		      " AND block_size = 16 AND block_offset = 16 AND corrupt_bytes IS NULL"
		      " AND thread = 2 AND allocated_thread = 1 AND freed_thread IS NULL AND t_s = 1.5"
		      " AND count = 1 AND NOT continued AND function = 'fill' AND file = '/src/fill.c'"
		      " AND line = 12 AND module = '/abs/prog' AND allocated_function = 'make'"
		      " AND allocated_file = '/src/make.c' AND allocated_line = 7 AND freed_function IS NULL"
		      " AND freed_file IS NULL AND freed_line IS NULL"),
		1);
	assert_int_equal(
		query(path,
		      "SELECT count(*) FROM errors WHERE error = 2 AND process IS NULL AND pid = 77"
		      " AND source = 'agent' AND kind = 'heap-corruption' AND access IS NULL"
		      " AND address = '0xffffffffffffffff' AND block_address IS NULL AND block_size IS NULL"
		      " AND block_offset IS NULL AND corrupt_bytes = 9223372036854775807 AND thread IS NULL"
		      " AND t_s IS NULL AND count = 9223372036854775807 AND continued AND function = 'fill'"
		      " AND allocated_function IS NULL AND freed_function = 'make' AND freed_line = 7"),
		1);
	assert_int_equal(query(path, "SELECT count(*) FROM error WHERE by_realloc AND block_freed"),
			 1);
	assert_int_equal(query(path, "SELECT end FROM error WHERE id = 1"), STACK_DEPTH);
	assert_int_equal(query(path, "SELECT allocated_end FROM error WHERE id = 2"),
			 STACK_UNATTRIBUTED);
	assert_int_equal(
		query(path,
		      "SELECT count(*) FROM guard WHERE process = 1 AND method = 1 AND madvise_blocks = 1000"
		      " AND mprotect_blocks = 20 AND canary_blocks = 3 AND unguarded_blocks = 4"
		      " AND budget = 32000 AND refused = 5 AND errors = 7 AND errors_lost = 6"),
		1);
	expect_json(path, "\"kind\": \"heap-corruption\", \"access\": null, \"address\": "
			  "\"0xffffffffffffffff\", \"block\": null,");
	/* As recordings were before there was any of this. */
	change(path, "DROP VIEW errors; DROP TABLE error");
	expect_json(path, "\"errors\": [],\n  \"guards\": [\n    {\"process\": 1,");
	change(path, "DROP TABLE guard");
	expect_json(path, "\"errors\": [],\n  \"guards\": [] }");
}

static void test_errors_must_name_what_is_there(void **state)
{
	struct fixture f;
	struct rec_process prog = fixture_prog();
	struct rec_error error = { .kind = ERROR_DOUBLE_FREE, .source = ERROR_FROM_AGENT };
	struct diag diag;
	(void)state;
	for (int i = 0; i < 3; i++) {
		fixture_create(&f, fixture_path("a.dat"));
		fixture_process(&f, &prog);
		error.process.v = i == 0 ? 2 : 1;
		error.stacks[ERROR_FREED].node.v = i == 1;
		assert_int_equal(i == 2 ? rec_add_guard(f.rec, (rec_id){ 2 },
							&(struct rec_guard){ 0 }, &diag)
					: rec_add_error(f.rec, &error, &diag),
				 -EINVAL);
		rec_abandon(f.rec);
	}
}

static void test_nobody_can_write_through_a_reader(void **state)
{
	(void)state;
	struct recording *rec;
	struct diag diag;
	write_sample(fixture_path("a.dat"));
	assert_int_equal(rec_open(&rec, fixture_path("a.dat"), &diag), 0);
	assert_int_not_equal(sqlite3_exec(rec_database(rec), "DELETE FROM node", NULL, NULL, NULL),
			     SQLITE_OK);
	assert_int_not_equal(sqlite3_exec(rec_database(rec), "ATTACH 'x' AS x", NULL, NULL, NULL),
			     SQLITE_OK);
	rec_close(rec);
}

static void test_nothing_is_at_the_path_until_finished(void **state)
{
	(void)state;
	struct fixture f;
	const char *path = fixture_path("a.dat");
	fixture_create(&f, path);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(temp_path(), F_OK), 0);
	rec_abandon(f.rec);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(temp_path(), F_OK), -1);
}

static void test_existing_file_is_kept_as_old(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	FILE *file = fopen(path, "w");
	fputs("precious", file);
	fclose(file);
	write_sample(path);
	char text[16] = "";
	file = fopen(fixture_path("a.dat.old"), "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "precious");
	assert_int_equal(query(path, "SELECT count(*) FROM process"), 2);
}

static void test_symbolic_link_stays(void **state)
{
	(void)state;
	struct stat st;
	write_sample(fixture_path("real.dat"));
	assert_int_equal(symlink(fixture_path("real.dat"), fixture_path("link.dat")), 0);
	write_sample(fixture_path("link.dat"));
	assert_int_equal(lstat(fixture_path("link.dat"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(access(fixture_path("real.dat.old"), F_OK), 0);
}

static void test_targets_that_are_no_files(void **state)
{
	(void)state;
	struct recording *rec;
	struct diag diag;
	struct stat st;
	write_sample("/dev/null");
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(rec_create(&rec, fixture_path(""), "", "", &diag), -EISDIR);
	assert_int_equal(rec_create(&rec, "/dev/zero", "", "", &diag), -EINVAL);
	assert_int_equal(rec_create(&rec, "", "", "", &diag), -ENOENT);
	assert_int_equal(rec_create(&rec, fixture_path("missing/a.dat"), "", "", &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "missing/a.dat"));
	assert_int_equal(mkfifo(fixture_path("fifo"), 0600), 0);
	assert_int_equal(rec_create(&rec, fixture_path("fifo"), "", "", &diag), -EINVAL);
	assert_int_equal(rec_open(&rec, fixture_path("fifo"), &diag), -EBADMSG);
}

static void test_odd_names(void **state)
{
	(void)state;
	static const char *const names[] = { "a?b%20c#d e.dat", "x.dat?mode=memory", "\xff\xfe.dat",
					     "%00.dat", "-o" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		write_sample(fixture_path(names[i]));
		assert_int_equal(query(fixture_path(names[i]), "SELECT count(*) FROM process"), 2);
	}
	char before[512];
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(fixture_path("")), 0);
	static const char *const relative[] = { "file:x.dat", ":memory:", "x.dat" };
	for (size_t i = 0; i < sizeof(relative) / sizeof(relative[0]); i++) {
		write_sample(relative[i]);
		assert_int_equal(access(relative[i], F_OK), 0);
		assert_int_equal(query(relative[i], "SELECT count(*) FROM process"), 2);
	}
	assert_int_equal(chdir(before), 0);
}

static void test_longest_name(void **state)
{
	(void)state;
	char name[252];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	write_sample(fixture_path(name));
	assert_int_equal(query(fixture_path(name), "SELECT count(*) FROM process"), 2);
}

/*
 * Longer than the 512 bytes SQLite takes by itself; relative, so that PATH_MAX
 * is no limit either.
 */
static void test_deep_directory(void **state)
{
	(void)state;
	char name[200], before[512];
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(fixture_path("")), 0);
	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 4; i++) {
		assert_int_equal(mkdir(name, 0700), 0);
		assert_int_equal(chdir(name), 0);
	}
	write_sample("a.dat");
	assert_int_equal(query("a.dat", "SELECT count(*) FROM process"), 2);
	assert_int_equal(unlink("a.dat"), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(chdir(".."), 0);
		assert_int_equal(rmdir(name), 0);
	}
	assert_int_equal(chdir(before), 0);
}

/* Fills a recording until the limit on file sizes stops it. */
static int write_until_full(const char *path, struct diag *diag)
{
	struct fixture f;
	rec_id id;
	fixture_create(&f, path);
	struct rec_process prog = fixture_prog();
	fixture_process(&f, &prog);
	int error = 0;
	/*
	 * SQLite holds 64 MiB in memory before it writes, so much of it may
	 * come at the end only.
	 */
	for (int i = 0; !error && i < 200000; i++)
		error = rec_add_location(f.rec, f.prog, (uint64_t)i << 40, NULL, 0, &id, diag);
	if (error) {
		/* Whatever follows says the same. */
		struct diag again = { 0 };
		assert_int_equal(rec_add_location(f.rec, f.prog, 0, NULL, 0, &id, &again), error);
		assert_string_equal(again.text, diag->text);
	}
	int finish_error = rec_finish(f.rec, diag);
	assert_int_not_equal(finish_error, 0);
	return error ? error : finish_error;
}

static void test_disk_full(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	struct rlimit before, small;
	struct diag diag = { 0 };
	write_sample(path);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ 300000, before.rlim_max };
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int error = write_until_full(path, &diag);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, handler);
	assert_int_equal(error, -EFBIG);
	assert_non_null(strstr(diag.text, "cannot write"));
	assert_non_null(strstr(diag.text, "File too large"));
	/* The old recording is untouched and nothing else is left. */
	assert_int_equal(query(path, "SELECT count(*) FROM process"), 2);
	assert_int_equal(access(fixture_path("a.dat.old"), F_OK), -1);
	assert_int_equal(access(temp_path(), F_OK), -1);
}

static void expect_refusal(const char *path, int expected, const char *words)
{
	struct report_options options;
	struct diag diag = { 0 };
	int error;
	report_options_init(&options);
	char *text = fixture_report(&options, path, &error, &diag);
	free(text);
	if (error != expected || !strstr(diag.text, words))
		fail_msg("expected %d '%s', got %d '%s'", expected, words, error, diag.text);
	assert_non_null(strstr(diag.text, path));
}

static void write_file(const char *path, const char *bytes, size_t size)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void test_refusals(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	expect_refusal(path, -ENOENT, "no such file");
	write_file(path, "", 0);
	expect_refusal(path, -EBADMSG, "is empty");
	write_file(path, "hello", 5);
	expect_refusal(path, -EBADMSG, "not a memtrack recording");
	write_file(path, "SQLite format 3\0xx", 18);
	expect_refusal(path, -EBADMSG, "truncated in its header");
	unlink(path);
	change(path, "CREATE TABLE t (x)");
	expect_refusal(path, -EBADMSG, "an SQLite database, but not a memtrack recording");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	expect_refusal(path, -EISDIR, "directory");
	if (geteuid() != 0) {
		write_sample(fixture_path("b.dat"));
		assert_int_equal(chmod(fixture_path("b.dat"), 0), 0);
		expect_refusal(fixture_path("b.dat"), -EACCES, "Permission denied");
	}
}

static void test_newer_versions(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	write_sample(path);
	change(path,
	       "PRAGMA user_version = 7; UPDATE meta SET value = '9.8.7' WHERE key = 'memtrack_version'");
	/* Its writer said that version 1 can read it. */
	assert_int_equal(query(path, "SELECT count(*) FROM process"), 2);
	change(path, "UPDATE meta SET value = 7 WHERE key = 'min_readable_version'");
	expect_refusal(path, -EPROTONOSUPPORT, "written by memtrack 9.8.7");
	change(path, "PRAGMA user_version = 1");
	expect_refusal(path, -EPROTONOSUPPORT, "in format 7");
	change(path, "PRAGMA user_version = 7; DELETE FROM meta");
	expect_refusal(path, -EPROTONOSUPPORT, "(unknown)");
}

static void test_truncated(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	struct stat st;
	write_sample(path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 1), 0);
	expect_refusal(path, -EBADMSG, "is truncated");
	assert_int_equal(truncate(path, 4096), 0);
	expect_refusal(path, -EBADMSG, "is truncated");
}

static void test_hostile_rows(void **state)
{
	static const char null_parent[] =
		"CREATE TABLE n AS SELECT * FROM node; DROP TABLE node;"
		"CREATE TABLE node (id INTEGER PRIMARY KEY, parent, location);"
		"INSERT INTO node SELECT id, nullif(parent, 1), location FROM n";
	static const char endless_view[] =
		"DROP TABLE node;"
		"CREATE VIEW node AS WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c)"
		" SELECT id, 0 AS parent, 1 AS location FROM c";
	(void)state;
	const char *const attacks[] = {
		"UPDATE node SET parent = 2 WHERE id = 1", /* a cycle */
		"UPDATE node SET parent = 1 WHERE id = 1", /* its own parent */
		"UPDATE node SET parent = -1 WHERE id = 2",
		null_parent,
		"UPDATE node SET location = 4000000000 WHERE id = 2",
		"UPDATE node SET location = 'x' WHERE id = 2",
		"UPDATE node SET id = 9223372036854775807 WHERE id = 5",
		"DELETE FROM node WHERE id = 3",
		"UPDATE stack SET node = 99 WHERE node = 2",
		"UPDATE stack SET process = 0 WHERE process = 2",
		"UPDATE stack SET end = 77 WHERE node = 2",
		"UPDATE stack SET allocations = -1 WHERE node = 2",
		"UPDATE stack SET peak_bytes = 1.5 WHERE node = 2",
		"UPDATE string SET value = x'00ff' WHERE id = 1",
		"UPDATE string SET value = 17.5 WHERE id = 1; UPDATE string SET id = 99 WHERE id = 2",
		"UPDATE process SET executable = 12345",
		"UPDATE process SET parent = 2",
		"UPDATE process SET pid = -5",
		"UPDATE process SET duration_ns = -1",
		"UPDATE process_argv SET seq = seq + 100",
		"UPDATE module SET build_id = zeroblob(1000)",
		"UPDATE module SET path = -2",
		"UPDATE location SET module = 7",
		"UPDATE location_frame SET seq = 5 WHERE seq = 1",
		"UPDATE location_frame SET line = -1",
		"UPDATE location_frame SET line = 4294967296",
		"UPDATE location_frame SET location = 0 WHERE location = 1",
		"DROP TABLE sample",
		"ALTER TABLE node RENAME COLUMN parent TO mother",
		endless_view,
	};
	const char *path = fixture_path("a.dat");
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		unlink(path);
		write_sample(path);
		change(path, attacks[i]);
		expect_refusal(path, -EBADMSG, "damaged");
	}
}

static void test_hostile_variances(void **state)
{
	static const char columns[] =
		"allocations, allocated_bytes, frees, freed_bytes, temporary_allocations, reallocations,"
		" peak_blocks, peak_bytes, leaked_blocks, leaked_bytes";
	static const char loose[] = /* no constraints, no order */
		"CREATE TABLE v AS SELECT * FROM variance ORDER BY node DESC; DROP TABLE variance;"
		"CREATE TABLE variance (process, node, end, allocations, allocated_bytes, frees, freed_bytes,"
		" temporary_allocations, reallocations, peak_blocks, peak_bytes, leaked_blocks, leaked_bytes);"
		"INSERT INTO variance SELECT * FROM v ";
	static const char endless_view[] =
		"CREATE VIEW variance AS WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c)"
		" SELECT id AS process, 0 AS node, 0 AS end FROM c";
	static const struct {
		const char *first, *second;
	} attacks[] = {
		{ "UPDATE variance SET peak_bytes = -1 WHERE node = 2", "" },
		{ "UPDATE variance SET frees = 9e999 WHERE node = 3", "" },
		{ "UPDATE variance SET frees = -9e999 WHERE node = 3", "" },
		{ "UPDATE variance SET frees = 'many' WHERE node = 3", "" },
		{ "UPDATE variance SET frees = x'00' WHERE node = 3", "" },
		{ loose, "ORDER BY node; UPDATE variance SET frees = NULL" }, /* NaN */
		{ loose, "ORDER BY node; UPDATE variance SET process = 1.5" },
		{ loose, "ORDER BY node; INSERT INTO variance SELECT * FROM v" },
		{ loose, "ORDER BY node DESC" },
		{ "UPDATE variance SET end = 3 WHERE node = 2", "" },
		{ "UPDATE variance SET node = 1 WHERE node = 2", "" },
		{ "UPDATE variance SET process = 2 WHERE node = 3", "" },
		{ "DELETE FROM variance WHERE node = 2", "" },
		{ "DELETE FROM variance WHERE node = 3", "" },
		{ "INSERT INTO variance SELECT process, 99, end, %s FROM variance WHERE node = 3",
		  "" },
		{ "INSERT INTO variance SELECT 2, node, end, %s FROM variance WHERE node = 2", "" },
		{ "INSERT INTO variance SELECT 0, node, end, %s FROM variance WHERE node = 2", "" },
		{ "DROP TABLE variance", "" },
		{ "DROP TABLE sampling", "" },
		{ "DELETE FROM sampling", "" },
		{ "DROP TABLE variance;", endless_view },
		{ "UPDATE sampling SET mean_bytes = 0", "" },
		{ "UPDATE sampling SET mean_bytes = -5", "" },
		{ "UPDATE sampling SET mean_bytes = 'x'", "" },
		{ "UPDATE sampling SET mean_bytes = 0.5", "" },
		{ "UPDATE sampling SET process = 77", "" },
		{ "UPDATE sampling SET process = 0", "" },
		{ "UPDATE sampling SET process = -1", "" },
		{ "INSERT INTO sampling VALUES (2, 5)", "" },
	};
	(void)state;
	const char *path = fixture_path("a.dat");
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		char sql[2048];
		const char *mark = strstr(attacks[i].first, "%s");
		int length = mark ? (int)(mark - attacks[i].first) : (int)strlen(attacks[i].first);
		snprintf(sql, sizeof(sql), "%.*s%s%s%s", length, attacks[i].first,
			 mark ? columns : "", mark ? mark + 2 : "", attacks[i].second);
		unlink(path);
		write_sampled(path);
		change(path, sql);
		expect_refusal(path, -EBADMSG, "damaged");
	}
}

/* Two processes, the first sampled; with costs by thread and by size. */
static void write_parts(const char *path)
{
	struct fixture f;
	fixture_create(&f, path);
	struct rec_process prog = fixture_prog();
	prog.sample_mean = 4096;
	fixture_process(&f, &prog);
	fixture_thread(&f, &(struct rec_thread){ 1, 4242, "prog", 1, false });
	fixture_thread(&f, &(struct rec_thread){ 2, 77, "a,b", 3, false });
	const struct costs costs = { 10,
				     1000,
				     8,
				     800,
				     3,
				     2,
				     5,
				     500,
				     2,
				     200,
				     { 100, 1e4, 81, 6400, 9, 4, 25, 2.5e3, 1.44, 0.25 },
				     NO_SLACK };
	fixture_part(&f, PART_THREAD, 2, &costs);
	fixture_part(&f, PART_SIZE, 65, &costs);
	fixture_part(&f, PART_SIZE, (1ull << 32) + 1, &costs);
	prog.pid = 4243;
	prog.sample_mean = 0;
	prog.start_time_ns += 5;
	fixture_process(&f, &prog);
	fixture_thread(&f, &(struct rec_thread){ 1, 0, NULL, 0, true });
	fixture_part(&f, PART_THREAD, 1, &(struct costs){ .leaked_bytes = -7 });
	fixture_part(&f, PART_SIZE, 0, &(struct costs){ .allocations = 4 });
	fixture_part(&f, PART_SIZE, 65, &(struct costs){ .allocations = 1 });
	fixture_finish(&f);
}

static char *report_parts(const char *path, enum report_by by, enum report_format format,
			  int *error, struct diag *diag)
{
	struct report_options options;
	report_options_init(&options);
	options.by = by;
	options.all = true;
	options.format = format;
	return fixture_report(&options, path, error, diag);
}

static void expect_parts(const char *path, enum report_by by, enum report_format format,
			 const char *expected)
{
	struct diag diag = { 0 };
	int error;
	char *text = report_parts(path, by, format, &error, &diag);
	assert_int_equal(error, 0);
	if (!strstr(text, expected))
		fail_msg("no \"%s\" in:\n%s", expected, text);
	free(text);
}

static void expect_old(const char *path, enum report_by by)
{
	struct diag diag = { 0 };
	int error;
	assert_null(report_parts(path, by, REPORT_FORMAT_TEXT, &error, &diag));
	assert_int_equal(error, -EINVAL);
	assert_non_null(strstr(diag.text, "hold no such data"));
	assert_non_null(strstr(diag.text, path));
	assert_non_null(strstr(diag.hint, "record"));
}

static void test_parts(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	write_parts(path);
	expect_parts(path, REPORT_BY_SIZE, REPORT_FORMAT_CSV, "\n65,128,11,1000,500,5,200,2,3,0,");
	expect_parts(path, REPORT_BY_SIZE, REPORT_FORMAT_CSV, "\n4294967297,,10,");
	expect_parts(path, REPORT_BY_SIZE, REPORT_FORMAT_JSON,
		     "\"size\": {\"min\": 4294967297, \"max\": null}");
	expect_parts(path, REPORT_BY_THREAD, REPORT_FORMAT_CSV, "\n4242,2,77,\"a,b\",3,0,10,1000,");
	expect_parts(path, REPORT_BY_THREAD, REPORT_FORMAT_CSV, "\n4243,1,,,0,1,0,0,0,0,-7,");
	expect_parts(path, REPORT_BY_THREAD, REPORT_FORMAT_JSON,
		     "\"thread\": {\"number\": 2, \"tid\": 77, \"name\": \"a,b\", \"threads\": 3, "
		     "\"inherited\": false}, \"allocations\": 10,");
	expect_parts(path, REPORT_BY_THREAD, REPORT_FORMAT_JSON, "\"allocated_bytes\": 100.000");
	assert_int_equal(query(path,
			       "SELECT count(*) FROM sizes WHERE min_bytes = 0 AND max_bytes = 0"
			       " AND allocations = 4"),
			 1);
	assert_int_equal(query(path, "SELECT sum(max_bytes) FROM sizes WHERE process = 1"), 128);
	assert_int_equal(query(path,
			       "SELECT count(*) FROM threads WHERE name IS NULL AND tid IS NULL"
			       " AND inherited AND leaked_bytes = -7"),
			 1);
	/* A thread without costs is one as well. */
	assert_int_equal(query(path, "SELECT allocations FROM threads WHERE name = 'prog'"), 0);
	/* As recordings were before there was any of this. */
	change(path, "DROP VIEW sizes; DROP VIEW threads; DROP TABLE part");
	expect_old(path, REPORT_BY_SIZE);
	expect_old(path, REPORT_BY_THREAD);
	expect_json(path, "\"sites\"");
}

static void test_parts_must_name_what_is_there(void **state)
{
	static const struct {
		int64_t process;
		enum part_kind kind;
		uint64_t key;
	} cases[] = { { 2, PART_SIZE, 1 },
		      { 0, PART_THREAD, 1 },
		      { 1, PART_SIZE, 2 },
		      { 1, PART_SIZE, 18 },
		      { 1, PART_SIZE, 1ull << 32 },
		      { 1, PART_SIZE, (1ull << 33) + 1 },
		      { 1, PART_SIZE, UINT64_MAX },
		      { 1, PART_THREAD, 0 },
		      { 1, PART_THREAD, 1ull << 32 },
		      { 1, PART_KINDS, 1 } };
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture f;
		struct diag diag = { 0 };
		struct rec_process prog = fixture_prog();
		fixture_create(&f, fixture_path("a.dat"));
		fixture_process(&f, &prog);
		assert_int_equal(rec_add_part(f.rec, (rec_id){ cases[i].process }, cases[i].kind,
					      cases[i].key, &(struct costs){ .allocations = 0 },
					      &diag),
				 -EINVAL);
		rec_abandon(f.rec);
	}
}

static void test_hostile_parts(void **state)
{
	static const char *const attacks[] = {
		"UPDATE thread SET process = 3 WHERE process = 2",
		"UPDATE thread SET process = 0 WHERE process = 1",
		"UPDATE thread SET number = 0 WHERE number = 2",
		"UPDATE thread SET number = 4294967296 WHERE number = 2",
		"UPDATE thread SET number = 3 WHERE number = 2",
		"UPDATE thread SET tid = -1",
		"UPDATE thread SET tid = 4294967296",
		"UPDATE thread SET name = 99",
		"UPDATE thread SET holders = -1",
		"UPDATE thread SET holders = 'x'",
		"DELETE FROM thread",
		"UPDATE part SET process = 3 WHERE process = 2",
		"UPDATE part SET kind = 3 WHERE kind = 2",
		"UPDATE part SET kind = 0 WHERE kind = 1",
		"UPDATE part SET key = 64 WHERE key = 65",
		"UPDATE part SET key = -1 WHERE key = 65",
		"UPDATE part SET allocations = -1",
		"UPDATE part SET peak_bytes = 1.5",
		"UPDATE part_variance SET key = 129 WHERE key = 65",
		"UPDATE part_variance SET allocations = -1",
		"DELETE FROM part_variance",
		"DROP TABLE part_variance",
		"DROP VIEW threads; DROP TABLE thread; CREATE VIEW thread AS SELECT 1 AS process",
		"DROP TABLE part_variance; DROP VIEW sizes; DROP VIEW threads; DROP TABLE part; CREATE TABLE part (x)",
	};
	(void)state;
	const char *path = fixture_path("a.dat");
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		unlink(path);
		write_parts(path);
		change(path, attacks[i]);
		expect_refusal(path, -EBADMSG, "damaged");
	}
}

static void test_hostile_slack(void **state)
{
	static const char *const attacks[] = {
		"UPDATE slack SET allocated_bytes = -1 WHERE node = 2",
		"UPDATE slack SET peak_bytes = 'many' WHERE node = 2",
		"UPDATE slack SET peak_bytes = 0.5 WHERE node = 2",
		"UPDATE slack SET leaked_bytes = x'00' WHERE node = 3",
		"UPDATE slack SET end = 3 WHERE node = 2",
		"UPDATE slack SET node = 1 WHERE node = 2",
		"UPDATE slack SET process = 1 WHERE node = 3",
		"DELETE FROM slack WHERE node = 2",
		"DELETE FROM slack WHERE node = 3",
		"INSERT INTO slack VALUES (0, 2, 0, 1, 1, 1)",
		"INSERT INTO slack VALUES (1, 3, 0, 1, 1, 1)",
		"INSERT INTO slack VALUES (2, 99, 0, 1, 1, 1)",
		"INSERT INTO slack VALUES (3, 2, 0, 1, 1, 1)",
		"DROP VIEW slacks; DROP TABLE slack; CREATE VIEW slack AS WITH RECURSIVE c(id) AS"
		" (SELECT 1 UNION ALL SELECT id + 1 FROM c) SELECT id AS process, 0 AS node, 0 AS end,"
		" 0 AS allocated_bytes, 0 AS peak_bytes, 0 AS leaked_bytes FROM c",
		"DROP VIEW slacks; DROP TABLE slack; CREATE TABLE slack (process)",
	};
	(void)state;
	const char *path = fixture_path("a.dat");
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		unlink(path);
		write_slack(path);
		change(path, attacks[i]);
		expect_refusal(path, -EBADMSG, "damaged");
	}
}

static void test_hostile_errors(void **state)
{
	static const char endless_view[] =
		"DROP VIEW errors; DROP TABLE %s; CREATE VIEW %s AS WITH RECURSIVE c(id) AS"
		" (SELECT 1 UNION ALL SELECT id + 1 FROM c) SELECT id, 0 AS process FROM c";
	static const char *const attacks[] = {
		"UPDATE error SET process = 3 WHERE id = 1",
		"UPDATE error SET process = -1 WHERE id = 1",
		"UPDATE error SET pid = -1 WHERE id = 1",
		"UPDATE error SET pid = 4294967296 WHERE id = 1",
		"UPDATE error SET tid = 4294967296 WHERE id = 1",
		"UPDATE error SET source = 0 WHERE id = 1",
		"UPDATE error SET source = 3 WHERE id = 1",
		"UPDATE error SET kind = 0 WHERE id = 1",
		"UPDATE error SET kind = 7 WHERE id = 1",
		"UPDATE error SET access = 3 WHERE id = 1",
		"UPDATE error SET access = -1 WHERE id = 1",
		"UPDATE error SET thread = -1 WHERE id = 1",
		"UPDATE error SET freed_thread = 4294967296 WHERE id = 1",
		"UPDATE error SET count = -1 WHERE id = 1",
		"UPDATE error SET t_ns = -1 WHERE id = 1",
		"UPDATE error SET corrupt_bytes = -1 WHERE id = 2",
		"UPDATE error SET block_size = -1 WHERE id = 1",
		"UPDATE error SET block_size = 'x' WHERE id = 1",
		"UPDATE error SET address = 'x' WHERE id = 1",
		"UPDATE error SET t_ns = 1.5 WHERE id = 1",
		"UPDATE error SET node = 4 WHERE id = 1",
		"UPDATE error SET allocated_node = -1 WHERE id = 1",
		"UPDATE error SET freed_node = 99 WHERE id = 1",
		"UPDATE error SET end = 6 WHERE id = 1",
		"UPDATE error SET freed_end = -1 WHERE id = 1",
		"UPDATE guard SET process = 3",
		"UPDATE guard SET process = 0",
		"UPDATE guard SET method = 4",
		"UPDATE guard SET method = -1",
		"UPDATE guard SET madvise_blocks = -1",
		"UPDATE guard SET errors_lost = -1",
		"UPDATE guard SET budget = 'x'",
		"DROP TABLE guard; CREATE TABLE guard (x)",
		"error",
		"guard",
	};
	(void)state;
	const char *path = fixture_path("a.dat");
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		char sql[512];
		snprintf(sql, sizeof(sql), strchr(attacks[i], ' ') ? "%s" : endless_view,
			 attacks[i], attacks[i]);
		unlink(path);
		write_errors(path);
		change(path, sql);
		expect_refusal(path, -EBADMSG, "damaged");
	}
}

static void report_quietly(const char *path, enum report_format format)
{
	struct report_options options;
	struct diag diag = { 0 };
	int error;
	report_options_init(&options);
	options.format = format;
	options.all = true;
	char *text = fixture_report(&options, path, &error, &diag);
	if (error && error != -EBADMSG && error != -EPROTONOSUPPORT)
		fail_msg("error %d: %s", error, diag.text);
	if (error)
		assert_string_not_equal(diag.text, "");
	free(text);
}

/* Extreme but well-formed numbers: sums must not overflow. */
static void test_extreme_numbers(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	write_sample(path);
	change(path,
	       "UPDATE stack SET allocations = 9223372036854775807, allocated_bytes = 9223372036854775807,"
	       " peak_bytes = -9223372036854775808, leaked_bytes = 9223372036854775807;"
	       "UPDATE process SET start_time_ns = 9223372036854775807 WHERE id = 1;"
	       "UPDATE process SET duration_ns = -9223372036854775808, peak_bytes = 9223372036854775807;"
	       "UPDATE sample SET t_ns = 9223372036854775807, heap_bytes = -9223372036854775808");
	report_quietly(path, REPORT_FORMAT_TEXT);
	report_quietly(path, REPORT_FORMAT_JSON);
	report_quietly(path, REPORT_FORMAT_CSV);
	unlink(path);
	write_sampled(path);
	change(path,
	       "UPDATE sampling SET mean_bytes = 9223372036854775807;"
	       "UPDATE variance SET allocations = 1.7e308, peak_bytes = 1.7e308, leaked_bytes = 1e-300");
	report_quietly(path, REPORT_FORMAT_TEXT);
	report_quietly(path, REPORT_FORMAT_JSON);
	report_quietly(path, REPORT_FORMAT_CSV);
}

/* Of an error too. */
static void test_extreme_errors(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	write_errors(path);
	change(path,
	       "UPDATE error SET address = -9223372036854775808, block_address = 9223372036854775807,"
	       " block_size = 9223372036854775807, corrupt_bytes = 9223372036854775807,"
	       " t_ns = 9223372036854775807, count = 9223372036854775807;"
	       "UPDATE guard SET madvise_blocks = 9223372036854775807, canary_blocks = 9223372036854775807,"
	       " errors_lost = 9223372036854775807");
	report_quietly(path, REPORT_FORMAT_TEXT);
	report_quietly(path, REPORT_FORMAT_JSON);
	report_quietly(path, REPORT_FORMAT_CSV);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void flip_bytes(void write(const char *path))
{
	const char *path = fixture_path("a.dat"), *damaged = fixture_path("b.dat");
	static char bytes[1 << 20], copy[1 << 20];
	uint32_t seed = 1;
	write(path);
	FILE *file = fopen(path, "r");
	size_t size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_true(size > 20000 && size < sizeof(bytes));
	for (int round = 0; round < 300; round++) {
		memcpy(copy, bytes, size);
		/* Mostly where something is: free space changes nothing. */
		for (int flip = 0; flip < 1 + round % 4;) {
			size_t position = next_random(&seed) % size;
			if (!copy[position] && next_random(&seed) % 16)
				continue;
			copy[position] = (char)next_random(&seed);
			flip++;
		}
		write_file(damaged, copy, round % 7 ? size : size - next_random(&seed) % size);
		report_quietly(damaged, (enum report_format)(round % 3));
	}
}

static void test_flipped_bytes(void **state)
{
	(void)state;
	flip_bytes(write_sample);
}

static void test_flipped_bytes_of_a_sampled_one(void **state)
{
	(void)state;
	flip_bytes(write_sampled);
}

static void test_flipped_bytes_of_one_with_errors(void **state)
{
	(void)state;
	flip_bytes(write_errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sampled_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors_must_name_what_is_there, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_hostile_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_extreme_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts_must_name_what_is_there, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_hostile_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flipped_bytes_of_one_with_errors, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_nobody_can_write_through_a_reader, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_at_the_path_until_finished, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_existing_file_is_kept_as_old, setup, teardown),
		cmocka_unit_test_setup_teardown(test_symbolic_link_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_targets_that_are_no_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_odd_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_longest_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deep_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_disk_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newer_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_truncated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_variances, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slack_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_slack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flipped_bytes_of_a_sampled_one, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_extreme_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flipped_bytes, setup, teardown),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
