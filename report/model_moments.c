/* SPDX-License-Identifier: MIT */
/*
 * What stacks had live at a moment of the run, in place of the peak.  A process
 * that runs at the time asked for has what it had at its last moment until
 * then, one that ends at that time what it leaked, and any other nothing: its
 * memory is gone, or not there yet.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model_private.h"
#include "report/units.h"

enum state { OTHER, RUNS, ENDS };

/* One process at the time asked for. */
struct at {
	enum state state;
	int64_t offset_ns; /* of its start */
	int64_t t_ns;	   /* the time, since its start */
	int64_t last_ns;   /* of its moments, while they are read */
	int64_t seen_ns;   /* of the moment that counts */
	uint32_t count;	   /* of its moments */
};

/* What a stack of a process has, as far as the moments are read. */
struct live {
	uint32_t process, node;
	enum stack_end end;
	uint32_t stack; /* index + 1 */
	int64_t blocks, bytes;
};

struct reading {
	struct loader *loader;
	struct at *processes; /* by index - loader->first_process */
	uint32_t *owners; /* by moment: the process's index + 1 when the moment counts, else 0 */
	size_t moment_count, owner_room;
	size_t last_moment; /* that counts */
	struct live *live;
	size_t live_count, live_room;
	struct hash_index index; /* of live, from 1 */
};

static int64_t add_clamped(int64_t a, int64_t b)
{
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static int64_t subtract_clamped(int64_t a, int64_t b)
{
	return b == INT64_MIN ? INT64_MAX : add_clamped(a, -b);
}

/* -- when ----------------------------------------------------------------------------------------- */

/* Times count from the first start; the last end is where they end. */
static int64_t set_offsets(struct reading *r)
{
	const struct model *model = r->loader->model;
	int64_t first = INT64_MAX, end = 0;
	for (size_t i = r->loader->first_process; i < model->process_count; i++) {
		const struct model_process *p = &model->processes[i];
		if (p->selected && p->rec.start_time_ns < first)
			first = p->rec.start_time_ns;
	}
	for (size_t i = r->loader->first_process; i < model->process_count; i++) {
		const struct model_process *p = &model->processes[i];
		struct at *at = &r->processes[i - r->loader->first_process];
		at->offset_ns = subtract_clamped(p->rec.start_time_ns, first);
		int64_t last = add_clamped(at->offset_ns, p->rec.duration_ns);
		if (p->selected && last > end)
			end = last;
	}
	return end;
}

static int64_t wanted_time(const struct run_time *wanted, int64_t end_ns)
{
	int64_t t_ns = wanted->kind == RUN_TIME_SHARE
			       ? (int64_t)((__int128)end_ns * wanted->value / 1000000)
			       : wanted->value;
	return t_ns < end_ns ? t_ns : end_ns;
}

/* Who runs at that time. */
static void set_states(struct reading *r)
{
	const struct model *model = r->loader->model;
	int64_t t_ns = wanted_time(&r->loader->options->at, set_offsets(r));
	for (size_t i = r->loader->first_process; i < model->process_count; i++) {
		const struct model_process *p = &model->processes[i];
		struct at *at = &r->processes[i - r->loader->first_process];
		at->t_ns = subtract_clamped(t_ns, at->offset_ns);
		at->last_ns = -1;
		if (!p->selected || at->t_ns < 0 || at->t_ns > p->rec.duration_ns)
			continue;
		at->state = at->t_ns == p->rec.duration_ns ? ENDS : RUNS;
		at->seen_ns = at->state == ENDS ? at->t_ns : 0;
	}
}

static int add_moment(struct reading *r, const struct rows *rows)
{
	const int64_t *v = rows->values;
	uint32_t process;
	if (v[0] != (int64_t)r->moment_count + 1 || v[0] >= UINT32_MAX)
		return rows_damaged(rows, "ids are out of order");
	int error = id_map_get(rows, &r->loader->processes, v[1], &process);
	if (error)
		return error;
	if (!process)
		return rows_damaged(rows, "a moment belongs to no process");
	struct at *at = &r->processes[process - 1 - r->loader->first_process];
	if (v[2] <= at->last_ns)
		return rows_damaged(rows, "times are out of order");
	uint32_t *owners =
		array_grow(r->owners, &r->owner_room, r->moment_count + 2, sizeof(*owners));
	if (!owners)
		return loader_no_memory(r->loader);
	r->owners = owners;
	owners[++r->moment_count] = 0;
	at->last_ns = v[2];
	at->count++;
	if (at->state != RUNS || v[2] > at->t_ns)
		return 0;
	owners[r->moment_count] = process;
	r->last_moment = r->moment_count;
	at->seen_ns = v[2];
	return 0;
}

static int load_moments(struct reading *r)
{
	struct rows rows;
	int error = rows_open(&rows, r->loader, "moment",
			      "SELECT id, process, t_ns FROM moment NOT INDEXED");
	while (!error && (error = rows_next(&rows)) > 0)
		error = add_moment(r, &rows);
	rows_close(&rows);
	return error;
}

/* Of a process alone it would be misleading to say that it had nothing all the time. */
static int check_watched(const struct reading *r)
{
	const struct loader *loader = r->loader;
	const struct model_process *only = NULL;
	char duration[UNITS_TEXT];
	size_t selected = 0;
	for (size_t i = loader->first_process; i < loader->model->process_count; i++) {
		if (loader->model->processes[i].selected && ++selected)
			only = &loader->model->processes[i];
	}
	const struct at *at =
		only ? &r->processes[only - loader->model->processes - loader->first_process]
		     : NULL;
	if (selected != 1 || at->state != RUNS || at->t_ns == 0 || at->count)
		return 0;
	diag_set(loader->diag, -EINVAL,
		 "cannot tell the heap of process %" PRIu32
		 " in '%s' at a time: it was not looked at while it ran (for %s)",
		 only->number, loader->rec->path, units_duration(duration, only->rec.duration_ns));
	diag_hint(loader->diag,
		  "the start, the peak and the end are known: --at 0, no --at, --at 100%%");
	return -EINVAL;
}

/* -- what ----------------------------------------------------------------------------------------- */

struct wanted_live {
	const struct live *live;
	uint32_t process, node;
	enum stack_end end;
};

static bool live_equal(const void *context, uint32_t id)
{
	const struct wanted_live *wanted = context;
	const struct live *live = &wanted->live[id - 1];
	return live->process == wanted->process && live->node == wanted->node &&
	       live->end == wanted->end;
}

/* What is known of a stack of a process; made when it is met first. */
static int find_live(struct reading *r, const struct rows *rows, const struct live *key, size_t *id)
{
	struct wanted_live wanted = { r->live, key->process, key->node, key->end };
	uint32_t hash = hash_mix(hash_mix(hash_mix(6, key->process), key->node), key->end);
	*id = hash_index_find(&r->index, hash, live_equal, &wanted);
	if (*id)
		return 0;
	struct live *live = array_grow(r->live, &r->live_room, r->live_count + 1, sizeof(*live));
	if (!live || r->live_count >= UINT32_MAX - 1)
		return loader_no_memory(r->loader);
	r->live = live;
	live[r->live_count] = *key;
	live[r->live_count].stack = stacks_find(r->loader, key->process, key->node, key->end);
	if (!live[r->live_count].stack)
		return rows_damaged(rows, "a stack is named that the process does not have");
	*id = ++r->live_count;
	return hash_index_add(&r->index, hash, (uint32_t)*id) ? loader_no_memory(r->loader) : 0;
}

/* node, end, blocks, bytes. */
static int set_live(struct reading *r, const struct rows *rows, uint32_t process, const int64_t *v)
{
	struct live key = { .process = process };
	size_t id;
	int error = id_map_get(rows, &r->loader->nodes, v[0], &key.node);
	if (error)
		return error;
	if (v[1] < STACK_COMPLETE || v[1] > STACK_UNATTRIBUTED)
		return rows_damaged(rows, "an end of a stack is unknown");
	key.end = (enum stack_end)v[1];
	error = find_live(r, rows, &key, &id);
	if (error)
		return error;
	r->live[id - 1].blocks = v[2];
	r->live[id - 1].bytes = v[3];
	return 0;
}

static int add_change(struct reading *r, const struct rows *rows)
{
	const int64_t *v = rows->values;
	if (v[0] <= 0 || v[0] > (int64_t)r->moment_count)
		return rows_damaged(rows, "a row belongs to no moment");
	if (v[3] < 0 || v[4] < 0)
		return rows_damaged(rows, "a count is negative");
	uint32_t process = r->owners[v[0]];
	return process ? set_live(r, rows, process - 1, v + 1) : 0;
}

/* Keys must rise: of two rows that a stack has at a moment, only one can be right. */
static bool rises(const int64_t *v, const int64_t *last)
{
	return v[0] != last[0] ? v[0] > last[0] : v[1] != last[1] ? v[1] > last[1] : v[2] > last[2];
}

/* Up to the last moment that counts. */
static int load_changes(struct reading *r)
{
	struct rows rows;
	int64_t last[3] = { -1, -1, -1 };
	int error = rows_open(&rows, r->loader, "moment_stack",
			      "SELECT moment, node, end, blocks, bytes FROM moment_stack");
	while (!error && (error = rows_next(&rows)) > 0) {
		if (rows.values[0] > (int64_t)r->last_moment &&
		    rows.values[0] <= (int64_t)r->moment_count) {
			error = 0;
			break;
		}
		error = rises(rows.values, last) ? add_change(r, &rows)
						 : rows_damaged(&rows, "rows are out of order");
		memcpy(last, rows.values, sizeof(last));
	}
	rows_close(&rows);
	return error;
}

/* What processes that end at that time leave behind.  The rows are checked: they are those of the stacks. */
static int load_ends(struct reading *r)
{
	struct rows rows;
	int error = rows_open(&rows, r->loader, "stack",
			      "SELECT process, node, end, leaked_blocks, leaked_bytes FROM stack");
	while (!error && (error = rows_next(&rows)) > 0) {
		uint32_t process;
		error = id_map_get(&rows, &r->loader->processes, rows.values[0], &process);
		if (!error && process &&
		    r->processes[process - 1 - r->loader->first_process].state == ENDS)
			error = set_live(r, &rows, process - 1, rows.values + 1);
	}
	rows_close(&rows);
	return error;
}

static bool any_ends(const struct reading *r)
{
	for (size_t i = r->loader->first_process; i < r->loader->model->process_count; i++) {
		if (r->processes[i - r->loader->first_process].state == ENDS)
			return true;
	}
	return false;
}

/* Into the model. */
static void apply(const struct reading *r)
{
	struct model *model = r->loader->model;
	for (size_t i = 0; i < r->live_count; i++) {
		const struct live *live = &r->live[i];
		struct costs more = { .peak_blocks = live->blocks, .peak_bytes = live->bytes };
		costs_add(&model->stacks[live->stack - 1].costs, &more);
	}
	for (size_t i = r->loader->first_process; i < model->process_count; i++) {
		const struct at *at = &r->processes[i - r->loader->first_process];
		int64_t t_ns = add_clamped(at->offset_ns, at->seen_ns);
		if (at->state != OTHER && t_ns > model->totals.at_ns)
			model->totals.at_ns = t_ns;
	}
}

static int read_moments(struct reading *r)
{
	int error = load_moments(r);
	if (!error)
		error = check_watched(r);
	if (!error && r->last_moment)
		error = load_changes(r);
	if (!error && any_ends(r))
		error = load_ends(r);
	return error;
}

int model_load_moments(struct loader *loader)
{
	struct reading r = { .loader = loader };
	if (!rows_exist(loader, "moment") || !rows_exist(loader, "moment_stack")) {
		diag_set(loader->diag, -EINVAL,
			 "cannot tell the heap at a time: '%s' was made by a memtrack that did not "
			 "record it",
			 loader->rec->path);
		diag_hint(loader->diag,
			  "record the program again, or report the peak, without --at");
		return -EINVAL;
	}
	r.processes = calloc(loader->model->process_count - loader->first_process + 1,
			     sizeof(*r.processes));
	if (!r.processes)
		return loader_no_memory(loader);
	set_states(&r);
	int error = read_moments(&r);
	if (!error)
		apply(&r);
	hash_index_release(&r.index);
	free(r.live);
	free(r.owners);
	free(r.processes);
	return error;
}

void model_sum_moments(struct model *model)
{
	struct costs *sum = &model->totals.costs;
	sum->peak_blocks = sum->peak_bytes = 0;
	for (size_t i = 0; i < model->stack_count; i++) {
		const struct costs *c = &model->stacks[i].costs;
		costs_add(sum, &(struct costs){ .peak_blocks = c->peak_blocks,
						.peak_bytes = c->peak_bytes });
	}
	if (model->totals.sample_mean)
		sum->variances.peak_blocks = sum->variances.peak_bytes = NAN;
	model->totals.at_moment = true;
	model->totals.slack_processes = 0; /* it is known of the peak only */
}
