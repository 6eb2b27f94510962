/* SPDX-License-Identifier: MIT */
/* Which paths go together.  Links tails.o. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/tails.h"

enum { TAILS_MAX = 16 };

/* Paths of both sides, all of one group; "-" is one that is not known.  The pairs as "old=new", sorted. */
struct example {
	const char *old[6], *new[6];
	const char *pairs[6];
};

static const struct example examples[] = {
	{ { "/a/x.c" }, { "/a/x.c" }, { "/a/x.c=/a/x.c" } },
	{ { "/a/x.c" }, { "/b/x.c" }, { "/a/x.c=/b/x.c" } },
	{ { "/a/x.c" }, { "x.c" }, { "/a/x.c=x.c" } },
	{ { "/a/x.c" }, { "/a/y.c" }, { NULL } },
	/* the base name is a whole component */
	{ { "/a/x.c" }, { "/a/xx.c" }, { NULL } },
	{ { "/a/x.c" }, { "/a/x.cc" }, { NULL } },
	{ { "/a/sub/x.c" }, { "/b/notsub/x.c" }, { "/a/sub/x.c=/b/notsub/x.c" } },
	/* two files of one base name, in another folder */
	{ { "/1/src/x.c", "/1/lib/x.c" },
	  { "/2/lib/x.c", "/2/src/x.c" },
	  { "/1/lib/x.c=/2/lib/x.c", "/1/src/x.c=/2/src/x.c" } },
	/* the longest tail first: lib/x.c is not left with the wrong one */
	{ { "/1/src/x.c", "/1/lib/x.c" }, { "/2/lib/x.c" }, { "/1/lib/x.c=/2/lib/x.c" } },
	{ { "/1/lib/x.c" }, { "/2/src/x.c", "/2/lib/x.c" }, { "/1/lib/x.c=/2/lib/x.c" } },
	/* what is left goes together all the same */
	{ { "/1/src/x.c", "/1/lib/x.c" },
	  { "/2/lib/x.c", "/2/other/x.c" },
	  { "/1/lib/x.c=/2/lib/x.c", "/1/src/x.c=/2/other/x.c" } },
	/* versions in the path, in order */
	{ { "/r/a-1.0/src/lib.rs", "/r/b-1.0/src/lib.rs" },
	  { "/r/b-1.1/src/lib.rs", "/r/a-1.2/src/lib.rs" },
	  { "/r/a-1.0/src/lib.rs=/r/a-1.2/src/lib.rs",
	    "/r/b-1.0/src/lib.rs=/r/b-1.1/src/lib.rs" } },
	{ { "a//x.c" }, { "a/x.c" }, { "a//x.c=a/x.c" } },
	{ { "" }, { "" }, { "=" } },
	/* not known: with the only one that is left, and not with one of several */
	{ { "-" }, { "/a/x.c" }, { "-=/a/x.c" } },
	{ { "/a/x.c" }, { "-" }, { "/a/x.c=-" } },
	{ { "-" }, { "-" }, { "-=-" } },
	{ { "-" }, { "/a/x.c", "/a/y.c" }, { NULL } },
	{ { "/a/x.c", "-" }, { "/b/x.c", "/b/y.c" }, { "-=/b/y.c", "/a/x.c=/b/x.c" } },
	{ { "-", "/a/x.c" }, { NULL }, { NULL } },
};

struct found {
	const char *texts[TAILS_MAX]; /* by id */
	char pairs[TAILS_MAX][128];
	size_t count;
};

static void note_pair(void *context, uint32_t old_id, uint32_t new_id)
{
	struct found *found = context;
	assert_true(found->count < TAILS_MAX);
	snprintf(found->pairs[found->count++], sizeof(found->pairs[0]), "%s=%s",
		 found->texts[old_id], found->texts[new_id]);
}

static int compare_pairs(const void *a, const void *b)
{
	return strcmp(a, b);
}

static size_t add(struct tail *tails, size_t count, struct found *found, const char *const *paths,
		  uint32_t side)
{
	for (size_t i = 0; i < 6 && paths[i]; i++, count++) {
		found->texts[count] = paths[i];
		tails[count] = (struct tail){ 5, side, strcmp(paths[i], "-") ? paths[i] : NULL,
					      (uint32_t)count };
	}
	return count;
}

static void check_example(const struct example *example, bool reversed)
{
	struct found found = { 0 };
	struct tail tails[TAILS_MAX], turned[TAILS_MAX];
	size_t count = add(tails, 0, &found, example->old, 0), expected = 0;
	count = add(tails, count, &found, example->new, 1);
	for (size_t i = 0; i < count; i++)
		turned[count - 1 - i] = tails[i];
	tails_match(reversed ? turned : tails, count, note_pair, &found);
	qsort(found.pairs, found.count, sizeof(found.pairs[0]), compare_pairs);
	while (expected < 6 && example->pairs[expected])
		expected++;
	for (size_t i = 0; i < found.count && i < expected; i++)
		assert_string_equal(found.pairs[i], example->pairs[i]);
	if (found.count != expected)
		fail_msg("%s: %zu pairs", example->old[0], found.count);
}

static void test_pairs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		check_example(&examples[i], false);
		check_example(&examples[i], true);
	}
}

static void test_groups_are_apart(void **state)
{
	(void)state;
	struct found found = { .texts = { "a", "b" } };
	struct tail tails[] = { { 1, 0, "x.c", 0 }, { 2, 1, "x.c", 1 } };
	tails_match(tails, 2, note_pair, &found);
	assert_int_equal(found.count, 0);
	tails[0].group = tails[1].group;
	tails_match(tails, 2, note_pair, &found);
	assert_int_equal(found.count, 1);
}

/* Paths without an end: only so many components are looked at, and the recursion has a bound. */
static void test_endless_paths(void **state)
{
	(void)state;
	enum { SIZE = 200001 };
	struct found found = { .texts = { "a", "b", "c", "d" } };
	char *paths[4];
	struct tail tails[4];
	for (uint32_t i = 0; i < 4; i++) {
		paths[i] = malloc(SIZE);
		assert_non_null(paths[i]);
		for (size_t at = 0; at < SIZE - 1; at++)
			paths[i][at] = at % 2 ? 'x' : '/';
		paths[i][1] = (char)('a' + i);
		paths[i][SIZE - 1] = '\0';
		tails[i] = (struct tail){ 0, i % 2, paths[i], i };
	}
	tails_match(tails, 4, note_pair, &found);
	assert_int_equal(found.count, 2);
	for (uint32_t i = 0; i < 4; i++)
		free(paths[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_groups_are_apart),
		cmocka_unit_test(test_endless_paths),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("report_tails", tests, NULL, NULL);
}
