/* SPDX-License-Identifier: MIT */
/* See sentence.h. */
#include "report/sentence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/units.h"

bool sentence_open(struct text *t, struct sentence *s)
{
	*s = (struct sentence){ 0 };
	s->stream = open_memstream(&s->text, &s->size);
	if (!s->stream)
		t->error = -ENOMEM;
	return s->stream;
}

void sentence_print(struct text *t, struct sentence *s, const char *label, enum text_style style)
{
	char *text = sentence_take(t, s);
	if (text && *text)
		text_paragraph(t, label, style, text);
	free(text);
}

char *sentence_take(struct text *t, struct sentence *s)
{
	if (fclose(s->stream) == 0)
		return s->text;
	t->error = -ENOMEM;
	free(s->text);
	return NULL;
}

void sentence_count(struct sentence *s, uint64_t count, const char *singular, const char *plural)
{
	char number[UNITS_TEXT];
	if (count)
		fprintf(s->stream, "%s%s %s", s->parts++ ? "; " : "", units_count(number, count),
			count == 1 ? singular : plural);
}

static bool needs_quotes(const char *argument)
{
	return !*argument || strpbrk(argument, " \t\n'\"\\$`*?[](){}<>|&;!#~");
}

void sentence_argument(struct sentence *s, const char *argument)
{
	if (!needs_quotes(argument)) {
		fputs(argument, s->stream);
		return;
	}
	fputc('\'', s->stream);
	for (const char *p = argument; *p; p++) {
		if (*p == '\'')
			fputs("'\\''", s->stream);
		else
			fputc(*p, s->stream);
	}
	fputc('\'', s->stream);
}
