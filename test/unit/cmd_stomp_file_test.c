/* SPDX-License-Identifier: MIT */
/*
 * Reading stomp files: hand-made ones against what was put into them, damaged ones against the sanitizers.  Links
 * cmd/stomp_file.o and cmd/image.o, built with -fsanitize=address,undefined.
 */
#include "cmd/stomp_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/layout.h"

static uint64_t random_state = 1;

static uint64_t any(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* -- making a file --------------------------------------------------------------------------------- */

static char directory[] = "/tmp/memtrack-stomp-XXXXXX";
static char path[64];
static int fd = -1;
static uint64_t used;
static uint32_t error_count;

static void write_at(uint64_t offset, const void *data, size_t size)
{
	assert_int_equal(pwrite(fd, data, size, (off_t)offset), size);
}

#define SET(member, value)                                        \
 write_at(offsetof(struct stomp_header, member),                  \
	  &(typeof(((struct stomp_header *)0)->member)){ value }, \
	  sizeof(((struct stomp_header *)0)->member))

static int setup(void **state)
{
	(void)state;
	strcpy(directory + sizeof(directory) - 7, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/" STOMP_FILE, directory);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, STOMP_FILE_SIZE), 0);
	SET(magic, STOMP_MAGIC);
	SET(layout_version, STOMP_LAYOUT_VERSION);
	SET(header_size, sizeof(struct stomp_header));
	used = sizeof(struct stomp_header);
	error_count = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(fd);
	unlink(path);
	return rmdir(directory);
}

/* A record as the allocator lays it out: the error, its modules, their paths, the frames. */
struct record {
	struct stomp_error error;
	struct stomp_module modules[3];
	char paths[3][64];
	struct stomp_frame frames[3][4];
};

static const char *const module_paths[] = { "", "/lib/libdamage.so",
					    "/opt/lib/libmemtrack-stomp.so" };

static struct record make_record(void)
{
	struct record r = {
		.error = { .record_size = sizeof(r),
			   .kind = STOMP_USE_AFTER_FREE,
			   .access = STOMP_WRITE,
			   .flags = STOMP_HAS_BLOCK | STOMP_HAS_FREED | STOMP_CONTINUED,
			   .pid = 42,
			   .tid = 43,
			   .process = 1,
			   .thread = 2,
			   .allocated_thread = 1,
			   .freed_thread = 3,
			   .monotonic_ns = 5000,
			   .address = 0x1008,
			   .block_address = 0x1000,
			   .block_size = 16,
			   .corrupt_bytes = 9,
			   .stack = { offsetof(struct record, frames[0]), 4, SEG_ROOT_COMPLETE, 0 },
			   .allocated = { offsetof(struct record, frames[1]), 2, SEG_ROOT_DEPTH,
					  0 },
			   .freed = { offsetof(struct record, frames[2]), 1, SEG_ROOT_NO_UNWIND,
				      0 },
			   .modules = offsetof(struct record, modules),
			   .module_count = 3 },
		/* Ours first, as the innermost; code of no file; a frame at fault. */
		.frames = { { { 0x9000, 3, 0 },
			      { 0x4000, 1, 1 },
			      { 0x5000, 2, 0 },
			      { 0x6000, 0, 0 } },
			    { { 0x4100, 1, 0 }, { 0x4200, 1, 0 } },
			    { { 0x4300, 1, 0 } } },
	};

	for (unsigned i = 0; i < 3; i++) {
		r.modules[i].bias = 0x1000 * i;
		r.modules[i].path_size = (uint32_t)strlen(module_paths[i]);
		r.modules[i].path = r.modules[i].path_size
					    ? (uint32_t)offsetof(struct record, paths) + 64 * i
					    : 0;
		r.modules[i].build_id_size = 20;
		memset(r.modules[i].build_id, (int)i + 1, 20);
		strcpy(r.paths[i], module_paths[i]);
	}
	return r;
}

static void set_entry(uint32_t index, uint64_t offset)
{
	write_at(offsetof(struct stomp_header, errors) + 8ul * index, &offset, 8);
}

static uint64_t store(const struct record *r)
{
	uint64_t offset = used;

	write_at(offset, r, sizeof(*r));
	used += sizeof(*r);
	return offset;
}

static void add_error(const struct record *r)
{
	set_entry(error_count, store(r));
	error_count++;
	SET(error_count, error_count);
}

/* -- reading --------------------------------------------------------------------------------------- */

static void test_no_file(void **state)
{
	struct stomp_file file;
	struct stomp_state all;
	struct found_error error;

	(void)state;
	stomp_file_open(&file, "/nonexistent");
	assert_int_equal(file.fd, -1);
	assert_int_equal(stomp_file_next(&file, &error), 0);
	assert_int_equal(stomp_file_state(&file, &all), 0);
	assert_int_equal(all.process_count, 0);
	assert_null(all.processes);
	stomp_file_close(&file);
}

static void test_one_error(void **state)
{
	struct record r = make_record();
	struct found_error e;
	struct stomp_file file;

	(void)state;
	add_error(&r);
	stomp_file_open(&file, directory);
	assert_int_equal(stomp_file_next(&file, &e), 1);
	assert_int_equal(e.rec.kind, ERROR_USE_AFTER_FREE);
	assert_int_equal(e.rec.access, ERROR_WRITE);
	assert_int_equal(e.rec.source, ERROR_FROM_STOMP);
	assert_int_equal(e.rec.pid, 42);
	assert_int_equal(e.rec.tid, 43);
	assert_int_equal(e.rec.thread, 2);
	assert_int_equal(e.rec.allocated_thread, 1);
	assert_int_equal(e.rec.freed_thread, 3);
	assert_int_equal(e.rec.address, 0x1008);
	assert_int_equal(e.rec.block_address, 0x1000);
	assert_int_equal(e.rec.block_size, 16);
	assert_int_equal(e.rec.corrupt_bytes, 0); /* only of a corruption */
	assert_int_equal(e.rec.count, 1);
	assert_true(e.rec.has_block && e.rec.block_freed && e.rec.continued);
	assert_false(e.rec.by_realloc);
	assert_int_equal(e.process, 1);
	assert_int_equal(e.monotonic_ns, 5000);
	assert_int_equal(e.module_count, 3);
	assert_string_equal(e.modules[0].path, "");
	assert_string_equal(e.modules[1].path, "/lib/libdamage.so");
	assert_int_equal(e.modules[1].bias, 0x1000);
	assert_int_equal(e.modules[1].build_id_size, 20);
	assert_int_equal(e.modules[1].build_id[19], 2);
	assert_int_equal(e.stacks[ERROR_STACK].count, 3); /* without our own library */
	assert_int_equal(e.stacks[ERROR_STACK].frames[0].address, 0x4000);
	assert_int_equal(e.stacks[ERROR_STACK].frames[0].module, 1);
	assert_true(e.stacks[ERROR_STACK].frames[0].interrupted);
	assert_false(e.stacks[ERROR_STACK].frames[1].interrupted);
	assert_int_equal(e.stacks[ERROR_STACK].frames[2].module, 0);
	assert_int_equal(e.stacks[ERROR_ALLOCATED].count, 2);
	assert_int_equal(e.stacks[ERROR_FREED].count, 1);
	assert_int_equal(e.rec.stacks[ERROR_STACK].end, STACK_COMPLETE);
	assert_int_equal(e.rec.stacks[ERROR_ALLOCATED].end, STACK_DEPTH);
	assert_int_equal(e.rec.stacks[ERROR_FREED].end, STACK_NO_UNWIND_INFO);
	found_error_release(&e);
	assert_int_equal(stomp_file_next(&file, &e), 0);
	stomp_file_close(&file);
}

static void test_flags(void **state)
{
	struct record r = make_record();
	struct found_error e;
	struct stomp_file file;

	(void)state;
	r.error.kind = STOMP_CORRUPTION;
	r.error.flags = STOMP_HAS_FREED | STOMP_BY_REALLOC; /* of no block: nothing to be freed */
	r.error.freed.count = 0;
	r.error.process = UINT32_MAX;
	r.error.access = 3;
	r.error.tid = -1;
	add_error(&r);
	stomp_file_open(&file, directory);
	assert_int_equal(stomp_file_next(&file, &e), 1);
	assert_false(e.rec.has_block || e.rec.block_freed || e.rec.continued);
	assert_true(e.rec.by_realloc);
	assert_int_equal(e.rec.corrupt_bytes, 9);
	assert_int_equal(e.rec.access, ERROR_NO_ACCESS);
	assert_int_equal(e.rec.tid, 0);
	assert_int_equal(e.process, STOMP_PROCESSES);
	assert_int_equal(e.rec.stacks[ERROR_FREED].end, STACK_UNATTRIBUTED);
	found_error_release(&e);
	stomp_file_close(&file);
}

/* Whatever is not complete yet comes later, and each comes once. */
static void test_new_ones(void **state)
{
	struct record r = make_record();
	struct found_error e;
	struct stomp_file file;
	uint64_t first;

	(void)state;
	stomp_file_open(&file, directory);
	assert_int_equal(stomp_file_next(&file, &e), 0);
	first = store(&r);
	error_count = 1; /* its place is taken, its record is not complete */
	for (uint32_t i = 1; i < 200; i++) {
		r.error.address = 0x2000 + i;
		add_error(&r);
	}
	for (uint32_t i = 1; i < 200; i++) {
		assert_int_equal(stomp_file_next(&file, &e), 1);
		assert_int_equal(e.number, i);
		assert_int_equal(e.rec.address, 0x2000 + i);
		found_error_release(&e);
	}
	assert_int_equal(stomp_file_next(&file, &e), 0);
	set_entry(0, first);
	assert_int_equal(stomp_file_next(&file, &e), 1);
	assert_int_equal(e.number, 0);
	assert_int_equal(e.rec.address, 0x1008);
	found_error_release(&e);
	assert_int_equal(stomp_file_next(&file, &e), 0);
	add_error(&r);
	assert_int_equal(stomp_file_next(&file, &e), 1);
	assert_int_equal(e.number, 200);
	found_error_release(&e);
	stomp_file_close(&file);
}

static void test_state(void **state)
{
	struct stomp_process process = { .pid = 42, .guard = STOMP_GUARD_MADVISE, .errors = 7 };
	struct stomp_state all;
	struct stomp_file file;

	(void)state;
	write_at(offsetof(struct stomp_header, processes[1]), &process, sizeof(process));
	SET(process_count, 2);
	SET(lost, 5);
	stomp_file_open(&file, directory);
	assert_int_equal(stomp_file_state(&file, &all), 0);
	assert_int_equal(all.process_count, 2);
	assert_int_equal(all.processes[1].pid, 42);
	assert_int_equal(all.processes[1].errors, 7);
	assert_int_equal(all.lost, 5);
	free(all.processes);
	SET(process_count, UINT32_MAX);
	assert_int_equal(stomp_file_state(&file, &all), 0);
	assert_int_equal(all.process_count, STOMP_PROCESSES);
	free(all.processes);
	SET(magic, 0);
	assert_int_equal(stomp_file_state(&file, &all), 0);
	assert_int_equal(all.process_count, 0);
	stomp_file_close(&file);
}

/* -- damage ---------------------------------------------------------------------------------------- */

static void check(const struct found_error *e)
{
	assert_true(e->rec.kind >= 1 && e->rec.kind < ERROR_KINDS);
	assert_true(e->rec.access < ERROR_ACCESSES);
	assert_true(e->rec.pid > 0 && e->rec.tid >= 0);
	assert_true(e->process <= STOMP_PROCESSES);
	assert_true(e->module_count <= STOMP_MODULES);
	for (uint32_t i = 0; i < e->module_count; i++) {
		assert_true(strlen(e->modules[i].path) < 4096);
		assert_true(e->modules[i].build_id_size <= 32);
	}
	for (unsigned s = 0; s < ERROR_STACKS; s++) {
		assert_true(e->rec.stacks[s].end <= STACK_UNATTRIBUTED);
		assert_true(e->stacks[s].count <= STOMP_DEPTH);
		for (uint32_t i = 0; i < e->stacks[s].count; i++)
			assert_true(e->stacks[s].frames[i].module <= e->module_count);
	}
}

/* Reads all there is; returns how many errors that was. */
static unsigned read_all(struct stomp_file *file)
{
	struct stomp_state all;
	struct found_error e;
	unsigned count = 0;
	int result;

	stomp_file_open(file, directory);
	while ((result = stomp_file_next(file, &e)) > 0) {
		check(&e);
		found_error_release(&e);
		count++;
	}
	assert_int_equal(result, 0);
	assert_int_equal(stomp_file_state(file, &all), 0);
	assert_true(all.process_count <= STOMP_PROCESSES);
	free(all.processes);
	stomp_file_close(file);
	return count;
}

static void test_bad_entries(void **state)
{
	static const uint64_t bad[] = { 1,
					sizeof(struct stomp_header) - 1,
					STOMP_FILE_SIZE - 1,
					STOMP_FILE_SIZE - 100,
					STOMP_FILE_SIZE,
					1ull << 40,
					1ull << 63,
					UINT64_MAX - 3,
					UINT64_MAX };
	struct record r = make_record();
	struct stomp_state all;
	struct stomp_file file;
	struct found_error e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		set_entry(error_count++, bad[i]);
		add_error(&r);
	}
	assert_int_equal(read_all(&file), sizeof(bad) / sizeof(*bad));
	assert_int_equal(file.damaged, sizeof(bad) / sizeof(*bad));
	/* What leads nowhere is lost. */
	SET(lost, 3);
	stomp_file_open(&file, directory);
	while (stomp_file_next(&file, &e) > 0)
		found_error_release(&e);
	assert_int_equal(stomp_file_state(&file, &all), 0);
	assert_int_equal(all.lost, 3 + sizeof(bad) / sizeof(*bad));
	free(all.processes);
	stomp_file_close(&file);
}

static void test_bad_records(void **state)
{
	static const uint32_t bad[] = {
		0,	   1, 151, 152, sizeof(struct record) - 1, 1 << 20, 1 << 21, UINT32_MAX - 8,
		UINT32_MAX
	};
	struct stomp_file file;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct record r = make_record();
		uint32_t *const fields[] = {
			&r.error.record_size,
			&r.error.kind,
			&r.error.access,
			&r.error.flags,
			&r.error.process,
			&r.error.stack.offset,
			&r.error.stack.count,
			&r.error.stack.end,
			&r.error.allocated.offset,
			&r.error.allocated.count,
			&r.error.freed.offset,
			&r.error.freed.count,
			&r.error.modules,
			&r.error.module_count,
			&r.modules[1].path,
			&r.modules[1].path_size,
			&r.modules[1].build_id_size,
			&r.frames[0][1].module,
			&r.frames[0][1].interrupted,
		};

		for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++) {
			uint32_t good = *fields[f];

			*fields[f] = bad[i];
			if (error_count == STOMP_ERRORS)
				error_count = 0;
			add_error(&r);
			*fields[f] = good;
		}
	}
	read_all(&file);
}

/* More entries than the table has; all the same large record: no more is read than a file can hold. */
static void test_too_many(void **state)
{
	struct record r = make_record();
	struct stomp_file file;
	uint64_t offset;

	(void)state;
	r.error.record_size = 1 << 20;
	offset = store(&r);
	for (uint32_t i = 0; i < STOMP_ERRORS; i++)
		set_entry(i, offset);
	SET(error_count, UINT32_MAX);
	assert_int_equal(read_all(&file), STOMP_FILE_SIZE >> 20);
	assert_int_equal(file.damaged, STOMP_ERRORS - (STOMP_FILE_SIZE >> 20));
}

static void test_damage_anywhere(void **state)
{
	unsigned errors = 0;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		struct record r = make_record();

		add_error(&r);
	}
	for (unsigned round = 0; round < 2000; round++) {
		struct stomp_file file;

		for (unsigned i = 0; i < 20; i++) {
			struct record r = make_record();

			if (round % 50 == 0)
				write_at(sizeof(struct stomp_header) + i * sizeof(r), &r,
					 sizeof(r));
		}
		for (unsigned i = 0; i < 1 + round % 9; i++) {
			uint8_t byte = (uint8_t)any();
			uint64_t at =
				sizeof(struct stomp_header) + any() % (20 * sizeof(struct record));

			if (i % 4 == 3)
				at = offsetof(struct stomp_header, errors) + any() % 160;
			write_at(at, &byte, 1);
		}
		errors += read_all(&file);
		for (unsigned i = 0; i < 20; i++)
			set_entry(i, sizeof(struct stomp_header) + i * sizeof(struct record));
	}
	assert_true(errors > 20000); /* most are as they were */
}

/* The file ends anywhere; or it is no file at all. */
static void test_cut_short(void **state)
{
	struct record r = make_record();
	struct stomp_file file;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		add_error(&r);
	for (uint64_t size = used; size > 50; size -= size / 90 + 7) {
		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		assert_true(read_all(&file) <= 5);
	}
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(read_all(&file), 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_all(&file), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_no_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_error, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flags, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new_ones, setup, teardown),
		cmocka_unit_test_setup_teardown(test_state, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_records, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage_anywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_short, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
