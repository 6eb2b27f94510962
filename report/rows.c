/* SPDX-License-Identifier: MIT */
/* Checked reading of a recording's tables.  Called by the model's loaders only. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model_private.h"

int rows_open(struct rows *rows, struct loader *loader, const char *table, const char *sql)
{
	*rows = (struct rows){ .loader = loader, .table = table };
	int result = sqlite3_prepare_v2(loader->rec->db, sql, -1, &rows->statement, NULL);
	if (result != SQLITE_OK)
		return rec_sqlite_error(loader->rec, "read", result, loader->diag);
	rows->column_count = sqlite3_column_count(rows->statement);
	return 0;
}

bool rows_exist(struct loader *loader, const char *table)
{
	sqlite3_stmt *statement = NULL;
	bool found = false;
	if (sqlite3_prepare_v2(loader->rec->db,
			       "SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE", -1,
			       &statement, NULL) == SQLITE_OK) {
		sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
		found = sqlite3_step(statement) == SQLITE_ROW;
	}
	sqlite3_finalize(statement);
	return found;
}

void rows_close(struct rows *rows)
{
	sqlite3_finalize(rows->statement);
	rows->statement = NULL;
}

int rows_damaged(const struct rows *rows, const char *what)
{
	return diag_set(rows->loader->diag, -EBADMSG,
			"cannot read '%s': the file is damaged: table %s: %s",
			rows->loader->rec->path, rows->table, what);
}

int rows_next(struct rows *rows)
{
	int result = sqlite3_step(rows->statement);
	if (result == SQLITE_DONE)
		return 0;
	if (result != SQLITE_ROW)
		return rec_sqlite_error(rows->loader->rec, "read", result, rows->loader->diag);
	if (++rows->row_count > rows->loader->rec->file_size)
		return rows_damaged(rows, "it claims to be larger than the file");
	for (int i = 0; i < rows->column_count; i++) {
		/* A column is looked up once, though two things are asked of it: there are millions. */
		sqlite3_value *value = rows->other_columns & 1u << i
					       ? NULL
					       : sqlite3_column_value(rows->statement, i);
		if (value && sqlite3_value_type(value) != SQLITE_INTEGER)
			return rows_damaged(rows, "a value is not a number");
		rows->values[i] = value ? sqlite3_value_int64(value) : 0;
	}
	return 1;
}

int loader_no_memory(struct loader *loader)
{
	return diag_set(loader->diag, -ENOMEM, "cannot read '%s': out of memory",
			loader->rec->path);
}

int id_map_add(struct rows *rows, struct id_map *map, int64_t row, uint32_t id)
{
	if (row != (int64_t)map->count + 1 || row >= UINT32_MAX)
		return rows_damaged(rows, "ids are out of order");
	uint32_t *ids = array_grow(map->ids, &map->room, map->count + 2, sizeof(*ids));
	if (!ids)
		return loader_no_memory(rows->loader);
	map->ids = ids;
	ids[0] = 0;
	ids[++map->count] = id;
	return 0;
}

int id_map_get(const struct rows *rows, const struct id_map *map, int64_t row, uint32_t *id)
{
	*id = 0;
	if (row == 0)
		return 0;
	if (row < 0 || row > (int64_t)map->count)
		return rows_damaged(rows, "a reference leads nowhere");
	*id = map->ids[row];
	return 0;
}

static int add_text(struct rows *rows)
{
	struct loader *loader = rows->loader;
	if (sqlite3_column_type(rows->statement, 1) != SQLITE_TEXT)
		return rows_damaged(rows, "a value is not a text");
	const char *text = (const char *)sqlite3_column_text(rows->statement, 1);
	if (!text)
		return loader_no_memory(loader);
	/*
	 * A text may hold a NUL only in a damaged file; it ends there, as in
	 * the paths it came from.
	 */
	size_t length = strnlen(text, (size_t)sqlite3_column_bytes(rows->statement, 1));
	loader->text_bytes += sqlite3_column_bytes(rows->statement, 1);
	if (loader->text_bytes > loader->rec->file_size)
		return rows_damaged(rows, "it claims to be larger than the file");
	uint32_t id = pool_add(&loader->model->strings, text, length);
	if (!id)
		return loader_no_memory(loader);
	return id_map_add(rows, &loader->strings, rows->values[0], id);
}

int model_load_strings(struct loader *loader)
{
	struct rows rows;
	int error = rows_open(&rows, loader, "string", "SELECT id, value FROM string NOT INDEXED");
	if (error)
		return error;
	rows.other_columns = 1u << 1;
	while ((error = rows_next(&rows)) > 0) {
		error = add_text(&rows);
		if (error)
			break;
	}
	rows_close(&rows);
	return error;
}
