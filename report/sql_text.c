/* SPDX-License-Identifier: MIT */
/*
 * The results of statements as CSV and JSON: row by row, however many there are.
 * NULL is an empty field or null, a blob is a string of hexadecimal digits.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/csv.h"
#include "report/sql_private.h"
#include "report/utf8.h"

const char *sql_number(char text[SQL_NUMBER], sqlite3_stmt *statement, int column)
{
	if (sqlite3_column_type(statement, column) == SQLITE_INTEGER) {
		snprintf(text, SQL_NUMBER, "%" PRId64,
			 (int64_t)sqlite3_column_int64(statement, column));
		return text;
	}
	double value = sqlite3_column_double(statement, column);
	snprintf(text, SQL_NUMBER, "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, SQL_NUMBER, "%.17g", value);
	if (isfinite(value) && !strpbrk(text, ".e"))
		strcat(text, ".0");
	return text;
}

char *sql_hex(sqlite3_stmt *statement, int column)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *bytes = sqlite3_column_blob(statement, column);
	size_t size = (size_t)sqlite3_column_bytes(statement, column);
	char *text = malloc(2 * size + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * size] = '\0';
	return text;
}

/* A terminal is for eyes: there, what cannot be seen is replaced. */
static unsigned text_flags(const struct sql_output *output)
{
	return output->options->terminal ? UTF8_VISIBLE : 0;
}

/* A text, cleaned; malloc'ed, NULL when out of memory.  A NUL in it is no UTF-8 that others would read. */
static char *clean_text(const struct sql_output *output, sqlite3_stmt *statement, int column)
{
	const unsigned char *text = sqlite3_column_text(statement, column);
	size_t size = (size_t)sqlite3_column_bytes(statement, column);
	char *copy = text ? malloc(size + 1) : NULL;
	if (!copy)
		return NULL;
	for (size_t i = 0; i < size; i++)
		copy[i] = text[i] ? (char)text[i] : '\xff';
	copy[size] = '\0';
	char *clean = utf8_clean(copy, text_flags(output));
	free(copy);
	return clean;
}

/* -- CSV ---------------------------------------------------------------------------------------- */

static int csv_begin(struct sql_output *output, sqlite3_stmt *statement)
{
	if (output->results)
		fputc('\n', output->out);
	for (int i = 0; i < output->column_count; i++) {
		const char *name = sqlite3_column_name(statement, i);
		if (i)
			fputc(',', output->out);
		if (!name || csv_put(output->out, name, text_flags(output)))
			return -ENOMEM;
	}
	fputc('\n', output->out);
	return 0;
}

/* An empty text is told from NULL by its quotes. */
static int csv_put_text(struct sql_output *output, sqlite3_stmt *statement, int column)
{
	char *text = clean_text(output, statement, column);
	int error = text ? csv_put(output->out, text, 0) : -ENOMEM;
	if (text && !*text)
		fputs("\"\"", output->out);
	free(text);
	return error;
}

static int csv_put_value(struct sql_output *output, sqlite3_stmt *statement, int column)
{
	char number[SQL_NUMBER], *hex;
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		return 0;
	case SQLITE_TEXT:
		return csv_put_text(output, statement, column);
	case SQLITE_BLOB:
		hex = sql_hex(statement, column);
		fputs(hex ? hex : "", output->out);
		free(hex);
		return hex ? 0 : -ENOMEM;
	default:
		fputs(sql_number(number, statement, column), output->out);
		return 0;
	}
}

static int csv_row(struct sql_output *output, sqlite3_stmt *statement)
{
	for (int i = 0; i < output->column_count; i++) {
		if (i)
			fputc(',', output->out);
		if (csv_put_value(output, statement, i))
			return -ENOMEM;
	}
	fputc('\n', output->out);
	return 0;
}

static int csv_end(struct sql_output *output, sqlite3_stmt *statement)
{
	(void)output;
	(void)statement;
	return 0;
}

const struct sql_form sql_form_csv = { csv_begin, csv_row, csv_end };

/* -- JSON --------------------------------------------------------------------------------------- */

static int json_put_text(FILE *out, const char *clean)
{
	if (!clean)
		return -ENOMEM;
	fputc('"', out);
	for (const char *p = clean; *p; p++) {
		if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if ((unsigned char)*p < 0x20 || *p == 0x7f)
			fprintf(out, "\\u%04x", (unsigned)*p);
		else
			fputc(*p, out);
	}
	fputc('"', out);
	return 0;
}

static int json_put_name(struct sql_output *output, sqlite3_stmt *statement, int column)
{
	const char *name = sqlite3_column_name(statement, column);
	char *clean = name ? utf8_clean(name, text_flags(output)) : NULL;
	int error = json_put_text(output->out, clean);
	free(clean);
	return error;
}

static int json_put_value(struct sql_output *output, sqlite3_stmt *statement, int column)
{
	char number[SQL_NUMBER], *text;
	double value;
	int error;
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		fputs("null", output->out);
		return 0;
	case SQLITE_TEXT:
	case SQLITE_BLOB:
		text = sqlite3_column_type(statement, column) == SQLITE_BLOB
			       ? sql_hex(statement, column)
			       : clean_text(output, statement, column);
		error = json_put_text(output->out, text);
		free(text);
		return error;
	default:
		/* JSON has no word for an infinite number, but numbers that large. */
		value = sqlite3_column_double(statement, column);
		if (isinf(value))
			fputs(value < 0 ? "-1e999" : "1e999", output->out);
		else
			fputs(sql_number(number, statement, column), output->out);
		return 0;
	}
}

static int json_begin(struct sql_output *output, sqlite3_stmt *statement)
{
	(void)statement;
	fputc('[', output->out);
	return 0;
}

static int json_row(struct sql_output *output, sqlite3_stmt *statement)
{
	fputs(output->rows ? ",\n {" : "\n {", output->out);
	for (int i = 0; i < output->column_count; i++) {
		if (i)
			fputs(", ", output->out);
		if (json_put_name(output, statement, i))
			return -ENOMEM;
		fputs(": ", output->out);
		if (json_put_value(output, statement, i))
			return -ENOMEM;
	}
	fputc('}', output->out);
	return 0;
}

static int json_end(struct sql_output *output, sqlite3_stmt *statement)
{
	(void)statement;
	fputs(output->rows ? "\n]\n" : "]\n", output->out);
	return 0;
}

const struct sql_form sql_form_json = { json_begin, json_row, json_end };
