/* SPDX-License-Identifier: MIT */
/* What completion offers, from tables of the test's own.  Links cmd/complete.o, cmd/processes.o. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/complete.h"
#include "report/report.h"

struct values {
	const char *output, *alloc, *list, *folder, *number;
	int color;
	int64_t pid;
};

static const struct report_name colors[] = {
	{ "auto", "as it fits" }, { "secret", "" }, { "never", "not at all" }, { NULL, NULL }
};

/* clang-format off */
static const struct opt table[] = {
	OPT_STRING('o', "output", "FILE", struct values, output, "write FILE"),
	OPT_STRING_OF('a', "alloc", "NAME", "own|stomp|stomp:under|stomp:align=|other:far|FILE.so",
		      struct values, alloc, "an allocator"),
	OPT_STRING_OF(0, "list", "WORDS", "one,|two,|twofold,|none|help", struct values, list, "a list"),
	OPT_STRING(0, "folder", "DIR", struct values, folder, "look in DIR"),
	OPT_STRING(0, "number", "N", struct values, number, "a number"),
	OPT_CHOICE_PARTLY(0, "color", "WHEN", struct values, color, colors, 1 << 1, "colour"),
	OPT_INT(0, "pid", "PID", struct values, pid, 1, 100, "of what was recorded, so none that runs"),
	OPT_ALIAS("paint", "color"),
	{ .name = "hidden", .type = OPT_TYPE_CHOICE, .choices = colors, .flags = OPT_HIDDEN },
	OPT_END,
};
/* clang-format on */

static const struct opt no_options[] = { OPT_END };
static const struct command first_command = {
	.name = "first", .summary = "the first", .opts = table, .operand = "FILE.dat"
};
static const struct command second_command = {
	.name = "second", .summary = "the second", .opts = no_options, .operand = "PID"
};
static const struct command third_command = {
	.name = "third", .summary = "the third", .opts = no_options, .operand = "COMMAND|DIR"
};
static const struct command last_command = { .name = "last", .summary = "it", .opts = no_options };
const struct command *const commands[] = { &first_command, &second_command, &third_command,
					   &last_command, NULL };
const struct help_topic help_topics[] = { { "topic", "a topic", NULL }, { NULL, NULL, NULL } };

static char *offered(const struct command *command, const char *option, const char *text)
{
	char *result = NULL;
	size_t size;
	FILE *out = open_memstream(&result, &size);

	assert_non_null(out);
	complete_values(out, command, option, text);
	assert_int_equal(fclose(out), 0);
	return result;
}

static void expect(const struct command *command, const char *option, const char *text,
		   const char *wanted)
{
	char *got = offered(command, option, text);

	assert_string_equal(got, wanted);
	free(got);
}

static void test_choices(void **state)
{
	(void)state;
	expect(&first_command, "--color", "", "auto\tas it fits\nnever\tnot at all\n");
	expect(&first_command, "--paint", "n", "auto\tas it fits\nnever\tnot at all\n");
	expect(&first_command, "--hidden", "", "");
	expect(&first_command, "--unknown", "", "");
}

static void test_files(void **state)
{
	(void)state;
	expect(&first_command, "-o", "", "\tFILE\n");
	expect(&first_command, "--output", "a,b:c", "\tFILE\n");
	expect(&first_command, "--folder", "", "\tDIR\n");
	expect(&first_command, "--number", "", "");
	expect(&first_command, "--pid", "", "");
	expect(&first_command, "-", "", "");
	expect(&first_command, "-oo", "", "");
}

static void test_operands(void **state)
{
	(void)state;
	expect(&first_command, "", "", "\tFILE.dat\n");
	expect(&last_command, "", "", "");
	expect(&third_command, "", "",
	       "first\tthe first\nsecond\tthe second\nthird\tthe third\nlast\tit\ntopic\ta topic\n\tDIR\n");
}

static void test_lists(void **state)
{
	(void)state;
	expect(&first_command, "--list", "", "one\t\ntwo\t\ntwofold\t\nnone\t\nhelp\t\n");
	expect(&first_command, "--list", "tw", "one\t\ntwo\t\ntwofold\t\nnone\t\nhelp\t\n");
	/* "two" in the list is not "twofold" */
	expect(&first_command, "--list", "two,o", "two,one\t\ntwo,twofold\t\n");
	expect(&first_command, "--list", "twofold,one,", "twofold,one,two\t\n");
	expect(&first_command, "--list", "x:one,", "");
}

static void test_parts(void **state)
{
	(void)state;
	expect(&first_command, "-a", "st", "own\t\nstomp\t\n\tFILE.so\n");
	expect(&first_command, "-a", "stomp:", "stomp:under\t\nstomp:align=\t\n\tFILE.so\n");
	expect(&first_command, "-a", "stomp:align=1,u", "stomp:align=1,under\t\n\tFILE.so\n");
	expect(&first_command, "-a", "stomp:under:", "stomp:under:align=\t\n\tFILE.so\n");
	expect(&first_command, "-a", "own:", "\tFILE.so\n");
}

static void test_plain(void **state)
{
	char text[32], small[8];

	(void)state;
	complete_plain("one,|two,|stomp|stomp:under,|FILE", text, sizeof(text));
	assert_string_equal(text, "one|two|stomp|FILE");
	complete_plain("", text, sizeof(text));
	assert_string_equal(text, "");
	complete_plain("abcdef|ghijkl", small, sizeof(small));
	assert_string_equal(small, "abcdef|");
}

/* A child by a name that would clear the screen. */
static void test_processes(void **state)
{
	char line[64], self[32], *got;
	int ready[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "a\033[2J\tb\n");
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], line, 1), 1);
	got = offered(&second_command, "", "");
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(ready[0]);
	close(ready[1]);
	snprintf(line, sizeof(line), "%d\ta?[2J?b?\n", (int)child);
	assert_non_null(strstr(got, line));
	snprintf(self, sizeof(self), "\n%d\t", (int)getpid());
	assert_null(strstr(got, self));
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choices),	  cmocka_unit_test(test_files),
		cmocka_unit_test(test_operands),  cmocka_unit_test(test_lists),
		cmocka_unit_test(test_parts),	  cmocka_unit_test(test_plain),
		cmocka_unit_test(test_processes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
