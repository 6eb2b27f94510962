/* SPDX-License-Identifier: MIT */
/* The option parser.  See opt.h; called from cmd_parse() and its unit test. */
#include "cmd/opt.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/units.h"

/* Answered by every command; a command's own table comes first. */
static const struct opt builtin[] = {
	{ .short_name = 'h', .name = "help", .type = OPT_TYPE_FLAG },
	OPT_END,
};

/* What one spelling on the command line stands for. */
struct match {
	const struct opt *opt;
	bool negated;
	char spelling[72]; /* as messages show it: "--depth", "-n" */
};

/* What one option of the command line did. */
enum step { STEP_ERROR = -1, STEP_DONE, STEP_HELP_SHORT, STEP_HELP_LONG };

struct parser {
	const struct opt *table;
	int argc;
	char **argv;
	int next; /* index of the first argument not looked at yet */
	void *values;
	struct diag *diag;
};

static bool is_bool(const struct opt *opt)
{
	return opt->type == OPT_TYPE_FLAG || opt->type == OPT_TYPE_CLEAR;
}

static const struct opt *find_exact(const struct opt *table, const char *name, size_t length)
{
	for (const struct opt *o = table; o->type != OPT_TYPE_END; o++) {
		if (strlen(o->name) == length && memcmp(o->name, name, length) == 0)
			return o;
	}
	return NULL;
}

const struct opt *opt_resolve(const struct opt *table, const struct opt *opt)
{
	if (!opt || opt->type != OPT_TYPE_ALIAS)
		return opt;
	return find_exact(table, opt->alias, strlen(opt->alias));
}

/* --no-X for a flag X, --X for a flag no-X. */
static const struct opt *find_negated(const struct opt *table, const char *name, size_t length)
{
	const struct opt *opt = NULL;
	char opposite[64];

	if (length > 3 && memcmp(name, "no-", 3) == 0) {
		opt = find_exact(table, name + 3, length - 3);
	} else if (length + 3 < sizeof(opposite)) {
		snprintf(opposite, sizeof(opposite), "no-%.*s", (int)length, name);
		opt = find_exact(table, opposite, length + 3);
	}
	opt = opt_resolve(table, opt);
	return opt && is_bool(opt) ? opt : NULL;
}

/* Adds "--name" to a list in text. */
static void append_name(char *text, size_t size, const char *name)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s--%s", used ? ", " : "", name);
}

/*
 * The one option that `name` begins.  Names of the same option do not make it ambiguous.
 * NULL and an empty list: none does; NULL and a list: several do.
 */
static const struct opt *find_prefix(const struct opt *table, const char *name, size_t length,
				     char *list, size_t size)
{
	const struct opt *const tables[] = { table, builtin };
	const struct opt *found = NULL;
	bool ambiguous = false;

	list[0] = '\0';
	for (size_t t = 0; t < 2; t++) {
		for (const struct opt *o = tables[t]; o->type != OPT_TYPE_END; o++) {
			const struct opt *real = opt_resolve(tables[t], o);

			if (!real || (o->flags & OPT_HIDDEN) || strncmp(o->name, name, length) != 0)
				continue;
			append_name(list, size, o->name);
			ambiguous |= found && found != real;
			found = real;
		}
	}
	return ambiguous ? NULL : found;
}

static void copy_name(char *out, size_t size, const char *name, size_t length)
{
	if (length >= size)
		length = size - 1;
	memcpy(out, name, length);
	out[length] = '\0';
}

static int unknown_long(const struct parser *p, const char *name, size_t length)
{
	const char *names[128];
	size_t count = 0;
	char given[64];
	const char *near;

	copy_name(given, sizeof(given), name, length);
	for (const struct opt *o = p->table; o->type != OPT_TYPE_END && count < 127; o++) {
		if (!(o->flags & OPT_HIDDEN))
			names[count++] = o->name;
	}
	names[count++] = "help";
	near = opt_nearest(given, names, count);
	if (near)
		return diag_set(p->diag, -EINVAL, "unknown option '--%s'; did you mean --%s?",
				given, near);
	return diag_set(p->diag, -EINVAL, "unknown option '--%s'", given);
}

static int find_long(const struct parser *p, const char *name, size_t length, struct match *match)
{
	char list[256];

	*match = (struct match){ 0 };
	match->opt = find_exact(p->table, name, length);
	if (!match->opt)
		match->opt = find_exact(builtin, name, length);
	if (!match->opt) {
		match->opt = find_negated(p->table, name, length);
		match->negated = match->opt != NULL;
	}
	if (!match->opt && length) {
		match->opt = find_prefix(p->table, name, length, list, sizeof(list));
		if (!match->opt && list[0])
			return diag_set(p->diag, -EINVAL, "option '--%.*s' is ambiguous: %s",
					(int)length, name, list);
	}
	match->opt = opt_resolve(p->table, match->opt);
	if (!match->opt)
		return unknown_long(p, name, length);
	if (match->negated) {
		memcpy(match->spelling, "--", 2);
		copy_name(match->spelling + 2, sizeof(match->spelling) - 2, name, length);
	} else {
		snprintf(match->spelling, sizeof(match->spelling), "--%s", match->opt->name);
	}
	return 0;
}

static int find_short(const struct parser *p, const char *argument, char letter,
		      struct match *match)
{
	const struct opt *const tables[] = { p->table, builtin };

	*match = (struct match){ .spelling = { '-', letter } };
	for (size_t t = 0; t < 2; t++) {
		for (const struct opt *o = tables[t]; o->type != OPT_TYPE_END; o++) {
			if (o->short_name == letter) {
				match->opt = o;
				return 0;
			}
		}
	}
	/* "-top": a long option with one dash too few */
	if (argument[1] == letter && strlen(argument) > 2) {
		const char *name = argument + 1;
		size_t length = strcspn(name, "=");

		if (find_exact(p->table, name, length) || find_exact(builtin, name, length))
			return diag_set(p->diag, -EINVAL,
					"unknown option '%s'; did you mean --%.*s?", argument,
					(int)length, name);
		return diag_set(p->diag, -EINVAL, "unknown option '-%c' in '%s'", letter, argument);
	}
	if (strlen(argument) > 2)
		return diag_set(p->diag, -EINVAL, "unknown option '-%c' in '%s'", letter, argument);
	return diag_set(p->diag, -EINVAL, "unknown option '%s'", argument);
}

static int store_int(const struct match *m, int64_t *field, const char *value, struct diag *diag)
{
	const char *digits = value + (*value == '-');
	char *end;
	intmax_t number;

	errno = 0;
	number = strtoimax(value, &end, 10);
	if (!isdigit((unsigned char)*digits) || *end || errno || number < m->opt->min ||
	    number > m->opt->max) {
		if (m->opt->max == INT64_MAX)
			return diag_set(diag, -EINVAL,
					"option '%s' takes a number from %" PRId64 " up, not '%s'",
					m->spelling, m->opt->min, value);
		return diag_set(diag, -EINVAL,
				"option '%s' takes a number from %" PRId64 " to %" PRId64
				", not '%s'",
				m->spelling, m->opt->min, m->opt->max, value);
	}
	*field = number;
	return 0;
}

static int store_size(const struct match *m, uint64_t *field, const char *value, struct diag *diag)
{
	uint64_t number;

	if (units_parse_size(value, &number) < 0)
		return diag_set(diag, -EINVAL,
				"option '%s' takes a size such as 4096, 64K, 1.5M or 2G, not '%s'",
				m->spelling, value);
	if (number < (uint64_t)m->opt->min || number > (uint64_t)m->opt->max)
		return diag_set(diag, -ERANGE,
				"option '%s' takes a size from %" PRId64 " to %" PRId64
				" bytes, not '%s'",
				m->spelling, m->opt->min, m->opt->max, value);
	*field = number;
	return 0;
}

char *opt_list_choices(const struct opt *opt, char *text, size_t size, const char *separator,
		       const char *last)
{
	size_t left = 0, used = 0;

	for (int i = 0; opt->choices[i].name; i++)
		left += !(opt->hidden_choices >> i & 1);
	text[0] = '\0';
	for (int i = 0; opt->choices[i].name && used < size; i++) {
		if (opt->hidden_choices >> i & 1)
			continue;
		left--;
		snprintf(text + used, size - used, "%s%s", opt->choices[i].name,
			 left == 0   ? ""
			 : left == 1 ? last
				     : separator);
		used += strlen(text + used);
	}
	return text;
}

static int store_choice(const struct match *m, int *field, const char *value, struct diag *diag)
{
	char list[256];

	for (int i = 0; m->opt->choices[i].name; i++) {
		if (strcmp(m->opt->choices[i].name, value) == 0) {
			*field = i;
			return 0;
		}
	}
	return diag_set(diag, -EINVAL, "option '%s' takes %s, not '%s'", m->spelling,
			opt_list_choices(m->opt, list, sizeof(list), ", ", " or "), value);
}

static int store_repeat(struct opt_list *list, const char *value, struct diag *diag)
{
	const char **items = reallocarray(list->items, list->count + 1, sizeof(*items));

	if (!items)
		return diag_set(diag, -ENOMEM, "out of memory");
	list->items = items;
	list->items[list->count++] = value;
	return 0;
}

static int store_callback(const struct match *m, void *values, const char *value, struct diag *diag)
{
	struct diag inner = { 0 };
	int err = m->opt->callback(m->opt, values, value, &inner);

	if (err < 0) {
		diag_set(diag, err, "option '%s': %s", m->spelling, inner.text);
		if (inner.hint[0])
			diag_hint(diag, "%s", inner.hint);
	}
	return err;
}

/* `value` is NULL exactly when the option takes none. */
static int store(const struct match *m, void *values, const char *value, struct diag *diag)
{
	void *field = (char *)values + m->opt->offset;

	if (is_bool(m->opt)) {
		*(bool *)field = (m->opt->type == OPT_TYPE_FLAG) != m->negated;
		return 0;
	}
	if (m->opt->type == OPT_TYPE_CALLBACK)
		return store_callback(m, values, value, diag);
	if (!value)
		return diag_set(diag, -EINVAL, "option '%s' is wrong in the table", m->spelling);
	switch (m->opt->type) {
	case OPT_TYPE_STRING:
		*(const char **)field = value;
		return 0;
	case OPT_TYPE_INT:
		return store_int(m, field, value, diag);
	case OPT_TYPE_SIZE:
		return store_size(m, field, value, diag);
	case OPT_TYPE_CHOICE:
		return store_choice(m, field, value, diag);
	case OPT_TYPE_REPEAT:
		return store_repeat(field, value, diag);
	default:
		return diag_set(diag, -EINVAL, "option '%s' is wrong in the table", m->spelling);
	}
}

/*
 * Stores with the value attached to the option (NULL: none), or the next argument
 * where one is needed.
 */
static int store_with_value(struct parser *p, const struct match *m, const char *attached)
{
	if (!m->opt->arg) {
		if (attached)
			return diag_set(p->diag, -EINVAL, "option '%s' takes no value",
					m->spelling);
		return store(m, p->values, NULL, p->diag);
	}
	if (!attached && m->opt->optional)
		attached = m->opt->optional;
	if (!attached) {
		if (p->next >= p->argc)
			return diag_set(p->diag, -EINVAL, "option '%s' needs a value: %s",
					m->spelling, m->opt->arg);
		attached = p->argv[p->next++];
	}
	return store(m, p->values, attached, p->diag);
}

static enum step step_long(struct parser *p, const char *argument)
{
	const char *name = argument + 2;
	size_t length = strcspn(name, "=");
	const char *value = name[length] ? name + length + 1 : NULL;
	struct match match;

	if (find_long(p, name, length, &match) < 0)
		return STEP_ERROR;
	if (match.opt == builtin)
		return STEP_HELP_LONG;
	return store_with_value(p, &match, value) < 0 ? STEP_ERROR : STEP_DONE;
}

/* One argument of bundled letters; the first that takes a value has the rest of it. */
static enum step step_short(struct parser *p, const char *argument)
{
	for (const char *letter = argument + 1; *letter; letter++) {
		struct match match;

		if (find_short(p, argument, *letter, &match) < 0)
			return STEP_ERROR;
		if (match.opt == builtin)
			return STEP_HELP_SHORT;
		if (match.opt->arg)
			return store_with_value(p, &match, letter[1] ? letter + 1 : NULL) < 0
				       ? STEP_ERROR
				       : STEP_DONE;
		if (store(&match, p->values, NULL, p->diag) < 0)
			return STEP_ERROR;
	}
	return STEP_DONE;
}

enum opt_result opt_parse(const struct opt *table, enum opt_mode mode, int argc, char **argv,
			  void *values, int *first, struct diag *diag)
{
	struct parser p = { .table = table,
			    .argc = argc,
			    .argv = argv,
			    .next = 1,
			    .values = values,
			    .diag = diag };
	int operands = 0; /* met so far, kept in argv[1..] */

	while (p.next < argc) {
		const char *argument = argv[p.next];
		enum step step;

		if (argument[0] != '-' || !argument[1]) {
			if (mode == OPT_STOP_AT_OPERAND)
				break;
			argv[++operands] = argv[p.next++];
			continue;
		}
		p.next++;
		if (strcmp(argument, "--") == 0)
			break;
		step = argument[1] == '-' ? step_long(&p, argument) : step_short(&p, argument);
		if (step == STEP_ERROR)
			return OPT_ERROR;
		if (step != STEP_DONE)
			return step == STEP_HELP_LONG ? OPT_HELP_LONG : OPT_HELP_SHORT;
	}
	*first = p.next - operands;
	memmove(&argv[*first], &argv[1], (size_t)operands * sizeof(*argv));
	return OPT_OK;
}

void opt_release(const struct opt *table, void *values)
{
	for (const struct opt *o = table; o->type != OPT_TYPE_END; o++) {
		struct opt_list *list = (void *)((char *)values + o->offset);

		if (o->type != OPT_TYPE_REPEAT)
			continue;
		free(list->items);
		*list = (struct opt_list){ 0 };
	}
}

/* Copies one word without its quotes from *text to *out; -EINVAL when a quote is left open. */
static int copy_word(const char **text, char **out)
{
	char quote = '\0';
	const char *s = *text;
	char *o = *out;

	for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
		if (quote != '\'' && *s == '\\') {
			if (!s[1])
				return -EINVAL;
			if (quote == '"' && !strchr("\"\\$`\n", s[1]))
				*o++ = *s;
			*o++ = *++s;
		} else if (quote && *s == quote) {
			quote = '\0';
		} else if (!quote && (*s == '\'' || *s == '"')) {
			quote = *s;
		} else {
			*o++ = *s;
		}
	}
	*o++ = '\0';
	*text = s;
	*out = o;
	return quote ? -EINVAL : 0;
}

int opt_split_words(const char *name, const char *text, char ***words, int *count,
		    struct diag *diag)
{
	size_t most = strlen(text) / 2 + 3; /* the name, a word every two bytes, NULL */
	size_t size = most * sizeof(char *) + strlen(name) + 1 + strlen(text) + 1;
	char **vector = malloc(size);
	char *out;
	int n = 1;

	if (!vector)
		return diag_set(diag, -ENOMEM, "out of memory");
	vector[0] = (char *)(vector + most);
	out = stpcpy(vector[0], name) + 1;
	for (;;) {
		while (isspace((unsigned char)*text))
			text++;
		if (!*text)
			break;
		vector[n++] = out;
		if (copy_word(&text, &out) < 0) {
			free(vector);
			return diag_set(diag, -EINVAL, "a quote or backslash is left open");
		}
	}
	vector[n] = NULL;
	*words = vector;
	*count = n;
	return 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap two neighbours) that turn a into b; both shorter than 64. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][65];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];
	size_t a_length = strlen(a), b_length = strlen(b);

	for (size_t j = 0; j <= b_length; j++)
		above[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]),
				       least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = oldest;
	}
	return above[b_length];
}

const char *opt_nearest(const char *given, const char *const *names, size_t count)
{
	size_t length = strlen(given);
	size_t best = length < 4 ? 1 : least(length / 3 + 1, 4);
	const char *near = NULL;

	if (length >= 64)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t distance;

		if (strlen(names[i]) >= 64)
			continue;
		distance = edit_distance(given, names[i]);
		if (distance < length && distance < strlen(names[i]) &&
		    (near ? distance < best : distance <= best)) {
			best = distance;
			near = names[i];
		}
	}
	return near;
}
