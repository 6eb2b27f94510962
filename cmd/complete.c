/* SPDX-License-Identifier: MIT */
/* Values for completion; see complete.h. */
#include "cmd/complete.h"

#include <stdbool.h>
#include <string.h>

#include "cmd/processes.h"
#include "report/report.h"

/* One of the alternatives. */
struct word {
	const char *text;
	size_t length;
};

/* Takes the first off *values; false at the end. */
static bool next_word(const char **values, struct word *word)
{
	if (!**values)
		return false;
	*word = (struct word){ *values, strcspn(*values, "|") };
	*values += word->length + ((*values)[word->length] == '|');
	return true;
}

static bool is(const struct word *word, const char *text)
{
	return strlen(text) == word->length && memcmp(word->text, text, word->length) == 0;
}

static bool is_file(const struct word *word)
{
	return is(word, "FILE") || (word->length > 5 && memcmp(word->text, "FILE.", 5) == 0);
}

/* Splits "word:part" and takes the comma of "word," off; what comes before ':' is returned. */
static struct word split(struct word *word, bool *in_list)
{
	const char *colon = memchr(word->text, ':', word->length);
	struct word before = { word->text, colon ? (size_t)(colon - word->text) + 1 : 0 };

	word->text += before.length;
	word->length -= before.length;
	*in_list = word->length && word->text[word->length - 1] == ',';
	word->length -= *in_list;
	return before;
}

/* Where the last part of a list begins. */
static size_t list_head(const char *text)
{
	size_t head = 0;

	for (size_t i = 0; text[i]; i++) {
		if (text[i] == ',' || text[i] == ':')
			head = i + 1;
	}
	return head;
}

/* The word is one of the parts before `head`. */
static bool is_used(const char *text, size_t head, const struct word *word)
{
	size_t length;

	for (size_t i = 0; i < head; i += length + 1) {
		length = strcspn(text + i, ",:");
		if (length >= word->length && memcmp(text + i, word->text, word->length) == 0 &&
		    (length == word->length || word->text[word->length - 1] == '='))
			return true;
	}
	return false;
}

/* It can stand behind the part of a list in front of `head`. */
static bool continues(const char *text, size_t head, const struct word *before, bool in_list)
{
	size_t opening = strcspn(text, ":") + 1;

	if (before->length)
		return head >= before->length && memcmp(text, before->text, before->length) == 0;
	return head == 0 || (in_list && opening > head);
}

static void offer_word(FILE *out, struct word word, const char *text)
{
	size_t head = list_head(text);
	bool in_list;
	struct word before = split(&word, &in_list);

	if (word.length && continues(text, head, &before, in_list) && !is_used(text, head, &word))
		fprintf(out, "%.*s%.*s\t\n", (int)head, text, (int)word.length, word.text);
}

static void offer_commands(FILE *out)
{
	for (const struct command *const *c = commands; *c; c++)
		fprintf(out, "%s\t%s\n", (*c)->name, (*c)->summary);
	for (const struct help_topic *t = help_topics; t->name; t++)
		fprintf(out, "%s\t%s\n", t->name, t->summary);
}

static void offer(FILE *out, const char *values, const char *text)
{
	struct word word;

	while (next_word(&values, &word)) {
		if (is_file(&word) || is(&word, "DIR") || is(&word, "PROGRAM"))
			fprintf(out, "\t%.*s\n", (int)word.length, word.text);
		else if (is(&word, "PID"))
			processes_list(out);
		else if (is(&word, "COMMAND"))
			offer_commands(out);
		else
			offer_word(out, word, text);
	}
}

static void offer_choices(FILE *out, const struct opt *opt)
{
	for (int i = 0; opt->choices[i].name; i++) {
		if (!(opt->hidden_choices >> i & 1))
			fprintf(out, "%s\t%s\n", opt->choices[i].name, opt->choices[i].help);
	}
}

static const struct opt *find_option(const struct opt *table, const char *spelling)
{
	bool is_long = strncmp(spelling, "--", 2) == 0;

	for (const struct opt *o = table; o->type != OPT_TYPE_END; o++) {
		if (o->flags & OPT_HIDDEN)
			continue;
		if (is_long ? strcmp(spelling + 2, o->name) == 0
			    : spelling[0] == '-' && o->short_name && spelling[1] == o->short_name &&
				      !spelling[2])
			return opt_resolve(table, o);
	}
	return NULL;
}

void complete_values(FILE *out, const struct command *command, const char *option, const char *text)
{
	const struct opt *opt = find_option(command->opts, option);
	struct word arg = { opt ? opt->arg : NULL, opt && opt->arg ? strlen(opt->arg) : 0 };

	if (!*option)
		offer(out, command->operand ? command->operand : "", text);
	else if (opt && opt->type == OPT_TYPE_CHOICE)
		offer_choices(out, opt);
	else if (opt && opt->values)
		offer(out, opt->values, text);
	else if (arg.length && (is_file(&arg) || is(&arg, "DIR")))
		offer(out, opt->arg, text);
}

void complete_plain(const char *values, char *text, size_t size)
{
	struct word word;
	size_t used = 0;

	text[0] = '\0';
	while (next_word(&values, &word) && used < size) {
		bool in_list;
		int n;

		if (split(&word, &in_list).length)
			continue;
		n = snprintf(text + used, size - used, "%s%.*s", used ? "|" : "", (int)word.length,
			     word.text);
		used += n > 0 ? (size_t)n : 0;
	}
}
