/* SPDX-License-Identifier: MIT */
/* The option parser: every type, every way to spell an option, every message.  Links cmd/opt.o. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/opt.h"
#include "report/report.h"

struct values {
	bool quiet, no_follow, hidden;
	const char *output, *tree;
	int64_t depth;
	uint64_t size;
	int color, sides;
	struct opt_list paths;
	int calls;
};

static const struct report_name colors[] = {
	{ "auto", "" }, { "always", "" }, { "never", "" }, { NULL, NULL }
};

static int take_even(const struct opt *opt, void *values, const char *value, struct diag *diag)
{
	struct values *v = values;

	assert_string_equal(opt->name, "even");
	if (strlen(value) % 2)
		return diag_set(diag, -EINVAL, "'%s' is odd", value);
	v->calls++;
	return 0;
}

/* clang-format off */
static const struct opt table[] = {
	OPT_FLAG('q', "quiet", struct values, quiet, "no summary"),
	OPT_FLAG(0, "no-follow", struct values, no_follow, "ignore children"),
	OPT_CLEAR(0, "follow-fork", struct values, no_follow, "the default"),
	OPT_ALIAS("trace-children", "follow-fork"),
	OPT_STRING('o', "output", "FILE", struct values, output, "write FILE"),
	OPT_INT('n', "depth", "N", struct values, depth, 1, 4096, "frames"),
	OPT_SIZE(0, "size", "SIZE", struct values, size, 16, 1 << 30, "a size"),
	OPT_CHOICE(0, "color", "WHEN", struct values, color, colors, "colour"),
	OPT_CHOICE_PARTLY(0, "sides", "S", struct values, sides, colors, 1 << 1, "half-hidden"),
	OPT_OPTIONAL_STRING('t', "tree", "WAY", struct values, tree, "callers", "a tree"),
	OPT_REPEAT('p', "debug-path", "DIR", struct values, paths, "look in DIR"),
	OPT_CALLBACK(0, "even", "TEXT", take_even, "of even length"),
	{ .name = "secret", .type = OPT_TYPE_FLAG, .flags = OPT_HIDDEN,
	  .offset = offsetof(struct values, hidden) },
	OPT_END,
};
/* clang-format on */

/* One parse of a NULL-terminated list of words. */
struct parsed {
	struct values values;
	struct diag diag;
	enum opt_result result;
	char *argv[16];
	int argc, first;
};

static void parse(struct parsed *p, enum opt_mode mode, ...)
{
	va_list words;

	*p = (struct parsed){ .argc = 1 };
	p->argv[0] = (char *)"test";
	va_start(words, mode);
	for (char *word; (word = va_arg(words, char *));)
		p->argv[p->argc++] = word;
	va_end(words);
	p->result = opt_parse(table, mode, p->argc, p->argv, &p->values, &p->first, &p->diag);
}

#define PARSE(...) parse(&p, OPT_INTERMIXED, __VA_ARGS__, NULL)
#define PARSE_OK(...)                 \
 do {                                 \
  PARSE(__VA_ARGS__);                 \
  assert_int_equal(p.result, OPT_OK); \
 } while (0)
#define PARSE_ERROR(message, ...)            \
 do {                                        \
  PARSE(__VA_ARGS__);                        \
  assert_int_equal(p.result, OPT_ERROR);     \
  assert_string_equal(p.diag.text, message); \
  opt_release(table, &p.values);             \
 } while (0)

static void test_spellings(void **state)
{
	struct parsed p;

	(void)state;
	PARSE_OK("--output=a=b", "--depth", "7", "--quiet");
	assert_string_equal(p.values.output, "a=b");
	assert_int_equal(p.values.depth, 7);
	assert_true(p.values.quiet);
	assert_int_equal(p.first, p.argc);
	PARSE_OK("-qo", "file", "-n5");
	assert_string_equal(p.values.output, "file");
	assert_int_equal(p.values.depth, 5);
	assert_true(p.values.quiet);
	PARSE_OK("-qofile");
	assert_string_equal(p.values.output, "file");
	PARSE_OK("-o", "--quiet"); /* a value may look like an option */
	assert_string_equal(p.values.output, "--quiet");
	assert_false(p.values.quiet);
	PARSE_OK("--output=", "-n", "1", "-n", "2");
	assert_string_equal(p.values.output, "");
	assert_int_equal(p.values.depth, 2);
}

static void test_operands(void **state)
{
	struct parsed p;

	(void)state;
	PARSE_OK("a", "-q", "b", "-", "--", "-n", "c");
	assert_true(p.values.quiet);
	assert_int_equal(p.argc - p.first, 5);
	assert_string_equal(p.argv[p.first], "a");
	assert_string_equal(p.argv[p.first + 1], "b");
	assert_string_equal(p.argv[p.first + 2], "-");
	assert_string_equal(p.argv[p.first + 3], "-n");
	assert_string_equal(p.argv[p.first + 4], "c");
	assert_null(p.argv[p.argc]);
	parse(&p, OPT_STOP_AT_OPERAND, "-q", "prog", "-q", "--nonsense", NULL);
	assert_int_equal(p.result, OPT_OK);
	assert_int_equal(p.first, 2);
	assert_string_equal(p.argv[3], "-q");
	parse(&p, OPT_STOP_AT_OPERAND, "-q", "--", "--quiet", NULL);
	assert_int_equal(p.first, 3);
	parse(&p, OPT_STOP_AT_OPERAND, NULL);
	assert_int_equal(p.result, OPT_OK);
	assert_int_equal(p.first, 1);
}

static void test_negation(void **state)
{
	struct parsed p;

	(void)state;
	PARSE_OK("-q", "--no-quiet");
	assert_false(p.values.quiet);
	PARSE_OK("--no-follow");
	assert_true(p.values.no_follow);
	PARSE_OK("--no-follow", "--follow");
	assert_false(p.values.no_follow);
	PARSE_OK("--no-follow", "--follow-fork");
	assert_false(p.values.no_follow);
	PARSE_OK("--no-trace-children");
	assert_true(p.values.no_follow);
	PARSE_ERROR("unknown option '--no-depth'; did you mean --depth?", "--no-depth");
}

static void test_prefixes(void **state)
{
	struct parsed p;

	(void)state;
	PARSE_OK("--dep=3", "--outp", "x", "--tra");
	assert_int_equal(p.values.depth, 3);
	assert_string_equal(p.values.output, "x");
	PARSE_ERROR("option '--de' is ambiguous: --depth, --debug-path", "--de=3");
	PARSE_ERROR("unknown option '--secre'", "--secre");
	PARSE_OK("--secret");
	assert_true(p.values.hidden);
}

static void test_values(void **state)
{
	struct parsed p;

	(void)state;
	PARSE_OK("--size=64K", "--color", "never", "--even=ab", "-pa", "--debug-path=b");
	assert_int_equal(p.values.size, 65536);
	assert_int_equal(p.values.color, 2);
	assert_int_equal(p.values.calls, 1);
	assert_int_equal(p.values.paths.count, 2);
	assert_string_equal(p.values.paths.items[0], "a");
	assert_string_equal(p.values.paths.items[1], "b");
	opt_release(table, &p.values);
	assert_int_equal(p.values.paths.count, 0);
	assert_null(p.values.paths.items);
	PARSE_OK("--tree", "callees");
	assert_string_equal(p.values.tree, "callers");
	assert_int_equal(p.argc - p.first, 1);
	PARSE_OK("--tree=callees");
	assert_string_equal(p.values.tree, "callees");
	PARSE_OK("-tx");
	assert_string_equal(p.values.tree, "x");
	PARSE_OK("-qt", "x");
	assert_string_equal(p.values.tree, "callers");
	PARSE_OK("--sides=always"); /* hidden, not refused */
	assert_int_equal(p.values.sides, 1);
}

static void test_wrong_values(void **state)
{
	static const char number[] = "option '--depth' takes a number from 1 to 4096, not ";
	static const char *const bad[] = { "0",	 "4097", "-1", "x",    "",
					   "1x", " 1",	 "+1", "0x10", "99999999999999999999" };
	struct parsed p;
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(text, sizeof(text), "%s'%s'", number, bad[i]);
		PARSE_ERROR(text, "--depth", bad[i]);
	}
	PARSE_ERROR("option '-n' needs a value: N", "-n");
	PARSE_ERROR("option '--output' needs a value: FILE", "--output");
	PARSE_ERROR("option '--quiet' takes no value", "--quiet=yes");
	PARSE_ERROR("option '--color' takes auto, always or never, not 'Never'", "--color=Never");
	PARSE_ERROR("option '--sides' takes auto or never, not 'x'", "--sides=x");
	PARSE_ERROR("option '--size' takes a size such as 4096, 64K, 1.5M or 2G, not 'big'",
		    "--size=big");
	PARSE_ERROR("option '--size' takes a size from 16 to 1073741824 bytes, not '2G'",
		    "--size=2G");
	PARSE_ERROR("option '--even': 'abc' is odd", "--even=abc");
	PARSE_ERROR("option '--color' takes auto, always or never, not 'x'", "-pa", "--color=x");
}

static void test_unknown(void **state)
{
	struct parsed p;

	(void)state;
	PARSE_ERROR("unknown option '--qiet'; did you mean --quiet?", "--qiet");
	PARSE_ERROR("unknown option '--ouptut'; did you mean --output?", "--ouptut=x");
	PARSE_ERROR("unknown option '--xyzzy'", "--xyzzy");
	PARSE_ERROR("unknown option '--secert'", "--secert");
	PARSE_ERROR("unknown option '-z'", "-z");
	PARSE_ERROR("unknown option '-z' in '-qz'", "-qz");
	PARSE_ERROR("unknown option '-color=x'; did you mean --color?", "-color=x");
	PARSE_ERROR("unknown option '--'", "--=x");
}

static void test_help(void **state)
{
	struct parsed p;

	(void)state;
	PARSE("x", "-h");
	assert_int_equal(p.result, OPT_HELP_SHORT);
	PARSE("-qh");
	assert_int_equal(p.result, OPT_HELP_SHORT);
	PARSE("--help");
	assert_int_equal(p.result, OPT_HELP_LONG);
	PARSE_OK("--", "--help");
	PARSE_OK("-o", "-h");
}

static void check_words(const char *text, ...)
{
	struct diag diag;
	char **words;
	va_list expected;
	int count;

	assert_int_equal(opt_split_words("name", text, &words, &count, &diag), 0);
	assert_string_equal(words[0], "name");
	va_start(expected, text);
	for (int i = 1; i < count; i++) {
		const char *word = va_arg(expected, const char *);

		assert_non_null(word);
		assert_string_equal(words[i], word);
	}
	assert_null(va_arg(expected, const char *));
	va_end(expected);
	assert_null(words[count]);
	free(words);
}

static void test_split_words(void **state)
{
	static const char *const open[] = { "'a", "\"a", "a\\", "a 'b\"", "\"\\\"" };
	struct diag diag;
	char **words;
	int count;

	(void)state;
	check_words("", NULL);
	check_words(" \t\n", NULL);
	check_words("-q --depth 7", "-q", "--depth", "7", NULL);
	check_words(" a  b ", "a", "b", NULL);
	check_words("'a b' \"c d\" e\\ f", "a b", "c d", "e f", NULL);
	check_words("a'b'\"c\"d", "abcd", NULL);
	check_words("'' \"\"", "", "", NULL);
	check_words("'\\n' \"\\n\\\"\\\\\" \\n", "\\n", "\\n\"\\", "n", NULL);
	check_words("$HOME `x` *", "$HOME", "`x`", "*", NULL);
	for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++) {
		diag.text[0] = '\0';
		assert_int_equal(opt_split_words("n", open[i], &words, &count, &diag), -EINVAL);
		assert_true(diag.text[0] != '\0');
	}
}

static void test_nearest(void **state)
{
	static const char *const names[] = { "run", "report", "recover", "help" };
	static const struct {
		const char *given, *near;
	} cases[] = {
		{ "reprot", "report" }, { "repotr", "report" }, { "recovr", "recover" },
		{ "runn", "run" },	{ "rnu", "run" },	{ "hlep", "help" },
		{ "x", NULL },		{ "", NULL },		{ "banana", NULL },
	};
	char huge[300];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *near = opt_nearest(cases[i].given, names, 4);

		if (cases[i].near)
			assert_string_equal(near, cases[i].near);
		else
			assert_null(near);
	}
	memset(huge, 'a', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	assert_null(opt_nearest(huge, names, 4));
}

/* Long words end up cut in messages, not past the end of a buffer. */
static void test_long_input(void **state)
{
	struct parsed p;
	char word[2000];

	(void)state;
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	memcpy(word, "--no-", 5);
	PARSE(word);
	assert_int_equal(p.result, OPT_ERROR);
	memcpy(word, "-aaaa", 5);
	PARSE(word);
	assert_int_equal(p.result, OPT_ERROR);
	PARSE("--color", word);
	assert_int_equal(p.result, OPT_ERROR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spellings),   cmocka_unit_test(test_operands),
		cmocka_unit_test(test_negation),    cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_values),	    cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_unknown),	    cmocka_unit_test(test_help),
		cmocka_unit_test(test_split_words), cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_long_input),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
