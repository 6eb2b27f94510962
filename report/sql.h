/* SPDX-License-Identifier: MIT */
/*
 * `memtrack sql` below the command line: runs statements on a recording, which
 * they cannot change, and writes what they yield.  Threads: none is started; the
 * limit on memory that is set for SQLite holds for the whole program.
 */
#ifndef MEMTRACK_REPORT_SQL_H
#define MEMTRACK_REPORT_SQL_H

#include <stdbool.h>
#include <stdio.h>

#include "report/diag.h"
#include "report/report.h"

enum sql_format { SQL_FORMAT_TABLE, SQL_FORMAT_CSV, SQL_FORMAT_JSON };

/* Indexed by the enum above; ended by a NULL name. */
extern const struct report_name sql_format_names[];

struct sql_options {
	const char *file;
	const char *statements; /* any number, separated by semicolons */
	enum sql_format format;
	FILE *out;
	bool terminal; /* someone looks at it: nothing may reach the terminal but visible text */
	bool utf8;
	int width; /* columns of a table; 0 = no limit */
};

/*
 * 0, or -errno with *diag filled: -EINVAL for a statement that is wrong, or would do anything but read; -EPIPE when
 * the reader of `out` went away: say nothing.  Anything else: unreadable input, failing output.  The statements
 * before a wrong one have been run.
 */
int sql_run(const struct sql_options *options, struct diag *diag)
	__attribute__((warn_unused_result));

#endif
