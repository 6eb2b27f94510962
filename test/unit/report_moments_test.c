/* SPDX-License-Identifier: MIT */
/*
 * Reports at a moment of the run: recordings made to order, whose moments say what each of three stacks had, and damaged ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "test/unit/report_fixture.h"

#define SECOND 1000000000ll

static struct fixture f;
static rec_id nodes[3];
static struct model model;
static struct diag diag;

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

static void create(const char *name)
{
	fixture_create(&f, fixture_path(name));
	for (int i = 0; i < 3; i++)
		nodes[i] = fixture_node(&f, (rec_id){ 0 },
					fixture_location(&f, i ? "other" : "first", "x.c", 1));
}

/* Stack i has a peak of 1000 (i + 1) and leaks 100 (i + 1), each in as many blocks as thousands or hundreds. */
static void add_process(int32_t pid, int64_t start_s, int64_t duration_s, int64_t sample_mean)
{
	struct rec_process p = fixture_prog();
	p.pid = pid;
	p.start_time_ns = start_s * SECOND;
	p.duration_ns = duration_s * SECOND;
	p.peak_bytes = 6000;
	p.peak_blocks = 6;
	p.sample_mean = sample_mean;
	fixture_process(&f, &p);
	for (int i = 0; i < 3; i++)
		fixture_stack(
			&f, nodes[i], STACK_COMPLETE,
			&(struct costs){ .allocations = 10,
					 .allocated_bytes = 10000,
					 .peak_bytes = 1000 * (i + 1),
					 .peak_blocks = i + 1,
					 .leaked_bytes = 100 * (i + 1),
					 .leaked_blocks = i + 1,
					 .variances = { .peak_bytes = sample_mean ? 9 : 0 } });
}

static rec_id moment(int64_t t_ms)
{
	rec_id id;
	assert_int_equal(rec_add_moment(f.rec, f.process, t_ms * 1000000, &id, &diag), 0);
	return id;
}

static void change(rec_id id, int stack, int64_t blocks, int64_t bytes)
{
	assert_int_equal(
		rec_add_moment_stack(f.rec, id, nodes[stack], STACK_COMPLETE, blocks, bytes, &diag),
		0);
}

/* At 1 s: 10, 20, 0; at 2 s: 10, 0, 30; at 3 s nothing new; at 4 s: 11, 0, 0.  One block for each ten bytes. */
static void add_moments(int scale)
{
	rec_id id = moment(1000);
	change(id, 0, 1 * scale, 10 * scale);
	change(id, 1, 2 * scale, 20 * scale);
	id = moment(2000);
	change(id, 1, 0, 0);
	change(id, 2, 3 * scale, 30 * scale);
	moment(3000);
	id = moment(4000);
	change(id, 0, 1 * scale, 11 * scale);
	change(id, 2, 0, 0);
}

static void write_one(const char *name, int64_t sample_mean)
{
	create(name);
	add_process(4242, 1, 5, sample_mean);
	add_moments(1);
	fixture_finish(&f);
}

static int load(const char *const *paths, size_t count, struct model_options options)
{
	memset(&diag, 0, sizeof(diag));
	options.files = paths;
	options.file_count = count;
	return model_load(&model, &options, &diag);
}

static int load_at(const char *name, struct model_options options, enum run_time_kind kind,
		   int64_t value)
{
	const char *path = fixture_path(name);
	options.at = (struct run_time){ kind, value };
	return load(&path, 1, options);
}

/* What the stacks, in the order of the nodes, have as their peak; and the totals. */
static void expect(int64_t first, int64_t second, int64_t third, int64_t blocks, int64_t at_ms)
{
	const int64_t bytes[] = { first, second, third };
	assert_int_equal(model.stack_count, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(model.stacks[i].costs.peak_bytes, bytes[i]);
	assert_int_equal(model.totals.costs.peak_bytes, first + second + third);
	assert_int_equal(model.totals.costs.peak_blocks, blocks);
	assert_int_equal(model.totals.at_ns, at_ms * 1000000);
	assert_true(model.totals.at_moment);
	model_release(&model);
}

static void expect_ms(struct model_options options, int64_t t_ms, int64_t first, int64_t second,
		      int64_t third, int64_t blocks, int64_t at_ms)
{
	if (load_at("one.dat", options, RUN_TIME_NS, t_ms * 1000000))
		fail_msg("%s", diag.text);
	expect(first, second, third, blocks, at_ms);
}

static void test_the_last_moment_until_then(void **state)
{
	const struct model_options none = { 0 };
	(void)state;
	write_one("one.dat", 0);
	expect_ms(none, 0, 0, 0, 0, 0, 0);
	expect_ms(none, 999, 0, 0, 0, 0, 0);
	expect_ms(none, 1000, 10, 20, 0, 3, 1000);
	expect_ms(none, 1999, 10, 20, 0, 3, 1000);
	expect_ms(none, 2000, 10, 0, 30, 4, 2000);
	expect_ms(none, 3500, 10, 0, 30, 4, 3000);
	expect_ms(none, 4999, 11, 0, 0, 1, 4000);
	expect_ms(none, 5000, 100, 200, 300, 6, 5000);
	expect_ms(none, 1 << 30, 100, 200, 300, 6, 5000);
	/* The rest is what it is without. */
	assert_int_equal(load_at("one.dat", none, RUN_TIME_NS, 0), 0);
	assert_int_equal(model.totals.costs.leaked_bytes, 600);
	assert_int_equal(model.totals.costs.allocations, 30);
	assert_int_equal(model.processes[0].rec.peak_bytes, 6000);
	model_release(&model);
	assert_int_equal(load_at("one.dat", none, RUN_TIME_NONE, 0), 0);
	assert_int_equal(model.totals.costs.peak_bytes, 6000);
	assert_false(model.totals.at_moment);
	model_release(&model);
}

static void test_parts_of_the_duration(void **state)
{
	const struct model_options none = { 0 };
	(void)state;
	write_one("one.dat", 0);
	assert_int_equal(load_at("one.dat", none, RUN_TIME_SHARE, 500000), 0);
	expect(10, 0, 30, 4, 2000);
	assert_int_equal(load_at("one.dat", none, RUN_TIME_SHARE, 0), 0);
	expect(0, 0, 0, 0, 0);
	assert_int_equal(load_at("one.dat", none, RUN_TIME_SHARE, 1000000), 0);
	expect(100, 200, 300, 6, 5000);
}

/* The second starts 2 s after the first, has ten times as much and ends 2 s later. */
static void write_two(void)
{
	create("one.dat");
	add_process(1, 10, 5, 0);
	add_moments(1);
	add_process(2, 12, 5, 0);
	add_moments(10);
	fixture_finish(&f);
}

static void test_several_processes(void **state)
{
	const struct model_options all = { .all = true }, second = { .process_number = 2 };
	(void)state;
	write_two();
	expect_ms(all, 1500, 10, 20, 0, 3, 1000);
	expect_ms(all, 2500, 10, 0, 30, 4, 2000);
	expect_ms(all, 3500, 10 + 100, 200, 30, 4 + 30, 3000);
	expect_ms(all, 4500, 11 + 100, 0, 300, 1 + 40, 4000);
	/* The first ends at 5 s: what it leaked counts until then. */
	expect_ms(all, 5000, 100 + 100, 200, 300 + 300, 6 + 40, 5000);
	expect_ms(all, 5001, 100, 0, 300, 40, 5000);
	expect_ms(all, 6500, 110, 0, 0, 10, 6000);
	expect_ms(all, 7000, 100, 200, 300, 6, 7000);
	expect_ms(all, 90000, 100, 200, 300, 6, 7000);
	/* Alone, its own time counts. */
	expect_ms(second, 1500, 100, 200, 0, 30, 1000);
	expect_ms(second, 5000, 100, 200, 300, 6, 5000);
}

static void test_processes_apart(void **state)
{
	const struct model_options apart = { .all = true, .keep_processes_apart = true };
	(void)state;
	write_two();
	assert_int_equal(load_at("one.dat", apart, RUN_TIME_NS, 3500 * 1000000ll), 0);
	assert_int_equal(model.stack_count, 6);
	assert_int_equal(model.stacks[0].costs.peak_bytes, 10);
	assert_int_equal(model.stacks[2].costs.peak_bytes, 30);
	assert_int_equal(model.stacks[3].costs.peak_bytes, 100);
	assert_int_equal(model.stacks[4].costs.peak_bytes, 200);
	assert_int_equal(model.stacks[5].costs.peak_bytes, 0);
	assert_int_equal(model.totals.costs.peak_bytes, 340);
	model_release(&model);
}

static void test_several_recordings(void **state)
{
	const char *paths[2];
	const struct model_options at = { .at = { RUN_TIME_NS, 2500 * 1000000ll } };
	(void)state;
	write_one("one.dat", 0);
	create("two.dat");
	add_process(7, 500, 2, 0);
	moment(100);
	fixture_finish(&f);
	paths[0] = fixture_path("one.dat");
	paths[1] = fixture_path("two.dat");
	assert_int_equal(load(paths, 2, at), 0);
	/* The second has ended by then. */
	assert_int_equal(model.totals.costs.peak_bytes, 40 + 600);
	assert_int_equal(model.totals.costs.peak_blocks, 4 + 6);
	model_release(&model);
}

static void test_estimates(void **state)
{
	struct report_options options;
	char *text;
	(void)state;
	write_one("one.dat", 512);
	report_options_init(&options);
	options.at = (struct run_time){ RUN_TIME_NS, 2500 * 1000000ll };
	options.format = REPORT_FORMAT_JSON;
	text = fixture_report_ok(&options, fixture_path("one.dat"));
	assert_non_null(strstr(text, "\"peak_bytes\": 40"));
	assert_non_null(strstr(text, "\"at_s\": 2.0"));
	assert_non_null(strstr(text, "\"peak_bytes\": null"));
	assert_null(strstr(text, "nan"));
	free(text);
	options.format = REPORT_FORMAT_CSV;
	text = fixture_report_ok(&options, fixture_path("one.dat"));
	assert_null(strstr(text, "nan"));
	free(text);
	options.format = REPORT_FORMAT_TEXT;
	text = fixture_report_ok(&options, fixture_path("one.dat"));
	assert_non_null(strstr(text, "\nAt      2.00 s: 40 B in 4 blocks"));
	assert_null(strstr(text, "nan"));
	free(text);
}

static void run_sql(const char *name, const char *sql)
{
	sqlite3 *db;
	char *message = NULL;
	assert_int_equal(sqlite3_open(fixture_path(name), &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	sqlite3_close(db);
}

static void test_damage(void **state)
{
	static const char *const damages[] = {
		"UPDATE moment SET process = 9 WHERE id = 2",
		"UPDATE moment SET process = 0 WHERE id = 2",
		"UPDATE moment SET process = -1 WHERE id = 2",
		"UPDATE moment SET t_ns = -1 WHERE id = 1",
		"UPDATE moment SET t_ns = 1000000000 WHERE id = 2",
		"UPDATE moment SET t_ns = 'soon' WHERE id = 2",
		"UPDATE moment SET id = 9 WHERE id = 4",
		"UPDATE moment SET id = 0 WHERE id = 1",
		"UPDATE moment_stack SET moment = 99 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET moment = 0 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET moment = -1 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET node = 99 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET node = -2 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET node = 0 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET end = 6 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET end = 1 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET end = 4294967296 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET end = -1 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET blocks = -1 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET bytes = -1 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET bytes = 0.5 WHERE moment = 2 AND node = 2",
		"UPDATE moment_stack SET bytes = 'much' WHERE moment = 2 AND node = 2",
		"ALTER TABLE moment_stack RENAME COLUMN bytes TO size",
		"DROP TABLE moment_stack; CREATE VIEW moment_stack AS SELECT 1 moment, 1 node, 0 end, 1 blocks, 1 bytes",
		/* Twice the same stack at a moment. */
		"CREATE TABLE m (moment, node, end, blocks, bytes); INSERT INTO m SELECT * FROM moment_stack;"
		"INSERT INTO m SELECT * FROM moment_stack; DROP TABLE moment_stack;"
		"ALTER TABLE m RENAME TO moment_stack",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const struct model_options none = { 0 };
		int error;
		write_one("one.dat", 0);
		run_sql("one.dat", damages[i]);
		error = load_at("one.dat", none, RUN_TIME_NS, 4500 * 1000000ll);
		if (!error || error == -EINVAL)
			fail_msg("%s: %d", damages[i], error);
		assert_null(strchr(diag.text, '\n'));
		assert_non_null(strstr(diag.text, "one.dat"));
		/* Nothing is read of that for the peak. */
		assert_int_equal(load_at("one.dat", none, RUN_TIME_NONE, 0), 0);
		model_release(&model);
	}
}

/* Sums stay at the largest that there is. */
static void test_huge_figures(void **state)
{
	const struct model_options none = { 0 };
	(void)state;
	write_one("one.dat", 0);
	run_sql("one.dat",
		"UPDATE moment_stack SET bytes = 9223372036854775807, blocks = 9223372036854775807");
	assert_int_equal(load_at("one.dat", none, RUN_TIME_NS, 1500 * 1000000ll), 0);
	assert_true(model.totals.costs.peak_bytes == INT64_MAX);
	assert_true(model.totals.costs.peak_blocks == INT64_MAX);
	model_release(&model);
	run_sql("one.dat", "UPDATE process SET start_time_ns = -9223372036854775808,"
			   " duration_ns = 9223372036854775807");
	assert_int_equal(load_at("one.dat", none, RUN_TIME_SHARE, 999999), 0);
	model_release(&model);
}

static void test_nothing_to_tell(void **state)
{
	const struct model_options none = { 0 }, all = { .all = true };
	(void)state;
	write_one("one.dat", 0);
	run_sql("one.dat", "DROP TABLE moment; DROP TABLE moment_stack");
	assert_int_equal(load_at("one.dat", none, RUN_TIME_NS, 0), -EINVAL);
	assert_non_null(strstr(diag.text, "did not record it"));
	assert_non_null(strstr(diag.hint, "without --at"));
	/* Too short to be looked at: the start and the end are known. */
	create("one.dat");
	add_process(1, 10, 5, 0);
	add_process(2, 10, 5, 0);
	add_moments(1);
	fixture_finish(&f);
	assert_int_equal(load_at("one.dat", none, RUN_TIME_NS, 1), -EINVAL);
	assert_non_null(strstr(diag.text, "process 1 "));
	expect_ms(none, 0, 0, 0, 0, 0, 0);
	expect_ms(none, 5000, 100, 200, 300, 6, 5000);
	expect_ms(all, 1000, 10, 20, 0, 3, 1000);
	/* The other way round. */
	create("one.dat");
	add_process(1, 10, 5, 0);
	add_moments(1);
	add_process(2, 10, 5, 0);
	fixture_finish(&f);
	expect_ms(all, 1000, 10, 20, 0, 3, 1000);
}

static void test_writer_refuses(void **state)
{
	rec_id id;
	(void)state;
	create("one.dat");
	add_process(1, 10, 5, 0);
	id = moment(1);
	assert_int_equal(rec_add_moment_stack(f.rec, (rec_id){ id.v + 1 }, nodes[0], STACK_COMPLETE,
					      1, 1, &diag),
			 -EINVAL);
	rec_abandon(f.rec);
	create("one.dat");
	add_process(1, 10, 5, 0);
	id = moment(1);
	assert_int_equal(
		rec_add_moment_stack(f.rec, id, (rec_id){ 99 }, STACK_COMPLETE, 1, 1, &diag),
		-EINVAL);
	rec_abandon(f.rec);
	create("one.dat");
	assert_int_equal(rec_add_moment(f.rec, (rec_id){ 1 }, 0, &id, &diag), -EINVAL);
	rec_abandon(f.rec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_last_moment_until_then, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts_of_the_duration, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_processes_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several_recordings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_estimates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_huge_figures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_to_tell, setup, teardown),
		cmocka_unit_test_setup_teardown(test_writer_refuses, setup, teardown),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
