/* SPDX-License-Identifier: MIT */
/* The forms of `memtrack diff`: as in render.h, but with two sides. */
#ifndef MEMTRACK_REPORT_RENDER_DIFF_H
#define MEMTRACK_REPORT_RENDER_DIFF_H

#include <stddef.h>

#include "report/diff.h"

struct view;

struct diff_report {
	const struct diff_options *options;
	struct view *const *views; /* by side */
	const struct diff *diff;
	size_t shown; /* how many rows --top lets through */
};

typedef int render_diff_function(const struct diff_report *report);

render_diff_function render_diff_text, render_diff_json, render_diff_csv;

#endif
