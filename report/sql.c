/* SPDX-License-Identifier: MIT */
/*
 * Statements on a recording; called by cmd/sql.c.  The connection is rec_open's,
 * which cannot write to the file; an authorizer lets nothing pass that could
 * reach another one.
 */
#include "report/sql.h"

#include <errno.h>
#include <string.h>

#include "report/recording_private.h"
#include "report/sql_private.h"

/* Of SQLite's own memory: a statement that wants more has lost its way. */
#define HEAP_BYTES_MAX (1ll << 30)

const struct report_name sql_format_names[] = {
	[SQL_FORMAT_TABLE] = { "table", "aligned columns" },
	[SQL_FORMAT_CSV] = { "csv", "comma-separated values, with a header" },
	[SQL_FORMAT_JSON] = { "json", "an array of objects" },
	{ NULL, NULL },
};

static const struct sql_form *const forms[] = {
	[SQL_FORMAT_TABLE] = &sql_form_table,
	[SQL_FORMAT_CSV] = &sql_form_csv,
	[SQL_FORMAT_JSON] = &sql_form_json,
};

/* Those that only tell something, with or without an argument. */
static bool pragma_tells(const char *name)
{
	static const char *const telling[] = {
		"collation_list", "compile_options", "database_list", "foreign_key_list",
		"function_list",  "index_info",	     "index_list",    "index_xinfo",
		"module_list",	  "pragma_list",     "table_info",    "table_list",
		"table_xinfo",	  "integrity_check", "quick_check",   "foreign_key_check",
	};
	for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++) {
		if (strcasecmp(name, telling[i]) == 0)
			return true;
	}
	return false;
}

/* Settings, whose value is told when there is no argument. */
static bool pragma_is_asked(const char *name, const char *argument)
{
	static const char *const settings[] = { "application_id", "encoding",	 "freelist_count",
						"page_count",	  "page_size",	 "schema_version",
						"user_version",	  "data_version" };
	for (size_t i = 0; !argument && i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (strcasecmp(name, settings[i]) == 0)
			return true;
	}
	return false;
}

static int authorize(void *context, int action, const char *first, const char *second,
		     const char *database, const char *trigger)
{
	(void)context;
	(void)database;
	(void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return strcasecmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_UPDATE:
		/*
		 * SQLite asks for this when it makes a table-valued function such as json_each known.  The
		 * table itself is read-only for whoever really tries.
		 */
		return strcmp(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA:
		return pragma_tells(first) || pragma_is_asked(first, second) ? SQLITE_OK
									     : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int statement_error(struct recording *rec, int result, struct diag *diag)
{
	switch (result & 0xff) {
	case SQLITE_NOMEM:
	case SQLITE_FULL:
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return rec_sqlite_error(rec, "read", result, diag);
	case SQLITE_AUTH:
	case SQLITE_READONLY:
		return diag_set(diag, -EINVAL, "statement refused: memtrack sql only reads '%s'",
				rec->path);
	default:
		return diag_set(diag, -EINVAL, "wrong statement: %s", sqlite3_errmsg(rec->db));
	}
}

static int output_error(FILE *out, struct diag *diag)
{
	if (!ferror(out))
		return 0;
	int error = errno ? -errno : -EIO;
	return diag_set(diag, error, "cannot write the result: %s", strerror(-error));
}

static int no_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, "out of memory");
}

static int write_rows(struct recording *rec, const struct sql_form *form, struct sql_output *output,
		      sqlite3_stmt *statement, struct diag *diag)
{
	int result;
	while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
		errno = 0;
		if (output->column_count && form->row(output, statement))
			return no_memory(diag);
		int error = output_error(output->out, diag);
		if (error)
			return error;
		output->rows++;
	}
	return result == SQLITE_DONE
		       ? 0
		       : statement_error(rec, sqlite3_extended_errcode(rec->db), diag);
}

static int run_statement(struct recording *rec, const struct sql_form *form,
			 struct sql_output *output, sqlite3_stmt *statement, struct diag *diag)
{
	output->rows = 0;
	output->column_count = sqlite3_column_count(statement);
	if (!output->column_count)
		return write_rows(rec, form, output, statement, diag);
	int error = form->begin(output, statement) ? no_memory(diag) : 0;
	if (!error)
		error = write_rows(rec, form, output, statement, diag);
	if (form->end(output, statement) && !error)
		error = no_memory(diag);
	output->results++;
	return error;
}

static int run_all(struct recording *rec, const struct sql_options *options,
		   struct sql_output *output, struct diag *diag)
{
	const struct sql_form *form = forms[options->format];
	const char *rest = options->statements;
	int error = 0;
	while (!error && *rest) {
		sqlite3_stmt *statement = NULL;
		int result = sqlite3_prepare_v2(rec->db, rest, -1, &statement, &rest);
		if (result != SQLITE_OK)
			return statement_error(rec, sqlite3_extended_errcode(rec->db), diag);
		/* A comment is none. */
		if (statement)
			error = run_statement(rec, form, output, statement, diag);
		sqlite3_finalize(statement);
	}
	return error;
}

int sql_run(const struct sql_options *options, struct diag *diag)
{
	struct recording *rec;
	struct sql_output output = { .options = options, .out = options->out };
	int error = rec_open(&rec, options->file, diag);
	if (error)
		return error;
	sqlite3_hard_heap_limit64(HEAP_BYTES_MAX);
	sqlite3_set_authorizer(rec->db, authorize, NULL);
	error = run_all(rec, options, &output, diag);
	rec_close(rec);
	errno = 0;
	fflush(options->out);
	if (!error)
		error = output_error(options->out, diag);
	return error;
}
