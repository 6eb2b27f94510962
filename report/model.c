/* SPDX-License-Identifier: MIT */
/*
 * Loading recordings into the model: which processes, samples, sums.
 * See model.h.
 */
#include "report/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model_private.h"

static void add_unsigned(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

static void add_signed(int64_t *sum, int64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = more < 0 ? INT64_MIN : INT64_MAX;
}

static int keep_sample(struct rows *rows)
{
	struct loader *loader = rows->loader;
	struct model *model = loader->model;
	const int64_t *v = rows->values;
	uint32_t process;
	int error = id_map_get(rows, &loader->processes, v[1], &process);
	if (error || !process || !model->processes[process - 1].selected)
		return error;
	struct model_sample *samples = array_grow(model->samples, &model->sample_room,
						  model->sample_count + 1, sizeof(*samples));
	if (!samples)
		return loader_no_memory(loader);
	model->samples = samples;
	samples[model->sample_count++] =
		(struct model_sample){ process - 1, { v[2], v[3], v[4], v[5] } };
	return 0;
}

static int load_samples(struct loader *loader)
{
	struct rows rows;
	int64_t last = 0;
	int error = rows_open(
		&rows, loader, "sample",
		"SELECT rowid, process, t_ns, heap_bytes, blocks, rss_bytes FROM sample NOT INDEXED");
	while (!error && (error = rows_next(&rows)) > 0) {
		error = rows.values[0] > last ? keep_sample(&rows)
					      : rows_damaged(&rows, "rows are out of order");
		last = rows.values[0];
	}
	rows_close(&rows);
	return error;
}

static int no_such_process(const struct loader *loader)
{
	const struct model *model = loader->model;
	size_t count = model->process_count - loader->first_process;
	if (count == 0)
		return diag_set(loader->diag, -EBADMSG, "cannot report '%s': it holds no process",
				loader->rec->path);
	if (loader->options->process_number)
		diag_set(loader->diag, -EINVAL, "'%s' holds %zu process%s: there is no process %d",
			 loader->rec->path, count, count == 1 ? "" : "es",
			 loader->options->process_number);
	else
		diag_set(loader->diag, -EINVAL, "'%s' holds no process with pid %d",
			 loader->rec->path, loader->options->pid);
	diag_hint(loader->diag, "see them with --all --by process");
	return -EINVAL;
}

static int select_processes(struct loader *loader)
{
	struct model *model = loader->model;
	const struct model_options *options = loader->options;
	uint32_t wanted_number = options->process_number ? (uint32_t)options->process_number : 1;
	bool any = false;
	for (size_t i = loader->first_process; i < model->process_count; i++) {
		struct model_process *process = &model->processes[i];
		if (options->all)
			process->selected = true;
		else if (options->pid && !options->process_number)
			process->selected = process->rec.pid == options->pid;
		else
			process->selected = process->number == wanted_number;
		any |= process->selected;
	}
	return any ? 0 : no_such_process(loader);
}

static int load_file(struct loader *loader)
{
	int error = model_load_strings(loader);
	if (!error)
		error = model_load_processes(loader);
	if (!error)
		error = select_processes(loader);
	if (error)
		return error;
	struct stacks_job stacks;
	stacks_start(&stacks, loader);
	error = model_load_code(loader);
	error = stacks_finish(&stacks, error);
	if (!error)
		error = load_samples(loader);
	if (!error)
		error = model_load_parts(loader);
	if (!error && loader->options->at.kind)
		error = model_load_moments(loader);
	return error ? error : model_load_errors(loader);
}

static int open_and_load(struct model *model, const struct model_options *options, size_t file,
			 struct diag *diag)
{
	struct loader loader = {
		.model = model,
		.options = options,
		.diag = diag,
		.file = (uint32_t)file,
		.first_process = model->process_count,
	};
	int error = rec_open(&loader.rec, options->files[file], diag);
	if (error)
		return error;
	/*
	 * The tables wanted here are tables: a view of that name could go on
	 * for ever.
	 */
	sqlite3_db_config(loader.rec->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	error = load_file(&loader);
	free(loader.strings.ids);
	free(loader.modules.ids);
	free(loader.locations.ids);
	free(loader.nodes.ids);
	free(loader.processes.ids);
	rec_close(loader.rec);
	return error;
}

static void add_process_totals(struct model_totals *t, const struct model_process *process,
			       int64_t *highest)
{
	const struct rec_process *rec = &process->rec;
	struct costs costs = process->costs;
	costs.peak_bytes = rec->peak_bytes;
	costs.peak_blocks = rec->peak_blocks;
	costs_add(&t->costs, &costs);
	if (t->processes++ == 0 || rec->peak_bytes > *highest) {
		*highest = rec->peak_bytes;
		t->peak_time_ns = rec->peak_time_ns;
	}
	add_signed(&t->peak_error_bytes, rec->peak_error_bytes);
	add_signed(&t->peak_rss_bytes, rec->peak_rss_bytes);
	add_unsigned(&t->unknown_frees, rec->unknown_frees);
	add_unsigned(&t->double_frees, rec->double_frees);
	add_unsigned(&t->dropped_events, rec->dropped_events);
	add_unsigned(&t->unattributed, rec->unattributed);
	add_unsigned(&t->truncated_events, rec->truncated_events);
	add_unsigned(&t->threads, rec->threads);
	add_unsigned(&t->errors_lost, process->guard.errors_lost);
	t->slack_processes += rec->slack;
	if (rec->sample_mean > t->sample_mean)
		t->sample_mean = rec->sample_mean;
}

/* No stack at all is counted as an unattributed allocation, not as a short stack. */
static bool is_truncated(enum stack_end end)
{
	return end != STACK_COMPLETE && end != STACK_UNATTRIBUTED;
}

/* A stack of several processes is one stack, also when they are kept apart. */
static int count_stacks(struct model *model)
{
	uint8_t *seen = calloc(model->node_count + 1, sizeof(*seen)); /* bits by end */
	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < model->stack_count; i++) {
		const struct model_stack *stack = &model->stacks[i];
		if (seen[stack->node] & 1 << stack->end)
			continue;
		seen[stack->node] |= (uint8_t)(1 << stack->end);
		model->totals.stacks++;
		model->totals.truncated_stacks += is_truncated(stack->end);
	}
	free(seen);
	return 0;
}

static int sum_totals(struct model *model, const struct model_options *options)
{
	int64_t highest = 0;
	for (size_t i = 0; i < model->process_count; i++) {
		if (model->processes[i].selected)
			add_process_totals(&model->totals, &model->processes[i], &highest);
	}
	if (options->at.kind)
		model_sum_moments(model);
	return count_stacks(model);
}

int model_load(struct model *model, const struct model_options *options, struct diag *diag)
{
	*model = (struct model){ .file_count = options->file_count };
	for (size_t file = 0; file < options->file_count; file++) {
		int error = open_and_load(model, options, file, diag);
		if (error) {
			model_release(model);
			return error;
		}
	}
	if (sum_totals(model, options)) {
		model_release(model);
		return diag_set(diag, -ENOMEM, "out of memory");
	}
	return 0;
}

void model_release(struct model *model)
{
	pool_release(&model->strings);
	free(model->processes);
	free(model->modules);
	free(model->frames);
	free(model->locations);
	free(model->nodes);
	free(model->stacks);
	free(model->samples);
	free(model->errors);
	free(model->threads);
	free(model->parts);
	free(model->argv);
	hash_index_release(&model->module_index);
	hash_index_release(&model->location_index);
	hash_index_release(&model->node_index);
	hash_index_release(&model->stack_index);
	*model = (struct model){ 0 };
}
