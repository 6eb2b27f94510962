/* SPDX-License-Identifier: MIT */
/*
 * New names into a copy of a recording.  The copy is made page by page, so that
 * what a later version keeps there stays as it is; of that, only the tables with
 * names are changed.  The file may come from anywhere: nothing that its schema
 * could do by itself is allowed to happen.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/filter.h"
#include "report/recording_private.h"
#include "report/resolve_private.h"
#include "report/sites.h"

struct editor {
	struct resolution *resolution;
	struct recording *rec; /* the copy */
	struct diag *diag;
	int64_t *string_rows; /* by text id of the model; 0: not in the file yet */
	int64_t last_string;
	sqlite3_stmt *insert_string;
};

static int no_memory(struct editor *e)
{
	return diag_set(e->diag, -ENOMEM, "cannot write '%s': out of memory", e->rec->path);
}

static int fail(struct editor *e, int result)
{
	return rec_write_error(e->rec, result, e->diag);
}

static int prepare(struct editor *e, const char *sql, sqlite3_stmt **statement)
{
	int result = sqlite3_prepare_v2(e->rec->db, sql, -1, statement, NULL);
	return result == SQLITE_OK ? 0 : fail(e, sqlite3_extended_errcode(e->rec->db));
}

static int execute(struct editor *e, const char *sql)
{
	int result = sqlite3_exec(e->rec->db, sql, NULL, NULL, NULL);
	return result == SQLITE_OK ? 0 : fail(e, sqlite3_extended_errcode(e->rec->db));
}

/* Runs a statement with these values. */
static int run(struct editor *e, sqlite3_stmt *statement, const int64_t *values, int count)
{
	for (int i = 0; i < count; i++)
		sqlite3_bind_int64(statement, i + 1, values[i]);
	int result = sqlite3_step(statement);
	sqlite3_reset(statement);
	return result == SQLITE_DONE ? 0 : fail(e, sqlite3_extended_errcode(e->rec->db));
}

/* -- the copy ----------------------------------------------------------------------------------- */

/* The temporary file takes the place of another: it belongs to the same people, and tells no others. */
static void keep_owner(const struct recording *rec)
{
	struct stat st;
	if (stat(rec->path, &st))
		return;
	if (chown(rec->temp_path, st.st_uid, st.st_gid)) {
		/* Only root can give files away; it is the caller's then. */
	}
	if (chmod(rec->temp_path, (st.st_mode & 0777) | S_IRUSR | S_IWUSR)) {
		/* As with a new file. */
	}
}

static int open_copy(struct editor *e)
{
	static const char settings[] =
		"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
		"PRAGMA locking_mode = EXCLUSIVE; PRAGMA cell_size_check = ON";
	struct recording *rec = e->rec;
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
	int result = rec_open_database(rec, rec->temp_path, flags);
	if (result != SQLITE_OK)
		return fail(e, result);
	sqlite3_extended_result_codes(rec->db, 1);
	sqlite3_db_config(rec->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(rec->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(rec->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(rec->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_limit(rec->db, SQLITE_LIMIT_ATTACHED, 0);
	return execute(e, settings);
}

static int copy_pages(struct editor *e)
{
	struct recording *source;
	int error = rec_open(&source, e->resolution->path, e->diag);
	if (error)
		return error;
	sqlite3_backup *backup = sqlite3_backup_init(e->rec->db, "main", source->db, "main");
	if (backup)
		sqlite3_backup_step(backup, -1);
	int result = backup ? sqlite3_backup_finish(backup) : sqlite3_errcode(e->rec->db);
	rec_close(source);
	return result == SQLITE_OK ? 0 : fail(e, result);
}

/* -- texts -------------------------------------------------------------------------------------- */

/* Which rows have the texts that the file had: the model's ids are others where a text is there twice. */
static int find_strings(struct editor *e)
{
	struct model *model = &e->resolution->model;
	sqlite3_stmt *statement;
	e->string_rows = calloc(model->strings.count + 1, sizeof(*e->string_rows));
	if (!e->string_rows)
		return no_memory(e);
	int error = prepare(e, "SELECT id, value FROM string", &statement);
	size_t known = model->strings.count;
	while (!error && sqlite3_step(statement) == SQLITE_ROW) {
		const char *value = (const char *)sqlite3_column_text(statement, 1);
		uint32_t text = value ? pool_add(&model->strings, value, strlen(value)) : 0;
		int64_t row = sqlite3_column_int64(statement, 0);
		if (text && text <= known)
			e->string_rows[text] = row;
		if (row > e->last_string)
			e->last_string = row;
	}
	sqlite3_finalize(statement);
	if (!error)
		error = prepare(e, "INSERT INTO string (id, value) VALUES (?, ?)",
				&e->insert_string);
	return error;
}

/* The row of a text, which is added when there is none; 0 for none. */
static int string_row(struct editor *e, uint32_t text, int64_t *row)
{
	*row = e->string_rows[text];
	if (!text || *row)
		return 0;
	const char *value = model_text(&e->resolution->model, text);
	*row = e->string_rows[text] = ++e->last_string;
	sqlite3_bind_text(e->insert_string, 2, value, -1, SQLITE_STATIC);
	return run(e, e->insert_string, row, 1);
}

/* -- names -------------------------------------------------------------------------------------- */

static int write_frames(struct editor *e, uint32_t id, sqlite3_stmt *insert)
{
	const struct model *model = &e->resolution->model;
	const struct model_location *location = &model->locations[id];
	int error = 0;
	for (uint32_t i = 0; i < location->frame_count && !error; i++) {
		const struct model_frame *frame = &model->frames[location->first_frame + i];
		int64_t values[] = { id, i, 0, 0, frame->line, frame->inlined };
		error = string_row(e, frame->function, &values[2]);
		if (!error)
			error = string_row(e, frame->file, &values[3]);
		if (!error)
			error = run(e, insert, values, 6);
	}
	return error;
}

static int write_locations(struct editor *e)
{
	const struct resolution *r = e->resolution;
	sqlite3_stmt *clear = NULL, *insert = NULL;
	int error = prepare(e, "DELETE FROM location_frame WHERE location = ?", &clear);
	if (!error)
		error = prepare(
			e,
			"INSERT INTO location_frame (location, seq, function, file, line, inlined)"
			" VALUES (?, ?, ?, ?, ?, ?)",
			&insert);
	for (uint32_t id = 1; id <= r->model.location_count && !error; id++) {
		int64_t location = id;
		if (!r->location_changed[id])
			continue;
		error = run(e, clear, &location, 1);
		if (!error)
			error = write_frames(e, id, insert);
	}
	sqlite3_finalize(clear);
	sqlite3_finalize(insert);
	return error;
}

static int write_modules(struct editor *e)
{
	const struct resolution *r = e->resolution;
	sqlite3_stmt *update;
	int error = prepare(e, "UPDATE module SET symbols = ? WHERE id = ?", &update);
	for (uint32_t id = 1; id <= r->model.module_count && !error; id++) {
		int64_t values[] = { 0, id };
		if (!r->module_changed[id])
			continue;
		error = string_row(e, r->model.modules[id].symbols, &values[0]);
		if (!error)
			error = run(e, update, values, 2);
	}
	sqlite3_finalize(update);
	return error;
}

/* -- sites -------------------------------------------------------------------------------------- */

static int write_site(struct editor *e, const struct site *site, int64_t id, sqlite3_stmt *insert)
{
	int64_t values[] = { id, 0, 0, site->line, 0, (int64_t)site->address };
	int error = string_row(e, site->function, &values[1]);
	if (!error)
		error = string_row(e, site->file, &values[2]);
	if (!error)
		error = string_row(e, site->module, &values[4]);
	return error ? error : run(e, insert, values, 6);
}

/* A site of which nothing is known has no row. */
static bool is_unknown(const struct site *site)
{
	return !site->function && !site->file && !site->line && !site->module && !site->address;
}

static int write_stacks_of(struct editor *e, const struct site_table *table,
			   const struct site *site, int64_t id, sqlite3_stmt *update)
{
	const struct model *model = &e->resolution->model;
	int error = 0;
	for (uint32_t i = 0; i < site->stack_count && !error; i++) {
		const struct model_stack *stack =
			&model->stacks[table->stacks[site->first_stack + i]];
		int64_t values[] = { id, model->processes[stack->process].row, stack->node,
				     stack->end };
		error = run(e, update, values, 4);
	}
	return error;
}

static int write_site_table(struct editor *e, const struct site_table *table)
{
	sqlite3_stmt *insert = NULL, *update = NULL;
	int64_t last = 0;
	int error = execute(e, "DELETE FROM site");
	if (!error)
		error = prepare(e,
				"INSERT INTO site (id, function, file, line, module, address)"
				" VALUES (?, ?, ?, ?, ?, ?)",
				&insert);
	if (!error)
		error = prepare(e,
				"UPDATE stack SET site = ?1"
				" WHERE process = ?2 AND node = ?3 AND end = ?4 AND site <> ?1",
				&update);
	for (size_t i = 0; i < table->count && !error; i++) {
		const struct site *site = &table->sites[i];
		int64_t id = is_unknown(site) ? 0 : ++last;
		if (id)
			error = write_site(e, site, id, insert);
		if (!error)
			error = write_stacks_of(e, table, site, id, update);
	}
	sqlite3_finalize(insert);
	sqlite3_finalize(update);
	return error;
}

/* Early recordings have no sites. */
static bool has_sites(const struct editor *e)
{
	return sqlite3_table_column_metadata(e->rec->db, "main", "site", "id", NULL, NULL, NULL,
					     NULL, NULL) == SQLITE_OK;
}

/* With other names, other frames may be plumbing. */
static int write_sites(struct editor *e)
{
	const struct model *model = &e->resolution->model;
	struct site_options options = { .by = REPORT_BY_SITE, .sort = REPORT_SORT_PEAK };
	struct plumbing plumbing = { 0 };
	struct filter_set none = { 0 };
	struct site_table table;
	if (!has_sites(e) || !e->resolution->locations_changed)
		return 0;
	int error = sites_build(&table, model, &options, &plumbing, &none, e->diag);
	if (error)
		return error;
	error = write_site_table(e, &table);
	sites_release(&table);
	return error;
}

/* -- all ---------------------------------------------------------------------------------------- */

static int edit(struct editor *e)
{
	int error = execute(e, "BEGIN");
	if (!error)
		error = find_strings(e);
	if (!error)
		error = write_locations(e);
	if (!error)
		error = write_modules(e);
	if (!error)
		error = write_sites(e);
	sqlite3_finalize(e->insert_string);
	free(e->string_rows);
	return error ? error : execute(e, "COMMIT");
}

static int make_copy(struct editor *e, const char *shown, bool in_place)
{
	struct recording *rec = e->rec;
	int error = rec_create_temp(rec, shown, e->diag);
	if (!error && in_place)
		keep_owner(rec);
	if (!error)
		error = open_copy(e);
	if (!error)
		error = copy_pages(e);
	if (!error)
		error = edit(e);
	if (error)
		return error;
	int result = rec_close_database(rec);
	if (result != SQLITE_OK)
		return fail(e, result);
	return rec_publish(rec, !in_place, e->diag);
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int resolve_write(struct resolution *r, const char *output, struct diag *diag)
{
	struct editor e = { .resolution = r, .diag = diag };
	const char *target = output ? output : r->path;
	bool discard;
	int error = rec_new_target(&e.rec, target, &discard, diag);
	if (error)
		return error;
	if (!discard)
		error = make_copy(&e, target, is_same_file(target, r->path));
	rec_abandon(e.rec);
	return error;
}
