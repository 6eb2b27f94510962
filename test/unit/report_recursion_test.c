/* SPDX-License-Identifier: MIT */
/* Repetitions at the start of a stack.  Links recursion.o only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "report/recursion.h"
#include "report/render.h"

/* A letter is a function; equal texts are the same text, as in a recording. */
static size_t make_frames(struct shown_frame *frames, const char *letters)
{
	static const char names[26][2] = { "a", "b", "c", "d", "e", "f", "g" };
	size_t count = strlen(letters);
	for (size_t i = 0; i < count; i++)
		frames[i] =
			(struct shown_frame){ .function = names[letters[i] - 'a'], .address = i };
	return count;
}

static void expect_period(const char *letters, size_t period, size_t times)
{
	struct shown_frame frames[32];
	size_t found_times,
		found = recursion_period(frames, make_frames(frames, letters), &found_times);
	if (found != period || (period && found_times != times))
		fail_msg("%s: %zu frames %zu times", letters, found, found_times);
}

static void test_periods(void **state)
{
	(void)state;
	expect_period("", 0, 0);
	expect_period("a", 0, 0);
	expect_period("aa", 0, 0);
	expect_period("aaa", 1, 3);
	expect_period("aaaab", 1, 4);
	expect_period("baaa", 0, 0);
	expect_period("ababab", 2, 3);
	expect_period("abababa", 2, 3);
	expect_period("ababa", 0, 0);
	expect_period("aabaabaab", 3, 3);
	expect_period("abcdabcdabcdabcd", 4, 4);
	expect_period("abcdeabcdeabcde", 0, 0);
}

static void test_frames_that_differ(void **state)
{
	(void)state;
	static const char name[] = "f", file[] = "f.c", other[] = "g.c";
	const struct shown_frame same = { .function = name, .file = file, .line = 3 };
	struct shown_frame frames[] = { same, same, same };
	size_t times;
	assert_int_equal(recursion_period(frames, 3, &times), 1);
	frames[2].line = 4;
	assert_int_equal(recursion_period(frames, 3, &times), 0);
	frames[2] = same;
	frames[2].file = other;
	assert_int_equal(recursion_period(frames, 3, &times), 0);
	frames[2] = same;
	frames[2].inlined = true;
	assert_int_equal(recursion_period(frames, 3, &times), 0);
	/* Without a name only the address tells. */
	const struct shown_frame nameless = { .module = file, .address = 7 };
	struct shown_frame unknown[] = { nameless, nameless, nameless };
	assert_int_equal(recursion_period(unknown, 3, &times), 1);
	unknown[2].address = 8;
	assert_int_equal(recursion_period(unknown, 3, &times), 0);
	unknown[2].address = 7;
	unknown[2].module = other;
	assert_int_equal(recursion_period(unknown, 3, &times), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_periods),
		cmocka_unit_test(test_frames_that_differ),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
