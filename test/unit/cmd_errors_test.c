/* SPDX-License-Identifier: MIT */
/*
 * Errors from the bytes in a session directory to the screen: at once, in the recording, in reports.  The code that
 * they happen in is this test's own.  Links what collects, report/ and symbolize/, built with sanitizers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/layout.h"
#include "allocators/stomp/layout.h"
#include "cmd/collect.h"
#include "cmd/error_watch.h"
#include "cmd/terminal.h"
#include "cmd/watch.h"
#include "report/report.h"

/* For msg.o; the rest of cmd/terminal.c would need all commands. */
bool terminal_color(int fd)
{
	(void)fd;
	return false;
}

/* -- the code of the errors ------------------------------------------------------------------------ */

static volatile int sink;

/* Each on one line: which of several an address is on is the compiler's choice. */
/* clang-format off */
enum { FILL_LINE = __LINE__ + 1, MAKE_LINE, DROP_LINE };
__attribute__((noinline, noclone)) static void fill_block(void) { sink = 1; }
__attribute__((noinline, noclone)) static void make_block(void) { sink = 2; }
__attribute__((noinline, noclone)) static void drop_block(void) { sink = 3; }
/* clang-format on */

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1; /* the first is the executable */
}

/* -- a session ------------------------------------------------------------------------------------- */

enum { GUARDED = 4194201, PLAIN = 4194202, GONE = 4194203 }; /* pids that no process has */

static char directory[] = "/tmp/memtrack-errors-XXXXXX";
static char executable[512];
static uint64_t bias;
static char recording[64];
static int stomp_fd;
static uint64_t stomp_used;
static uint32_t stomp_errors;

static int open_in_session(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	return fd;
}

static void write_at(int fd, uint64_t offset, const void *data, size_t size)
{
	assert_int_equal(pwrite(fd, data, size, (off_t)offset), size);
}

/* What make_image lays out, in this order. */
struct laid_out {
	struct seg_header header;
	char executable[512];
	struct seg_module modules[2];
	struct seg_node nodes[SEG_FIRST_NODE + 3];
	struct seg_bad_free bad_frees[SEG_BAD_FREES];
};

/* main's place is taken by make_block: drop_block and fill_block are called from it. */
static void make_image(const char *name, int32_t pid, uint64_t start_ns, uint64_t tsc)
{
	static struct laid_out all;
	int fd = open_in_session(name);
	uint64_t codes[] = { (uint64_t)make_block, (uint64_t)drop_block, (uint64_t)fill_block };

	memset(&all, 0, sizeof(all));
	all.header = (struct seg_header){
		.magic = SEG_MAGIC,
		.layout_version = SEG_LAYOUT_VERSION,
		.header_size = sizeof(struct seg_header),
		.state = SEG_ACTIVE,
		.pid = pid,
		.parent_pid = 1,
		.image = tsc,
		.start_realtime_ns = 1000000000 + start_ns,
		.start_monotonic_ns = start_ns,
		.start_tsc = tsc,
		.executable = offsetof(struct laid_out, executable),
		.executable_size = (uint32_t)strlen(executable),
		.regions_taken = 1,
		.node_count = SEG_FIRST_NODE + 3,
		.module_count = 2,
		.module_chunks = { offsetof(struct laid_out, modules) },
		.node_chunks = { offsetof(struct laid_out, nodes) },
		.thread_count = 1,
		.bad_frees = offsetof(struct laid_out, bad_frees),
	};
	all.header.drops[SEG_DOUBLE_FREES] = 3;
	strcpy(all.executable, executable);
	all.modules[1].bias = bias;
	for (unsigned i = 0; i < 3; i++)
		all.nodes[SEG_FIRST_NODE + i] =
			(struct seg_node){ codes[i] | SEG_INTERRUPTED,
					   i ? SEG_FIRST_NODE : SEG_ROOT_COMPLETE, 1 };
	all.bad_frees[5] = (struct seg_bad_free){
		(uint64_t)SEG_FIRST_NODE << 32 | (SEG_FIRST_NODE + 1), 3, 0x5000, 24, 1, 1, 0
	};
	all.bad_frees[900] = (struct seg_bad_free){ SEG_FIRST_NODE + 2, 1, 0x6000, 0, 0, 1, 0 };
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	write_at(fd, 0, &all, sizeof(all));
	close(fd);
}

#define SET(member, value)                                        \
 write_at(stomp_fd, offsetof(struct stomp_header, member),        \
	  &(typeof(((struct stomp_header *)0)->member)){ value }, \
	  sizeof(((struct stomp_header *)0)->member))

static void make_stomp_file(void)
{
	stomp_fd = open_in_session(STOMP_FILE);
	assert_int_equal(ftruncate(stomp_fd, STOMP_FILE_SIZE), 0);
	SET(magic, STOMP_MAGIC);
	SET(layout_version, STOMP_LAYOUT_VERSION);
	SET(header_size, sizeof(struct stomp_header));
	stomp_used = sizeof(struct stomp_header);
	stomp_errors = 0;
}

struct record {
	struct stomp_error error;
	struct stomp_module module;
	struct stomp_frame frames[3];
};

/* A write to a freed block, 16 bytes behind its start. */
static struct record make_record(int32_t pid, uint64_t monotonic_ns)
{
	return (struct record){
		.error = { .record_size = sizeof(struct record),
			   .kind = STOMP_USE_AFTER_FREE,
			   .access = STOMP_WRITE,
			   .flags = STOMP_HAS_BLOCK | STOMP_HAS_FREED,
			   .pid = pid,
			   .tid = pid,
			   .thread = 2,
			   .allocated_thread = 1,
			   .freed_thread = 1,
			   .monotonic_ns = monotonic_ns,
			   .address = 0x7010,
			   .block_address = 0x7000,
			   .block_size = 24,
			   .stack = { offsetof(struct record, frames[0]), 1, SEG_ROOT_COMPLETE, 0 },
			   .allocated = { offsetof(struct record, frames[1]), 1, SEG_ROOT_COMPLETE,
					  0 },
			   .freed = { offsetof(struct record, frames[2]), 1, SEG_ROOT_COMPLETE, 0 },
			   .modules = offsetof(struct record, module),
			   .module_count = 1 },
		.module = { .bias = bias },
		.frames = { { (uint64_t)fill_block, 1, 1 },
			    { (uint64_t)make_block, 1, 1 },
			    { (uint64_t)drop_block, 1, 1 } },
	};
}

static void add_error(const struct record *r)
{
	write_at(stomp_fd, stomp_used, r, sizeof(*r));
	write_at(stomp_fd, offsetof(struct stomp_header, errors) + 8ul * stomp_errors, &stomp_used,
		 8);
	stomp_used += sizeof(*r);
	SET(error_count, ++stomp_errors);
}

static void add_process(uint32_t index, const struct stomp_process *process)
{
	write_at(stomp_fd, offsetof(struct stomp_header, processes) + index * sizeof(*process),
		 process, sizeof(*process));
	SET(process_count, index + 1);
}

static int setup(void **state)
{
	ssize_t size = readlink("/proc/self/exe", executable, sizeof(executable) - 1);

	(void)state;
	assert_true(size > 0);
	executable[size] = 0;
	dl_iterate_phdr(take_bias, &bias);
	strcpy(directory + sizeof(directory) - 7, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(recording, sizeof(recording), "%s/a.dat", directory);
	make_stomp_file();
	return 0;
}

static int teardown(void **state)
{
	DIR *d = opendir(directory);
	const struct dirent *entry;

	(void)state;
	close(stomp_fd);
	while ((entry = readdir(d)))
		unlinkat(dirfd(d), entry->d_name, 0);
	closedir(d);
	return rmdir(directory);
}

static struct collect_summary collect(void)
{
	struct collect_options options = { .output = recording, .options = "", .agent = "" };
	struct collect_summary summary;
	struct diag diag = { 0 };
	struct watch watch;

	assert_int_equal(watch_init(&watch, directory), 0);
	watch_look(&watch, true);
	if (collect_session(&watch, &options, &summary, &diag))
		fail_msg("%s", diag.text);
	watch_release(&watch);
	return summary;
}

/* The rows of a query, "a|b|c\n" each; malloc'ed. */
static int add_row(void *context, int count, char **values, char **names)
{
	FILE *out = context;

	(void)names;
	for (int i = 0; i < count; i++)
		fprintf(out, "%s%s", i ? "|" : "", values[i] ? values[i] : "");
	fputc('\n', out);
	return 0;
}

static void expect_rows(const char *query, const char *expected)
{
	char *text, *message = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	sqlite3 *db;

	assert_int_equal(sqlite3_open(recording, &db), SQLITE_OK);
	if (sqlite3_exec(db, query, add_row, out, &message) != SQLITE_OK)
		fail_msg("%s: %s", query, message);
	sqlite3_close(db);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static char *report(enum report_format format, bool all)
{
	struct report_options options;
	const char *path = recording;
	struct diag diag;
	char *text;
	size_t size;

	report_options_init(&options);
	options.files = (struct report_list){ &path, 1 };
	options.format = format;
	options.all = all;
	options.out = open_memstream(&text, &size);
	if (report_run(&options, &diag))
		fail_msg("%s", diag.text);
	fclose(options.out);
	return text;
}

static void expect_in(const char *text, const char *expected)
{
	if (!strstr(text, expected))
		fail_msg("no '%s' in '%s'", expected, text);
}

/* -- tests ----------------------------------------------------------------------------------------- */

/* An exec under one pid: each error goes to the image that ran then. */
static void test_recording(void **state)
{
	struct collect_summary summary;
	struct record r;
	char text[256], *json;

	(void)state;
	make_image("image.1.1", GUARDED, 1000000000, 1);
	make_image("image.1.2", GUARDED, 2000000000, 2);
	make_image("image.2.3", PLAIN, 3000000000, 3);
	add_process(0, &(struct stomp_process){ .pid = GUARDED,
						.guard = STOMP_GUARD_MADVISE,
						.start_monotonic_ns = 2000000900,
						.blocks = { 1, 20, 3, 4 },
						.budget = 7,
						.refused = 5,
						.errors = 4 });
	add_process(1, &(struct stomp_process){ .pid = GONE, .errors = 9 });
	r = make_record(GUARDED, 2500000000);
	add_error(&r);
	r = make_record(GUARDED, 1750000000);
	r.error.process = STOMP_PROCESSES;
	r.error.freed.count = 0;
	add_error(&r);
	r = make_record(GONE, 2500000000);
	r.error.process = 1;
	r.error.kind = STOMP_CORRUPTION;
	r.error.corrupt_bytes = 2;
	add_error(&r);
	r = make_record(GUARDED, 5); /* before it started: some clock is wrong */
	add_error(&r);
	summary = collect();
	assert_int_equal(summary.errors[ERROR_USE_AFTER_FREE], 3);
	assert_int_equal(summary.errors[ERROR_CORRUPTION], 1);
	assert_int_equal(summary.errors[ERROR_DOUBLE_FREE], 2);
	assert_int_equal(summary.errors[ERROR_INVALID_FREE], 2);
	snprintf(
		text, sizeof(text),
		"2|%d|stomp|heap-use-after-free|write|0.5|fill_block|%d|make_block|%d|drop_block|%d\n"
		"1|%d|stomp|heap-use-after-free|write|0.75|fill_block|%d|make_block|%d||\n",
		GUARDED, FILL_LINE, MAKE_LINE, DROP_LINE, GUARDED, FILL_LINE, MAKE_LINE);
	expect_rows(
		"SELECT process, pid, source, kind, access, t_s, function, line, allocated_function,"
		" allocated_line, freed_function, freed_line FROM errors WHERE error <= 2",
		text);
	expect_rows(
		"SELECT process, pid - 4194200, kind, corrupt_bytes, t_s FROM errors WHERE error IN (3, 4)",
		"|3|heap-corruption|2|\n1|1|heap-use-after-free||\n");
	/* Of processes that were not guarded, the agent's: the second image of the first was. */
	expect_rows(
		"SELECT process, source, kind, count, address, block_size, thread, t_s, function,"
		" allocated_function, freed_function FROM errors WHERE error > 4",
		"1|agent|double-free|3|0x5000|24|1||drop_block|make_block|\n"
		"1|agent|invalid-free|1|0x6000||1||fill_block||\n"
		"3|agent|double-free|3|0x5000|24|1||drop_block|make_block|\n"
		"3|agent|invalid-free|1|0x6000||1||fill_block||\n");
	expect_rows("SELECT * FROM guard", "2|1|20|3|4|1|7|5|4|2\n");
	/* Both sources' stacks are in one tree: of three and three nodes one is the same; three are of another program. */
	expect_rows("SELECT count(*) FROM node", "8\n");
	json = report(REPORT_FORMAT_JSON, true);
	expect_in(json,
		  "\"address\": \"0x7010\", \"block\": {\"address\": \"0x7000\", \"size\": 24, "
		  "\"offset\": 16, \"freed\": true}");
	free(json);
	json = report(REPORT_FORMAT_TEXT, true);
	expect_in(json, "0x7010 is located 16 bytes inside a freed block of 24 bytes");
	expect_in(json, "Lost    2 errors not kept");
	free(json);
}

/* What a session without a stomp file, or with a broken one, says. */
static void test_no_stomp(void **state)
{
	struct collect_summary summary;
	char *text;

	(void)state;
	make_image("image.2.3", PLAIN, 3000000000, 3);
	SET(magic, 1);
	summary = collect();
	assert_int_equal(summary.errors[ERROR_DOUBLE_FREE], 1);
	expect_rows("SELECT count(*) FROM guard", "0\n");
	expect_rows("SELECT count(*) FROM error", "2\n");
	text = report(REPORT_FORMAT_TEXT, false);
	expect_in(text, "Faults  1 free of an unknown block; 3 double frees\n");
	expect_in(text, "0x5000 is the start of a freed block of 24 bytes");
	free(text);
}

struct shown {
	struct watch watch;
	struct error_watch errors;
	char *text;
	size_t size;
	FILE *out;
};

static void begin_showing(struct shown *s)
{
	struct sym_options symbols = { 0 };

	assert_int_equal(watch_init(&s->watch, directory), 0);
	s->out = open_memstream(&s->text, &s->size);
	error_watch_init(&s->errors, &s->watch, &symbols, s->out, false, true);
}

static void end_showing(struct shown *s)
{
	sym_free(error_watch_end(&s->errors));
	watch_release(&s->watch);
	fclose(s->out);
}

static void test_at_once(void **state)
{
	struct record r = make_record(GUARDED, 1500000000);
	struct shown s;
	char text[1024];
	const char *place;

	(void)state;
	make_image("image.1.1", GUARDED, 1000000000, 1);
	begin_showing(&s);
	watch_look(&s.watch, true);
	error_watch_look(&s.errors);
	fflush(s.out);
	assert_int_equal(s.size, 0);
	add_error(&r);
	error_watch_look(&s.errors);
	snprintf(
		text, sizeof(text),
		"=================================================================\n"
		"==%d==ERROR: memtrack stomp: heap-use-after-free on address 0x7010 (write) by thread 2\n"
		"    #0 0x%lx in fill_block ",
		GUARDED, (unsigned long)fill_block);
	assert_memory_equal(s.text, text, strlen(text));
	snprintf(
		text, sizeof(text),
		"cmd_errors_test.c:%d\n"
		"0x7010 is located 16 bytes inside a freed block of 24 bytes [0x7000,0x7018), allocated by thread 1 here:\n"
		"    #0 0x%lx in make_block ",
		FILL_LINE, (unsigned long)make_block);
	expect_in(s.text, text);
	snprintf(text, sizeof(text),
		 "cmd_errors_test.c:%d\n"
		 "freed by thread 1 here:\n"
		 "    #0 0x%lx in drop_block ",
		 MAKE_LINE, (unsigned long)drop_block);
	expect_in(s.text, text);
	snprintf(
		text, sizeof(text),
		"cmd_errors_test.c:%d\n"
		"SUMMARY: memtrack stomp: heap-use-after-free cmd_errors_test.c:%d in fill_block\n",
		DROP_LINE, FILL_LINE);
	place = strstr(s.text, text);
	assert_non_null(place);
	assert_string_equal(place, text); /* and no more */
	end_showing(&s);
	free(s.text);
}

static void test_at_once_nameless(void **state)
{
	struct record r = make_record(GUARDED, 1500000000);
	struct shown s;

	(void)state;
	r.frames[0] = (struct stomp_frame){ 0x123456, 0, 0 }; /* no file */
	r.frames[1].address = bias + 1;			      /* no function */
	r.frames[2].module = 99;
	add_error(&r);
	begin_showing(&s);
	error_watch_look(&s.errors); /* a process whose image is not there, and which has gone */
	fflush(s.out);
	expect_in(s.text, "    #0 0x123456 in 0x123456\n");
	expect_in(s.text, " in ?+0x1\n");
	end_showing(&s);
	free(s.text);
}

static void test_at_once_only_so_many(void **state)
{
	struct record r = make_record(GUARDED, 1500000000);
	struct shown s;
	unsigned count = 0;

	(void)state;
	make_image("image.1.1", GUARDED, 1000000000, 1);
	begin_showing(&s);
	watch_look(&s.watch, true);
	for (unsigned i = 0; i < ERROR_WATCH_MOST + 5; i++) {
		add_error(&r);
		if (i % 3 == 0)
			error_watch_look(&s.errors);
	}
	error_watch_look(&s.errors);
	assert_int_equal(s.errors.more, 5);
	end_showing(&s);
	for (const char *at = s.text; (at = strstr(at, "SUMMARY")); at++)
		count++;
	assert_int_equal(count, ERROR_WATCH_MOST);
	free(s.text);
}

/* The target wrote over all of it. */
static void test_damage(void **state)
{
	uint32_t seed = 1;

	(void)state;
	make_image("image.1.1", GUARDED, 1000000000, 1);
	add_process(0, &(struct stomp_process){ .pid = GUARDED, .errors = 5 });
	for (unsigned i = 0; i < 3; i++) {
		struct record r = make_record(GUARDED, 1500000000);

		add_error(&r);
	}
	for (unsigned round = 0; round < 60; round++) {
		struct shown s;

		for (unsigned i = 0; i < 12; i++) {
			uint8_t byte;

			seed = seed * 1664525 + 1013904223;
			byte = (uint8_t)(seed >> 24);
			write_at(stomp_fd,
				 round % 2 ? sizeof(struct stomp_header) +
						     (seed >> 8) % (3 * sizeof(struct record))
					   : offsetof(struct stomp_header, processes) +
						     (seed >> 8) % sizeof(struct stomp_process),
				 &byte, 1);
		}
		begin_showing(&s);
		watch_look(&s.watch, true);
		error_watch_look(&s.errors);
		end_showing(&s);
		free(s.text);
		collect();
		free(report(round % 3 ? REPORT_FORMAT_TEXT : REPORT_FORMAT_JSON, true));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_recording, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_stomp, setup, teardown),
		cmocka_unit_test_setup_teardown(test_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_at_once_nameless, setup, teardown),
		cmocka_unit_test_setup_teardown(test_at_once_only_so_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
	};

	fill_block();
	make_block();
	drop_block();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
