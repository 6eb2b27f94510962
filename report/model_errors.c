/* SPDX-License-Identifier: MIT */
/*
 * What was found wrong in the processes of one recording, and how it was
 * looked for, into the model.  Recordings from before there was any of this
 * have no such tables.
 */
#include "report/model_private.h"

enum {
	NULLABLE_BLOCK = 7, /* three columns: address, size, offset */
	NULLABLE_CORRUPT = 11,
	NULLABLE_TIME = 16,
	FIRST_STACK = 20, /* node and end, of each stack */
};

static const char error_sql[] =
	"SELECT id, process, pid, source, kind, access, address, block_address, block_size,"
	" block_offset, block_freed, corrupt_bytes, thread, allocated_thread, freed_thread, tid,"
	" t_ns, count, continued, by_realloc, node, end, allocated_node, allocated_end, freed_node,"
	" freed_end FROM error NOT INDEXED";

static bool is_null(const struct rows *rows, int column)
{
	return sqlite3_column_type(rows->statement, column) == SQLITE_NULL;
}

/* The columns that rows_next leaves alone. */
static int read_nullable(struct rows *rows)
{
	for (int i = 0; i < rows->column_count; i++) {
		if (!(rows->other_columns & 1u << i) || is_null(rows, i))
			continue;
		if (sqlite3_column_type(rows->statement, i) != SQLITE_INTEGER)
			return rows_damaged(rows, "a value is not a number");
		rows->values[i] = sqlite3_column_int64(rows->statement, i);
	}
	return 0;
}

static int check_error(const struct rows *rows)
{
	const int64_t *v = rows->values;
	if (v[3] < 1 || v[3] >= ERROR_SOURCES || v[4] < 1 || v[4] >= ERROR_KINDS || v[5] < 0 ||
	    v[5] >= ERROR_ACCESSES)
		return rows_damaged(rows, "an error is of no known kind");
	if (v[2] < 0 || v[2] > INT32_MAX || v[15] < 0 || v[15] > INT32_MAX)
		return rows_damaged(rows, "a pid is out of range");
	for (int i = 12; i <= 14; i++) {
		if (v[i] < 0 || v[i] > UINT32_MAX)
			return rows_damaged(rows, "a thread is out of range");
	}
	if (v[8] < 0 || v[11] < 0 || v[16] < 0 || v[17] < 0)
		return rows_damaged(rows, "a count is negative");
	for (int i = 0; i < ERROR_STACKS; i++) {
		int64_t end = v[FIRST_STACK + 2 * i + 1];
		if (end < STACK_COMPLETE || end > STACK_UNATTRIBUTED)
			return rows_damaged(rows, "an end of a stack is unknown");
	}
	return 0;
}

static void copy_error(const struct rows *rows, struct rec_error *rec)
{
	const int64_t *v = rows->values;
	*rec = (struct rec_error){
		.pid = (int32_t)v[2],
		.source = (enum error_source)v[3],
		.kind = (enum error_kind)v[4],
		.access = (enum error_access)v[5],
		.address = (uint64_t)v[6],
		.has_block = !is_null(rows, NULLABLE_BLOCK),
		.block_address = (uint64_t)v[7],
		.block_size = (uint64_t)v[8],
		.block_freed = v[10] != 0,
		.corrupt_bytes = (uint64_t)v[11],
		.thread = (uint32_t)v[12],
		.allocated_thread = (uint32_t)v[13],
		.freed_thread = (uint32_t)v[14],
		.tid = (int32_t)v[15],
		.t_ns = is_null(rows, NULLABLE_TIME) ? -1 : v[16],
		.count = (uint64_t)v[17],
		.continued = v[18] != 0,
		.by_realloc = v[19] != 0,
	};
	for (int i = 0; i < ERROR_STACKS; i++)
		rec->stacks[i].end = (enum stack_end)v[FIRST_STACK + 2 * i + 1];
}

static int add_error(struct rows *rows)
{
	struct loader *loader = rows->loader;
	struct model *model = loader->model;
	struct model_error added;
	int error = read_nullable(rows);
	if (!error)
		error = check_error(rows);
	if (!error)
		error = id_map_get(rows, &loader->processes, rows->values[1], &added.process);
	for (int i = 0; !error && i < ERROR_STACKS; i++)
		error = id_map_get(rows, &loader->nodes, rows->values[FIRST_STACK + 2 * i],
				   &added.nodes[i]);
	if (error)
		return error;
	if (added.process && !model->processes[added.process - 1].selected) {
		model->errors_elsewhere++;
		return 0;
	}
	copy_error(rows, &added.rec);
	struct model_error *errors = array_grow(model->errors, &model->error_room,
						model->error_count + 1, sizeof(*errors));
	if (!errors)
		return loader_no_memory(loader);
	model->errors = errors;
	errors[model->error_count++] = added;
	return 0;
}

static int load_errors(struct loader *loader)
{
	struct rows rows;
	int64_t last = 0;
	if (!rows_exist(loader, "error"))
		return 0;
	int error = rows_open(&rows, loader, "error", error_sql);
	rows.other_columns = 7u << NULLABLE_BLOCK | 1u << NULLABLE_CORRUPT | 1u << NULLABLE_TIME;
	while (!error && (error = rows_next(&rows)) > 0) {
		error = rows.values[0] > last ? add_error(&rows)
					      : rows_damaged(&rows, "rows are out of order");
		last = rows.values[0];
	}
	rows_close(&rows);
	return error;
}

static int add_guard(struct rows *rows, int64_t last)
{
	const int64_t *v = rows->values;
	uint32_t process;
	int error = id_map_get(rows, &rows->loader->processes, v[0], &process);
	if (error)
		return error;
	if (!process || v[0] <= last)
		return rows_damaged(rows, "rows are out of order");
	if (v[1] < GUARD_NONE || v[1] >= GUARD_METHODS)
		return rows_damaged(rows, "a method is unknown");
	for (int i = 2; i <= 9; i++) {
		if (v[i] < 0)
			return rows_damaged(rows, "a count is negative");
	}
	struct model_process *owner = &rows->loader->model->processes[process - 1];
	owner->guarded = true;
	owner->guard = (struct rec_guard){
		.method = (enum guard_method)v[1],
		.blocks = {
			[GUARD_MADVISE] = (uint64_t)v[2],
			[GUARD_MPROTECT] = (uint64_t)v[3],
			[GUARD_CANARY] = (uint64_t)v[4],
			[GUARD_NONE] = (uint64_t)v[5],
		},
		.budget = (uint64_t)v[6],
		.refused = (uint64_t)v[7],
		.errors = (uint64_t)v[8],
		.errors_lost = (uint64_t)v[9],
	};
	return 0;
}

static int load_guards(struct loader *loader)
{
	struct rows rows;
	int64_t last = 0;
	if (!rows_exist(loader, "guard"))
		return 0;
	int error =
		rows_open(&rows, loader, "guard",
			  "SELECT process, method, madvise_blocks, mprotect_blocks, canary_blocks,"
			  " unguarded_blocks, budget, refused, errors, errors_lost"
			  " FROM guard NOT INDEXED");
	while (!error && (error = rows_next(&rows)) > 0) {
		error = add_guard(&rows, last);
		last = rows.values[0];
	}
	rows_close(&rows);
	return error;
}

int model_load_errors(struct loader *loader)
{
	int error = load_errors(loader);
	return error ? error : load_guards(loader);
}

uint64_t model_count_errors(const struct model *model, enum error_kind kind)
{
	uint64_t kept = 0, counted = 0;
	if (kind == ERROR_INVALID_FREE)
		counted = model->totals.unknown_frees;
	else if (kind == ERROR_DOUBLE_FREE)
		counted = model->totals.double_frees;
	for (size_t i = 0; i < model->error_count; i++) {
		const struct rec_error *rec = &model->errors[i].rec;
		if (rec->kind == kind && __builtin_add_overflow(kept, rec->count, &kept))
			kept = UINT64_MAX;
	}
	return kept > counted ? kept : counted;
}
