/* SPDX-License-Identifier: MIT */
/* See sentence.h. */
#include "report/sentence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
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

char *sentence_quote(const char *argument)
{
	struct sentence s = { 0 };
	s.stream = open_memstream(&s.text, &s.size);
	if (!s.stream)
		return NULL;
	sentence_argument(&s, argument);
	bool failed = ferror(s.stream);
	if (fclose(s.stream) == 0 && !failed)
		return s.text;
	free(s.text);
	return NULL;
}

void sentence_command(struct sentence *s, const struct model *model,
		      const struct model_process *process)
{
	for (uint32_t i = 0; i < process->argc; i++) {
		const char *argument = model_text(model, model->argv[process->argv + i]);
		fputs(i ? " " : "", s->stream);
		sentence_argument(s, argument ? argument : "");
	}
	if (process->argc == 0)
		fputs(process->executable ? model_text(model, process->executable)
					  : "(unknown program)",
		      s->stream);
}

static void put_list(struct sentence *s, const char *option, const struct report_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		fprintf(s->stream, " %s ", option);
		sentence_argument(s, list->items[i]);
	}
}

void sentence_selection(struct sentence *s, const struct report_options *o)
{
	put_list(s, "--filter", &o->filters);
	put_list(s, "--exclude", &o->excludes);
	put_list(s, "--focus", &o->focus);
	put_list(s, "--ignore", &o->ignore);
	put_list(s, "--plumbing", &o->plumbing);
	put_list(s, "--suppressions", &o->suppressions);
	if (o->all)
		fputs(" --all", s->stream);
	if (o->process)
		fprintf(s->stream, " --process %d", o->process);
	if (o->pid)
		fprintf(s->stream, " --pid %d", o->pid);
}
