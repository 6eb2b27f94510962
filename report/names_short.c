/* SPDX-License-Identifier: MIT */
/*
 * See names_short.h.  Brackets are matched first, then the name is copied over
 * itself: what is written is never longer than what was read.  So the name
 * before the place being read is as it was, and may be looked at.
 */
#include "report/names_short.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Arguments of so many bytes say more than an ellipsis: <int>, <0>. */
#define SHORT_ARGUMENTS 4

struct shortening {
	const char *ellipsis;
	char *name;
	size_t *partners; /* of opening brackets their closing ones, of these 1; else 0 */
	size_t in, out;
	size_t operator_end; /* in what is read, past the last operator */
	size_t depth;	     /* brackets that are open in what was written */
	size_t start;	     /* where the name begins in what was written, after a return type */
	bool spaces;	     /* a space may still end a return type */
};

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/*
 * The bytes of "operator<<" and its like at p, without template arguments; 0
 * when there is no operator here.  "operator<<int>" is operator< of int: then
 * the caller asks for the shortest.
 */
static size_t operator_length(const char *name, const char *p, bool shortest)
{
	static const char *const symbols[] = { "()", "[]", "<=>", "->*", "->", "<<=", ">>=",
					       "<<", "<=", ">>",  ">=",	 "<",  ">" };
	if (!has_prefix(p, "operator") || is_name_byte(p[8]) || (p > name && is_name_byte(p[-1])))
		return 0;
	if (shortest && (p[8] == '<' || p[8] == '>'))
		return 9;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (has_prefix(p + 8, symbols[i]))
			return 8 + strlen(symbols[i]);
	}
	return 8 + strspn(p + 8, "+-*/%^&|~!=,");
}

static bool opens(char c)
{
	return c == '(' || c == '<' || c == '[' || c == '{';
}

static bool closes(char opening, char c)
{
	return c == (opening == '(' ? ')' : opening == '<' ? '>' : opening == '[' ? ']' : '}');
}

/*
 * `stack` has the open brackets; one that is no '<' ends all less-than signs
 * within it, and within parentheses '>' may be a greater-than sign.
 */
static bool close_bracket(const char *name, size_t at, size_t *partners, size_t *stack,
			  size_t *depth)
{
	size_t d = *depth;
	if (name[at] == '>') {
		if (d == 0)
			return false;
		if (name[stack[d - 1]] != '<')
			return name[stack[d - 1]] == '(';
	} else {
		while (d > 0 && name[stack[d - 1]] == '<')
			d--;
		if (d == 0 || !closes(name[stack[d - 1]], name[at]))
			return false;
	}
	partners[stack[d - 1]] = at;
	partners[at] = 1;
	*depth = d - 1;
	return true;
}

static bool match_brackets(const char *name, size_t *partners, size_t *stack, bool shortest)
{
	size_t depth = 0;
	for (size_t i = 0; name[i]; i++) {
		size_t length = operator_length(name, name + i, shortest);
		partners[i] = 0;
		if (length) {
			memset(partners + i, 0, length * sizeof(*partners));
			i += length - 1;
		} else if (opens(name[i])) {
			stack[depth++] = i;
		} else if (strchr(">)]}", name[i]) &&
			   !(name[i] == '>' && i && name[i - 1] == '-')) {
			if (!close_bracket(name, i, partners, stack, &depth))
				return false;
		}
	}
	return depth == 0;
}

static void write_text(struct shortening *s, const char *text)
{
	size_t length = strlen(text);
	memcpy(s->name + s->out, text, length);
	s->out += length;
}

static void copy_bytes(struct shortening *s, size_t length)
{
	memmove(s->name + s->out, s->name + s->in, length);
	s->out += length;
	s->in += length;
}

static bool is_in_std(const struct shortening *s)
{
	const char *end = s->name + s->out;
	return s->out >= 5 && memcmp(end - 5, "std::", 5) == 0 &&
	       (s->out == 5 || (end[-6] != ':' && !is_name_byte(end[-6])));
}

/* std::basic_string<char, ...> is std::string, and so on for streams and wide characters. */
static bool shorten_basic(struct shortening *s)
{
	const char *p = s->name + s->in, *end = p;
	if (!has_prefix(p, "basic_") || !is_in_std(s))
		return false;
	while (is_name_byte(*end))
		end++;
	bool wide = has_prefix(end, "<wchar_t");
	if (!wide && !has_prefix(end, "<char"))
		return false;
	const char *after = end + strlen(wide ? "<wchar_t" : "<char");
	size_t close = s->partners[end - s->name];
	if (!close || (*after != ',' && *after != '>'))
		return false;
	if (wide)
		write_text(s, "w");
	s->in += strlen("basic_");
	copy_bytes(s, (size_t)(end - s->name) - s->in);
	s->in = close + 1;
	return true;
}

/* The inline namespaces of the C++ libraries, which nobody writes. */
static bool skip_inline_namespace(struct shortening *s)
{
	static const char *const names[] = { "__cxx11::", "__1::" };
	for (size_t i = 0; is_in_std(s) && i < sizeof(names) / sizeof(names[0]); i++) {
		if (has_prefix(s->name + s->in, names[i])) {
			s->in += strlen(names[i]);
			return true;
		}
	}
	return false;
}

static bool follows_operator(const struct shortening *s)
{
	return s->operator_end && s->in == s->operator_end + (s->name[s->operator_end] == ' ');
}

/* Template arguments; D writes them as !(...).  Not Rust's <Type as Trait> and <impl Trait>. */
static bool is_arguments(const struct shortening *s)
{
	const char *p = s->name + s->in;
	if (s->in == 0 || has_prefix(p, "<impl "))
		return false;
	return *p == '('   ? p[-1] == '!'
	       : *p == '<' ? is_name_byte(p[-1]) || strchr("]:", p[-1]) || follows_operator(s)
			   : false;
}

static bool fold_arguments(struct shortening *s)
{
	size_t end = s->partners[s->in];
	if (!end || !is_arguments(s) || end - s->in - 1 <= SHORT_ARGUMENTS)
		return false;
	char opening[] = { s->name[s->in], '\0' }, closing[] = { s->name[end], '\0' };
	write_text(s, opening);
	write_text(s, s->ellipsis);
	write_text(s, closing);
	s->in = end + 1;
	return true;
}

/* Past what may stand between a function's parameters and the end of its name. */
static size_t skip_qualifiers(const char *name, size_t at)
{
	static const char *const qualifiers[] = { " const", " volatile", " noexcept", " &&",
						  " &",	    "&&",	 "&" };
	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]);) {
		size_t length = strlen(qualifiers[i]);
		if (has_prefix(name + at, qualifiers[i]) && !is_name_byte(name[at + length])) {
			at += length;
			i = 0;
		} else {
			i++;
		}
	}
	return at;
}

static size_t skip_clones(const char *name, size_t at)
{
	while (has_prefix(name + at, " [clone ")) {
		const char *end = strchr(name + at, ']');
		if (!end)
			break;
		at = (size_t)(end - name) + 1;
	}
	return at;
}

/*
 * Only the names of template functions begin with what they return; without it
 * "unsigned long sum<...>" is sum<...>.
 */
static void drop_return_type(struct shortening *s)
{
	if (s->out == 0 || s->name[s->out - 1] != '>')
		return;
	memmove(s->name, s->name + s->start, s->out - s->start);
	s->out -= s->start;
	s->start = 0;
}

/* At the end of the name, or before what is within the function: "f(int)::{lambda()#1}". */
static bool drop_parameters(struct shortening *s)
{
	const char *p = s->name + s->in;
	size_t end = s->partners[s->in];
	if (*p != '(' || !end || s->in == 0 || s->depth ||
	    !(is_name_byte(p[-1]) || strchr(">]}'", p[-1]) || s->in == s->operator_end))
		return false;
	size_t next = skip_clones(s->name, skip_qualifiers(s->name, end + 1));
	if (s->name[next] != '\0' && !has_prefix(s->name + next, "::"))
		return false;
	drop_return_type(s);
	s->in = next;
	return true;
}

/* {lambda(int)#2} is {lambda#2}. */
static bool shorten_lambda(struct shortening *s)
{
	static const char lambda[] = "{lambda";
	size_t at = s->in + strlen(lambda);
	if (!has_prefix(s->name + s->in, lambda))
		return false;
	while (s->name[at] == '<' || s->name[at] == '(') {
		if (!s->partners[at])
			return false;
		at = s->partners[at] + 1;
	}
	if (s->name[at] != '#')
		return false;
	write_text(s, lambda);
	s->in = at;
	s->depth++; /* until its bracket closes */
	return true;
}

/* "[abi:cxx11]", and "[clone .cold]" of a name without parameters. */
static bool drop_tag(struct shortening *s)
{
	if (has_prefix(s->name + s->in, "[abi:") && s->partners[s->in]) {
		s->in = s->partners[s->in] + 1;
		return true;
	}
	size_t next = skip_clones(s->name, s->in);
	bool is_clone = next != s->in && s->name[next] == '\0';
	if (is_clone)
		s->in = next;
	return is_clone;
}

/* Rust's "::h0123456789abcdef", at the end. */
static bool drop_hash(struct shortening *s)
{
	const char *p = s->name + s->in;
	if (!has_prefix(p, "::h") || strspn(p + 3, "0123456789abcdef") != 16 || p[19] != '\0' ||
	    s->out == 0)
		return false;
	s->in += 19;
	return true;
}

/* What follows an operator is part of the name: "operator new", "operator int". */
static bool copy_operator(struct shortening *s, bool shortest)
{
	size_t length = operator_length(s->name, s->name + s->in, shortest);
	if (!length)
		return false;
	copy_bytes(s, length);
	s->operator_end = s->in;
	s->spaces = s->spaces && s->depth;
	return true;
}

static void copy_byte(struct shortening *s)
{
	char c = s->name[s->in];
	if (s->partners[s->in])
		s->depth += opens(c) ? 1 : -(size_t)1;
	copy_bytes(s, 1);
	if (c == ' ' && s->depth == 0 && s->spaces)
		s->start = s->out;
}

static void rewrite(struct shortening *s, bool shortest)
{
	while (s->name[s->in]) {
		if (copy_operator(s, shortest) || skip_inline_namespace(s) || shorten_basic(s) ||
		    shorten_lambda(s) || drop_parameters(s) || fold_arguments(s) || drop_tag(s) ||
		    drop_hash(s))
			continue;
		copy_byte(s);
	}
	s->name[s->out] = '\0';
}

void names_shorten(char *name, const char *ellipsis)
{
	size_t length = strlen(name);
	size_t *memory = strpbrk(name, "<([:") ? calloc(2 * (length + 1), sizeof(*memory)) : NULL;
	if (!memory)
		return;
	struct shortening s = {
		.ellipsis = ellipsis,
		.name = name,
		.partners = memory,
		.spaces = true,
	};
	bool shortest = false;
	bool whole = match_brackets(name, memory, memory + length + 1, false);
	if (!whole) {
		shortest = true;
		whole = match_brackets(name, memory, memory + length + 1, true);
	}
	if (whole)
		rewrite(&s, shortest);
	free(memory);
}
