/* SPDX-License-Identifier: MIT */
/*
 * Pieces of text output: styles, cutting to a width, wrapping.  Used by the
 * text renderer's files only.
 */
#ifndef MEMTRACK_REPORT_TEXT_H
#define MEMTRACK_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/recording.h"
#include "report/report.h"

struct model;
struct model_stack;
struct report;
struct shown_frame;
struct site;

#define TEXT_LABEL_WIDTH 8 /* of "Peak    " and its like */

enum text_style {
	TEXT_PLAIN,
	TEXT_BOLD,
	TEXT_DIM,
	TEXT_WARN,
};

struct text {
	const struct report *report;
	const struct model *model;
	FILE *out;
	size_t width; /* SIZE_MAX: no limit */
	bool color, utf8, full_paths, full_names;
	bool sampled;	      /* figures are estimates: each is shown with its standard error */
	const char *ellipsis; /* "…", or its ASCII stand-in */
	int error;	      /* -ENOMEM once memory ended: the output is then not whole */
};

/*
 * What a frame or a site is called, and where it is; both clean, malloc'ed;
 * place may be "".
 */
struct text_label {
	char *name, *place;
};

void text_put(struct text *t, enum text_style style, const char *string);
void text_spaces(struct text *t, size_t count);
/* A clean, malloc'ed copy; "" when memory ended. */
char *text_clean(struct text *t, const char *string);
/*
 * Prints a clean string in at most `columns`, cut in its middle when it is
 * longer.
 */
void text_fit(struct text *t, enum text_style style, const char *clean, size_t columns);
/* Prints clean words from `column` on, wrapped, later lines indented. */
void text_words(struct text *t, enum text_style style, const char *clean, size_t column,
		size_t indent);
/* "Label   body", wrapped at words, later lines indented to the body. */
void text_paragraph(struct text *t, const char *label, enum text_style style, const char *body);

/* Ran before main or the thread's function: no news to anyone. */
bool text_is_startup(const struct shown_frame *frame);
/* A line of its own between frames: "… what". */
void text_remark(struct text *t, size_t indent, enum text_style style, const char *remark);
/* The same below frames that come again and again: "… the 2 frames above 41 more times". */
void text_repetition(struct text *t, size_t period, size_t times, size_t indent);
/* Why a stack is no longer than it is; "" when it is whole. */
const char *text_end_reason(enum stack_end end);
/* What is left of the line for a label that starts at `column`; never less than `least`. */
size_t text_room(const struct text *t, size_t column, size_t least);
struct text_label text_frame_label(struct text *t, const struct shown_frame *frame);
struct text_label text_site_label(struct text *t, const struct site *site);
struct text_label text_label_make(struct text *t, const char *name, const char *place);
/* The same of a row that stands for a thread or a size. */
struct text_label text_part_label(struct text *t, const struct site *site);
/* What to know about figures below zero. */
void text_part_note(struct text *t);
/* "name  place" in at most `columns`: the name is cut first. */
void text_label_put(struct text *t, enum text_style style, const struct text_label *label,
		    size_t columns);
void text_label_release(struct text_label *label);

/*
 * The frames of a stack, up to --frames of them, or to where it goes on as the
 * stack of the node `previous` did, which was shown before it (0: none was).
 */
void text_stack(struct text *t, const struct model_stack *stack, uint32_t previous, size_t indent);
/* The heaviest stacks of a site; those that print the same, together. */
void text_stacks(struct text *t, const struct site *site);

/*
 * " ±4.2%" after an estimate; "" after an exact figure, after a nothing that
 * rests on no sample, and where the variance is not known.  `cell`: TEXT_ERROR bytes.
 */
#define TEXT_ERROR 40
const char *text_error(const struct text *t, char *cell, double value, double variance);

/* What a row of a table is about: as a heading, and counted; indexed by enum report_by. */
struct text_row_name {
	const char *title, *singular, *plural;
};
extern const struct text_row_name text_row_names[];

/*
 * What the sort key counts: as a column with its standard error, the column's title, and in
 * words: "6.0 MiB", "600,000 allocations".
 */
size_t text_cost_width(const struct text *t, enum report_sort sort);
void text_cost_title(const struct text *t, FILE *line, enum report_sort sort);
/* Returns by how much the figure is wider than its column. */
size_t text_cost_cell(struct text *t, const struct costs *costs, enum report_sort sort);
const char *text_cost_words(const struct text *t, char *words, size_t size,
			    const struct costs *costs, enum report_sort sort);
/* Instead of a table without rows. */
void text_nothing(struct text *t);

/* The parts of a report, in their order. */
void text_title(struct text *t);
void text_header(struct text *t);
void text_heap(struct text *t);
void text_table(struct text *t);
void text_tree(struct text *t);
void text_notes(struct text *t);
void text_next(struct text *t);
/* What --suppressions left out, and which of them were of no use. */
void text_suppressed(struct text *t);
/* How blocks were guarded; what was found wrong, in a line and at length. */
void text_guards(struct text *t);
void text_errors_summary(struct text *t);
void text_errors(struct text *t);

#endif
