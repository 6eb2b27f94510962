/* SPDX-License-Identifier: MIT */
/* What sql.c and the forms of its output share. */
#ifndef MEMTRACK_REPORT_SQL_PRIVATE_H
#define MEMTRACK_REPORT_SQL_PRIVATE_H

#include <sqlite3.h>
#include <stddef.h>

#include "report/sql.h"

#define SQL_NUMBER 40 /* room for the text of any number */

struct sql_table;

/* Where results go, and how far. */
struct sql_output {
	const struct sql_options *options;
	FILE *out;
	size_t results; /* begun before this one */
	size_t rows;	/* of this one, so far */
	int column_count;
	struct sql_table *table; /* the rows of a table that wait for its widths */
};

/* A form of output.  All return 0 or -ENOMEM; `end` is called also after a failure of the others. */
struct sql_form {
	int (*begin)(struct sql_output *output, sqlite3_stmt *statement);
	int (*row)(struct sql_output *output, sqlite3_stmt *statement);
	int (*end)(struct sql_output *output, sqlite3_stmt *statement);
};

extern const struct sql_form sql_form_table, sql_form_csv, sql_form_json;

/* The text of an integer or a float, so that reading it gives the same number. */
const char *sql_number(char text[SQL_NUMBER], sqlite3_stmt *statement, int column);
/* A blob in hexadecimal; malloc'ed, NULL when out of memory. */
char *sql_hex(sqlite3_stmt *statement, int column);

#endif
