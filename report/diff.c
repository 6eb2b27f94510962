/* SPDX-License-Identifier: MIT */
/*
 * Rows of two recordings side by side; see diff.h.  Sites of one side that are
 * the same but for their lines fall into one row.
 */
#include "report/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff_lines.h"
#include "report/hash_index.h"
#include "report/order.h"
#include "report/parts.h"
#include "report/render_diff.h"
#include "report/view.h"

const struct report_name diff_match_names[] = {
	[DIFF_MATCH_NAME] = { "name", "module, function and file" },
	[DIFF_MATCH_LINE] = { "line", "the line too" },
	{ 0 },
};

/* What makes two rows, or two stacks, the same. */
struct key {
	uint32_t place, line;
	uint32_t chain; /* by stack only */
};

struct builder {
	struct diff *diff;
	const struct view *const *views;
	bool lines, by_stack;
	struct key *keys; /* by row */
	size_t key_room, row_room, stack_room;
	struct hash_index rows, stacks;
	struct diff_lines line_set;
	uint32_t *chains[SIDES]; /* by node: see match_stacks */
};

const char *diff_status_name(enum diff_status status)
{
	static const char *const names[] = {
		[DIFF_UNCHANGED] = "unchanged",
		[DIFF_CHANGED] = "changed",
		[DIFF_ADDED] = "added",
		[DIFF_REMOVED] = "removed",
	};
	return names[status];
}

int64_t diff_change(const struct diff_row *row, enum report_sort sort)
{
	return diff_difference(sites_cost(&row->costs[SIDE_OLD], sort),
			       sites_cost(&row->costs[SIDE_NEW], sort));
}

static double variance(const struct costs *costs, enum report_sort sort)
{
	switch (sort) {
	case REPORT_SORT_LEAKED:
		return costs->variances.leaked_bytes;
	case REPORT_SORT_ALLOCATED:
		return costs->variances.allocated_bytes;
	case REPORT_SORT_ALLOCATIONS:
		return costs->variances.allocations;
	case REPORT_SORT_TEMPORARY:
		return costs->variances.temporary_allocations;
	case REPORT_SORT_SLACK: /* is recorded of all or none */
		return 0;
	case REPORT_SORT_PEAK:
		break;
	}
	return costs->variances.peak_bytes;
}

double diff_variance(const struct diff_row *row, enum report_sort sort)
{
	return variance(&row->costs[SIDE_OLD], sort) + variance(&row->costs[SIDE_NEW], sort);
}

bool diff_is_chance(const struct diff_row *row, enum report_sort sort)
{
	double squared_error = diff_variance(row, sort);
	double difference = (double)diff_change(row, sort);
	return squared_error > 0 && difference * difference <= 4 * squared_error;
}

struct wanted_row {
	const struct builder *builder;
	struct key key;
};

static bool row_equal(const void *context, uint32_t id)
{
	const struct wanted_row *wanted = context;
	const struct key *a = &wanted->key, *b = &wanted->builder->keys[id - 1];
	return a->place == b->place && a->line == b->line && a->chain == b->chain;
}

/* The id of a row, made when it is new; 0 when out of memory. */
static uint32_t row_id(struct builder *b, struct key key)
{
	struct diff *diff = b->diff;
	struct wanted_row wanted = { b, key };
	uint32_t hash = hash_mix(hash_mix(3, (uint64_t)key.place << 32 | key.line), key.chain);
	uint32_t id = hash_index_find(&b->rows, hash, row_equal, &wanted);
	if (id)
		return id;
	struct key *keys = array_grow(b->keys, &b->key_room, diff->count + 1, sizeof(*keys));
	if (keys)
		b->keys = keys;
	struct diff_row *rows =
		array_grow(diff->rows, &b->row_room, diff->count + 1, sizeof(*rows));
	if (rows)
		diff->rows = rows;
	if (!keys || !rows)
		return 0;
	keys[diff->count] = key;
	rows[diff->count] = (struct diff_row){ 0 };
	id = (uint32_t)++diff->count;
	return hash_index_add(&b->rows, hash, id) ? 0 : id;
}

struct wanted_stack {
	const struct diff *diff;
	uint32_t row, chain;
};

static bool stack_equal(const void *context, uint32_t id)
{
	const struct wanted_stack *wanted = context;
	const struct diff_stack *stack = &wanted->diff->stacks[id];
	return stack->row == wanted->row && stack->chain == wanted->chain;
}

/* The same for a stack of a row. */
static uint32_t stack_id(struct builder *b, uint32_t row, uint32_t chain)
{
	struct diff *diff = b->diff;
	struct wanted_stack wanted = { diff, row, chain };
	uint32_t hash = hash_mix(7, (uint64_t)row << 32 | chain);
	uint32_t id = hash_index_find(&b->stacks, hash, stack_equal, &wanted);
	if (id)
		return id;
	struct diff_stack *stacks =
		array_grow(diff->stacks, &b->stack_room, diff->stack_count + 2, sizeof(*stacks));
	if (!stacks)
		return 0;
	diff->stacks = stacks;
	id = (uint32_t)++diff->stack_count;
	stacks[id] = (struct diff_stack){ .row = row, .chain = chain };
	return hash_index_add(&b->stacks, hash, id) ? 0 : id;
}

static int add_to_row(struct builder *b, uint32_t id, enum side side, uint32_t site)
{
	struct diff_row *row = &b->diff->rows[id - 1];
	const struct site *sites = b->views[side]->table.sites;
	uint32_t *largest = &row->sites[side];
	costs_add(&row->costs[side], &sites[site].costs);
	if (!*largest || sites_cost(&sites[site].costs, b->diff->sort) >
				 sites_cost(&sites[*largest - 1].costs, b->diff->sort))
		*largest = site + 1;
	return diff_lines_add(&b->line_set, b->diff, id, side, site);
}

static int add_stack(struct builder *b, enum side side, uint32_t row, uint32_t index,
		     uint32_t chain)
{
	const struct model_stack *stack = &b->views[side]->model.stacks[index];
	uint32_t id = stack_id(b, row, chain);
	if (!id)
		return -ENOMEM;
	struct diff_stack *pair = &b->diff->stacks[id];
	if (!pair->stacks[side])
		pair->stacks[side] = index + 1;
	if (__builtin_add_overflow(pair->costs[side], sites_cost(&stack->costs, b->diff->sort),
				   &pair->costs[side]))
		pair->costs[side] = INT64_MAX;
	return 0;
}

static int add_site(struct builder *b, enum side side, uint32_t index)
{
	const uint32_t *chains = b->chains[side];
	const struct view *view = b->views[side];
	const struct site *site = &view->table.sites[index];
	const uint32_t *stacks = view->table.stacks + site->first_stack;
	struct key key = { .place = match_site(&b->diff->match, side, index) };
	int error = 0;
	if (b->lines)
		key.line = site->line;
	if (b->by_stack)
		key.chain = chains[view->model.stacks[stacks[0]].node];
	uint32_t row = row_id(b, key);
	if (!row)
		return -ENOMEM;
	error = add_to_row(b, row, side, index);
	for (uint32_t i = 0; !error && i < site->stack_count; i++)
		error = add_stack(b, side, row, stacks[i],
				  chains[view->model.stacks[stacks[i]].node]);
	return error;
}

static int add_view(struct builder *b, enum side side)
{
	int error = match_stacks(&b->diff->match, side, &b->chains[side]);
	for (uint32_t i = 0; !error && i < b->views[side]->table.count; i++)
		error = add_site(b, side, i);
	return error;
}

/* Of each row the stack that changed most; of equal ones the first. */
static void choose_stacks(struct diff *diff)
{
	for (uint32_t id = 1; id <= diff->stack_count; id++) {
		const struct diff_stack *stack = &diff->stacks[id];
		struct diff_row *row = &diff->rows[stack->row - 1];
		int64_t by = diff_difference(stack->costs[SIDE_OLD], stack->costs[SIDE_NEW]);
		if (by == 0)
			continue;
		row->stacks++;
		const struct diff_stack *most = &diff->stacks[row->stack];
		int64_t by_most =
			row->stack ? diff_difference(most->costs[SIDE_OLD], most->costs[SIDE_NEW])
				   : 0;
		if (diff_magnitude(by) > diff_magnitude(by_most))
			row->stack = id;
	}
}

/* Of the row's stack the most expensive of the site that heads the row: they show the same line. */
static void choose_stack_of_site(struct builder *b, const struct diff_row *row)
{
	const struct view *view = b->views[row->side];
	const struct site *site = &view->table.sites[row->sites[row->side] - 1];
	struct diff_stack *pair = &b->diff->stacks[row->stack];
	const struct model_stack *stacks = view->model.stacks, *best = NULL;
	for (uint32_t i = 0; i < site->stack_count; i++) {
		uint32_t index = view->table.stacks[site->first_stack + i];
		if (b->chains[row->side][stacks[index].node] != pair->chain ||
		    (best && sites_cost(&stacks[index].costs, b->diff->sort) <=
				     sites_cost(&best->costs, b->diff->sort)))
			continue;
		best = &stacks[index];
		pair->stacks[row->side] = index + 1;
	}
}

static int choose_lines(struct builder *b)
{
	struct diff *diff = b->diff;
	int error = diff_lines_choose(&b->line_set, diff);
	for (size_t i = 0; !error && i < diff->count; i++) {
		if (diff->rows[i].stack)
			choose_stack_of_site(b, &diff->rows[i]);
	}
	return error;
}

static enum diff_status find_status(const struct diff_row *row)
{
	const struct costs *old = &row->costs[SIDE_OLD], *new = &row->costs[SIDE_NEW];
	bool same =
		old->peak_blocks == new->peak_blocks && old->leaked_blocks == new->leaked_blocks;
	for (int sort = REPORT_SORT_PEAK; sort <= REPORT_SORT_TEMPORARY; sort++)
		same = same && diff_change(row, (enum report_sort)sort) == 0;
	if (same)
		return DIFF_UNCHANGED;
	if (!row->sites[SIDE_OLD])
		return DIFF_ADDED;
	return row->sites[SIDE_NEW] ? DIFF_CHANGED : DIFF_REMOVED;
}

/* Rows that did not change are dropped. */
static void find_changes(struct diff *diff)
{
	size_t changed = 0;
	for (size_t i = 0; i < diff->count; i++) {
		struct diff_row *row = &diff->rows[i];
		row->status = find_status(row);
		if (row->status != DIFF_UNCHANGED)
			diff->rows[changed++] = *row;
	}
	diff->count = changed;
}

/* Unknown names come last. */
static int compare_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : !a - !b;
}

static int compare_names(const struct diff *diff, const struct diff_row *a,
			 const struct diff_row *b)
{
	const struct view *view_a = diff->match.views[a->side];
	const struct view *view_b = diff->match.views[b->side];
	const struct site *site_a = &view_a->table.sites[a->sites[a->side] - 1];
	const struct site *site_b = &view_b->table.sites[b->sites[b->side] - 1];
	int order = compare_texts(model_text(&view_a->model, site_a->function),
				  model_text(&view_b->model, site_b->function));
	if (!order)
		order = compare_texts(model_text(&view_a->model, site_a->file),
				      model_text(&view_b->model, site_b->file));
	if (!order)
		order = (site_a->line > site_b->line) - (site_a->line < site_b->line);
	return order ? order
		     : compare_texts(model_text(&view_a->model, site_a->module),
				     model_text(&view_b->model, site_b->module));
}

/* The larger change first, by the sort key and then by all others; then by names; then as they were recorded. */
static int compare_rows(const void *left, const void *right, void *context)
{
	const struct diff_row *a = left, *b = right;
	const struct diff *diff = context;
	for (int key = -1; key <= REPORT_SORT_TEMPORARY; key++) {
		enum report_sort sort = key < 0 ? diff->sort : (enum report_sort)key;
		int64_t of_a = diff_change(a, sort), of_b = diff_change(b, sort);
		if (diff_magnitude(of_a) != diff_magnitude(of_b))
			return diff_magnitude(of_a) > diff_magnitude(of_b) ? -1 : 1;
		if (of_a != of_b)
			return of_a > of_b ? -1 : 1;
	}
	int order = compare_names(diff, a, b);
	for (int side = SIDE_NEW; !order && side >= SIDE_OLD; side--)
		order = (a->sites[side] > b->sites[side]) - (a->sites[side] < b->sites[side]);
	return order;
}

static int build(struct builder *b, size_t top)
{
	struct diff *diff = b->diff;
	int error = match_init(&diff->match, b->views, b->lines);
	if (!error)
		error = add_view(b, SIDE_OLD);
	if (!error)
		error = add_view(b, SIDE_NEW);
	if (error)
		return error;
	choose_stacks(diff);
	error = choose_lines(b);
	if (error)
		return error;
	find_changes(diff);
	order_first(diff->rows, diff->count, sizeof(*diff->rows), top ? top : diff->count,
		    compare_rows, diff);
	return 0;
}

int diff_build(struct diff *diff, const struct view *const views[SIDES],
	       const struct diff_options *options, struct diag *diag)
{
	struct builder b = {
		.diff = diff,
		.views = views,
		.lines = options->match == DIFF_MATCH_LINE,
		.by_stack = options->report.by == REPORT_BY_STACK,
	};
	*diff = (struct diff){ .sort = options->report.sort };
	int error = build(&b, (size_t)options->report.top);
	free(b.keys);
	hash_index_release(&b.rows);
	hash_index_release(&b.stacks);
	diff_lines_release(&b.line_set);
	free(b.chains[SIDE_OLD]);
	free(b.chains[SIDE_NEW]);
	if (!error)
		return 0;
	diff_release(diff);
	return diag_set(diag, error, "out of memory");
}

void diff_release(struct diff *diff)
{
	match_release(&diff->match);
	free(diff->rows);
	free(diff->stacks);
	*diff = (struct diff){ 0 };
}

static int render(const struct diff_options *options, struct view *const views[SIDES],
		  struct diag *diag)
{
	static render_diff_function *const renderers[] = {
		[REPORT_FORMAT_TEXT] = render_diff_text,
		[REPORT_FORMAT_JSON] = render_diff_json,
		[REPORT_FORMAT_CSV] = render_diff_csv,
	};
	const struct view *const sides[] = { views[SIDE_OLD], views[SIDE_NEW] };
	const struct report_options *o = &options->report;
	struct diff diff;
	int error = diff_build(&diff, sides, options, diag);
	if (error)
		return error;
	struct diff_report report = { options, views, &diff, diff.count };
	if (o->top && (size_t)o->top < diff.count)
		report.shown = (size_t)o->top;
	error = view_finish_output(o->out, renderers[o->format](&report), diag);
	diff_release(&diff);
	return error;
}

static int test_options(const struct report_options *o, struct diag *diag)
{
	if (o->files.count != SIDES)
		return diag_set(diag, -EINVAL, "two recordings are needed");
	/* Threads and sizes have no names that a row of the other side could be found by. */
	if (!is_by_part(o->by))
		return 0;
	diag_set(diag, -EINVAL, "cannot compare by %s", report_by_names[o->by].name);
	diag_hint(diag,
		  "recordings are compared by site, stack, function, file, module or process");
	return -EINVAL;
}

int diff_run(const struct diff_options *options, struct diag *diag)
{
	const struct report_options *o = &options->report;
	struct view old, new;
	struct view *const views[] = { &old, &new };
	int error = test_options(o, diag);
	if (!error)
		error = view_open(&old, o, &(struct report_list){ o->files.items, 1 }, 1, diag);
	if (error)
		return error;
	error = view_open(&new, o, &(struct report_list){ o->files.items + 1, 1 }, 1, diag);
	if (!error) {
		error = render(options, views, diag);
		view_close(&new);
	}
	view_close(&old);
	return error;
}
