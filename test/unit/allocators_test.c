/* SPDX-License-Identifier: MIT */
/*
 * Allocators by name and by path: the descriptors, the options of stomp, what is taken for a malloc library (built here
 * with $CC, or made by hand), and the loader's cache, damaged in all ways.  Links allocators/, report/diag.o, report/units.o;
 * libelf.
 */
#include "allocators/allocators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/memtrack-allocators-XXXXXX";
static struct diag diag;

static void write_file(const char *name, const void *data, size_t size)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

/* A C source, compiled with these options; it may have nothing but what the compiler makes. */
static void build(const char *name, const char *options, const char *source)
{
	char command[512];
	const char *cc = getenv("CC");

	write_file("source.c", source, strlen(source));
	snprintf(command, sizeof(command), "%s -fno-builtin -o %s %s source.c",
		 cc && *cc ? cc : "cc", name, options);
	assert_int_equal(system(command), 0);
}

#define ALL_BUT_REALLOC                                                            \
 "#include <stddef.h>\n"                                                           \
 "void *malloc(size_t n) { (void)n; return 0; } void free(void *p) { (void)p; }\n" \
 "void *calloc(size_t n, size_t m) { (void)n; (void)m; return 0; }\n"
#define ALL ALL_BUT_REALLOC "void *realloc(void *p, size_t n) { (void)n; return p; }\n"

/* -- options of stomp --------------------------------------------------------------------------- */

static char *function; /* what the last options said */

static void expect_options(const char *text, const char *canonical)
{
	char *got;

	free(function);
	memset(&diag, 0, sizeof(diag));
	got = allocator_stomp_options(text, &function, &diag);
	if (!canonical) {
		assert_null(got);
		assert_true(*diag.text);
		return;
	}
	if (!got)
		fail_msg("'%s': %s", text, diag.text);
	assert_string_equal(got, canonical);
	free(got);
}

static void test_stomp_options(void **state)
{
	(void)state;
	expect_options("", "");
	expect_options("under", "under");
	expect_options("under:align=1,quarantine=1G", "under,align=1,quarantine=1073741824");
	expect_options(",under,,continue:", "under,continue");
	expect_options("align=4096", "align=4096");
	expect_options("sample=1", "sample=1");
	expect_options("sample=4294967295", "sample=4294967295");
	expect_options("min=1.5K,max=2MiB", "min=1536,max=2097152");
	expect_options("quarantine=0", "quarantine=0");
	expect_options("guard=madvise", "guard=madvise");
	expect_options("guard=mprotect,guard=canary", "guard=mprotect,guard=canary");
}

/* An expression takes all that is left, commas and colons as well. */
static void test_stomp_function(void **state)
{
	(void)state;
	expect_options("under", "under");
	assert_null(function);
	expect_options("align=1,function=^a::b(c,under)$", "align=1");
	assert_string_equal(function, "^a::b(c,under)$");
	expect_options("function=x,function=y", "");
	assert_string_equal(function, "x,function=y");
}

static void test_stomp_options_wrong(void **state)
{
	static const char *const wrong[] = {
		"over",
		"function=",
		"function",
		"under=1",
		"align",
		"align=",
		"align=0",
		"align=3",
		"align=8192",
		"align=1K",
		"align=-1",
		"align=+1",
		"sample=0",
		"sample=1K",
		"sample=4294967296",
		"sample= 1",
		"max=lots",
		"max=-1",
		"min=",
		"quarantine=99999999999G",
		"guard=none",
		"guard",
		"continue=yes",
		"unde",
		"underr",
		"=1",
		"under align=1",
		"align=16x",
		"align=18446744073709551617",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		expect_options(wrong[i], NULL);
	expect_options("under,over", NULL);
	assert_non_null(strstr(diag.text, "'over'"));
	assert_non_null(strstr(diag.text, "quarantine=SIZE"));
}

/* -- files -------------------------------------------------------------------------------------- */

static char reason[160];
static bool operators;

static void expect_file(const char *path, const char *marks, const char *why)
{
	int error = allocator_check_file(path, marks, &operators, reason, sizeof(reason));

	if (!why && error)
		fail_msg("%s: %s", path, reason);
	if (!why)
		return;
	assert_int_not_equal(error, 0);
	if (!strstr(reason, why))
		fail_msg("%s: '%s' instead of '%s'", path, reason, why);
}

static void test_libraries(void **state)
{
	(void)state;
	build("all.so", "-shared -fPIC", ALL);
	expect_file("all.so", NULL, NULL);
	assert_false(operators);
	expect_file("all.so", "mi_malloc rpmalloc", "another malloc library");
	build("marked.so", "-shared -fPIC", ALL "void rpmalloc(void) {} void rpmallo(void) {}\n");
	expect_file("marked.so", "mi_malloc rpmalloc", NULL);
	expect_file("marked.so", "rpmalloc_initialize", "another malloc library");
	build("operators.so", "-shared -fPIC", ALL "void _Znwm(void) {}\n");
	expect_file("operators.so", NULL, NULL);
	assert_true(operators);
	build("some.so", "-shared -fPIC", ALL_BUT_REALLOC);
	expect_file("some.so", NULL, "not free, calloc and realloc");
	build("none.so", "-shared -fPIC", "int one(void) { return 1; }\n");
	expect_file("none.so", NULL, "no malloc");
	/* To call it is not to define it. */
	build("calls.so", "-shared -fPIC",
	      "#include <stdlib.h>\nvoid f(void) { free(malloc(1)); free(calloc(1, 1)); free(realloc(0, 1)); }\n");
	expect_file("calls.so", NULL, "no malloc");
	build("hidden.so", "-shared -fPIC -fvisibility=hidden", ALL);
	expect_file("hidden.so", NULL, "no malloc");
	build("asan.so", "-shared -fPIC", ALL "void __asan_init(void) {}\n");
	expect_file("asan.so", NULL, "sanitizer");
}

static void test_no_libraries(void **state)
{
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
					   EV_CURRENT },
			      .e_type = ET_DYN,
			      .e_machine = EM_AARCH64,
			      .e_version = EV_CURRENT,
			      .e_ehsize = sizeof(header) };
	Elf32_Ehdr small = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB,
					  EV_CURRENT },
			     .e_type = ET_DYN,
			     .e_machine = EM_386,
			     .e_version = EV_CURRENT,
			     .e_ehsize = sizeof(small) };

	(void)state;
	build("program", "-rdynamic", ALL "int main(void) { return 0; }\n");
	expect_file("program", NULL, "a program");
	build("program", "-rdynamic -no-pie", ALL "int main(void) { return 0; }\n");
	expect_file("program", NULL, "a program");
	build("object.o", "-c", ALL);
	expect_file("object.o", NULL, "no shared library");
	write_file("foreign.so", &header, sizeof(header));
	expect_file("foreign.so", NULL, "another architecture (ELF machine 183, 64 bits)");
	write_file("small.so", &small, sizeof(small));
	expect_file("small.so", NULL, "another architecture (ELF machine 3, 32 bits)");
	small.e_machine = EM_X86_64; /* x32 */
	write_file("small.so", &small, sizeof(small));
	expect_file("small.so", NULL, "another architecture");
	write_file("empty.so", "", 0);
	expect_file("empty.so", NULL, "empty");
	write_file("text.so", "INPUT(-lmimalloc)\n", 18);
	expect_file("text.so", NULL, "no ELF file");
	expect_file("missing.so", NULL, "No such file");
	expect_file(".", NULL, "a directory");
	expect_file("/dev/null", NULL, "no regular file");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	expect_file("fifo", NULL, "no regular file");
	if (geteuid() != 0) {
		assert_int_equal(chmod("all.so", 0), 0);
		expect_file("all.so", NULL, "denied");
		chmod("all.so", 0600);
	}
}

/* Any byte may be wrong, and the file may end anywhere. */
static void test_damaged_library(void **state)
{
	static unsigned char good[1 << 20], bad[1 << 20];
	FILE *f = fopen("all.so", "r");
	size_t size = fread(good, 1, sizeof(good), f);

	(void)state;
	fclose(f);
	for (unsigned i = 0; i < 3000; i++) {
		size_t length = i % 3 ? size : size * i / 3000;

		memcpy(bad, good, size);
		for (unsigned k = 0; k < 8; k++)
			bad[(size_t)rand() % (k < 4 ? 64 : size)] = (unsigned char)rand();
		write_file("bad.so", bad, length);
		(void)!allocator_check_file("bad.so", NULL, &operators, reason, sizeof(reason));
	}
}

/* -- the loader's cache ------------------------------------------------------------------------- */

static char found[256];
static int visits;

static bool note(const char *path, void *context)
{
	(void)context;
	snprintf(found, sizeof(found), "%s", path);
	visits++;
	return true;
}

static bool pass(const char *path, void *context)
{
	note(path, context);
	return false;
}

struct entry {
	uint32_t flags, key, value, osversion;
	uint64_t hwcap;
};

struct cache {
	char magic[20];
	uint32_t count, strings;
	uint32_t rest[5];
	struct entry entries[4];
	char text[64];
};

enum { TEXT = offsetof(struct cache, text) };

/* "libx.so" of other kinds of libraries, then of ours; "/dev/null" stands for the right file. */
static const struct cache good_cache = {
	.magic = "glibc-ld.so.cache1.1",
	.count = 4,
	.entries = { { 0x0003, TEXT, TEXT + 16, 0, 0 },
		     { 0x0303, TEXT, TEXT + 16, 0, 1ull << 62 },
		     { 0x0303, TEXT + 3, TEXT + 16, 0, 0 },
		     { 0x0303, TEXT, TEXT + 32, 0, 0 } },
	.text = "libx.so\0\0\0\0\0\0\0\0\0/dev/zero\0\0\0\0\0\0\0/dev/null",
};

/* At the end of a page, after which there is nothing. */
static bool search(const void *cache, size_t size, const char *soname, allocator_visit visit)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool result;

	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	memcpy(pages + 4096 - size, cache, size);
	*found = 0;
	visits = 0;
	result = allocator_search_cache(pages + 4096 - size, size, soname, visit, NULL);
	munmap(pages, 8192);
	return result;
}

static void test_cache(void **state)
{
	struct cache c = good_cache;

	(void)state;
	assert_true(search(&c, sizeof(c), "libx.so", note));
	assert_string_equal(found, "/dev/null");
	assert_int_equal(visits, 1);
	assert_false(search(&c, sizeof(c), "libx.so", pass));
	assert_int_equal(visits, 1);
	assert_false(search(&c, sizeof(c), "liby.so", note));
	memcpy(c.text + 32, "/dev/none", 9); /* in the cache, but gone */
	assert_false(search(&c, sizeof(c), "libx.so", note));
	assert_int_equal(visits, 0);
}

static void test_cache_damaged(void **state)
{
	struct cache c;
	uint32_t *words = (uint32_t *)&c;
	static const uint32_t values[] = {
		0, 1, TEXT + 63, sizeof(c) - 1, sizeof(c), sizeof(c) + 1, 0x7fffffff, UINT32_MAX
	};

	(void)state;
	for (size_t size = 0; size < sizeof(c); size++)
		(void)search(&good_cache, size, "libx.so", note);
	assert_false(search(&good_cache, 47, "libx.so", note));
	for (size_t i = 0; i < sizeof(c) / 4; i++)
		for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++) {
			c = good_cache;
			words[i] = values[k];
			(void)search(&c, sizeof(c), "libx.so", note);
		}
	c = good_cache;
	c.count = 5; /* one more than there is room for, with the texts cut off */
	assert_false(search(&c, TEXT, "libx.so", note));
	c = good_cache;
	memset(c.text, 'x', sizeof(c.text)); /* a text without an end */
	assert_false(search(&c, sizeof(c), "libx.so", note));
}

/* -- the choice --------------------------------------------------------------------------------- */

static struct allocator_choice choice;

static int choose(const char *argument, const char *stomp)
{
	allocator_release(&choice);
	memset(&diag, 0, sizeof(diag));
	return allocator_choose(argument, stomp, &choice, &diag);
}

static void test_names(void **state)
{
	char names[256] = "";

	(void)state;
	for (const struct allocator *a = allocators; a->name; a++) {
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 *names ? "|" : "", a->name);
		assert_ptr_equal(allocator_named(a->name, strlen(a->name)), a);
	}
	assert_string_equal(names, ALLOCATOR_NAMES);
	assert_null(allocator_named("mimallo", 7));
	assert_null(allocator_named("", 0));
}

static void test_choose(void **state)
{
	char here[256];

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(choose("ansi", NULL), 0);
	assert_null(choice.path);
	assert_int_equal(choose("./all.so", NULL), 0);
	assert_null(choice.allocator);
	assert_int_equal(choice.path[0], '/');
	assert_int_equal(access(choice.path, R_OK), 0);
	assert_false(choice.operators);
	assert_int_equal(choose("./operators.so", NULL), 0);
	assert_true(choice.operators);
	assert_int_not_equal(choose("all.so", NULL), 0); /* no slash: a name */
	assert_non_null(strstr(diag.text, "unknown allocator 'all.so'"));
	assert_int_not_equal(choose("", NULL), 0);
	assert_int_not_equal(choose("ansi:under", NULL), 0);
	assert_int_not_equal(choose("./none.so", NULL), 0);
	assert_non_null(strstr(diag.text, "'./none.so': it defines no malloc"));
}

static void test_choose_stomp(void **state)
{
	(void)state;
	assert_int_not_equal(choose("stomp", NULL), 0);
	assert_int_equal(choose("stomp", "./all.so"), 0);
	assert_string_equal(choice.stomp_options, "");
	assert_int_equal(choose("stomp:align=1", "./all.so"), 0);
	assert_string_equal(choice.stomp_options, "align=1");
	assert_int_not_equal(choose("stomp:nonsense", "./all.so"), 0);
	assert_non_null(strstr(diag.text, "nonsense"));
	assert_int_not_equal(choose("stomp", "./none.so"), 0);
	assert_int_not_equal(choose("stomps", "./all.so"), 0);
}

static void test_choose_by_search(void **state)
{
	(void)state;
	/* Not the first that is there, but the first that will do; LD_LIBRARY_PATH comes first. */
	assert_int_equal(mkdir("first", 0700) | mkdir("second", 0700), 0);
	assert_int_equal(rename("none.so", "first/librpmalloc.so"), 0);
	setenv("LD_LIBRARY_PATH", "first", 1);
	assert_int_not_equal(choose("rpmalloc", NULL), 0);
	assert_non_null(strstr(diag.text, "'first/librpmalloc.so': it defines no malloc"));
	assert_int_equal(rename("marked.so", "second/librpmalloc.so"), 0);
	setenv("LD_LIBRARY_PATH", "nowhere:first:second", 1);
	assert_int_equal(choose("rpmalloc", NULL), 0);
	assert_non_null(strstr(choice.path, "/second/librpmalloc.so"));
	setenv("LD_LIBRARY_PATH", "nowhere", 1);
	assert_int_not_equal(choose("rpmalloc", NULL), 0);
	assert_non_null(strstr(diag.text, "is not installed"));
	assert_non_null(strstr(diag.hint, "MEMTRACK_RPMALLOC"));
	unsetenv("LD_LIBRARY_PATH");
	setenv("MEMTRACK_RPMALLOC", "second/librpmalloc.so", 1);
	assert_int_equal(choose("rpmalloc", NULL), 0);
	setenv("MEMTRACK_RPMALLOC", "all.so", 1);
	assert_int_not_equal(choose("rpmalloc", NULL), 0);
	assert_non_null(strstr(diag.text, "another malloc library"));
	unsetenv("MEMTRACK_RPMALLOC");
	allocator_release(&choice);
}

static int enter(void **state)
{
	(void)state;
	return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stomp_options),
		cmocka_unit_test(test_stomp_function),
		cmocka_unit_test(test_stomp_options_wrong),
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_no_libraries),
		cmocka_unit_test(test_damaged_library),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_cache_damaged),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_choose_stomp),
		cmocka_unit_test(test_choose_by_search),
	};

	unsetenv("LD_LIBRARY_PATH");
	unsetenv("MEMTRACK_RPMALLOC");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, enter, leave);
}
