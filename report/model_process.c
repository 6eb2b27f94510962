/* SPDX-License-Identifier: MIT */
/*
 * The processes of one recording into the model: rows, arguments, numbering in
 * order of start.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model_private.h"

static const char process_sql[] =
	"SELECT id, pid, parent_pid, parent, executable, start_time_ns, duration_ns, exit_code,"
	" exit_signal, complete, exec_ended, allocator, peak_bytes, peak_blocks, peak_time_ns,"
	" peak_error_bytes, unknown_frees, double_frees, dropped_events, unattributed,"
	" truncated_events, threads, peak_rss_bytes, notes FROM process NOT INDEXED";

static void copy_numbers(struct rec_process *rec, const int64_t *v)
{
	*rec = (struct rec_process){
		.pid = (int32_t)v[1],
		.parent_pid = (int32_t)v[2],
		.parent = { v[3] },
		.start_time_ns = v[5],
		.duration_ns = v[6],
		.exit_code = (int)v[7],
		.exit_signal = (int)v[8],
		.complete = v[9] != 0,
		.exec_ended = v[10] != 0,
		.peak_bytes = v[12],
		.peak_blocks = v[13],
		.peak_time_ns = v[14],
		.peak_error_bytes = v[15],
		.unknown_frees = (uint64_t)v[16],
		.double_frees = (uint64_t)v[17],
		.dropped_events = (uint64_t)v[18],
		.unattributed = (uint64_t)v[19],
		.truncated_events = (uint64_t)v[20],
		.threads = (uint64_t)v[21],
		.peak_rss_bytes = v[22],
	};
}

static int check_numbers(const struct rows *rows)
{
	const int64_t *v = rows->values;
	for (int i = 12; i <= 22; i++) {
		if (v[i] < 0)
			return rows_damaged(rows, "a count is negative");
	}
	if (v[6] < 0)
		return rows_damaged(rows, "a duration is negative");
	/* A process can name only an earlier row as its parent. */
	if (v[3] < 0 || v[3] >= v[0])
		return rows_damaged(rows, "a parent leads nowhere");
	if (v[1] < 0 || v[1] > INT32_MAX || v[2] < 0 || v[2] > INT32_MAX)
		return rows_damaged(rows, "a pid is out of range");
	if (v[7] < -1 || v[7] > INT32_MAX || v[8] < 0 || v[8] > 128)
		return rows_damaged(rows, "an exit status is out of range");
	return 0;
}

static int add_process(struct rows *rows)
{
	struct loader *loader = rows->loader;
	struct model *model = loader->model;
	const int64_t *v = rows->values;
	struct model_process process = { .file = loader->file, .row = (uint32_t)v[0] };
	int error = check_numbers(rows);
	if (!error)
		error = id_map_get(rows, &loader->strings, v[4], &process.executable);
	if (!error)
		error = id_map_get(rows, &loader->strings, v[11], &process.allocator);
	if (!error)
		error = id_map_get(rows, &loader->strings, v[23], &process.notes);
	if (error)
		return error;
	copy_numbers(&process.rec, v);
	struct model_process *processes = array_grow(model->processes, &model->process_room,
						     model->process_count + 1, sizeof(*processes));
	if (!processes)
		return loader_no_memory(loader);
	model->processes = processes;
	processes[model->process_count++] = process;
	return id_map_add(rows, &loader->processes, v[0], (uint32_t)model->process_count);
}

static int add_argument(struct rows *rows, size_t position)
{
	struct loader *loader = rows->loader;
	struct model *model = loader->model;
	struct model_process *process = &model->processes[position];
	uint32_t *argv =
		array_grow(model->argv, &model->argv_room, model->argv_count + 1, sizeof(*argv));
	if (!argv)
		return loader_no_memory(loader);
	model->argv = argv;
	if (process->argc == 0)
		process->argv = (uint32_t)model->argv_count;
	if (rows->values[1] != process->argc || process->argv + process->argc != model->argv_count)
		return rows_damaged(rows, "arguments are out of order");
	process->argc++;
	return id_map_get(rows, &loader->strings, rows->values[2], &argv[model->argv_count++]);
}

static int load_arguments(struct loader *loader)
{
	struct rows rows;
	int error = rows_open(&rows, loader, "process_argv",
			      "SELECT process, seq, value FROM process_argv");
	while (!error && (error = rows_next(&rows)) > 0) {
		uint32_t process;
		error = id_map_get(&rows, &loader->processes, rows.values[0], &process);
		if (!error && !process)
			error = rows_damaged(&rows, "an argument belongs to no process");
		if (!error)
			error = add_argument(&rows, process - 1);
	}
	rows_close(&rows);
	return error;
}

static int add_sampling(struct rows *rows, int64_t last)
{
	const int64_t *v = rows->values;
	uint32_t process;
	int error = id_map_get(rows, &rows->loader->processes, v[0], &process);
	if (error)
		return error;
	if (!process || v[0] <= last)
		return rows_damaged(rows, "rows are out of order");
	if (v[1] <= 0)
		return rows_damaged(rows, "a number of bytes is not positive");
	rows->loader->model->processes[process - 1].rec.sample_mean = v[1];
	return 0;
}

/* Which processes were sampled.  Before the processes are numbered: rows follow their ids. */
static int load_sampling(struct loader *loader)
{
	struct rows rows;
	int64_t last = 0;
	if (!rows_exist(loader, "sampling"))
		return 0;
	int error = rows_open(&rows, loader, "sampling",
			      "SELECT process, mean_bytes FROM sampling NOT INDEXED");
	while (!error && (error = rows_next(&rows)) > 0) {
		error = add_sampling(&rows, last);
		last = rows.values[0];
	}
	rows_close(&rows);
	return error;
}

static int by_start(const void *a, const void *b)
{
	const struct model_process *p = a, *q = b;
	if (p->rec.start_time_ns != q->rec.start_time_ns)
		return p->rec.start_time_ns < q->rec.start_time_ns ? -1 : 1;
	return p->row < q->row ? -1 : p->row > q->row;
}

/* Sorts this file's processes by start and numbers them; ids of the file follow. */
static void number_processes(struct loader *loader)
{
	struct model *model = loader->model;
	size_t count = model->process_count - loader->first_process;
	struct model_process *processes = model->processes + loader->first_process;
	if (count == 0)
		return;
	qsort(processes, count, sizeof(*processes), by_start);
	for (size_t i = 0; i < count; i++) {
		processes[i].number = (uint32_t)i + 1;
		loader->processes.ids[processes[i].row] = (uint32_t)(loader->first_process + i + 1);
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t parent = loader->processes.ids[processes[i].rec.parent.v];
		processes[i].parent = parent ? model->processes[parent - 1].number : 0;
	}
}

int model_load_processes(struct loader *loader)
{
	struct rows rows;
	int error = rows_open(&rows, loader, "process", process_sql);
	while (!error && (error = rows_next(&rows)) > 0)
		error = add_process(&rows);
	rows_close(&rows);
	if (!error)
		error = load_arguments(loader);
	if (!error)
		error = load_sampling(loader);
	if (!error)
		number_processes(loader);
	return error;
}
