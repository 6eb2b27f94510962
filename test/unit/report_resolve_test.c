/* SPDX-License-Identifier: MIT */
/*
 * Names that are looked up again: of which places, and where exactly.  The
 * module is this test's own program, whose functions it knows the addresses of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "report/resolve.h"
#include "test/unit/report_fixture.h"

static const rec_id none = { 0 };

/* Of the program itself. */
struct self {
	char path[PATH_MAX];
	uint64_t bias;
	uint8_t build_id[SYM_BUILD_ID_MAX];
	size_t build_id_size;
};

static int read_self(struct dl_phdr_info *info, size_t size, void *data)
{
	struct self *self = data;
	(void)size;
	self->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *at = (const char *)info->dlpi_addr + p->p_vaddr, *end = at + p->p_memsz;
		while (p->p_type == PT_NOTE && at < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof(*note);
			const char *value = name + (note->n_namesz + 3) / 4 * 4;
			if (note->n_type == NT_GNU_BUILD_ID && strcmp(name, "GNU") == 0) {
				self->build_id_size = note->n_descsz;
				memcpy(self->build_id, value, note->n_descsz);
			}
			at = value + (note->n_descsz + 3) / 4 * 4;
		}
	}
	return 1; /* the first is the program */
}

static rec_id add_module(struct fixture *f, const struct self *self, bool build_id)
{
	struct rec_module module = { self->path, self->build_id, build_id ? self->build_id_size : 0,
				     "missing" };
	struct diag diag;
	rec_id id;
	assert_int_equal(rec_add_module(f->rec, &module, &id, &diag), 0);
	return id;
}

/* The innermost function of a location, "?" when it has none. */
static void expect_function(sqlite3 *db, rec_id location, const char *expected)
{
	sqlite3_stmt *statement;
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT coalesce(function, '?') FROM frames"
					    " WHERE location = ? AND seq = 0",
					    -1, &statement, NULL),
			 SQLITE_OK);
	sqlite3_bind_int64(statement, 1, location.v);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	assert_string_equal(sqlite3_column_text(statement, 0), expected);
	sqlite3_finalize(statement);
}

static void resolve(const char *path, struct resolve_summary *summary)
{
	const struct sym_options options = { 0 };
	struct resolution *resolution;
	struct diag diag;
	assert_int_equal(resolve_open(&resolution, path, &diag), 0);
	assert_int_equal(resolve_names(resolution, &options, summary, &diag), 0);
	assert_int_equal(resolve_write(resolution, NULL, &diag), 0);
	resolve_close(resolution);
}

static void test_which_places(void **state)
{
	(void)state;
	static const struct rec_frame known = { "known", NULL, 0, false },
				      full = { "whole", "/src/whole.c", 7, false };
	struct self self = { 0 };
	struct fixture f;
	struct rec_process prog = fixture_prog();
	struct resolve_summary summary;
	struct recording *rec;
	struct diag diag;
	const char *path = fixture_path("a.dat");
	dl_iterate_phdr(read_self, &self);
	if (!self.build_id_size || readlink("/proc/self/exe", self.path, PATH_MAX - 1) < 0)
		skip(); /* this linker makes no build-id */
	uint64_t start = (uint64_t)(uintptr_t)test_which_places - self.bias;

	fixture_create(&f, path);
	fixture_process(&f, &prog);
	rec_id own = add_module(&f, &self, true), unsure = add_module(&f, &self, false);
	/* A return address is looked up before itself, an interrupted instruction at itself. */
	rec_id call = fixture_location_of(&f, own, start + 5, NULL, 0);
	rec_id first = fixture_location_of(&f, own, start, NULL, 0);
	assert_int_equal(rec_mark_interrupted(f.rec, first, &diag), 0);
	rec_id before = fixture_location_of(&f, own, start, NULL, 0);
	/* More is taken, something else is not. */
	rec_id bare = fixture_location_of(&f, own, start + 6, &known, 1);
	rec_id whole = fixture_location_of(&f, own, start + 7, &full, 1);
	/* Nobody knows what these are. */
	rec_id nobody = fixture_location_of(&f, unsure, start + 5, NULL, 0);
	rec_id jit = fixture_location_of(&f, none, start + 5, NULL, 0);
	fixture_stack(&f, fixture_node(&f, none, call), STACK_COMPLETE,
		      &(struct costs){ .allocations = 1 });
	fixture_finish(&f);
	resolve(path, &summary);
	assert_int_equal(summary.places, 7);
	assert_int_equal(summary.named_before, 2);

	assert_int_equal(rec_open(&rec, path, &diag), 0);
	expect_function(rec_database(rec), call, "test_which_places");
	expect_function(rec_database(rec), first, "test_which_places");
	sqlite3_stmt *statement;
	assert_int_equal(sqlite3_prepare_v2(rec_database(rec),
					    "SELECT count(*) FROM frames WHERE location = ?"
					    " AND function = 'test_which_places'",
					    -1, &statement, NULL),
			 SQLITE_OK);
	sqlite3_bind_int64(statement, 1, before.v);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(statement, 0), 0);
	sqlite3_finalize(statement);
	expect_function(rec_database(rec), bare, "test_which_places");
	expect_function(rec_database(rec), whole, "whole");
	expect_function(rec_database(rec), nobody, "?");
	expect_function(rec_database(rec), jit, "?");
	rec_close(rec);
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_which_places, setup, teardown),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
