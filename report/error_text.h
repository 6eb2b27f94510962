/* SPDX-License-Identifier: MIT */
/*
 * One error in words, in the shape that AddressSanitizer has made known: what,
 * where, and where its block came from.  Used by text reports, and by `memtrack
 * run` while the program still runs.
 */
#ifndef MEMTRACK_REPORT_ERROR_TEXT_H
#define MEMTRACK_REPORT_ERROR_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/recording.h"

struct shown_frame;
struct text;

struct error_text {
	const struct rec_error *rec; /* its ids are not looked at */
	struct error_text_stack {
		const struct shown_frame *frames; /* from the innermost outward */
		size_t count;
	} stacks[ERROR_STACKS];
	size_t frames;	 /* most of each stack; 0: all, also those that ran before main */
	bool standalone; /* not part of a report: between a line of its own and a summary */
};

void error_text_put(struct text *t, const struct error_text *error);

#endif
