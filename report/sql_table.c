/* SPDX-License-Identifier: MIT */
/*
 * The results of statements as tables.  Rows are kept until the widths of the
 * columns are known: all of them, or, of a large result, the first; the others
 * are written as they come.  On a terminal, columns of text give way until the
 * table fits.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/hash_index.h"
#include "report/sql_private.h"
#include "report/utf8.h"

#define KEPT_BYTES_MAX	 (32 << 20)
#define NARROWEST_COLUMN 12 /* in which a text can still be told from another */
#define GAP		 2

struct cell {
	char *text;
	bool number;
};

struct column {
	size_t width;
	bool has_number, has_text;
};

struct sql_table {
	struct column *columns;
	struct cell *cells; /* row by row; the first row are the names */
	size_t cell_count, cell_room;
	size_t bytes;
	bool widths_known;
};

static unsigned text_flags(const struct sql_output *output)
{
	return output->options->utf8 ? 0 : UTF8_ASCII;
}

static char *escape_name(const struct sql_output *output, const char *name)
{
	return name ? utf8_escape(name, strlen(name), text_flags(output)) : NULL;
}

/* The text of a value; NULL when out of memory. */
static struct cell make_cell(const struct sql_output *output, sqlite3_stmt *statement, int column)
{
	char number[SQL_NUMBER];
	const char *text;
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		return (struct cell){ .text = strdup("NULL") };
	case SQLITE_BLOB:
		return (struct cell){ .text = sql_hex(statement, column) };
	case SQLITE_TEXT:
		text = (const char *)sqlite3_column_text(statement, column);
		return (struct cell){ .text = text ? utf8_escape(text,
								 (size_t)sqlite3_column_bytes(
									 statement, column),
								 text_flags(output))
						   : NULL };
	default:
		return (struct cell){ .text = strdup(sql_number(number, statement, column)),
				      .number = true };
	}
}

/* -- rows --------------------------------------------------------------------------------------- */

static void put_blanks(FILE *out, size_t count)
{
	fprintf(out, "%*s", (int)count, "");
}

/* Of a path the end tells most, of everything else the beginning. */
static void put_cut(const struct sql_output *output, const char *text, size_t columns)
{
	const char *dots = output->options->utf8 ? "\xe2\x80\xa6" : "...";
	size_t room = columns - (output->options->utf8 ? 1 : 3);
	if (*text == '/')
		fprintf(output->out, "%s%s", dots, text + utf8_suffix(text, room));
	else
		fprintf(output->out, "%.*s%s", (int)utf8_prefix(text, room), text, dots);
}

static void put_cell(const struct sql_output *output, const struct cell *cell, int column)
{
	const struct column *c = &output->table->columns[column];
	size_t width = utf8_width(cell->text);
	size_t blanks = width < c->width ? c->width - width : 0;
	bool right = c->has_number && !c->has_text;
	if (right)
		put_blanks(output->out, blanks);
	if (width > c->width && !cell->number && output->options->width)
		put_cut(output, cell->text, c->width);
	else
		fputs(cell->text, output->out);
	/* No blanks at the ends of lines. */
	if (!right && column + 1 < output->column_count)
		put_blanks(output->out, blanks);
}

static void put_row(const struct sql_output *output, const struct cell *cells)
{
	for (int i = 0; i < output->column_count; i++) {
		if (i)
			put_blanks(output->out, GAP);
		put_cell(output, &cells[i], i);
	}
	fputc('\n', output->out);
}

static void put_rule(const struct sql_output *output)
{
	for (int i = 0; i < output->column_count; i++) {
		if (i)
			put_blanks(output->out, GAP);
		for (size_t n = output->table->columns[i].width; n > 0; n--)
			fputc('-', output->out);
	}
	fputc('\n', output->out);
}

/* -- widths ------------------------------------------------------------------------------------- */

static size_t table_width(const struct sql_output *output)
{
	size_t width = (size_t)(output->column_count - 1) * GAP;
	for (int i = 0; i < output->column_count; i++)
		width += output->table->columns[i].width;
	return width;
}

/* The widest column of text that can give way; NULL when there is none. */
static struct column *widest_text(const struct sql_output *output)
{
	struct column *widest = NULL;
	for (int i = 0; i < output->column_count; i++) {
		struct column *c = &output->table->columns[i];
		if (c->has_text && c->width > NARROWEST_COLUMN &&
		    (!widest || c->width > widest->width))
			widest = c;
	}
	return widest;
}

static void fit_widths(const struct sql_output *output)
{
	size_t limit = (size_t)output->options->width;
	struct column *widest;
	while (limit && table_width(output) > limit && (widest = widest_text(output)))
		widest->width--;
}

static void free_cells(struct sql_table *table)
{
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i].text);
	table->cell_count = 0;
}

/* Writes what was kept. */
static void put_kept(const struct sql_output *output)
{
	struct sql_table *table = output->table;
	size_t columns = (size_t)output->column_count;
	fit_widths(output);
	table->widths_known = true;
	put_row(output, table->cells);
	put_rule(output);
	for (size_t i = columns; i + columns <= table->cell_count; i += columns)
		put_row(output, table->cells + i);
	free_cells(table);
}

/* -- the form ----------------------------------------------------------------------------------- */

static int keep_cell(struct sql_table *table, struct cell cell, size_t column)
{
	struct cell *cells =
		array_grow(table->cells, &table->cell_room, table->cell_count + 1, sizeof(*cells));
	if (cells)
		table->cells = cells;
	if (!cells || !cell.text) {
		free(cell.text);
		return -ENOMEM;
	}
	size_t width = utf8_width(cell.text);
	if (!table->widths_known && width > table->columns[column].width)
		table->columns[column].width = width;
	table->bytes += strlen(cell.text) + sizeof(cell);
	cells[table->cell_count++] = cell;
	return 0;
}

static int table_begin(struct sql_output *output, sqlite3_stmt *statement)
{
	struct sql_table *table = calloc(1, sizeof(*table));
	output->table = table;
	if (table)
		table->columns = calloc((size_t)output->column_count, sizeof(*table->columns));
	if (!table || !table->columns)
		return -ENOMEM;
	if (output->results)
		fputc('\n', output->out);
	for (int i = 0; i < output->column_count; i++) {
		struct cell name = { escape_name(output, sqlite3_column_name(statement, i)),
				     false };
		if (keep_cell(table, name, (size_t)i))
			return -ENOMEM;
	}
	return 0;
}

static int table_row(struct sql_output *output, sqlite3_stmt *statement)
{
	struct sql_table *table = output->table;
	for (int i = 0; i < output->column_count; i++) {
		struct cell cell = make_cell(output, statement, i);
		int type = sqlite3_column_type(statement, i);
		table->columns[i].has_number |= cell.number;
		table->columns[i].has_text |= type == SQLITE_TEXT || type == SQLITE_BLOB;
		if (keep_cell(table, cell, (size_t)i))
			return -ENOMEM;
	}
	if (!table->widths_known && table->bytes > KEPT_BYTES_MAX) {
		put_kept(output);
	} else if (table->widths_known) {
		put_row(output, table->cells);
		free_cells(table);
	}
	return 0;
}

static int table_end(struct sql_output *output, sqlite3_stmt *statement)
{
	struct sql_table *table = output->table;
	(void)statement;
	if (!table)
		return 0;
	if (!table->widths_known && table->cell_count >= (size_t)output->column_count)
		put_kept(output);
	free_cells(table);
	free(table->cells);
	free(table->columns);
	free(table);
	output->table = NULL;
	return 0;
}

const struct sql_form sql_form_table = { table_begin, table_row, table_end };
