/* SPDX-License-Identifier: MIT */
/* The parts of a diff's text; see render_diff_text.c. */
#ifndef MEMTRACK_REPORT_TEXT_DIFF_H
#define MEMTRACK_REPORT_TEXT_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "report/match.h"
#include "report/report.h"
#include "report/text.h"

struct diff_report;

struct text_diff {
	const struct diff_report *report;
	struct text sides[SIDES]; /* one output; labels and stacks are those of one side */
	bool sampled;		  /* one side is */
};

/* "512.3 MiB" or "1,234", as the key counts; a change has its sign. */
char *text_diff_amount(char *text, int64_t amount, enum report_sort sort);
char *text_diff_change(char *text, int64_t change, enum report_sort sort);

void text_diff_header(struct text_diff *d);
void text_diff_table(struct text_diff *d);

#endif
