/* SPDX-License-Identifier: MIT */
/* Sentences of a text report, made of parts.  Used by the text renderer's files only. */
#ifndef MEMTRACK_REPORT_SENTENCE_H
#define MEMTRACK_REPORT_SENTENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/report.h"
#include "report/text.h"

struct model;
struct model_process;

struct sentence {
	FILE *stream; /* what is written here becomes the text */
	char *text;
	size_t size;
	int parts;
};

/* False when memory ended. */
bool sentence_open(struct text *t, struct sentence *s);
/* Ends the sentence and prints it as a paragraph; nothing when it is empty. */
void sentence_print(struct text *t, struct sentence *s, const char *label, enum text_style style);
/* Ends it; the text is malloc'ed, NULL when memory ended. */
char *sentence_take(struct text *t, struct sentence *s);
/* "1,234 WHAT", after a separator when it is not the first part; nothing when it is none. */
void sentence_count(struct sentence *s, uint64_t count, const char *singular, const char *plural);
/* One argument as a shell would take it. */
void sentence_argument(struct sentence *s, const char *argument);
/* The same, malloc'ed; NULL when memory ended. */
char *sentence_quote(const char *argument);
/* The command line of a process. */
void sentence_command(struct sentence *s, const struct model *model,
		      const struct model_process *process);
/* The options that chose what a report is about, each after a blank. */
void sentence_selection(struct sentence *s, const struct report_options *o);

#endif
