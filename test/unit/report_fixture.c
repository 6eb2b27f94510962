/* SPDX-License-Identifier: MIT */
/* See report_fixture.h. */
#include "test/unit/report_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[] = "/tmp/memtrack-report-XXXXXX";

static void expect(int error, const struct diag *diag)
{
	if (error)
		fail_msg("error %d: %s", error, diag->text);
}

void fixture_enter(void)
{
	strcpy(directory + sizeof(directory) - 7, "XXXXXX");
	assert_non_null(mkdtemp(directory));
}

void fixture_leave(void)
{
	DIR *dir = opendir(directory);
	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(dir), entry->d_name, 0))
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
	assert_int_equal(rmdir(directory), 0);
}

const char *fixture_path(const char *name)
{
	static char paths[4][512];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

struct rec_process fixture_prog(void)
{
	static const char *const argv[] = { "./prog", "-x", NULL };
	return (struct rec_process){
		.pid = 4242,
		.parent_pid = 1,
		.executable = "/abs/prog",
		.argv = argv,
		.start_time_ns = 1000000000,
		.duration_ns = 1250000000,
		.complete = true,
		.threads = 1,
	};
}

rec_id fixture_module(struct fixture *f, const char *path, const char *symbols)
{
	static const uint8_t build_id[] = { 0xab, 0xcd };
	struct rec_module module = { path, build_id, sizeof(build_id), symbols };
	struct diag diag = { 0 };
	rec_id id;
	expect(rec_add_module(f->rec, &module, &id, &diag), &diag);
	return id;
}

void fixture_create(struct fixture *f, const char *path)
{
	struct diag diag = { 0 };
	*f = (struct fixture){ 0 };
	expect(rec_create(&f->rec, path, "host", "--depth 256", &diag), &diag);
	f->prog = fixture_module(f, "/abs/prog", "dwarf");
	f->libc = fixture_module(f, "/lib/libc.so.6", "elf");
	f->stripped = fixture_module(f, "/abs/libstripped.so", "none");
}

void fixture_process(struct fixture *f, const struct rec_process *process)
{
	struct diag diag = { 0 };
	expect(rec_add_process(f->rec, process, &f->process, &diag), &diag);
}

void fixture_finish(struct fixture *f)
{
	struct diag diag = { 0 };
	expect(rec_finish(f->rec, &diag), &diag);
	f->rec = NULL;
}

rec_id fixture_location_of(struct fixture *f, rec_id module, uint64_t address,
			   const struct rec_frame *frames, size_t count)
{
	struct diag diag = { 0 };
	rec_id id;
	expect(rec_add_location(f->rec, module, address, frames, count, &id, &diag), &diag);
	return id;
}

rec_id fixture_location(struct fixture *f, const char *function, const char *file, uint32_t line)
{
	static uint64_t address = 0x1000;
	char path[128];
	snprintf(path, sizeof(path), "/src/%s", file ? file : "");
	struct rec_frame frame = { function, file ? path : NULL, line, false };
	address += 16;
	return fixture_location_of(f, f->prog, address, &frame, 1);
}

rec_id fixture_node(struct fixture *f, rec_id parent, rec_id location)
{
	struct diag diag = { 0 };
	rec_id id;
	expect(rec_add_node(f->rec, parent, location, &id, &diag), &diag);
	return id;
}

void fixture_stack(struct fixture *f, rec_id node, enum stack_end end, const struct costs *costs)
{
	struct diag diag = { 0 };
	expect(rec_add_stack(f->rec, f->process, node, end, costs, &diag), &diag);
}

void fixture_error(struct fixture *f, struct rec_error error)
{
	struct diag diag = { 0 };
	error.process.v = error.process.v < 0 ? 0 : f->process.v;
	expect(rec_add_error(f->rec, &error, &diag), &diag);
}

void fixture_thread(struct fixture *f, const struct rec_thread *thread)
{
	struct diag diag = { 0 };
	expect(rec_add_thread(f->rec, f->process, thread, &diag), &diag);
}

void fixture_part(struct fixture *f, enum part_kind kind, uint64_t key, const struct costs *costs)
{
	struct diag diag = { 0 };
	expect(rec_add_part(f->rec, f->process, kind, key, costs, &diag), &diag);
}

void fixture_guard(struct fixture *f, const struct rec_guard *guard)
{
	struct diag diag = { 0 };
	expect(rec_add_guard(f->rec, f->process, guard, &diag), &diag);
}

char *fixture_report(struct report_options *options, const char *path, int *error,
		     struct diag *diag)
{
	char *text = NULL;
	size_t size = 0;
	if (path)
		options->files = (struct report_list){ &path, 1 };
	options->out = open_memstream(&text, &size);
	assert_non_null(options->out);
	*error = report_run(options, diag);
	assert_int_equal(fclose(options->out), 0);
	options->out = NULL;
	if (path)
		options->files = (struct report_list){ NULL, 0 };
	if (!*error)
		return text;
	assert_int_equal(size, 0);
	free(text);
	return NULL;
}

char *fixture_report_ok(struct report_options *options, const char *path)
{
	struct diag diag = { 0 };
	int error;
	char *text = fixture_report(options, path, &error, &diag);
	expect(error, &diag);
	return text;
}
