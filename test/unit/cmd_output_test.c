/* SPDX-License-Identifier: MIT */
/* --output: patterns and early checks.  Links cmd/output.o and report/diag.o. */
#include "cmd/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct diag diag;

static void expect(const char *pattern, const char *program, const char *expected)
{
	char *path = output_expand(pattern, 4711, program, &diag);

	assert_non_null(path);
	assert_string_equal(path, expected);
	free(path);
}

static void test_letters(void **state)
{
	(void)state;
	expect("memtrack.dat", "ls", "memtrack.dat");
	expect("", "ls", "");
	expect("%p", "ls", "4711");
	expect("/a/%e.%p.dat", "/usr/bin/ls", "/a/ls.4711.dat");
	expect("%e", "ls", "ls");
	expect("%e", "./a/b c", "b c");
	expect("%e%e%p%p", "../x", "xx47114711");
	expect("100%%", "ls", "100%");
	expect("%%p", "ls", "%p");
	expect("%%%p%%", "ls", "%4711%");
	expect("%e", "100%p", "100%p"); /* what was put in is not expanded again */
	expect("\xc3\xa9%p\n", "ls",
	       "\xc3\xa9"
	       "4711\n");
}

static void test_long(void **state)
{
	char *pattern = calloc(1, 20001), *program = calloc(1, 5001), *expected = calloc(1, 70001);

	(void)state;
	memset(program, 'x', 5000);
	for (int i = 0; i < 10; i++)
		strcat(pattern, "%e");
	memset(pattern + 20, 'y', 9000);
	memset(expected, 'x', 50000);
	memset(expected + 50000, 'y', 9000);
	expect(pattern, program, expected);
	free(pattern);
	free(program);
	free(expected);
}

static void test_host(void **state)
{
	struct utsname name;

	(void)state;
	uname(&name);
	expect("%h", "ls", name.nodename);
}

static void format_now(char text[32])
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	snprintf(text, 32, "%04d%02d%02d-%02d%02d%02d", tm.tm_year + 1900, tm.tm_mon + 1,
		 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* Local time, between the second before the call and the one after. */
static void expect_time(const char *zone)
{
	char before[32], after[32], *path;

	setenv("TZ", zone, 1);
	tzset();
	format_now(before);
	path = output_expand("%t", 1, "ls", &diag);
	format_now(after);
	assert_non_null(path);
	assert_int_equal(strlen(path), 15);
	assert_true(strcmp(before, path) <= 0 && strcmp(path, after) <= 0);
	free(path);
	unsetenv("TZ");
	tzset();
}

/* In the morning here, in the evening there. */
static void test_time(void **state)
{
	(void)state;
	expect_time("XXX-05:30");
	expect_time("XXX+06:30");
}

static void expect_refused(const char *pattern, const char *named)
{
	memset(&diag, 0, sizeof(diag));
	assert_null(output_expand(pattern, 1, "ls", &diag));
	assert_non_null(strstr(diag.text, named));
	assert_null(output_expand(pattern, 1, "ls", NULL));
}

static void test_unknown_letters(void **state)
{
	(void)state;
	expect_refused("%x", "%x");
	expect_refused("a%P", "%P");
	expect_refused("%p%d", "%d");
	expect_refused("% ", "% ");
	for (int c = 1; c < 256; c++) {
		const char pattern[] = { '%', (char)c, 0 };

		if (!strchr("pehtp%", c))
			expect_refused(pattern, "unknown");
	}
}

/* Nothing is read past the pattern: it ends where memory does. */
static void test_percent_at_the_end(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const char *const patterns[] = { "%", "memtrack.%p.%", "%%%" };

	(void)state;
	assert_true(memory != MAP_FAILED);
	assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		size_t size = strlen(patterns[i]) + 1;

		memcpy(memory + page - size, patterns[i], size);
		expect_refused(memory + page - size, "unknown");
	}
	munmap(memory, 2 * page);
}

static void test_folder(void **state)
{
	static const char *const paths[][2] = {
		{ "x.dat", "." },     { "./x.dat", "." },   { "a/x.dat", "a" }, { "/x.dat", "/" },
		{ "/a/x.dat", "/a" }, { "/a/b/c", "/a/b" }, { "a/", "a" },	{ "", "." },
		{ "..", "." },	      { "../x", ".." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		char *folder = output_folder(paths[i][0]);

		assert_string_equal(folder, paths[i][1]);
		free(folder);
	}
}

/* -- in a folder of our own ------------------------------------------------------------------------ */

static char directory[] = "/tmp/memtrack-output-XXXXXX";

static int enter(void **state)
{
	(void)state;
	if (!mkdtemp(directory) || chdir(directory) < 0 || mkdir("folder", 0700) < 0 ||
	    mkdir("closed", 0500) < 0 || mkfifo("fifo", 0600) < 0 ||
	    symlink("nowhere", "dangling") < 0)
		return -1;
	close(open("file", O_CREAT | O_WRONLY, 0600));
	return 0;
}

static int leave(void **state)
{
	(void)state;
	unlink("file");
	unlink("fifo");
	unlink("dangling");
	rmdir("folder");
	rmdir("closed");
	return chdir("/") < 0 || rmdir(directory) < 0;
}

static void test_good_places(void **state)
{
	static const char *const good[] = { "new.dat",	"./new.dat",   "folder/new.dat",
					    "file",	"/dev/null",   "fifo",
					    "dangling", "folder/../x", "folder/./x.y" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		memset(&diag, 0, sizeof(diag));
		assert_int_equal(output_check(good[i], &diag), 0);
		assert_string_equal(diag.text, "");
	}
	assert_int_equal(access("new.dat", F_OK), -1); /* only looked */
}

static void test_bad_places(void **state)
{
	static const struct {
		const char *path;
		int error;
		const char *named;
	} bad[] = {
		{ "", EINVAL, "empty" },
		{ ".", EISDIR, "directory" },
		{ "folder", EISDIR, "folder" },
		{ "folder/", EISDIR, "folder" },
		{ "/", EISDIR, "/" },
		{ "missing/new.dat", ENOENT, "missing" },
		{ "folder/missing/new.dat", ENOENT, "folder/missing" },
		{ "new/", ENOENT, "new" },
		{ "file/new.dat", ENOTDIR, "file" },
		{ "file/", ENOTDIR, "file" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memset(&diag, 0, sizeof(diag));
		assert_int_equal(output_check(bad[i].path, &diag), -bad[i].error);
		assert_non_null(strstr(diag.text, bad[i].named));
		assert_int_equal(output_check(bad[i].path, NULL), -bad[i].error);
	}
}

/* In a child, for root may write everywhere: 0 when it was refused as it should. */
static int check_as_nobody(void)
{
	if (geteuid() == 0 && (chmod(directory, 0755) < 0 || setuid(65534) < 0))
		return 0;
	return output_check("closed/new.dat", &diag) != -EACCES || !strstr(diag.text, "closed");
}

static void test_closed_folder(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(check_as_nobody());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_letters),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_unknown_letters),
		cmocka_unit_test(test_percent_at_the_end),
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_good_places),
		cmocka_unit_test(test_bad_places),
		cmocka_unit_test(test_closed_folder),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, enter, leave);
}
