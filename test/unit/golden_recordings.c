/* SPDX-License-Identifier: MIT */
/* See golden_recordings.h. */
#include "test/unit/golden_recordings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "test/unit/report_fixture.h"

#define KIB	    1024
#define MIB	    (1024 * 1024)
#define MS	    1000000
#define CALLS_MAX   28
#define KNOWN_MAX   128
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

enum module { PROG, LIBC, LIBCXX, STRIPPED, LOADER };

/* One frame of a stack; without a function only its address is known. */
struct call {
	const char *function, *file;
	uint32_t line;
	enum module module;
	bool inlined; /* into the frame before it */
};

/* Outermost first; ends with the first call that has neither function nor line. */
struct row {
	struct call calls[CALLS_MAX];
	struct costs costs;
	enum stack_end end;
};

/* What was written already, as each location and node is written once. */
struct known {
	struct fixture fixture;
	rec_id libcxx, loader;
	const struct call *calls[KNOWN_MAX];
	rec_id locations[KNOWN_MAX];
	size_t location_count;
	struct {
		rec_id parent, location, node;
	} nodes[KNOWN_MAX];
	size_t node_count;
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_call(const struct call *a, const struct call *b)
{
	return same_text(a->function, b->function) && same_text(a->file, b->file) &&
	       a->line == b->line && a->module == b->module;
}

static bool is_call(const struct call *call)
{
	return call->function || call->line;
}

/* A call and what is inlined into it, innermost first. */
static rec_id add_location(struct known *k, const struct call *call, size_t inlined)
{
	struct fixture *f = &k->fixture;
	const rec_id modules[] = { f->prog, f->libc, k->libcxx, f->stripped, k->loader };
	struct rec_frame frames[CALLS_MAX];
	size_t count = 0;
	for (size_t i = inlined + 1; i-- > 0;) {
		if (call[i].function)
			frames[count++] = (struct rec_frame){ call[i].function, call[i].file,
							      call[i].line, i > 0 };
	}
	uint64_t address = call->function ? 0x1000 + 16 * k->location_count : call->line;
	return fixture_location_of(f, modules[call->module], address, frames, count);
}

static rec_id know_location(struct known *k, const struct call *call, size_t inlined)
{
	for (size_t i = 0; i < k->location_count; i++) {
		if (same_call(k->calls[i], call))
			return k->locations[i];
	}
	assert_true(k->location_count < KNOWN_MAX);
	rec_id id = add_location(k, call, inlined);
	k->calls[k->location_count] = call;
	k->locations[k->location_count++] = id;
	return id;
}

static rec_id know_node(struct known *k, rec_id parent, rec_id location)
{
	for (size_t i = 0; i < k->node_count; i++) {
		if (k->nodes[i].parent.v == parent.v && k->nodes[i].location.v == location.v)
			return k->nodes[i].node;
	}
	assert_true(k->node_count < KNOWN_MAX);
	rec_id id = fixture_node(&k->fixture, parent, location);
	k->nodes[k->node_count].parent = parent;
	k->nodes[k->node_count].location = location;
	k->nodes[k->node_count++].node = id;
	return id;
}

static rec_id add_calls(struct known *k, const struct call *calls)
{
	rec_id node = { 0 };
	for (size_t i = 0; is_call(&calls[i]);) {
		size_t inlined = 0;
		while (calls[i + 1 + inlined].inlined)
			inlined++;
		node = know_node(k, node, know_location(k, &calls[i], inlined));
		i += 1 + inlined;
	}
	return node;
}

static void begin(struct known *k, const char *path)
{
	memset(k, 0, sizeof(*k));
	fixture_create(&k->fixture, path);
	k->libcxx = fixture_module(&k->fixture, "/usr/lib/libstdc++.so.6", "elf");
	k->loader = fixture_module(&k->fixture, "/lib64/ld-linux-x86-64.so.2", "none");
}

/* A process whose peak is the sum of its rows'. */
static void add_process(struct known *k, struct rec_process process, const struct row *rows,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		process.peak_bytes += rows[i].costs.peak_bytes;
		process.peak_blocks += rows[i].costs.peak_blocks;
	}
	fixture_process(&k->fixture, &process);
	for (size_t i = 0; i < count; i++)
		fixture_stack(&k->fixture, add_calls(k, rows[i].calls), rows[i].end,
			      &rows[i].costs);
}

/* The heap in MiB at even distances, from the start on. */
static void add_curve(struct known *k, int64_t step_ns, const int *mib, size_t count)
{
	struct diag diag;
	for (size_t i = 0; i < count; i++) {
		struct rec_sample sample = { (int64_t)i * step_ns, (int64_t)mib[i] * MIB,
					     mib[i] * 16, (int64_t)(mib[i] + 4) * MIB };
		assert_int_equal(rec_add_sample(k->fixture.rec, k->fixture.process, &sample, &diag),
				 0);
	}
}

static struct rec_process server_process(void)
{
	static const char *const argv[] = { "./server", "--port",	 "8080",
					    "--root",	"/srv/my files", NULL };
	struct rec_process server = fixture_prog();
	server.argv = argv;
	server.duration_ns = 12500 * (int64_t)MS;
	server.peak_time_ns = 4300 * (int64_t)MS;
	server.peak_rss_bytes = 61 * (int64_t)MIB;
	server.threads = 1;
	server.allocator = "/lib/x86_64-linux-gnu/libc.so.6";
	return server;
}

#define SERVER_MAIN                                                                         \
 { "_start", NULL, 0, PROG, false }, { "__libc_start_main_impl", NULL, 0, LIBC, false },    \
	 { "main", "/src/main.cpp", 31, PROG, false },                                      \
 {                                                                                          \
  "server::Server::run(server::Options const&)", "/src/server/server.cpp", 118, PROG, false \
 }

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

/* allocations and bytes; frees and bytes; temporary, reallocations; at the peak; leaked */
static const struct row server_rows[] = {
	{ { SERVER_MAIN,
	    { "server::Cache<" STRING ", server::Page>::insert(" STRING " const&, server::Page&&)",
	      "/src/server/cache.hpp", 77, PROG, false },
	    { "std::vector<server::Page, std::allocator<server::Page> >::push_back(server::Page&&)",
	      "/usr/include/c++/12/bits/stl_vector.h", 1296, PROG, true },
	    { "void std::vector<server::Page, std::allocator<server::Page> "
	      ">::_M_realloc_insert<server::Page>(__gnu_cxx::__normal_iterator<server::Page*, "
	      "std::vector<server::Page, std::allocator<server::Page> > >, server::Page&&)",
	      "/usr/include/c++/12/bits/vector.tcc", 440, PROG, false },
	    { "operator new(unsigned long)", NULL, 0, LIBCXX, false } },
	  { 24, 64 * MIB, 23, 32 * MIB, 0, 0, 1, 32 * MIB, 1, 32 * MIB, EXACT },
	  STACK_COMPLETE },
	{ { SERVER_MAIN,
	    { "server::(anonymous namespace)::read_request(int)", "/src/server/request.cpp", 52,
	      PROG, false },
	    { "server::Buffer::Buffer(unsigned long)", "/src/server/buffer.cpp", 9, PROG, false } },
	  { 40000, 160000 * KIB, 40000, 160000 * KIB, 40000, 0, 1, 4 * KIB, 0, 0, EXACT },
	  STACK_COMPLETE },
	{ { SERVER_MAIN,
	    { "server::log(" STRING " const&)", "/src/server/log.cpp", 20, PROG, false },
	    { "server::Buffer::Buffer(unsigned long)", "/src/server/buffer.cpp", 9, PROG, false } },
	  { 20000, 40000 * KIB, 20000, 40000 * KIB, 0, 0, 1, 2 * KIB, 0, 0, EXACT },
	  STACK_COMPLETE },
	{ { SERVER_MAIN,
	    { "server::Session::open(int)", "/src/server/session.cpp", 64, PROG, false } },
	  { 900, 900 * 640, 600, 600 * 640, 0, 0, 500, 500 * 640, 300, 300 * 640, EXACT },
	  STACK_COMPLETE },
	{ { SERVER_MAIN,
	    { "parse_config", "/src/config.c", 210, PROG, false },
	    { "strdup", NULL, 0, LIBC, false } },
	  { 15, 800, 0, 0, 0, 0, 15, 800, 15, 800, EXACT },
	  STACK_COMPLETE },
};

static void write_server(const char *path, int64_t sample_mean)
{
	static const int curve[] = { 0,	 2,  4,	 8,  12, 16, 20, 24, 31, 30, 28, 24, 20,
				     16, 12, 10, 10, 10, 12, 16, 20, 24, 32, 32, 32 };
	struct row rows[COUNT(server_rows)];
	struct rec_process server = server_process();
	struct known k;
	server.sample_mean = sample_mean;
	memcpy(rows, server_rows, sizeof(rows));
	/* Standard errors: 10 % of bytes, 5 % of allocations, 20 % of blocks. */
	for (size_t i = 0; sample_mean && i < COUNT(rows); i++) {
		struct costs *c = &rows[i].costs;
#define VARIANCE(figure, share) \
 (c->variances.figure = (double)c->figure * (double)c->figure * (share) * (share))
		VARIANCE(allocations, 0.05);
		VARIANCE(allocated_bytes, 0.1);
		VARIANCE(temporary_allocations, 0.05);
		VARIANCE(peak_bytes, 0.1);
		VARIANCE(peak_blocks, 0.2);
		VARIANCE(leaked_bytes, 0.1);
		VARIANCE(leaked_blocks, 0.2);
#undef VARIANCE
	}
	begin(&k, path);
	add_process(&k, server, rows, COUNT(rows));
	add_curve(&k, 500 * (int64_t)MS, curve, COUNT(curve));
	fixture_finish(&k.fixture);
}

void golden_server(const char *path)
{
	write_server(path, 0);
}

void golden_sampled(const char *path)
{
	write_server(path, 512 * KIB);
}

void golden_recursion(const char *path)
{
#define WALK                                                 \
 {                                                           \
  "walk(Node const*, int)", "/src/walk.cpp", 12, PROG, false \
 }
#define EXPR                                          \
 {                                                    \
  "parse_expression", "/src/parse.c", 40, PROG, false \
 }
#define TERM                                    \
 {                                              \
  "parse_term", "/src/parse.c", 61, PROG, false \
 }
	static const struct row rows[] = {
		{ { { "main", "/src/main.cpp", 5, PROG, false },
		    WALK,
		    WALK,
		    WALK,
		    WALK,
		    WALK,
		    WALK,
		    WALK,
		    WALK,
		    WALK,
		    WALK,
		    WALK,
		    WALK,
		    { "visit", "/src/walk.cpp", 30, PROG, false } },
		  { .allocations = 12,
		    .allocated_bytes = 12 * KIB,
		    .peak_blocks = 12,
		    .peak_bytes = 12 * KIB },
		  STACK_COMPLETE },
		{ { { "main", "/src/main.cpp", 6, PROG, false },
		    { "parse", "/src/parse.c", 90, PROG, false },
		    EXPR,
		    TERM,
		    EXPR,
		    TERM,
		    EXPR,
		    TERM,
		    EXPR,
		    TERM,
		    EXPR,
		    TERM,
		    { "new_node", "/src/parse.c", 11, PROG, false } },
		  { .allocations = 5,
		    .allocated_bytes = 5 * KIB,
		    .peak_blocks = 5,
		    .peak_bytes = 5 * KIB },
		  STACK_COMPLETE },
		/* The same site from within the same recursion, which is not shown again. */
		{ { { "main", "/src/main.cpp", 5, PROG, false },
		    WALK,
		    WALK,
		    WALK,
		    WALK,
		    { "enter", "/src/walk.cpp", 20, PROG, false },
		    WALK,
		    WALK,
		    WALK,
		    { "visit", "/src/walk.cpp", 30, PROG, false } },
		  { .allocations = 8,
		    .allocated_bytes = 8 * KIB,
		    .peak_blocks = 8,
		    .peak_bytes = 8 * KIB },
		  STACK_COMPLETE },
		{ { { "main", "/src/main.cpp", 7, PROG, false },
		    { "twice", "/src/twice.c", 3, PROG, false },
		    { "twice", "/src/twice.c", 3, PROG, false },
		    { "leaf", "/src/twice.c", 8, PROG, false } },
		  { .allocations = 1, .allocated_bytes = KIB, .peak_blocks = 1, .peak_bytes = KIB },
		  STACK_COMPLETE },
	};
#undef WALK
#undef EXPR
#undef TERM
	struct known k;
	begin(&k, path);
	add_process(&k, fixture_prog(), rows, COUNT(rows));
	fixture_finish(&k.fixture);
}

void golden_overloads(const char *path)
{
	static const struct row rows[] = {
		{ { { "main", "/src/main.cpp", 3, PROG, false },
		    { "put(Text const&)", NULL, 0, PROG, false } },
		  { .allocations = 2, .allocated_bytes = 200, .peak_blocks = 2, .peak_bytes = 200 },
		  STACK_COMPLETE },
		{ { { "main", "/src/main.cpp", 4, PROG, false },
		    { "put(Image const&)", NULL, 0, PROG, false } },
		  { .allocations = 1, .allocated_bytes = 100, .peak_blocks = 1, .peak_bytes = 100 },
		  STACK_COMPLETE },
	};
	struct known k;
	begin(&k, path);
	add_process(&k, fixture_prog(), rows, COUNT(rows));
	fixture_finish(&k.fixture);
}

void golden_pool(const char *path)
{
#define START                     \
 {                                \
  NULL, NULL, 0x10, LOADER, false \
 }
#define INIT                                  \
 {                                            \
  "call_init", "dl-init.c", 70, LOADER, false \
 }
#define COSTS(bytes)                                                                 \
 {                                                                                   \
  .allocations = 1, .allocated_bytes = bytes, .peak_blocks = 1, .peak_bytes = bytes, \
  .leaked_blocks = 1, .leaked_bytes = bytes                                          \
 }
	static const struct row rows[] = {
		/* It, in a library without names, and where the loader has none either. */
		{ { START, INIT, { NULL, NULL, 0xa57ba, LIBCXX, false } },
		  COSTS(72704),
		  STACK_COMPLETE },
		{ { START, { "pool::pool()", NULL, 0, LIBCXX, false } },
		  COSTS(73728),
		  STACK_COMPLETE },
		/* Of another size; called by the program; by a thread's start; of another library. */
		{ { START, INIT, { NULL, NULL, 0xa57bb, LIBCXX, false } },
		  COSTS(72703),
		  STACK_COMPLETE },
		{ { START,
		    INIT,
		    { "init", "/src/init.cpp", 3, PROG, false },
		    { NULL, NULL, 0xa57bc, LIBCXX, false } },
		  COSTS(72704),
		  STACK_COMPLETE },
		{ { { "start_thread", NULL, 0, LIBC, false },
		    { NULL, NULL, 0xa57bd, LIBCXX, false } },
		  COSTS(72704),
		  STACK_COMPLETE },
		{ { START, INIT, { NULL, NULL, 0xa57be, STRIPPED, false } },
		  COSTS(72704),
		  STACK_COMPLETE },
	};
#undef START
#undef INIT
#undef COSTS
	struct known k;
	begin(&k, path);
	add_process(&k, fixture_prog(), rows, COUNT(rows));
	fixture_finish(&k.fixture);
}

static void add_child(struct known *k, int32_t pid, const char *const *argv, const struct row *row)
{
	struct rec_process process = fixture_prog();
	process.pid = pid;
	process.parent_pid = pid == 700 ? 1 : 700;
	process.executable = argv[0];
	process.argv = argv;
	process.start_time_ns += (pid - 700) * 100 * (int64_t)MS;
	process.duration_ns = 100 * MS;
	process.peak_time_ns = 50 * MS;
	add_process(k, process, row, 1);
	add_curve(k, 50 * MS, (const int[]){ 0, (int)(row->costs.peak_bytes / MIB), 0 }, 3);
}

void golden_processes(const char *path)
{
	static const char *const driver[] = { "/usr/bin/cc", "a.c", "b.c", NULL };
	static const char *const first[] = { "/usr/libexec/cc1", "a.c", NULL };
	static const char *const second[] = { "/usr/libexec/cc1", "b.c", NULL };
	static const char *const linker[] = { "/usr/bin/ld", "a.o", "b.o", NULL };
#define ROW(function, file, mib)                                             \
 {                                                                           \
  { { "main", file, 9, PROG, false }, { function, file, 70, PROG, false } }, \
	  { .allocations = (mib)*10,                                         \
	    .allocated_bytes = (mib)*2 * MIB,                                \
	    .peak_blocks = (mib)*5,                                          \
	    .peak_bytes = (mib)*MIB },                                       \
	  STACK_COMPLETE                                                     \
 }
	static const struct row rows[] = {
		ROW("spawn_all", "/src/driver.c", 1),
		ROW("make_tree", "/src/cc1.c", 24),
		ROW("make_tree", "/src/cc1.c", 40),
		ROW("read_symbols", "/src/ld.c", 8),
	};
#undef ROW
	struct known k;
	begin(&k, path);
	add_child(&k, 700, driver, &rows[0]);
	add_child(&k, 701, first, &rows[1]);
	add_child(&k, 702, second, &rows[2]);
	add_child(&k, 703, linker, &rows[3]);
	fixture_finish(&k.fixture);
}

static void add_errors(struct known *k, rec_id fill, rec_id make, rec_id drop)
{
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
				   .t_ns = 500 * MS,
				   .count = 1,
				   .stacks = { { fill, STACK_COMPLETE }, { make, STACK_DEPTH } } };
	fixture_error(&k->fixture, error);
	error.kind = ERROR_USE_AFTER_FREE;
	error.access = ERROR_READ;
	error.address = 0x7f0000000ff4;
	error.block_freed = true;
	error.freed_thread = 3;
	error.stacks[ERROR_FREED].node = drop;
	fixture_error(&k->fixture, error);
	error.kind = ERROR_CORRUPTION;
	error.access = ERROR_NO_ACCESS;
	error.block_freed = false;
	error.corrupt_bytes = 3;
	error.address = 0x7f0000000fe8;
	error.continued = true;
	error.stacks[ERROR_FREED].node.v = 0;
	fixture_error(&k->fixture, error);
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
	fixture_error(&k->fixture, error);
}

void golden_errors(const char *path)
{
#define MAIN                            \
 {                                      \
  "main", "/src/main.c", 3, PROG, false \
 }
	static const struct row rows[] = {
		{ { MAIN, { "make", "/src/make.c", 7, PROG, false } },
		  { .allocations = 4, .allocated_bytes = 64, .peak_blocks = 3, .peak_bytes = 48 },
		  STACK_COMPLETE },
	};
#define DOWN                                  \
 {                                            \
  "descend", "/src/descend.c", 5, PROG, false \
 }
	static const struct call fill[] = {
		MAIN,
		DOWN,
		DOWN,
		DOWN,
		DOWN,
		{ "Table<int, std::less<int> >::fill(int const*, unsigned long)", "/src/fill.cpp",
		  12, PROG, false },
		{ "copy", "/src/copy.h", 9, PROG, true },
		{ 0 }
	};
	static const struct call drop[] = { MAIN,
					    { "drop", "/src/drop.c", 8, PROG, false },
					    { 0 } };
#undef MAIN
#undef DOWN
	struct rec_process prog = fixture_prog();
	struct known k;
	prog.double_frees = 3;
	prog.exit_signal = 6;
	prog.exit_code = -1;
	begin(&k, path);
	add_process(&k, prog, rows, COUNT(rows));
	add_errors(&k, add_calls(&k, fill), add_calls(&k, rows[0].calls), add_calls(&k, drop));
	fixture_guard(&k.fixture,
		      &(struct rec_guard){ GUARD_MPROTECT, { 1, 0, 2, 1 }, 32000, 2, 5, 1 });
	fixture_finish(&k.fixture);
}

void golden_empty(const char *path)
{
	struct known k;
	begin(&k, path);
	add_process(&k, fixture_prog(), NULL, 0);
	fixture_finish(&k.fixture);
}

void golden_tidy(const char *path)
{
	static const struct row rows[] = {
		{ { { "main", "/src/main.c", 3, PROG, false },
		    { "load_table", "/src/table.c", 44, PROG, false } },
		  { 10, 10 * MIB, 10, 10 * MIB, 0, 0, 10, 10 * MIB, 0, 0, EXACT },
		  STACK_COMPLETE },
		{ { { "main", "/src/main.c", 4, PROG, false },
		    { "load_index", "/src/table.c", 90, PROG, false } },
		  { 1, 512, 1, 512, 0, 0, 1, 512, 0, 0, EXACT },
		  STACK_COMPLETE },
	};
	static const int curve[] = { 0, 4, 5, 0 }; /* the peak is between two samples */
	struct rec_process prog = fixture_prog();
	struct known k;
	prog.peak_time_ns = 500 * MS;
	prog.peak_rss_bytes = 14 * MIB;
	begin(&k, path);
	add_process(&k, prog, rows, COUNT(rows));
	add_curve(&k, 400 * MS, curve, COUNT(curve));
	fixture_finish(&k.fixture);
}

void golden_limits(const char *path)
{
	static const struct row rows[] = {
		{ { { NULL, NULL, 0xbeef, STRIPPED, false } },
		  { .allocations = 3,
		    .allocated_bytes = 3 * KIB,
		    .peak_blocks = 3,
		    .peak_bytes = 3 * KIB },
		  STACK_NO_UNWIND_INFO },
		{ { { "deep", "/src/deep.c", 4, PROG, false },
		    { "deeper", "/src/deep.c", 9, PROG, false } },
		  { .allocations = 2,
		    .allocated_bytes = 2 * KIB,
		    .peak_blocks = 2,
		    .peak_bytes = 2 * KIB },
		  STACK_DEPTH },
		{ { { 0 } },
		  { .allocations = 1, .allocated_bytes = KIB, .peak_blocks = 1, .peak_bytes = KIB },
		  STACK_UNATTRIBUTED },
	};
	struct rec_process prog = fixture_prog();
	struct known k;
	prog.exit_signal = 9;
	prog.exit_code = -1;
	prog.dropped_events = 1234;
	prog.unattributed = 1;
	prog.unknown_frees = 2;
	prog.threads = 3;
	prog.peak_error_bytes = 512;
	prog.notes = "the table of stacks was full after 1,000,000 stacks: later ones are not told "
		     "apart, and their allocations are counted without a stack\n"
		     "children that use io_uring were not followed";
	begin(&k, path);
	add_process(&k, prog, rows, COUNT(rows));
	fixture_finish(&k.fixture);
}

void golden_hostile(const char *path)
{
	static char endless[3000];
	static const char *const argv[] = { "\033[2J", "a\nb", "\xff\xe2\x80\xae", NULL };
	memset(endless, 'x', sizeof(endless) - 1);
	const struct row rows[] = {
		{ { { "main\033[31m\r\n", "/src/\xff\xe2\x80\xae.c", 3, PROG, false },
		    { endless, "/src/" STRING ".c", UINT32_MAX, PROG, false } },
		  { UINT64_MAX / 4, UINT64_MAX / 4, 0, 0, 0, 0, INT64_MAX / 4, INT64_MAX / 4,
		    INT64_MAX / 4, INT64_MAX / 4, EXACT },
		  STACK_COMPLETE },
		{ { { "f<<<<<<<<<<((((((", "/src/\xe5\x90\x8d\xe5\x89\x8d.c", 1, PROG, false },
		    { "\xe5\x90\x8d\xe5\x89\x8d", "/src/a.c", 1, PROG, false } },
		  { 1, INT64_MAX / 8, 0, 0, 0, 0, 1, INT64_MAX / 8, 0, 0, EXACT },
		  STACK_COMPLETE },
	};
	struct rec_process prog = fixture_prog();
	struct known k;
	prog.argv = argv;
	prog.duration_ns = INT64_MAX;
	prog.peak_time_ns = INT64_MAX;
	begin(&k, path);
	add_process(&k, prog, rows, COUNT(rows));
	fixture_finish(&k.fixture);
}

struct part {
	enum part_kind kind;
	uint64_t key;
	struct costs costs;
};

/* Made, live at the peak, left; all of one size. */
#define BLOCKS(size, made, peak, left, now)                                                    \
 {                                                                                             \
  .allocations = made, .allocated_bytes = (uint64_t)(made) * (size), .frees = (made) - (left), \
  .temporary_allocations = now, .peak_blocks = peak, .peak_bytes = (int64_t)(peak) * (size),   \
  .leaked_blocks = left, .leaked_bytes = (int64_t)(left) * (size)                              \
 }

void golden_parts(const char *path)
{
	static const struct part parts[] = {
		{ PART_THREAD, 1, BLOCKS(0, 2, 1, 1, 0) },
		{ PART_THREAD, 2, BLOCKS(24, 5000, 900, 1000, 0) },
		{ PART_THREAD,
		  3,
		  { .frees = 700,
		    .peak_blocks = -300,
		    .peak_bytes = -300 * 24,
		    .leaked_blocks = -700,
		    .leaked_bytes = -700 * 24 } },
		{ PART_THREAD, 4, BLOCKS(4096, 60, 3, 0, 60) },
		{ PART_THREAD,
		  5,
		  { .peak_blocks = 1, .peak_bytes = 64, .leaked_blocks = 1, .leaked_bytes = 64 } },
		{ PART_THREAD, 6, BLOCKS(2 * MIB, 3, 2, 0, 0) },
		{ PART_SIZE, 0, BLOCKS(0, 2, 1, 1, 0) },
		{ PART_SIZE, 17, BLOCKS(24, 5000, 600, 300, 0) },
		{ PART_SIZE,
		  33,
		  { .peak_blocks = 1, .peak_bytes = 64, .leaked_blocks = 1, .leaked_bytes = 64 } },
		{ PART_SIZE, 2049, BLOCKS(4096, 60, 3, 0, 60) },
		{ PART_SIZE, MIB + 1, BLOCKS(2 * MIB, 3, 2, 0, 0) },
	};
	static const struct rec_thread threads[] = {
		{ 1, 4242, "prog", 1, false },
		{ 2, 4243, "producer", 1, false },
		{ 3, 4250, "a\033[31m\xff", 1, false },
		{ 4, 4311, "worker", 1234567, false },
		{ 5, 0, NULL, 0, true },
		{ 6, 0, NULL, 0, false },
	};
	static const struct row rows[] = {
		{ { { "main", "/src/main.c", 5, PROG, false } },
		  { .allocations = 5065,
		    .allocated_bytes = 5000 * 24 + 60 * 4096 + 6 * MIB,
		    .frees = 4764,
		    .temporary_allocations = 60,
		    .peak_blocks = 607,
		    .peak_bytes = 600 * 24 + 64 + 3 * 4096 + 4 * MIB,
		    .leaked_blocks = 302,
		    .leaked_bytes = 300 * 24 + 64 },
		  STACK_COMPLETE },
	};
	struct known k;
	begin(&k, path);
	add_process(&k, fixture_prog(), rows, COUNT(rows));
	for (size_t i = 0; i < COUNT(threads); i++)
		fixture_thread(&k.fixture, &threads[i]);
	for (size_t i = 0; i < COUNT(parts); i++)
		fixture_part(&k.fixture, parts[i].kind, parts[i].key, &parts[i].costs);
	fixture_finish(&k.fixture);
}
