/* SPDX-License-Identifier: MIT */
/*
 * Trees of callers and callees: which frames are nodes, what they cost, what is left
 * out.  Recordings are made here, so every figure follows from the test itself.  Links
 * all of report/ and report_fixture.o.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/tree.h"
#include "report/view.h"
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

/* "a b(c)": siblings side by side, children in brackets; each as name[:line]=cost[/self]. */
static void print_node(FILE *out, const struct model *model, const struct tree_node *node)
{
	const char *name = model_text(model, node->site.function);
	fputs(node->first ? "" : " ", out);
	if (name)
		fputs(name, out);
	else
		fprintf(out, "0x%" PRIx64, node->site.address);
	if (node->site.line)
		fprintf(out, ":%" PRIu32, node->site.line);
	fprintf(out, "%s=%" PRId64, node->recursive ? "*" : "", node->site.costs.peak_bytes);
	if (node->self.peak_bytes)
		fprintf(out, "/%" PRId64, node->self.peak_bytes);
	fputs(node->too_deep ? "..." : "", out);
	fputs(node->children || node->rest.count ? "(" : "", out);
}

struct rest_stack {
	struct tree_rest rest[64];
	size_t children[64];
};

static void print_rest(FILE *out, const struct tree_rest *rest)
{
	if (rest->count)
		fprintf(out, " +%zu=%" PRId64, rest->count, rest->costs.peak_bytes);
}

static char *print_tree(const struct view *view, const struct tree_options *options)
{
	struct rest_stack open;
	struct tree_node node;
	struct tree tree;
	char *text = NULL;
	size_t size;
	int event;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(tree_open(&tree, &view->model, &view->table, options), 0);
	while ((event = tree_next(&tree, &node)) > TREE_END) {
		assert_true(node.depth < 64);
		if (event == TREE_ENTER) {
			print_node(out, &view->model, &node);
			open.rest[node.depth] = node.rest;
			open.children[node.depth] = node.children;
			continue;
		}
		print_rest(out, &open.rest[node.depth]);
		if (open.children[node.depth] || open.rest[node.depth].count)
			fputc(')', out);
	}
	assert_int_equal(event, TREE_END);
	print_rest(out, &node.rest);
	tree_close(&tree);
	fclose(out);
	return text;
}

static void expect_with(struct report_options *options, const struct tree_options *tree,
			const char *expected)
{
	const char *path = fixture_path("a.dat");
	struct report_list files = { &path, 1 };
	struct diag diag = { 0 };
	struct view view;
	options->tree = tree->direction;
	if (view_open(&view, options, &files, tree->roots, &diag))
		fail_msg("%s", diag.text);
	char *text = print_tree(&view, tree);
	assert_string_equal(text, expected);
	free(text);
	view_close(&view);
}

static void expect(enum report_tree direction, const char *expected)
{
	struct report_options options;
	report_options_init(&options);
	expect_with(&options, &(struct tree_options){ .direction = direction }, expected);
}

static void add_stack(struct fixture *f, rec_id node, int64_t peak)
{
	fixture_stack(f, node, STACK_COMPLETE,
		      &(struct costs){ .allocations = (uint64_t)peak, .peak_bytes = peak });
}

static rec_id call(struct fixture *f, rec_id caller, const char *function, uint32_t line)
{
	return fixture_node(f, caller, fixture_location(f, function, "x.c", line));
}

static rec_id call_libc(struct fixture *f, rec_id caller, const char *function)
{
	struct rec_frame frame = { function, NULL, 0, false };
	static uint64_t address = 0x9000;
	return fixture_node(f, caller,
			    fixture_location_of(f, f->libc, address++, &frame, function ? 1 : 0));
}

static void begin(struct fixture *f)
{
	struct rec_process prog = fixture_prog();
	fixture_create(f, fixture_path("a.dat"));
	fixture_process(f, &prog);
}

/* main calls load twice from one function and once from another, and leaf itself. */
static void test_both_directions(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	rec_id load = fixture_location(&f, "load", "x.c", 40);
	rec_id top = call(&f, none, "main", 3);
	rec_id a = call(&f, top, "a", 10), again = call(&f, top, "a", 11);
	rec_id b = call(&f, top, "b", 20);
	add_stack(&f, fixture_node(&f, a, load), 100);
	add_stack(&f, fixture_node(&f, again, load), 20);
	add_stack(&f, fixture_node(&f, b, load), 300);
	add_stack(&f, b, 5);
	fixture_finish(&f);
	/* a called from two lines is one node without a line. */
	expect(REPORT_TREE_CALLERS, "load:40=420(b:20=300(main:3=300/300) a=120(main:3=120/120)) "
				    "b:20=5(main:3=5/5)");
	expect(REPORT_TREE_CALLEES,
	       "main:3=425(b:20=305/5(load:40=300/300) a=120(load:40=120/120))");
}

static void test_roots_are_sites(void **state)
{
	(void)state;
	struct fixture f;
	struct report_options options;
	begin(&f);
	rec_id top = call(&f, none, "main", 3);
	add_stack(&f, call(&f, top, "load", 40), 100);
	add_stack(&f, call(&f, top, "load", 41), 20);
	fixture_finish(&f);
	expect(REPORT_TREE_CALLERS, "load:40=100(main:3=100/100) load:41=20(main:3=20/20)");
	report_options_init(&options);
	options.by = REPORT_BY_FUNCTION;
	expect_with(&options, &(struct tree_options){ .direction = REPORT_TREE_CALLERS },
		    "load=120(main:3=120/120)");
	expect(REPORT_TREE_CALLEES, "main:3=120(load=120/120)");
}

/* recurse calls itself three times; even and odd call each other. */
static void test_recursion(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	rec_id at = call(&f, none, "main", 3);
	rec_id even = call(&f, at, "even", 30);
	at = call(&f, call(&f, call(&f, at, "recurse", 7), "recurse", 8), "recurse", 8);
	add_stack(&f, call(&f, at, "load", 40), 100);
	add_stack(&f, at, 7);
	even = call(&f, call(&f, call(&f, even, "odd", 31), "even", 30), "odd", 31);
	add_stack(&f, call(&f, even, "load", 40), 30);
	fixture_finish(&f);
	expect(REPORT_TREE_CALLEES,
	       "main:3=137(recurse*=107/7(load:40=100/100)"
	       " even:30=30(odd:31=30(even:30=30(odd:31=30(load:40=30/30)))))");
	expect(REPORT_TREE_CALLERS, "load:40=130(recurse*=100(main:3=100/100)"
				    " odd:31=30(even:30=30(odd:31=30(even:30=30(main:3=30/30)))))"
				    " recurse:8*=7(main:3=7/7)");
}

/* Frames that ran before main are left out, named or not, but not those within main's. */
static void test_startup(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	rec_id start = fixture_node(&f, none, fixture_location_of(&f, f.prog, 0x77, NULL, 0));
	rec_id entry = call_libc(&f, start, "__libc_start_main");
	rec_id top = call(&f, call_libc(&f, entry, "__libc_start_call_main"), "main", 3);
	rec_id compare = call(&f, call_libc(&f, top, "qsort"), "compare", 9);
	add_stack(&f, compare, 50);
	add_stack(&f, top, 8);
	/* A thread's, and what the loader allocates for itself. */
	add_stack(&f,
		  call(&f, call_libc(&f, call_libc(&f, none, "clone3"), "start_thread"), "work", 5),
		  4);
	add_stack(&f, call_libc(&f, call_libc(&f, none, "dl_start"), "dl_init"), 1);
	/* A library's code without a name at the outer end of a stack is no _start. */
	add_stack(&f,
		  call(&f,
		       fixture_node(&f, none, fixture_location_of(&f, f.stripped, 0x88, NULL, 0)),
		       "hook", 6),
		  2);
	fixture_finish(&f);
	expect(REPORT_TREE_CALLERS, "compare:9=50(qsort=50(main:3=50/50)) main:3=8/8 work:5=4/4"
				    " hook:6=2(0x88=2/2) dl_init=1(dl_start=1/1)");
	expect(REPORT_TREE_CALLEES, "main:3=58/8(qsort=50(compare:9=50/50)) work:5=4/4"
				    " 0x88=2(hook:6=2/2) dl_start=1(dl_init=1/1)");
}

/* Plumbing within the site is no node, inlined or not; inlined functions of the program are. */
static void test_inlined_frames_and_plumbing(void **state)
{
	(void)state;
	struct fixture f;
	struct report_options options;
	begin(&f);
	struct rec_frame frames[] = {
		{ "std::vector<int>::push_back(int)", "/usr/include/c++/12/v.h", 9, true },
		{ "append", "/src/x.c", 5, true },
		{ "load", "/src/x.c", 40, false },
	};
	rec_id location = fixture_location_of(&f, f.prog, 0x1234, frames, 3);
	rec_id load = fixture_node(&f, call(&f, none, "main", 3), location);
	add_stack(&f, load, 10);
	add_stack(&f, call(&f, call(&f, load, "operator new(unsigned long)", 1), "malloc", 1), 3);
	add_stack(&f, call(&f, load, "other", 60), 2);
	fixture_finish(&f);
	expect(REPORT_TREE_CALLERS,
	       "append:5=13(load:40=13(main:3=13/13)) other:60=2("
	       "std::vector<int>::push_back(int):9=2(append:5=2(load:40=2(main:3=2/2))))");
	expect(REPORT_TREE_CALLEES,
	       "main:3=15(load:40=15(append:5=15/13(std::vector<int>::push_back(int):9=2("
	       "other:60=2/2))))");
	const char *plumbing = "^append$";
	report_options_init(&options);
	options.plumbing = (struct report_list){ &plumbing, 1 };
	expect_with(&options, &(struct tree_options){ .direction = REPORT_TREE_CALLEES },
		    "main:3=15(load:40=15/13(append:5=2(std::vector<int>::push_back(int):9=2("
		    "other:60=2/2))))");
}

static void test_what_is_not_known(void **state)
{
	(void)state;
	struct fixture f;
	begin(&f);
	rec_id mark = fixture_node(&f, call(&f, none, "main", 3), none);
	rec_id stripped = fixture_location_of(&f, f.stripped, 0xbeef, NULL, 0);
	add_stack(&f, fixture_node(&f, mark, stripped), 10);
	fixture_stack(&f, none, STACK_UNATTRIBUTED, &(struct costs){ .peak_bytes = 4 });
	fixture_finish(&f);
	/* Of a stack of which frames are missing those that are known are one below the other. */
	expect(REPORT_TREE_CALLERS, "0xbeef=10(main:3=10/10) 0x0=4/4");
	expect(REPORT_TREE_CALLEES, "main:3=10(0xbeef=10/10) 0x0=4/4");
	begin(&f);
	fixture_stack(&f, none, STACK_UNATTRIBUTED, &(struct costs){ .peak_bytes = 4 });
	fixture_finish(&f);
	expect(REPORT_TREE_CALLERS, "0x0=4/4");
	expect(REPORT_TREE_CALLEES, "0x0=4/4");
}

/* A root of 1000, of which 1 comes by a, and perhaps another of 2. */
static void write_for_filters(bool second_root)
{
	struct fixture f;
	begin(&f);
	rec_id top = call(&f, none, "main", 3);
	rec_id load = fixture_location(&f, "load", "x.c", 40);
	add_stack(&f, fixture_node(&f, call(&f, top, "a", 1), load), 1);
	add_stack(&f, fixture_node(&f, call(&f, top, "b", 2), load), 999);
	if (second_root)
		add_stack(&f, fixture_node(&f, call(&f, none, "worker", 7), load), 2);
	fixture_finish(&f);
}

static void test_filters(void **state)
{
	(void)state;
	struct report_options options;
	const char *focus = "^a$";
	write_for_filters(false);
	report_options_init(&options);
	options.focus = (struct report_list){ &focus, 1 };
	struct tree_options tree = { .direction = REPORT_TREE_CALLERS, .fraction = 100 };
	expect_with(&options, &tree, "load:40=1(a:1=1(main:3=1/1))");
	tree.direction = REPORT_TREE_CALLEES;
	expect_with(&options, &tree, "main:3=1(a:1=1(load:40=1/1))");
	options.focus = (struct report_list){ NULL, 0 };
	expect_with(&options, &tree, "main:3=1000(b:2=999(load:40=999/999) +1=1)");
	/* What is little of all may be much of its root. */
	write_for_filters(true);
	expect_with(&options, &tree,
		    "main:3=1000(b:2=999(load:40=999/999) +1=1) worker:7=2(load:40=2/2)");
}

/* Six callees: of 500, 300, 100, 90, 6 and 4. */
static void test_limits(void **state)
{
	(void)state;
	static const int64_t costs[] = { 500, 300, 100, 90, 6, 4 };
	struct fixture f;
	struct report_options options;
	begin(&f);
	rec_id top = call(&f, none, "main", 3);
	for (uint32_t i = 0; i < 6; i++)
		add_stack(&f, call(&f, top, (char[]){ (char)('a' + i), 0 }, i + 1), costs[i]);
	fixture_finish(&f);
	report_options_init(&options);
	struct tree_options tree = { .direction = REPORT_TREE_CALLEES, .top = 3 };
	expect_with(&options, &tree, "main:3=1000(a:1=500/500 b:2=300/300 c:3=100/100 +3=100)");
	tree = (struct tree_options){ .direction = REPORT_TREE_CALLEES, .fraction = 100 };
	expect_with(&options, &tree,
		    "main:3=1000(a:1=500/500 b:2=300/300 c:3=100/100 d:4=90/90 +2=10)");
	tree.fraction = 10; /* exactly a tenth is enough */
	expect_with(&options, &tree, "main:3=1000(a:1=500/500 b:2=300/300 c:3=100/100 +3=100)");
	tree = (struct tree_options){ .direction = REPORT_TREE_CALLEES, .depth = 1 };
	expect_with(&options, &tree, "main:3=1000/1000...");
	tree = (struct tree_options){ .direction = REPORT_TREE_CALLERS, .depth = 1, .roots = 2 };
	expect_with(&options, &tree, "a:1=500/500... b:2=300/300... +4=200");
	tree.depth = 2;
	expect_with(&options, &tree, "a:1=500(main:3=500/500) b:2=300(main:3=300/300) +4=200");
	/* What costs nothing is no root, and there is nothing to leave out. */
	tree = (struct tree_options){ .direction = REPORT_TREE_CALLERS,
				      .fraction = 100,
				      .sort = REPORT_SORT_LEAKED };
	options.sort = REPORT_SORT_LEAKED;
	expect_with(&options, &tree, " +6=1000");
	tree.direction = REPORT_TREE_CALLEES;
	expect_with(&options, &tree, " +1=1000");
}

struct sums {
	int64_t children[64];
	int64_t roots;
	size_t nodes;
};

static void check_sums(const struct view *view, enum report_tree direction, struct sums *sums)
{
	struct tree_options options = { .direction = direction };
	struct tree_node node;
	struct tree tree;
	int64_t costs[64], self[64];
	int event;
	*sums = (struct sums){ 0 };
	assert_int_equal(tree_open(&tree, &view->model, &view->table, &options), 0);
	while ((event = tree_next(&tree, &node)) > TREE_END) {
		size_t depth = node.depth;
		assert_true(depth < 64);
		if (event == TREE_LEAVE) {
			assert_int_equal(costs[depth], self[depth] + sums->children[depth]);
			continue;
		}
		costs[depth] = node.site.costs.peak_bytes;
		self[depth] = node.self.peak_bytes;
		sums->children[depth] = 0;
		sums->children[depth - 1] += costs[depth];
		sums->roots += depth == 1 ? costs[depth] : 0;
		sums->nodes++;
	}
	assert_int_equal(event, TREE_END);
	tree_close(&tree);
}

/* Random stacks of few names, so that much is merged: nothing is lost or counted twice. */
static void test_sums(void **state)
{
	(void)state;
	static const char *const names[] = { "main", "a", "b", "xmalloc", "std::f(int)", "c" };
	const char *path = fixture_path("a.dat");
	struct report_list files = { &path, 1 };
	struct report_options options;
	struct fixture f;
	rec_id nodes[300] = { { 0 } };
	int64_t whole = 0;
	srand(20261201);
	begin(&f);
	for (size_t i = 1; i < 300; i++) {
		struct rec_frame frames[] = {
			{ names[rand() % 6], "/src/x.c", (uint32_t)(rand() % 3) + 1, true },
			{ rand() % 9 ? names[rand() % 6] : NULL, "/src/x.c", 1, false },
		};
		size_t count = (size_t)rand() % 3;
		rec_id module = rand() % 5 ? f.prog : f.libc;
		rec_id location = fixture_location_of(&f, module, 0x1000 + i, frames, count);
		nodes[i] = fixture_node(&f, nodes[(size_t)rand() % i], location);
		if (rand() % 2) {
			int64_t cost = rand() % 1000;
			add_stack(&f, nodes[i], cost);
			whole += cost;
		}
	}
	fixture_finish(&f);
	report_options_init(&options);
	struct diag diag = { 0 };
	struct sums sums;
	struct view view;
	assert_int_equal(view_open(&view, &options, &files, 0, &diag), 0);
	check_sums(&view, REPORT_TREE_CALLERS, &sums);
	assert_int_equal(sums.roots, whole);
	assert_true(sums.nodes > 100);
	check_sums(&view, REPORT_TREE_CALLEES, &sums);
	assert_int_equal(sums.roots, whole);
	assert_true(sums.nodes > 100);
	view_close(&view);
}

static void expect_part(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no\n%s\nin:\n%s", part, text);
}

/* main calls a, which calls load from one place; and b, which is less than a hundredth. */
static void write_forms(int64_t mean)
{
	struct fixture f;
	struct rec_process prog = fixture_prog();
	prog.sample_mean = mean;
	prog.peak_bytes = 102400;
	fixture_create(&f, fixture_path("a.dat"));
	fixture_process(&f, &prog);
	rec_id top = call(&f, none, "main", 3);
	rec_id a = call(&f, top, "a;\033[31m", 10);
	add_stack(&f, call(&f, a, "load", 40), 61440);
	add_stack(&f, call(&f, a, "store", 41), 20480);
	add_stack(&f, call(&f, top, "c", 50), 20000);
	add_stack(&f, call(&f, top, "b", 60), 480);
	fixture_finish(&f);
}

static void test_text(void **state)
{
	(void)state;
	struct report_options options;
	report_options_init(&options);
	options.tree = REPORT_TREE_CALLEES;
	write_forms(0);
	char *text = fixture_report_ok(&options, fixture_path("a.dat"));
	expect_part(text, "\n      Peak  Share  Function, calling\n"
			  " 100.0 KiB 100.0%  main  x.c:3\n"
			  "  80.0 KiB  80.0%  |- a;?[31m  x.c:10\n"
			  "  60.0 KiB  60.0%  |  |- load  x.c:40\n"
			  "  20.0 KiB  20.0%  |  `- store  x.c:41\n"
			  "  19.5 KiB  19.5%  |- c  x.c:50\n"
			  "                   `- ... 1 more with 480 B\n");
	free(text);
	options.utf8 = true;
	options.frames = 2;
	text = fixture_report_ok(&options, fixture_path("a.dat"));
	expect_part(text, "  80.0 KiB  80.0%  ├─ a;?[31m  x.c:10\n"
			  "                   │  … more frames\n"
			  "  19.5 KiB  19.5%  ├─ c  x.c:50\n"
			  "                   └─ … 1 more with 480 B\n");
	free(text);
	/* One caller after the other stays in the same column. */
	options.frames = 8;
	options.tree = REPORT_TREE_CALLERS;
	options.top = 1;
	text = fixture_report_ok(&options, fixture_path("a.dat"));
	expect_part(text, "\n      Peak  Share  Site, called by\n"
			  "  60.0 KiB  60.0%  load  x.c:40\n"
			  "  60.0 KiB  60.0%  a;?[31m  x.c:10\n"
			  "  60.0 KiB  60.0%  main  x.c:3\n"
			  "\n… 3 more sites with 40.0 KiB (--top N shows more)\n");
	free(text);
	options.sort = REPORT_SORT_LEAKED;
	text = fixture_report_ok(&options, fixture_path("a.dat"));
	expect_part(text, "\nNothing leaked.\n");
	free(text);
}

static void test_json_and_csv(void **state)
{
	(void)state;
	struct report_options options;
	report_options_init(&options);
	options.tree = REPORT_TREE_CALLEES;
	options.format = REPORT_FORMAT_CSV;
	write_forms(0);
	char *text = fixture_report_ok(&options, fixture_path("a.dat"));
	assert_string_equal(
		text,
		"depth,path,function,file,line,module,address,recursive,allocations,allocated_bytes,"
		"peak_bytes,peak_blocks,leaked_bytes,leaked_blocks,temporary_allocations,"
		"self_allocations,self_allocated_bytes,self_peak_bytes,self_peak_blocks,"
		"self_leaked_bytes,self_leaked_blocks,self_temporary_allocations\n"
		"1,main,main,/src/x.c,3,/abs/prog,,false,102400,0,102400,0,0,0,0,0,0,0,0,0,0,0\n"
		"2,main;a:?[31m,a;?[31m,/src/x.c,10,/abs/prog,,false,81920,0,81920,0,0,0,0,0,0,0,0,0,0,0\n"
		"3,main;a:?[31m;load,load,/src/x.c,40,/abs/prog,,false,61440,0,61440,0,0,0,0,61440,0,61440,0,0,0,0\n"
		"3,main;a:?[31m;store,store,/src/x.c,41,/abs/prog,,false,20480,0,20480,0,0,0,0,20480,0,20480,0,0,0,0\n"
		"2,main;c,c,/src/x.c,50,/abs/prog,,false,20000,0,20000,0,0,0,0,20000,0,20000,0,0,0,0\n"
		"2,main;b,b,/src/x.c,60,/abs/prog,,false,480,0,480,0,0,0,0,480,0,480,0,0,0,0\n");
	free(text);
	options.format = REPORT_FORMAT_JSON;
	options.frames = 1;
	text = fixture_report_ok(&options, fixture_path("a.dat"));
	expect_part(
		text,
		"\"tree\": [\n    {\"function\": \"main\", \"file\": \"/src/x.c\", \"line\": 3, "
		"\"module\": \"/abs/prog\", \"address\": null, \"recursive\": false, "
		"\"allocations\": 102400, ");
	expect_part(text, "\"self\": {\"allocations\": 102400, ");
	expect_part(text, "\"children\": []}],\n  \"timeline\"");
	free(text);
}

static void test_only_of_sites_and_functions(void **state)
{
	(void)state;
	struct report_options options;
	struct diag diag = { 0 };
	int error;
	write_forms(0);
	report_options_init(&options);
	options.tree = REPORT_TREE_CALLERS;
	options.by = REPORT_BY_MODULE;
	assert_null(fixture_report(&options, fixture_path("a.dat"), &error, &diag));
	assert_int_equal(error, -EINVAL);
	assert_string_equal(diag.text, "cannot make a tree by module");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_both_directions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_roots_are_sites, setup, teardown),
		cmocka_unit_test_setup_teardown(test_recursion, setup, teardown),
		cmocka_unit_test_setup_teardown(test_startup, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inlined_frames_and_plumbing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_not_known, setup, teardown),
		cmocka_unit_test_setup_teardown(test_filters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sums, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json_and_csv, setup, teardown),
		cmocka_unit_test_setup_teardown(test_only_of_sites_and_functions, setup, teardown),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
