/* SPDX-License-Identifier: MIT */
/*
 * Options of the commands that look at recordings from two sides or against
 * limits: which stacks, which processes, what shape.  A command puts the groups
 * it has into its own table:
 *
 *	struct options {
 *		struct view_options view;
 *	};
 *
 *	static const struct opt diff_opts[] = {
 *		VIEW_PROCESS_OPTS(struct options, view),
 *		OPT_END,
 *	};
 */
#ifndef MEMTRACK_CMD_VIEW_OPTIONS_H
#define MEMTRACK_CMD_VIEW_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/cmd.h"
#include "cmd/opt.h"
#include "cmd/terminal.h"
#include "report/report.h"

struct view_options {
	int sort, by, format, color;
	int64_t top, process, pid, frames;
	bool all, full_paths, full_names;
	struct opt_list filters, excludes, focus, ignore, plumbing, suppressions;
};

/* What is the same in no two recordings, or all one row; diff_run says so. */
#define VIEW_BY_HIDDEN (1 << REPORT_BY_TAG | 1 << REPORT_BY_THREAD | 1 << REPORT_BY_SIZE)

/* clang-format off */
#define VIEW_ROW_OPTS(s, v) \
	OPT_INT('n', "top", "N", s, v.top, 0, INT_MAX, "rows to show; 0: all (10)"), \
	OPT_CHOICE(0, "sort", "KEY", s, v.sort, report_sort_names, "order of the rows"), \
	OPT_CHOICE_PARTLY(0, "by", "WHAT", s, v.by, report_by_names, VIEW_BY_HIDDEN, \
			  "what a row stands for")
#define VIEW_FILTER_OPTS(s, v) \
	OPT_REPEAT(0, "filter", "EXPR", s, v.filters, \
		   "keep stacks with a frame matching function~REGEX, file~REGEX or module~REGEX"), \
	OPT_REPEAT(0, "exclude", "EXPR", s, v.excludes, "drop stacks with such a frame"), \
	OPT_REPEAT(0, "focus", "REGEX", s, v.focus, "keep stacks through a function"), \
	OPT_REPEAT(0, "ignore", "REGEX", s, v.ignore, "drop stacks through a function")
#define VIEW_SITE_OPTS(s, v) \
	OPT_REPEAT(0, "plumbing", "REGEX", s, v.plumbing, \
		   "more functions that are never a site themselves, such as your own xmalloc"), \
	OPT_REPEAT(0, "suppressions", "FILE", s, v.suppressions, \
		   "leave out leaks as FILE says, in LeakSanitizer's syntax")
#define VIEW_PROCESS_OPTS(s, v) \
	OPT_INT(0, "process", "N", s, v.process, 1, INT_MAX, \
		"the Nth process image of a recording (the first)"), \
	OPT_INT(0, "pid", "PID", s, v.pid, 1, INT_MAX, "the process images of PID"), \
	OPT_FLAG(0, "all", s, v.all, "all process images together")
#define VIEW_SHAPE_OPTS(s, v) \
	OPT_INT(0, "frames", "N", s, v.frames, 0, INT_MAX, \
		"frames to show of each stack; 0: all (8)"), \
	OPT_FLAG(0, "full-paths", s, v.full_paths, "whole paths of files and modules"), \
	OPT_FLAG(0, "full-names", s, v.full_names, \
		 "functions with their template arguments and parameters"), \
	OPT_CHOICE(0, "color", "WHEN", s, v.color, color_names, "colour the text")
/* clang-format on */

void view_options_init(struct view_options *o);
/*
 * What the command line said, for the layer below; `r` has been initialized.  `fd` is where the
 * text will go.  False, with *status, when options exclude each other: an error was printed.
 */
bool view_options_fill(struct report_options *r, const struct view_options *o, int fd,
		       const struct command *command, int *status);

/* What a command returns for a layer's result; prints the diag of an error. */
int view_exit_status(int error, const struct diag *diag);

#endif
