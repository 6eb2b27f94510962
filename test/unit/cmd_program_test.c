/* SPDX-License-Identifier: MIT */
/*
 * What is said of a program before it starts.  Finding it is compared with execvp(3) itself; programs of all
 * kinds are built here with $CC.  Links cmd/program.o; libelf.
 */
#include "cmd/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/memtrack-program-XXXXXX";
static struct program_facts facts;

/* Each test's last facts are released here. */
static void examine(const char *name)
{
	program_release(&facts);
	program_examine(name, &facts);
}

static void write_file(const char *path, const void *data, size_t size, mode_t mode)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	fchmod(fd, mode);
	close(fd);
}

static void write_text(const char *path, const char *text, mode_t mode)
{
	write_file(path, text, strlen(text), mode);
}

static char *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char *data;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	data = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	*size = (size_t)st.st_size;
	return data;
}

/* False: this machine cannot build such a program. */
static bool build(const char *name, const char *source, const char *flags)
{
	const char *cc = getenv("CC");
	char command[1024];

	write_text("source.c", source, 0600);
	snprintf(command, sizeof(command), "%s -w -o %s source.c %s 2>/dev/null",
		 cc && *cc ? cc : "cc", name, flags);
	if (system(command) == 0)
		return true;
	print_message("# skipped: cannot build with %s\n", flags);
	return false;
}

static void expect_error(const char *name, int error)
{
	examine(name);
	assert_int_equal(facts.error, error);
	assert_null(facts.path);
}

static void expect_ordinary(const char *name, const char *path)
{
	examine(name);
	assert_int_equal(facts.error, 0);
	assert_string_equal(facts.path, path);
	assert_false(facts.is_static);
	assert_false(facts.foreign);
	assert_false(facts.privileged);
	assert_false(facts.own_malloc);
	assert_string_equal(facts.allocator, "");
	assert_string_equal(facts.architecture, "");
}

/* -- finding it ----------------------------------------------------------------------------------- */

static void test_by_path(void **state)
{
	(void)state;
	expect_ordinary("/bin/sh", "/bin/sh");
	expect_ordinary("./prog", "./prog");
	expect_ordinary("a/../a/prog", "a/../a/prog");
	expect_error("./missing", ENOENT);
	expect_error("a/prog/x", ENOTDIR);
	expect_error("./c/prog", EACCES); /* not executable */
	expect_error("./a", EISDIR);
	expect_error("/", EISDIR);
	expect_error("./fifo", EACCES);
	expect_error("", ENOENT);
}

/* What execvp makes of it: the exit status of the script it started, or -errno. */
static int run_by_name(const char *name)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		execvp(name, (char *const[]){ (char *)name, NULL });
		_exit(100 + errno);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) > 100 ? 100 - WEXITSTATUS(status) : WEXITSTATUS(status);
}

/* The same of what was found. */
static int run_found(void)
{
	return facts.path ? run_by_name(facts.path) : -facts.error;
}

static void expect_as_execvp(const char *path)
{
	int expected;

	if (path)
		setenv("PATH", path, 1);
	else
		unsetenv("PATH");
	expected = run_by_name("prog");
	examine("prog");
	if (run_found() != expected)
		fail_msg("PATH='%s': execvp %d, found '%s' %d", path ? path : "(unset)", expected,
			 facts.path ? facts.path : "", run_found());
}

static char former_path[4096];

static int keep_path(void **state)
{
	(void)state;
	snprintf(former_path, sizeof(former_path), "%s", getenv("PATH"));
	return 0;
}

static int restore_path(void **state)
{
	(void)state;
	return setenv("PATH", former_path, 1);
}

static void each_path(const char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		expect_as_execvp(paths[i]);
}

static void test_search_as_execvp(void **state)
{
	static const char *const paths[] = { "a:b",	    "b:a",	"c:b",	     "d:b",
					     "missing:b",   "a/prog:b", "a:",	     "b::a",
					     "missing::b",  "",		"missing:x", "c",
					     "c:x",	    "x:c",	"c:d",	     "./a:b",
					     "missing:./b", "fifos:b",	"fifos:x",   NULL };

	(void)state;
	each_path(paths, sizeof(paths) / sizeof(*paths));
}

static void test_search_ends(void **state)
{
	static const char *const paths[] = { "a", "a:", "a::", ":", "::", "", "missing:" };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		setenv("PATH", paths[i], 1);
		expect_error("nonesuch", ENOENT);
	}
}

/* An empty name in front is the current directory as well. */
static void test_search_from_here(void **state)
{
	static const char *const paths[] = { ":a", ":", "::a", ":missing" };

	(void)state;
	each_path(paths, sizeof(paths) / sizeof(*paths));
}

/* A folder of that name cannot be executed: "permission denied", not "not found". */
static void test_search_finds_folder(void **state)
{
	static const char *const paths[] = { "d", "d:x", "x:d", "d:missing" };

	(void)state;
	each_path(paths, sizeof(paths) / sizeof(*paths));
}

/* -- scripts -------------------------------------------------------------------------------------- */

static void expect_script(const char *text)
{
	write_text("script", text, 0755);
	expect_ordinary("./script", "./script");
}

static void test_scripts(void **state)
{
	(void)state;
	expect_script("#!/bin/sh\n");
	expect_script("#!/bin/sh");
	expect_script("#! \t /bin/sh -e\n");
	expect_script("#!/usr/bin/env python3\n");
	expect_script("#!/missing/interpreter\n");
	expect_script("#!\n");
	expect_script("#!   \n");
	expect_script("#!");
	expect_script("#");
	expect_script("");
	expect_script("echo no first line for the kernel\n");
	expect_script("#!./script\n"); /* itself */
}

/* Facts are about the interpreter, also through a script that interprets. */
static void test_script_of_static_interpreter(void **state)
{
	(void)state;
	if (!build("interpreter", "int main(void) { return 0; }", "-static"))
		return;
	write_text("script", "#!./interpreter -x\n", 0755);
	examine("./script");
	assert_string_equal(facts.path, "./script");
	assert_true(facts.is_static);
	write_text("outer", "#!./script\nbody\n", 0755);
	examine("./outer");
	assert_string_equal(facts.path, "./outer");
	assert_true(facts.is_static);
}

/* -- executables ---------------------------------------------------------------------------------- */

#define MAIN   "int main(void) { return 0; }\n"
#define MALLOC "#include <stddef.h>\nchar room[99]; void *malloc(size_t n) { return room; }\n"

static void test_linking(void **state)
{
	static const struct {
		const char *flags;
		bool is_static;
	} ways[] = {
		{ "-pie -fPIE", false }, { "-no-pie", false },
		{ "-static", true },	 { "-static-pie", true },
		{ "-s", false },	 { "-static -s", true },
		{ "-rdynamic", false },	 { "-nostdlib -static -e main", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (!build("program", MAIN, ways[i].flags))
			continue;
		examine("./program");
		assert_int_equal(facts.error, 0);
		assert_int_equal(facts.is_static, ways[i].is_static);
		assert_false(facts.foreign);
		assert_false(facts.privileged);
		if (!ways[i].is_static)
			assert_false(facts.own_malloc);
	}
}

static void test_own_malloc(void **state)
{
	static const struct {
		const char *source, *flags;
		bool own_malloc;
	} programs[] = {
		{ MALLOC MAIN, "", true },
		{ MALLOC MAIN, "-no-pie", true },
		{ MALLOC MAIN, "-rdynamic -s", true }, /* in the dynamic symbols only */
		{ "#include <stdlib.h>\nint main(void) { return !malloc(9); }", "-O0", false },
		{ "#include <stdlib.h>\nvoid *volatile p = malloc; int main(void) { return !p; }",
		  "-no-pie", false },
		{ "int malloc = 3; int main(void) { return malloc; }", "-O0 -fno-builtin", false },
		{ "void xmalloc(void) {} void malloc_(void) {}" MAIN, "", false },
		{ "static void *my(unsigned long n) { return 0; }\n"
		  "void *malloc(unsigned long) __attribute__((ifunc(\"pick\")));\n"
		  "void *pick(void) { return my; }" MAIN,
		  "", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		if (!build("program", programs[i].source, programs[i].flags))
			continue;
		examine("./program");
		assert_int_equal(facts.own_malloc, programs[i].own_malloc);
		assert_string_equal(facts.allocator, "");
		assert_false(facts.is_static);
	}
}

static void test_known_allocators(void **state)
{
	static const char *const programs[][2] = {
		{ "void mi_malloc(void) {}" MAIN, "mimalloc" },
		{ "void je_malloc(void) {}" MAIN, "jemalloc" },
		{ "void mallctl(void) {}" MAIN, "jemalloc" },
		{ "void tc_malloc(void) {}" MAIN, "tcmalloc" },
		{ "void rpmalloc(void) {}" MAIN, "rpmalloc" },
		{ "void mi_malloc_(void) {} int mi_malloc = 1;" MAIN, "" }, /* not a function */
		{ "void mi_malloc(void) __attribute__((weak)); int main(void) { return mi_malloc != 0; }",
		  "" }, /* only asked for */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		if (!build("program", programs[i][0], "-fno-builtin"))
			continue;
		examine("./program");
		assert_string_equal(facts.allocator, programs[i][1]);
		assert_false(facts.own_malloc);
	}
	if (build("program", MALLOC "void mi_malloc(void) {}" MAIN, "")) {
		examine("./program");
		assert_true(facts.own_malloc);
		assert_string_equal(facts.allocator, "mimalloc");
	}
}

/* The real library inside. */
static void test_mimalloc_linked_in(void **state)
{
	(void)state;
	if (!build("program", "#include <stdlib.h>\nint main(void) { return !malloc(1); }",
		   "-Wl,--whole-archive -l:libmimalloc.a -Wl,--no-whole-archive -lpthread"))
		return;
	examine("./program");
	assert_true(facts.own_malloc);
	assert_string_equal(facts.allocator, "mimalloc");
}

/* Does the file ask for a program interpreter?  -1: it is no 64-bit ELF file of this machine. */
static int has_interpreter(const char *path)
{
	size_t size;
	char *data = read_file(path, &size);
	const Elf64_Ehdr *e = (const void *)data;
	int result = 0;

	if (size < sizeof(*e) || memcmp(data, "\177ELF\2\1", 6) != 0 || e->e_machine != EM_X86_64)
		result = -1;
	for (unsigned i = 0; result == 0 && i < e->e_phnum; i++)
		if (((const Elf64_Phdr *)(data + e->e_phoff))[i].p_type == PT_INTERP)
			result = 1;
	free(data);
	return result;
}

/* Programs of this machine. */
static void test_usr_bin(void **state)
{
	DIR *d = opendir("/usr/bin");
	const struct dirent *entry;
	unsigned checked = 0;
	char path[512];

	(void)state;
	while (d && (entry = readdir(d)) && checked < 150) {
		struct stat st;
		int expected;

		snprintf(path, sizeof(path), "/usr/bin/%s", entry->d_name);
		if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > 1 << 20 ||
		    access(path, X_OK | R_OK) < 0 || (expected = has_interpreter(path)) < 0)
			continue;
		examine(path);
		assert_int_equal(facts.error, 0);
		assert_int_equal(facts.is_static, !expected);
		assert_false(facts.foreign);
		checked++;
	}
	closedir(d);
	print_message("# %u programs\n", checked);
}

static void test_loader(void **state)
{
	(void)state;
	if (access("/lib64/ld-linux-x86-64.so.2", X_OK) < 0)
		return;
	expect_ordinary("/lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2");
}

/* -- odd files ------------------------------------------------------------------------------------ */

static void expect_foreign(const char *data, size_t size, const char *architecture)
{
	write_file("foreign", data, size, 0755);
	examine("./foreign");
	assert_int_equal(facts.error, 0);
	assert_string_equal(facts.path, "./foreign");
	assert_true(facts.foreign);
	assert_string_equal(facts.architecture, architecture);
}

static void test_foreign(void **state)
{
	size_t size;
	char *data;

	(void)state;
	assert_true(build("program", MAIN, ""));
	data = read_file("program", &size);
	data[18] = (char)EM_AARCH64;
	expect_foreign(data, size, "aarch64");
	data[18] = (char)EM_RISCV;
	expect_foreign(data, size, "riscv");
	data[18] = 77;
	data[19] = 1;
	expect_foreign(data, size, "ELF machine 333");
	data[18] = EM_386;
	data[19] = 0;
	data[EI_CLASS] = ELFCLASS32;
	expect_foreign(data, size, "x86 (32 bits)");
	expect_foreign(data, 52, "x86 (32 bits)"); /* nothing but the header */
	data[18] = EM_ARM;
	expect_foreign(data, size, "arm");
	data[18] = EM_X86_64;
	expect_foreign(data, size, "x32");
	data[EI_CLASS] = ELFCLASS64;
	data[EI_DATA] = ELFDATA2MSB;
	data[18] = 0;
	data[19] = EM_S390;
	expect_foreign(data, size, "s390");
	free(data);
}

static void test_cut_short(void **state)
{
	size_t size, length;
	char *data;

	(void)state;
	assert_true(build("program", MALLOC MAIN, ""));
	data = read_file("program", &size);
	for (length = 0; length < size; length += length < 400 ? 1 : 397) {
		write_file("cut", data, length, 0755);
		examine("./cut");
		assert_int_equal(facts.error, 0);
		assert_string_equal(facts.path, "./cut");
		assert_false(facts.foreign);
	}
	free(data);
}

/* Anything may come out; nothing may break. */
static void test_damaged(void **state)
{
	uint32_t random = 12345;
	size_t size;
	char *data;

	(void)state;
	assert_true(build("program", MALLOC MAIN, ""));
	data = read_file("program", &size);
	for (int round = 0; round < 2000; round++) {
		char *copy = malloc(size);

		memcpy(copy, data, size);
		for (int i = 0; i < 8; i++) {
			size_t at;

			random = random * 1664525 + 1013904223;
			at = random % (i % 2 ? size : 64);
			if (i % 4 == 2)
				at = size - 1 - random % 2000; /* section headers are at the end */
			copy[at] = (char)(random >> 24);
		}
		memcpy(copy, data, 20); /* stays an ELF file of this machine */
		write_file("damaged", copy, size, 0755);
		examine("./damaged");
		assert_int_equal(facts.error, 0);
		free(copy);
	}
	free(data);
}

static void expect_privileged(mode_t mode, uid_t user, gid_t group, bool privileged)
{
	assert_int_equal(chown("privileged", user, group), 0);
	assert_int_equal(chmod("privileged", mode), 0);
	examine("./privileged");
	assert_int_equal(facts.privileged, privileged);
}

/* The loader ignores LD_PRELOAD when the program gains an identity by its file. */
static void test_privileged(void **state)
{
	(void)state;
	assert_true(build("privileged", MAIN, ""));
	expect_privileged(04755, geteuid(), getegid(), false);
	expect_privileged(02755, geteuid(), getegid(), false);
	if (geteuid() != 0)
		return;
	expect_privileged(0755, 1, 1, false);
	expect_privileged(04755, 1, 0, true);
	expect_privileged(02755, 0, 1, true);
	expect_privileged(06755, 1, 1, true);
}

/* -- the folder ----------------------------------------------------------------------------------- */

static int enter(void **state)
{
	static const char *const folders[] = { "a", "b", "c", "d", "d/prog", "x", "fifos" };

	(void)state;
	if (!mkdtemp(directory) || chdir(directory) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (mkdir(folders[i], 0755) < 0)
			return -1;
	write_text("a/prog", "#!/bin/sh\nexit 1\n", 0755);
	write_text("b/prog", "#!/bin/sh\nexit 2\n", 0755);
	write_text("prog", "#!/bin/sh\nexit 3\n", 0755);
	write_text("c/prog", "#!/bin/sh\nexit 4\n", 0644);
	return mkfifo("fifos/prog", 0755) < 0 || mkfifo("fifo", 0755) < 0;
}

static int leave(void **state)
{
	char command[256];

	(void)state;
	program_release(&facts);
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	return chdir("/") < 0 || system(command) != 0;
}

#define PATH_TEST(test) cmocka_unit_test_setup_teardown(test, keep_path, restore_path)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_path),
		PATH_TEST(test_search_as_execvp),
		PATH_TEST(test_search_ends),
		PATH_TEST(test_search_from_here),
		PATH_TEST(test_search_finds_folder),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_script_of_static_interpreter),
		cmocka_unit_test(test_linking),
		cmocka_unit_test(test_own_malloc),
		cmocka_unit_test(test_known_allocators),
		cmocka_unit_test(test_mimalloc_linked_in),
		cmocka_unit_test(test_usr_bin),
		cmocka_unit_test(test_loader),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_privileged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, enter, leave);
}
