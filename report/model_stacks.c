/* SPDX-License-Identifier: MIT */
/*
 * The costs of stacks into the model.  In a large recording they are half of
 * the rows, and the other half, code and nodes, is read meanwhile: by another
 * thread on a connection of its own.  Nothing else is shared but what neither
 * changes.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/model_private.h"

/* Smaller recordings are read sooner than another connection is made. */
#define PARALLEL_BYTES (1 << 20)

struct wanted_stack {
	const struct model *model;
	uint32_t node;
	enum stack_end end;
	uint32_t process;
	bool any_process;
};

static bool stack_equal(const void *context, uint32_t id)
{
	const struct wanted_stack *wanted = context;
	const struct model_stack *stack = &wanted->model->stacks[id - 1];
	return stack->node == wanted->node && stack->end == wanted->end &&
	       (wanted->any_process || stack->process == wanted->process);
}

/* Equal stacks can meet only when several processes or files are summed. */
static bool merging(const struct loader *loader)
{
	const struct model_options *options = loader->options;
	return !options->keep_processes_apart &&
	       (options->all || options->pid || options->file_count > 1);
}

static uint32_t hash_of(const struct loader *loader, uint32_t process, uint32_t node,
			enum stack_end end)
{
	return hash_mix(hash_mix(merging(loader) ? 4 : hash_mix(5, process), node), end);
}

uint32_t stacks_find(const struct loader *loader, uint32_t process, uint32_t node,
		     enum stack_end end)
{
	struct wanted_stack wanted = { loader->model, node, end, process, merging(loader) };
	return hash_index_find(&loader->model->stack_index, hash_of(loader, process, node, end),
			       stack_equal, &wanted);
}

static int keep_stack(struct loader *loader, const struct model_stack *stack)
{
	struct model *model = loader->model;
	bool indexed = merging(loader) || loader->options->at.kind;
	uint32_t id =
		merging(loader) ? stacks_find(loader, stack->process, stack->node, stack->end) : 0;
	if (id) {
		costs_add(&model->stacks[id - 1].costs, &stack->costs);
		return 0;
	}
	struct model_stack *stacks = array_grow(model->stacks, &model->stack_room,
						model->stack_count + 1, sizeof(*stacks));
	if (!stacks || model->stack_count >= UINT32_MAX - 1)
		return loader_no_memory(loader);
	model->stacks = stacks;
	stacks[model->stack_count++] = *stack;
	if (indexed && hash_index_add(&model->stack_index,
				      hash_of(loader, stack->process, stack->node, stack->end),
				      (uint32_t)model->stack_count))
		return loader_no_memory(loader);
	return 0;
}

/* What was live at another moment takes its place; model_load_moments adds that. */
static void forget_peak(struct costs *costs, bool sampled)
{
	costs->peak_blocks = costs->peak_bytes = 0;
	if (sampled)
		costs->variances.peak_blocks = costs->variances.peak_bytes = NAN;
}

/* Before the nodes are known their rows stand for them; stacks_finish checks that they are there. */
static int map_node(const struct rows *rows, int64_t row, uint32_t *node)
{
	struct loader *loader = rows->loader;
	if (!loader->nodes_follow)
		return id_map_get(rows, &loader->nodes, row, node);
	if (row < 0 || row > UINT32_MAX)
		return rows_damaged(rows, "a reference leads nowhere");
	*node = (uint32_t)row;
	if (*node > loader->last_node)
		loader->last_node = *node;
	return 0;
}

static int add_stack(struct rows *rows, struct rows *variances, struct slack_rows *slack)
{
	struct loader *loader = rows->loader;
	const int64_t *v = rows->values;
	struct model_stack stack;
	uint32_t process;
	int error = id_map_get(rows, &loader->processes, v[0], &process);
	if (!error)
		error = map_node(rows, v[1], &stack.node);
	if (error)
		return error;
	if (!process)
		return rows_damaged(rows, "a stack belongs to no process");
	if (v[2] < STACK_COMPLETE || v[2] > STACK_UNATTRIBUTED)
		return rows_damaged(rows, "an end of a stack is unknown");
	stack.end = (enum stack_end)v[2];
	stack.process = process - 1;
	struct model_process *owner = &loader->model->processes[process - 1];
	error = costs_read(rows, owner->rec.sample_mean ? variances : NULL, &stack.costs);
	if (!error)
		error = slack_take(slack, v, owner, &stack.costs.slack);
	if (error)
		return error;
	costs_add(&owner->costs, &stack.costs);
	owner->stacks++;
	if (loader->options->at.kind)
		forget_peak(&stack.costs, owner->rec.sample_mean != 0);
	return owner->selected ? keep_stack(loader, &stack) : 0;
}

static int open_variances(struct rows *rows, struct loader *loader)
{
	*rows = (struct rows){ .loader = loader, .table = "variance" };
	if (!rows_exist(loader, "variance"))
		return 0;
	int error = rows_open(
		rows, loader, "variance",
		"SELECT process, node, end, allocations, allocated_bytes, frees, freed_bytes,"
		" temporary_allocations, reallocations, peak_blocks, peak_bytes, leaked_blocks,"
		" leaked_bytes FROM variance");
	rows->other_columns = 0x3ff << 3;
	return error;
}

/* After the last stack there must be none. */
static int end_variances(struct rows *rows)
{
	int more = rows->statement ? rows_next(rows) : 0;
	return more > 0 ? rows_damaged(rows, "the rows are not those of the stacks") : more;
}

/* Keys must rise: rows that come twice would be counted twice. */
static int load_stacks(struct loader *loader)
{
	struct rows rows = { 0 }, variances;
	struct slack_rows slack;
	int64_t last[3] = { -1, -1, -1 };
	int error = open_variances(&variances, loader);
	if (error)
		return error;
	error = slack_open(&slack, loader);
	if (!error)
		error = rows_open(
			&rows, loader, "stack",
			"SELECT process, node, end, allocations, allocated_bytes, frees, freed_bytes,"
			" temporary_allocations, reallocations, peak_blocks, peak_bytes, leaked_blocks,"
			" leaked_bytes FROM stack");
	while (!error && (error = rows_next(&rows)) > 0) {
		const int64_t *v = rows.values;
		bool rises = v[0] != last[0]   ? v[0] > last[0]
			     : v[1] != last[1] ? v[1] > last[1]
					       : v[2] > last[2];
		memcpy(last, v, sizeof(last));
		error = rises ? add_stack(&rows, &variances, &slack)
			      : rows_damaged(&rows, "rows are out of order");
	}
	if (!error)
		error = end_variances(&variances);
	if (!error)
		error = slack_end(&slack);
	rows_close(&rows);
	rows_close(&variances);
	rows_close(&slack.rows);
	return error;
}

static void *load_beside(void *context)
{
	struct stacks_job *job = context;
	job->error = rec_open(&job->loader.rec, job->beside->rec->path, &job->diag);
	if (job->error)
		return NULL;
	sqlite3_db_config(job->loader.rec->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	job->error = load_stacks(&job->loader);
	rec_close(job->loader.rec);
	return NULL;
}

/* Nodes must be what their rows are, and no stack be looked up by its node. */
static bool can_run_beside(const struct loader *loader)
{
	return loader->options->file_count == 1 && !merging(loader) &&
	       loader->rec->file_size >= PARALLEL_BYTES;
}

void stacks_start(struct stacks_job *job, struct loader *loader)
{
	*job = (struct stacks_job){ .beside = loader, .loader = *loader };
	job->loader.diag = &job->diag;
	job->loader.nodes_follow = true;
	job->running =
		can_run_beside(loader) && pthread_create(&job->thread, NULL, load_beside, job) == 0;
}

int stacks_finish(struct stacks_job *job, int error)
{
	struct loader *loader = job->beside;
	const struct rows rows = { .loader = loader, .table = "stack" };
	if (!job->running)
		return error ? error : load_stacks(loader);
	pthread_join(job->thread, NULL);
	if (error)
		return error;
	if (job->error)
		*loader->diag = job->diag;
	else if (job->loader.last_node > loader->nodes.count)
		return rows_damaged(&rows, "a reference leads nowhere");
	return job->error;
}
