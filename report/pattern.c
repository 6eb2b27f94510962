/* SPDX-License-Identifier: MIT */
/*
 * Compiling what users give as expressions; called by the filters and the
 * plumbing rule.
 */
#include "report/pattern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIZE_MOST =
		20000, /* characters and sets, with what stands before {m,n} as often as that says */
	DEPTH_MOST = 100,
};

/* What one pair of parentheses holds so far, and the last part of it, which may be repeated. */
struct group {
	uint64_t size, last;
};

static void add_part(struct group *group, uint64_t size)
{
	group->last = size;
	group->size += size;
}

/* "{m}", "{m,}" and "{m,n}" are compiled as so many copies.  To the last character of it. */
static const char *repeat(struct group *group, const char *at)
{
	const char *end = strchr(at, '}');
	char *next;
	unsigned long times = strtoul(at + 1, &next, 10);
	if (!end || next == at + 1)
		return at;
	if (*next == ',' && next + 1 < end)
		times = strtoul(next + 1, NULL, 10);
	if (times > SIZE_MOST)
		times = SIZE_MOST;
	if (times > 1)
		add_part(group, group->last * (times - 1));
	group->last = group->size;
	return end;
}

/* To the last character of "[...]". */
static const char *skip_set(const char *at)
{
	const char *first = at + 1 + (at[1] == '^');
	const char *end = *first ? strchr(first + 1, ']') : NULL;
	return end ? end : at;
}

/*
 * The C library takes memory and time without bounds for repetitions within
 * repetitions.
 */
static bool is_too_large(const char *text)
{
	struct group groups[DEPTH_MOST] = { 0 };
	size_t depth = 0;
	for (const char *at = text; *at; at++) {
		struct group *group = &groups[depth];
		if (*at == '(') {
			if (++depth == DEPTH_MOST)
				return true;
			groups[depth] = (struct group){ 0 };
		} else if (*at == ')' && depth) {
			add_part(&groups[--depth], group->size);
		} else if (*at == '{') {
			at = repeat(group, at);
		} else {
			if (*at == '[')
				at = skip_set(at);
			else if (*at == '\\' && at[1])
				at++;
			add_part(group, 1);
		}
		if (groups[depth].size > SIZE_MOST)
			return true;
	}
	return false;
}

int pattern_compile(regex_t *regex, const char *text, struct diag *diag)
{
	if (is_too_large(text))
		return diag_set(diag, -EINVAL, "regular expression '%.100s' is too large", text);
	int error = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
	if (!error)
		return 0;
	char why[128];
	regerror(error, regex, why, sizeof(why));
	diag_set(diag, -EINVAL, "bad regular expression '%s': %s", text, why);
	diag_hint(diag,
		  "expressions are POSIX extended; escape ( ) [ ] { } * + ? | . with a backslash");
	return -EINVAL;
}
