/* SPDX-License-Identifier: MIT */
/*
 * `memtrack report` below the command line: loads recordings, groups their
 * stacks and renders a table. cmd/report.c fills the options; option parsing,
 * help and completion use the name tables here. Threads: none is started, no
 * state is kept between calls.
 */
#ifndef MEMTRACK_REPORT_REPORT_H
#define MEMTRACK_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/diag.h"
#include "report/run_time.h"

enum report_sort {
	REPORT_SORT_PEAK,
	REPORT_SORT_LEAKED,
	REPORT_SORT_ALLOCATED,
	REPORT_SORT_ALLOCATIONS,
	REPORT_SORT_TEMPORARY,
	REPORT_SORT_SLACK, /* only of recordings that have it */
};

enum report_by {
	REPORT_BY_SITE,
	REPORT_BY_STACK,
	REPORT_BY_FUNCTION, /* function, file and module: costs by the function of the site ("self") */
	REPORT_BY_FILE,	    /* costs by the source file of the site */
	REPORT_BY_MODULE, /* costs by the module of the site */
	REPORT_BY_TAG,
	REPORT_BY_THREAD,
	REPORT_BY_SIZE,
	REPORT_BY_PROCESS,
};

enum report_format {
	REPORT_FORMAT_TEXT,
	REPORT_FORMAT_JSON,
	REPORT_FORMAT_CSV,
};

enum report_tree {
	REPORT_TREE_NONE,
	REPORT_TREE_CALLERS, /* from the sites outward */
	REPORT_TREE_CALLEES, /* from main inward to the sites */
};

struct report_name {
	const char *name;
	const char *help; /* a few words, lower case, no final dot */
};

/* Indexed by the enums above; ended by a NULL name. */
extern const struct report_name report_sort_names[];
extern const struct report_name report_by_names[];
extern const struct report_name report_format_names[];
/* The same from REPORT_TREE_CALLERS on. */
extern const struct report_name report_tree_names[];

/* The index of `name` in a table, or -1. */
int report_name_find(const struct report_name *names, const char *name);

struct report_list {
	const char *const *items;
	size_t count;
};

/*
 * Borrowed, not copied: everything pointed to must outlive the call it is given
 * to.
 */
struct report_options {
	struct report_list files; /* at least one; several are summed */
	enum report_format format;
	enum report_sort sort;
	enum report_by by;
	enum report_tree tree; /* instead of a table */
	int top;	       /* most rows, and most children of a node in a tree; 0 = all */

	/*
	 * "function~REGEX", "file~REGEX", "module~REGEX", "tag~REGEX" (POSIX
	 * extended).  A
	 * stack is kept when every filter matches one of its frames, and no
	 * exclude does.
	 */
	struct report_list filters, excludes;
	struct report_list focus, ignore; /* the same with plain regexes on function names */
	struct report_list plumbing;	  /* regexes on function names */
	struct report_list suppressions;  /* files of leaks to leave out */

	struct run_time at; /* costs then instead of the peak; none: the peak */

	/* Which process images; the first of all when none of the three is given. */
	bool all;
	int process; /* 1-based in order of start; 0 = not given */
	int pid;     /* 0 = not given */

	/* Shape of the text. */
	int frames; /* shown of each stack, levels of a tree; 0 = all */
	bool full_paths;
	bool full_names; /* else template arguments and parameters are left out */
	bool downloads;	 /* debug information could be downloaded: say so where names are missing */
	bool color;
	bool utf8;
	int width; /* columns; 0 = no limit */
	FILE *out;
};

/*
 * The defaults of the manual: 10 rows by site, sorted by peak, 8 frames, text
 * of 80 columns to stdout.
 */
void report_options_init(struct report_options *options);

/*
 * 0, or -errno with *diag filled: -EINVAL for an option that is wrong in itself
 * or for these recordings (a bad expression, no such process, a grouping for
 * which no data was recorded): exit status 2. -EPIPE when the reader of `out`
 * went away: say nothing.  Anything else: unreadable input or failing output:
 * exit status 3.  Nothing is written to `out` before the input has been read.
 */
int report_run(const struct report_options *options, struct diag *diag)
	__attribute__((warn_unused_result));

#endif
