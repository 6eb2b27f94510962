/* SPDX-License-Identifier: MIT */
/*
 * Renderers: one result, several shapes.  report.c builds the result, a
 * renderer only writes it to options->out and returns 0 or -ENOMEM; whether the
 * writing worked is checked by the caller.
 */
#ifndef MEMTRACK_REPORT_RENDER_H
#define MEMTRACK_REPORT_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/report.h"

struct model;
struct model_process;
struct site;
struct site_table;
struct suppressions;

struct report {
	const struct report_options *options;
	const struct model *model;
	struct site_table *table;
	size_t shown; /* how many of the table's sites --top lets through */
	const struct suppressions *suppressions; /* NULL: none were asked for */
};

typedef int render_function(const struct report *report);

render_function render_text, render_json, render_csv;
/* Instead of a table, as CSV. */
render_function csv_tree;

/* A frame with its names looked up; NULL and 0 where unknown. */
struct shown_frame {
	const char *function, *file, *module;
	uint32_t line;
	uint32_t location, index; /* which frame of which location it is */
	uint64_t address;
	uint64_t runtime; /* where it was in memory; 0: not known any more */
	bool inlined;
};

/* Walks a stack from the innermost frame outward, inlined frames included. */
struct frame_walk {
	const struct model *model;
	uint32_t node;
	uint32_t next; /* index within the node's location */
};

struct frame_walk frame_walk_start(const struct model *model, uint32_t node);
/* false at the end of the stack. */
bool frame_walk_next(struct frame_walk *walk, struct shown_frame *frame);

/* The only selected process, or NULL when several are summed. */
const struct model_process *report_single_process(const struct model *model);
/*
 * The process with the highest peak when it is not among those reported; else,
 * and when there are several recordings, NULL.
 */
const struct model_process *report_largest_unselected(const struct model *model);
/* Is the slack of the rows known?  That of threads and sizes never is. */
bool report_has_slack(const struct report *report);
const char *path_base(const char *path);

#endif
