/* SPDX-License-Identifier: MIT */
/*
 * What a site is, how sites are grouped, sorted and filtered, which processes
 * count.  Recordings are made here, so every expected number follows from the
 * test itself.  Links all of report/ and report_fixture.o.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "report/filter.h"
#include "report/model.h"
#include "report/plumbing.h"
#include "report/sites.h"
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

static void check_names(const char *const *names, size_t count, bool expected)
{
	struct plumbing none = { 0 };
	for (size_t i = 0; i < count; i++) {
		if (plumbing_function(&none, names[i]) != expected)
			fail_msg("'%s' %s plumbing", names[i], expected ? "should be" : "is no");
	}
}

#define CHECK_NAMES(names, expected) \
 check_names(names, sizeof(names) / sizeof((names)[0]), expected)

static void test_plumbing_names(void **state)
{
	(void)state;
	static const char *const plumbing[] = {
		"malloc",
		"calloc",
		"realloc",
		"reallocarray",
		"posix_memalign",
		"aligned_alloc",
		"memalign",
		"valloc",
		"pvalloc",
		"strdup",
		"strndup",
		"wcsdup",
		"asprintf",
		"vasprintf",
		"__strdup",
		"xmalloc",
		"xcalloc",
		"xrealloc",
		"xstrdup",
		"xmalloc.constprop.0",
		"malloc@GLIBC_2.2.5",
		"zmalloc",
		"_start",
		"g_malloc",
		"g_malloc0_n",
		"g_realloc",
		"g_strdup_printf",
		"g_slice_alloc",
		"PyMem_Malloc",
		"_PyMem_RawMalloc",
		"PyObject_Malloc",
		"_PyObject_Realloc",
		"_PyObject_GC_Alloc",
		"operator new(unsigned long)",
		"operator new[](unsigned long)",
		"operator new(unsigned long, std::align_val_t, std::nothrow_t const&)",
		"Pool::operator new(unsigned long)",
		"__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)",
		"std::allocator_traits<std::allocator<char> >::allocate(std::allocator<char>&, unsigned long)",
		"std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
		"std::__1::vector<int>::push_back(int&&)",
		"void std::vector<Node, std::allocator<Node> >::_M_realloc_insert<Node>(Node*, Node&&)",
		"std::enable_if<true, int>::type std::foo<bar(int)>()",
		"std::_MakeUniq<Foo>::__single_object std::make_unique<Foo>()",
		"std::vector<int>::push_back",
		"alloc::raw_vec::RawVec<T,A>::reserve_for_push",
		"alloc::alloc::exchange_malloc",
		"alloc[5f2c]::vec::Vec<T>::push",
		"core::ops::function::FnOnce::call_once",
		"std::alloc::alloc",
		"__rust_alloc",
		"__rust_alloc_zeroed",
		"__rdl_alloc",
		"__rustc[a1b2]::__rust_alloc",
		"<alloc::vec::Vec<T,A> as core::clone::Clone>::clone",
		"<T as alloc::slice::hack::ConvertVec>::to_vec",
		"<&mut alloc::string::String as core::fmt::Write>::write_str",
		"hashbrown::raw::RawTable<T,A>::reserve_rehash",
	};
	CHECK_NAMES(plumbing, true);
}

static void test_names_of_programs(void **state)
{
	(void)state;
	static const char *const programs[] = {
		"main",
		"dup_string",
		"malloc_stats_table",
		"my_malloc",
		"xml_parse",
		"xmalloced",
		"getline",
		"gather",
		"stdlib_init",
		"standard::vector(int)",
		"mystd::string(int)",
		"std_string make(int)",
		"std::string make<int>(int)",
		"std::vector<int, std::allocator<int> > collect<Foo>(Foo const&)",
		"Tree<std::string>::insert(std::string const&)",
		"(anonymous namespace)::build(std::vector<int>&)",
		"Foo::operator std::string() const",
		"bool operator< <std::string>(Foo const&, Foo const&)",
		"alloc::Pool::get(unsigned long)",
		"core::Engine::load(int)",
		"<my::Type as core::clone::Clone>::clone",
		"<my::Type<T> as alloc::borrow::ToOwned>::to_owned",
		"my::alloc::grow",
		"_PyUnicode_New",
		"PyObject_Call",
		"new_operator",
		"operator_new_count",
		"main::{lambda(std::string)#1}::operator()(std::string) const",
		"",
		"<",
		"operator",
		"(",
		"a<b(c",
	};
	CHECK_NAMES(programs, false);
}

static void test_plumbing_places(void **state)
{
	(void)state;
	assert_true(plumbing_module("/lib/x86_64-linux-gnu/libc.so.6"));
	assert_true(plumbing_module("libc-2.31.so"));
	assert_true(plumbing_module("/lib64/ld-linux-x86-64.so.2"));
	assert_true(plumbing_module("/usr/lib/libstdc++.so.6.0.30"));
	assert_false(plumbing_module("/opt/libc.so.6/bin/prog"));
	assert_false(plumbing_module("/usr/lib/libcrypto.so.3"));
	assert_false(plumbing_module("/usr/lib/libc-client.so"));
	assert_true(plumbing_file("/usr/include/c++/12/bits/stl_vector.h"));
	assert_true(plumbing_file("/rustc/9fc6b431/library/alloc/src/vec/mod.rs"));
	assert_false(plumbing_file("/src/library/alloc.c"));
}

static void test_extra_plumbing(void **state)
{
	(void)state;
	static const char *const good[] = { "^my_", "wrap$" };
	static const char *const bad[] = { "ok", "(" };
	struct plumbing plumbing;
	struct diag diag = { 0 };
	assert_int_equal(plumbing_init(&plumbing, good, 2, &diag), 0);
	assert_true(plumbing_function(&plumbing, "my_alloc"));
	assert_true(plumbing_function(&plumbing, "do_wrap"));
	assert_false(plumbing_function(&plumbing, "not_my_"));
	plumbing_release(&plumbing);
	assert_int_equal(plumbing_init(&plumbing, bad, 2, &diag), -EINVAL);
	assert_non_null(strstr(diag.text, "'('"));
}

/* A loaded recording and its sites, named by their functions. */
struct result {
	struct model model;
	struct site_table table;
};

static void load(struct result *r, const char *path, enum report_by by, enum report_sort sort,
		 struct filter_set *filters)
{
	struct model_options model_options = { .files = &path,
					       .file_count = 1,
					       .all = by == REPORT_BY_PROCESS,
					       .keep_processes_apart = by == REPORT_BY_PROCESS };
	struct site_options options = { .by = by, .sort = sort };
	struct plumbing plumbing = { 0 };
	struct filter_set none = { 0 };
	struct diag diag = { 0 };
	if (model_load(&r->model, &model_options, &diag))
		fail_msg("%s", diag.text);
	if (filters)
		assert_int_equal(filter_match(filters, &r->model), 0);
	assert_int_equal(sites_build(&r->table, &r->model, &options, &plumbing,
				     filters ? filters : &none, &diag),
			 0);
}

/* What the writer stored for SQL: the same sites, with the same costs. */
static void expect_stored(const struct result *r, const char *path)
{
	static const char sql[] = "SELECT count(*) FROM sites s"
				  " WHERE process = 1 AND function IS ?1 AND line IS nullif(?2, 0)"
				  " AND peak_bytes = ?3 AND stacks = ?4";
	struct recording *rec;
	struct diag diag;
	sqlite3_stmt *statement;
	assert_int_equal(rec_open(&rec, path, &diag), 0);
	assert_int_equal(sqlite3_prepare_v2(rec_database(rec), sql, -1, &statement, NULL),
			 SQLITE_OK);
	for (size_t i = 0; i < r->table.count; i++) {
		const struct site *site = &r->table.sites[i];
		sqlite3_bind_text(statement, 1, model_text(&r->model, site->function), -1,
				  SQLITE_STATIC);
		sqlite3_bind_int64(statement, 2, site->line);
		sqlite3_bind_int64(statement, 3, site->costs.peak_bytes);
		sqlite3_bind_int64(statement, 4, site->stack_count);
		assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
		if (sqlite3_column_int(statement, 0) < 1)
			fail_msg("the site %zu is not in the recording", i);
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	rec_close(rec);
}

static void unload(struct result *r)
{
	sites_release(&r->table);
	model_release(&r->model);
}

static const char *function_at(const struct result *r, size_t i)
{
	assert_true(i < r->table.count);
	const char *name = model_text(&r->model, r->table.sites[i].function);
	return name ? name : "?";
}

static rec_id node_of(struct fixture *f, rec_id parent, const char *function, const char *file,
		      uint32_t line)
{
	return fixture_node(f, parent, fixture_location(f, function, file, line));
}

static const rec_id none = { 0 };

static void start(struct fixture *f, const char *path)
{
	struct rec_process prog = fixture_prog();
	fixture_create(f, path);
	fixture_process(f, &prog);
}

static void peak(struct fixture *f, rec_id node, int64_t bytes)
{
	fixture_stack(f, node, STACK_COMPLETE,
		      &(struct costs){ .allocations = 1,
				       .allocated_bytes = (uint64_t)bytes,
				       .peak_bytes = bytes });
}

static void test_site_is_below_plumbing(void **state)
{
	(void)state;
	struct fixture f;
	struct result r;
	const char *path = fixture_path("a.dat");
	start(&f, path);
	rec_id main_node = node_of(&f, none, "main", "main.c", 1);
	rec_id dup = node_of(&f, main_node, "dup_string", "dup.c", 5);
	rec_id strdup_node = node_of(&f, dup, "strdup", NULL, 0);
	peak(&f, strdup_node, 400);
	/* Inside libc, called from outside. */
	struct rec_frame doallocate = { "_IO_file_doallocate", NULL, 0, false };
	rec_id in_libc = fixture_node(&f, node_of(&f, main_node, "print", "print.c", 8),
				      fixture_location_of(&f, f.libc, 0x10, &doallocate, 1));
	peak(&f, in_libc, 300);
	/* An inlined std:: frame within the program's own. */
	struct rec_frame inlined[] = { { "std::vector<int>::push_back(int&&)",
					 "/x/include/c++/12/v.h", 9, true },
				       { "fill", "/src/fill.cc", 12, false } };
	peak(&f, fixture_node(&f, main_node, fixture_location_of(&f, f.prog, 0x20, inlined, 2)),
	     200);
	/* Nothing but plumbing: the innermost frame. */
	peak(&f, node_of(&f, node_of(&f, none, "_start", NULL, 0), "xmalloc", "x.c", 3), 100);
	fixture_finish(&f);
	load(&r, path, REPORT_BY_SITE, REPORT_SORT_PEAK, NULL);
	expect_stored(&r, path);
	assert_int_equal(r.table.count, 4);
	assert_string_equal(function_at(&r, 0), "dup_string");
	assert_string_equal(function_at(&r, 1), "print");
	assert_string_equal(function_at(&r, 2), "fill");
	assert_int_equal(r.table.sites[2].line, 12);
	assert_string_equal(function_at(&r, 3), "xmalloc");
	unload(&r);
}

/*
 * In a stripped program neither main nor _start has a name; main is the site,
 * _start never.
 */
static void test_nameless_start_is_no_site(void **state)
{
	(void)state;
	static const struct rec_frame start_main = { "__libc_start_main_impl", NULL, 0, false };
	static const struct rec_frame init = { "init_locale", NULL, 0, false };
	struct fixture f;
	struct result r;
	const char *path = fixture_path("a.dat");
	start(&f, path);
	rec_id entry = fixture_node(&f, none, fixture_location_of(&f, f.stripped, 0x1, NULL, 0));
	rec_id libc = fixture_node(&f, entry, fixture_location_of(&f, f.libc, 0x2, &start_main, 1));
	rec_id main_node =
		fixture_node(&f, libc, fixture_location_of(&f, f.stripped, 0x3, NULL, 0));
	rec_id init_location = fixture_location_of(&f, f.libc, 0x4, &init, 1);
	peak(&f, fixture_node(&f, main_node, init_location), 20);
	peak(&f, fixture_node(&f, libc, init_location), 10);
	fixture_finish(&f);
	load(&r, path, REPORT_BY_SITE, REPORT_SORT_PEAK, NULL);
	expect_stored(&r, path);
	assert_int_equal(r.table.count, 2);
	assert_int_equal(r.table.sites[0].address, 0x3);
	assert_string_equal(function_at(&r, 1), "init_locale");
	unload(&r);
}

static void test_grouping_keys(void **state)
{
	(void)state;
	struct fixture f;
	struct result r;
	const char *path = fixture_path("a.dat");
	start(&f, path);
	/*
	 * Two calls on one line, from two callers: one site.  Another line:
	 * another site.
	 */
	peak(&f, node_of(&f, node_of(&f, none, "a", "a.c", 1), "load", "load.c", 40), 10);
	peak(&f, node_of(&f, node_of(&f, none, "b", "a.c", 2), "load", "load.c", 40), 20);
	peak(&f, node_of(&f, none, "load", "load.c", 41), 5);
	/* Nameless code stays apart by address, but one address is one site. */
	rec_id nameless = fixture_location_of(&f, f.stripped, 0x100, NULL, 0);
	peak(&f, fixture_node(&f, none, nameless), 3);
	peak(&f, fixture_node(&f, node_of(&f, none, "c", "a.c", 3), nameless), 1);
	peak(&f, fixture_node(&f, none, fixture_location_of(&f, f.stripped, 0x200, NULL, 0)), 2);
	fixture_finish(&f);
	load(&r, path, REPORT_BY_SITE, REPORT_SORT_PEAK, NULL);
	assert_int_equal(r.table.count, 4);
	assert_int_equal(r.table.sites[0].costs.peak_bytes, 30);
	assert_int_equal(r.table.sites[0].stack_count, 2);
	assert_int_equal(r.table.sites[1].costs.peak_bytes, 5);
	assert_int_equal(r.table.sites[2].address, 0x100);
	assert_int_equal(r.table.sites[2].costs.peak_bytes, 4);
	assert_int_equal(r.table.sites[3].address, 0x200);
	/* The heaviest stack comes first. */
	sites_sort_stacks(&r.table, &r.table.sites[0], &r.model, REPORT_SORT_PEAK, SIZE_MAX);
	assert_int_equal(
		r.model.stacks[r.table.stacks[r.table.sites[0].first_stack]].costs.peak_bytes, 20);
	unload(&r);
	load(&r, path, REPORT_BY_FUNCTION, REPORT_SORT_PEAK, NULL);
	assert_int_equal(r.table.count, 2);
	assert_int_equal(r.table.sites[0].costs.peak_bytes, 35);
	unload(&r);
	load(&r, path, REPORT_BY_FILE, REPORT_SORT_PEAK, NULL);
	assert_int_equal(r.table.count, 2);
	assert_string_equal(model_text(&r.model, r.table.sites[0].file), "/src/load.c");
	unload(&r);
	load(&r, path, REPORT_BY_MODULE, REPORT_SORT_PEAK, NULL);
	assert_int_equal(r.table.count, 2);
	assert_string_equal(model_text(&r.model, r.table.sites[0].module), "/abs/prog");
	assert_int_equal(r.table.sites[0].costs.peak_bytes, 35);
	unload(&r);
	load(&r, path, REPORT_BY_STACK, REPORT_SORT_PEAK, NULL);
	assert_int_equal(r.table.count, 6);
	unload(&r);
}

static void test_sort_keys_and_ties(void **state)
{
	(void)state;
	static const char *const expected[][3] = {
		[REPORT_SORT_PEAK] = { "a", "b", "c" },
		[REPORT_SORT_LEAKED] = { "b", "c", "a" },
		[REPORT_SORT_ALLOCATED] = { "c", "a", "b" },
		[REPORT_SORT_ALLOCATIONS] = { "c", "b", "a" },
		[REPORT_SORT_TEMPORARY] = { "b", "a", "c" },
	};
	struct fixture f;
	struct result r;
	const char *path = fixture_path("a.dat");
	start(&f, path);
	struct costs a = { .peak_bytes = 3,
			   .leaked_bytes = 1,
			   .allocated_bytes = 2,
			   .allocations = 1,
			   .temporary_allocations = 2 };
	struct costs b = { .peak_bytes = 2,
			   .leaked_bytes = 3,
			   .allocated_bytes = 1,
			   .allocations = 2,
			   .temporary_allocations = 3 };
	struct costs c = { .peak_bytes = 1,
			   .leaked_bytes = 2,
			   .allocated_bytes = 3,
			   .allocations = 3,
			   .temporary_allocations = 1 };
	fixture_stack(&f, node_of(&f, none, "c", "x.c", 1), STACK_COMPLETE, &c);
	fixture_stack(&f, node_of(&f, none, "b", "x.c", 1), STACK_COMPLETE, &b);
	fixture_stack(&f, node_of(&f, none, "a", "x.c", 1), STACK_COMPLETE, &a);
	/* Equal in everything: names decide, unknown ones come last. */
	fixture_stack(&f, node_of(&f, none, "z2", "x.c", 1), STACK_COMPLETE, &(struct costs){ 0 });
	fixture_stack(&f, fixture_node(&f, none, fixture_location_of(&f, f.prog, 1, NULL, 0)),
		      STACK_COMPLETE, &(struct costs){ 0 });
	fixture_stack(&f, node_of(&f, none, "z1", "x.c", 1), STACK_COMPLETE, &(struct costs){ 0 });
	fixture_finish(&f);
	for (int sort = REPORT_SORT_PEAK; sort <= REPORT_SORT_TEMPORARY; sort++) {
		load(&r, path, REPORT_BY_SITE, (enum report_sort)sort, NULL);
		for (size_t i = 0; i < 3; i++)
			assert_string_equal(function_at(&r, i), expected[sort][i]);
		assert_string_equal(function_at(&r, 3), "z1");
		assert_string_equal(function_at(&r, 4), "z2");
		assert_string_equal(function_at(&r, 5), "?");
		unload(&r);
	}
}

/* main -> parse -> leaf (10), main -> other (20), plugin -> leaf2 (40). */
static void write_for_filters(const char *path)
{
	struct fixture f;
	start(&f, path);
	rec_id main_node = node_of(&f, none, "main", "main.c", 1);
	peak(&f, node_of(&f, node_of(&f, main_node, "parse", "parse.c", 1), "leaf", "leaf.c", 1),
	     10);
	peak(&f, node_of(&f, main_node, "other", "other.c", 1), 20);
	rec_id plugin = fixture_node(&f, none, fixture_location_of(&f, f.stripped, 0x1, NULL, 0));
	peak(&f, node_of(&f, plugin, "leaf2", "leaf.c", 2), 40);
	fixture_finish(&f);
}

static void expect_kept(const char *path, const char *const *filters, const char *const *excludes,
			int64_t bytes)
{
	struct filter_set set = { 0 };
	struct result r;
	struct diag diag = { 0 };
	for (; filters && *filters; filters++)
		assert_int_equal(filter_add(&set, *filters, false, &diag), 0);
	for (; excludes && *excludes; excludes++)
		assert_int_equal(filter_add(&set, *excludes, true, &diag), 0);
	load(&r, path, REPORT_BY_SITE, REPORT_SORT_PEAK, &set);
	assert_int_equal(r.table.costs.peak_bytes, bytes);
	/* Totals cover all, whatever is filtered. */
	assert_int_equal(r.model.totals.costs.allocations, 3);
	unload(&r);
	filter_release(&set);
}

static void test_filters(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	write_for_filters(path);
	expect_kept(path, NULL, NULL, 70);
	expect_kept(path, (const char *const[]){ "function~^main$", NULL }, NULL, 30);
	expect_kept(path, (const char *const[]){ "function~^main$", "file~leaf", NULL }, NULL, 10);
	expect_kept(path, (const char *const[]){ "file~leaf\\.c$", NULL }, NULL, 50);
	expect_kept(path, (const char *const[]){ "module~stripped", NULL }, NULL, 40);
	expect_kept(path, NULL, (const char *const[]){ "function~parse|other", NULL }, 40);
	expect_kept(path, (const char *const[]){ "file~leaf", NULL },
		    (const char *const[]){ "module~stripped", NULL }, 10);
	expect_kept(path, (const char *const[]){ "function~nothing", NULL }, NULL, 0);
	/* No stack has a tag. */
	expect_kept(path, (const char *const[]){ "tag~.*", NULL }, NULL, 0);
	expect_kept(path, NULL, (const char *const[]){ "tag~.*", NULL }, 70);
}

static void test_bad_filters(void **state)
{
	(void)state;
	static const char *const bad[] = { "function~(", "function~[", "main", "colour~red",
					   "~x",	 "tag~(",      "" };
	struct filter_set set = { 0 };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct diag diag = { 0 };
		assert_int_equal(filter_add(&set, bad[i], false, &diag), -EINVAL);
		assert_non_null(strstr(diag.text, "'"));
	}
	filter_release(&set);
}

/*
 * Three images: pid 10, then 11, then 11 again after an exec; recorded in
 * another order than started.
 */
static void write_processes(const char *path)
{
	struct fixture f;
	rec_id ids[3];
	static const int pids[] = { 10, 11, 11 };
	static const int64_t starts[] = { 500, 900, 700 };
	fixture_create(&f, path);
	rec_id node = node_of(&f, none, "work", "work.c", 1);
	for (int i = 0; i < 3; i++) {
		struct rec_process prog = fixture_prog();
		prog.pid = pids[i];
		prog.start_time_ns = starts[i];
		prog.parent = i ? ids[0] : (rec_id){ 0 };
		prog.peak_bytes = 100 << i;
		fixture_process(&f, &prog);
		ids[i] = f.process;
		fixture_stack(
			&f, node, STACK_COMPLETE,
			&(struct costs){ .allocations = (uint64_t)1 << i, .peak_bytes = 100 << i });
		struct rec_sample sample = { 50, 1000 << i, 1, 1 };
		struct diag diag;
		assert_int_equal(rec_add_sample(f.rec, f.process, &sample, &diag), 0);
	}
	fixture_finish(&f);
}

static void expect_allocations(const struct model_options *options, uint64_t allocations,
			       int64_t peak_bytes)
{
	struct model model;
	struct diag diag = { 0 };
	if (model_load(&model, options, &diag))
		fail_msg("%s", diag.text);
	assert_int_equal(model.totals.costs.allocations, allocations);
	assert_int_equal(model.totals.costs.peak_bytes, peak_bytes);
	/* The same stack in several processes is one stack. */
	assert_int_equal(model.stack_count, 1);
	model_release(&model);
}

static void test_processes(void **state)
{
	(void)state;
	const char *path = fixture_path("a.dat");
	struct model model;
	struct diag diag = { 0 };
	write_processes(path);
	expect_allocations(&(struct model_options){ .files = &path, .file_count = 1 }, 1, 100);
	/* In order of start the third row is the second image. */
	expect_allocations(
		&(struct model_options){ .files = &path, .file_count = 1, .process_number = 2 }, 4,
		400);
	expect_allocations(
		&(struct model_options){ .files = &path, .file_count = 1, .process_number = 3 }, 2,
		200);
	expect_allocations(&(struct model_options){ .files = &path, .file_count = 1, .pid = 11 }, 6,
			   600);
	expect_allocations(&(struct model_options){ .files = &path, .file_count = 1, .all = true },
			   7, 700);
	struct model_options wrong = { .files = &path, .file_count = 1, .process_number = 4 };
	assert_int_equal(model_load(&model, &wrong, &diag), -EINVAL);
	assert_non_null(strstr(diag.text, "3 processes"));
	wrong = (struct model_options){ .files = &path, .file_count = 1, .pid = 99 };
	assert_int_equal(model_load(&model, &wrong, &diag), -EINVAL);
	assert_non_null(strstr(diag.text, "99"));
}

static void test_by_process(void **state)
{
	(void)state;
	struct result r;
	const char *path = fixture_path("a.dat");
	write_processes(path);
	load(&r, path, REPORT_BY_PROCESS, REPORT_SORT_PEAK, NULL);
	assert_int_equal(r.table.count, 3);
	assert_int_equal(r.model.processes[r.table.sites[0].process - 1].number, 2);
	assert_int_equal(r.table.sites[0].costs.peak_bytes, 400);
	assert_int_equal(r.model.processes[1].parent, 1);
	/* Kept apart for the rows, but one stack all the same. */
	assert_int_equal(r.model.stack_count, 3);
	assert_int_equal(r.model.totals.stacks, 1);
	unload(&r);
}

/* "work" called by main at fixed addresses; `first` other stacks shift all ids. */
static void write_shifted(const char *path, int first)
{
	static const struct rec_frame work = { "work", "/src/work.c", 7, false };
	static const struct rec_frame main_frame = { "main", "/src/main.c", 3, false };
	struct fixture f;
	start(&f, path);
	for (int i = 0; i < first; i++)
		peak(&f, node_of(&f, none, "first", "first.c", 1), 5);
	rec_id outer =
		fixture_node(&f, none, fixture_location_of(&f, f.prog, 0x10, &main_frame, 1));
	peak(&f, fixture_node(&f, outer, fixture_location_of(&f, f.prog, 0x20, &work, 1)), 100);
	fixture_finish(&f);
}

static void test_several_files_are_summed(void **state)
{
	(void)state;
	const char *paths[] = { fixture_path("a.dat"), fixture_path("b.dat"),
				fixture_path("c.dat") };
	struct model model;
	struct diag diag = { 0 };
	struct model_options options = { .files = paths, .file_count = 3 };
	write_shifted(paths[0], 2);
	write_shifted(paths[1], 0);
	write_shifted(paths[2], 1);
	assert_int_equal(model_load(&model, &options, &diag), 0);
	/*
	 * Three calls of "first" from three places, and the one stack all files
	 * share.
	 */
	assert_int_equal(model.stack_count, 4);
	assert_int_equal(model.totals.processes, 3);
	assert_int_equal(model.totals.costs.allocations, 6);
	assert_int_equal(model.module_count, 3);
	int64_t largest = 0;
	for (size_t i = 0; i < model.stack_count; i++) {
		if (model.stacks[i].costs.peak_bytes > largest)
			largest = model.stacks[i].costs.peak_bytes;
	}
	assert_int_equal(largest, 300);
	model_release(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plumbing_names),
		cmocka_unit_test(test_names_of_programs),
		cmocka_unit_test(test_plumbing_places),
		cmocka_unit_test(test_extra_plumbing),
		cmocka_unit_test_setup_teardown(test_site_is_below_plumbing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nameless_start_is_no_site, setup, teardown),
		cmocka_unit_test_setup_teardown(test_grouping_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sort_keys_and_ties, setup, teardown),
		cmocka_unit_test_setup_teardown(test_filters, setup, teardown),
		cmocka_unit_test(test_bad_filters),
		cmocka_unit_test_setup_teardown(test_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_by_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several_files_are_summed, setup, teardown),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
