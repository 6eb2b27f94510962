/* SPDX-License-Identifier: MIT */
/*
 * Threads, and costs by thread and by size, into the model.  Recordings from
 * before there were any have no such tables.
 */
#include "report/model_private.h"
#include "report/size_class.h"

static const char thread_sql[] =
	"SELECT process, number, tid, name, holders, inherited FROM thread";

#define PART_COLUMNS                                                                            \
 "process, kind, key, allocations, allocated_bytes, frees, freed_bytes, temporary_allocations," \
 " reallocations, peak_blocks, peak_bytes, leaked_blocks, leaked_bytes"
static const char part_sql[] = "SELECT " PART_COLUMNS " FROM part";
static const char variance_sql[] = "SELECT " PART_COLUMNS " FROM part_variance";

/* Rows must follow each other in the order of their first columns. */
static int check_order(const struct rows *rows, const int64_t *last, int columns)
{
	for (int i = 0; i < columns; i++) {
		if (rows->values[i] != last[i])
			return rows->values[i] > last[i]
				       ? 0
				       : rows_damaged(rows, "rows are out of order");
	}
	return rows_damaged(rows, "rows are out of order");
}

/* Whose row it is: index + 1 of a process. */
static int find_owner(const struct rows *rows, uint32_t *process)
{
	int error = id_map_get(rows, &rows->loader->processes, rows->values[0], process);
	if (!error && !*process)
		error = rows_damaged(rows, "a row belongs to no process");
	return error;
}

static int check_thread(const struct rows *rows)
{
	const int64_t *v = rows->values;
	if (v[1] < 1 || v[1] > UINT32_MAX)
		return rows_damaged(rows, "a thread is out of range");
	if (v[2] < 0 || v[2] > INT32_MAX)
		return rows_damaged(rows, "a tid is out of range");
	return v[4] < 0 ? rows_damaged(rows, "a count is negative") : 0;
}

static int add_thread(struct rows *rows)
{
	struct model *model = rows->loader->model;
	const int64_t *v = rows->values;
	struct model_thread thread = { 0 };
	uint32_t process;
	int error = find_owner(rows, &process);
	if (!error)
		error = check_thread(rows);
	if (!error)
		error = id_map_get(rows, &rows->loader->strings, v[3], &thread.name);
	if (error || !model->processes[process - 1].selected)
		return error;
	thread.process = process - 1;
	thread.rec = (struct rec_thread){
		.number = (uint32_t)v[1],
		.tid = (int32_t)v[2],
		.holders = (uint64_t)v[4],
		.inherited = v[5] != 0,
	};
	struct model_thread *threads = array_grow(model->threads, &model->thread_room,
						  model->thread_count + 1, sizeof(*threads));
	if (!threads || model->thread_count >= UINT32_MAX - 1)
		return loader_no_memory(rows->loader);
	model->threads = threads;
	threads[model->thread_count++] = thread;
	return 0;
}

static int load_threads(struct loader *loader)
{
	struct rows rows;
	int64_t last[2] = { 0, 0 };
	int error = rows_open(&rows, loader, "thread", thread_sql);
	while (!error && (error = rows_next(&rows)) > 0) {
		error = check_order(&rows, last, 2);
		if (!error)
			error = add_thread(&rows);
		last[0] = rows.values[0];
		last[1] = rows.values[1];
	}
	rows_close(&rows);
	return error;
}

/* The thread of a row, which lies at *next or beyond: both tables are in the same order. */
static int find_thread(const struct rows *rows, uint32_t process, size_t *next)
{
	const struct model *model = rows->loader->model;
	for (; *next < model->thread_count; ++*next) {
		const struct model_thread *thread = &model->threads[*next];
		if (thread->process == process && thread->rec.number == rows->values[2])
			return 0;
	}
	return rows_damaged(rows, "a part is of no thread");
}

static int check_part(const struct rows *rows)
{
	const int64_t *v = rows->values;
	if (v[1] < 1 || v[1] >= PART_KINDS)
		return rows_damaged(rows, "a part is of no known kind");
	if (v[2] < 0 || (v[1] == PART_SIZE && !size_class_exists((uint64_t)v[2])))
		return rows_damaged(rows, "a size is out of range");
	return 0;
}

static int keep_part(struct loader *loader, const struct model_part *part)
{
	struct model *model = loader->model;
	struct model_part *parts =
		array_grow(model->parts, &model->part_room, model->part_count + 1, sizeof(*parts));
	if (!parts || model->part_count >= UINT32_MAX - 1)
		return loader_no_memory(loader);
	model->parts = parts;
	parts[model->part_count++] = *part;
	return 0;
}

static int add_part(struct rows *rows, struct rows *variances, size_t *next_thread)
{
	const struct model *model = rows->loader->model;
	struct model_part part = { .kind = (enum part_kind)rows->values[1],
				   .key = (uint64_t)rows->values[2] };
	uint32_t process;
	int error = find_owner(rows, &process);
	if (!error)
		error = check_part(rows);
	if (error)
		return error;
	const struct model_process *owner = &model->processes[process - 1];
	error = costs_read(rows, owner->rec.sample_mean ? variances : NULL, &part.costs);
	if (error || !owner->selected)
		return error;
	if (part.kind == PART_THREAD)
		error = find_thread(rows, process - 1, next_thread);
	part.process = process - 1;
	part.thread = (uint32_t)*next_thread;
	return error ? error : keep_part(rows->loader, &part);
}

static int load_parts(struct loader *loader, size_t first_thread)
{
	struct rows rows, variances = { 0 };
	int64_t last[3] = { 0, 0, 0 };
	size_t next_thread = first_thread;
	int error = rows_open(&rows, loader, "part", part_sql);
	if (!error && rows_exist(loader, "part_variance"))
		error = rows_open(&variances, loader, "part_variance", variance_sql);
	else
		variances = (struct rows){ .loader = loader, .table = "part_variance" };
	variances.other_columns = ~7u;
	while (!error && (error = rows_next(&rows)) > 0) {
		error = check_order(&rows, last, 3);
		if (!error)
			error = add_part(&rows, &variances, &next_thread);
		for (int i = 0; i < 3; i++)
			last[i] = rows.values[i];
	}
	rows_close(&rows);
	rows_close(&variances);
	return error;
}

int model_load_parts(struct loader *loader)
{
	struct model *model = loader->model;
	size_t first_thread = model->thread_count;
	if (!rows_exist(loader, "part") || !rows_exist(loader, "thread")) {
		if (!model->without_parts)
			model->without_parts = loader->file + 1ul;
		return 0;
	}
	int error = load_threads(loader);
	return error ? error : load_parts(loader, first_thread);
}
