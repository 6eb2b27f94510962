/* SPDX-License-Identifier: MIT */
/*
 * See tree.h.  Stacks that came the same way are moved a frame on together and then
 * sorted into groups by the name of that frame.  Of callers, each frame of each stack is
 * looked at once at most, and of a part that is not shown none.
 */
#include "report/tree.h"

#include <errno.h>
#include <stdlib.h>

#include "report/model.h"
#include "report/order.h"

/* One node, as one of its siblings. */
struct tree_group {
	struct site site; /* first_stack and stack_count: into tree.positions */
	uint32_t name;
	bool line_fixed; /* the line is that of the site, or there are several */
	bool recursive;
};

_Static_assert(sizeof(struct tree_group) <= ORDER_SIZE_MAX, "order_first takes groups");

/* Siblings. */
struct tree_level {
	size_t first_group; /* into tree.groups */
	size_t count, shown;
	size_t next;	       /* the one to come next, or which the next level is below */
	size_t positions_mark; /* what tree.positions had before */
};

#define FRACTION 100 /* less than 1 % of all is not worth a line */

struct tree_options tree_options_of(const struct report_options *options)
{
	bool text = options->format == REPORT_FORMAT_TEXT;
	return (struct tree_options){
		.direction = options->tree,
		.sort = options->sort,
		.roots = (size_t)options->top,
		.top = text ? (size_t)options->top : 0,
		.depth = (size_t)options->frames,
		.fraction = text ? FRACTION : 0,
	};
}

static int64_t least_cost(const struct tree *tree, const struct costs *root)
{
	int64_t whole = sites_cost(root, tree->options.sort);
	int fraction = tree->options.fraction;
	if (!fraction)
		return INT64_MIN;
	return whole > fraction ? whole / fraction + (whole % fraction != 0) : 1;
}

int tree_open(struct tree *tree, const struct model *model, const struct site_table *table,
	      const struct tree_options *options)
{
	*tree = (struct tree){ .model = model, .table = table, .options = *options };
	int error = tree_frames_init(&tree->frames, model, table, options->direction);
	if (error)
		return error;
	tree->group_of = calloc(tree->frames.name_count, sizeof(*tree->group_of));
	return tree->group_of ? 0 : -ENOMEM;
}

void tree_close(struct tree *tree)
{
	tree_frames_release(&tree->frames);
	free(tree->levels);
	free(tree->groups);
	free(tree->positions.items);
	free(tree->pending.items);
	free(tree->scratch.items);
	free(tree->group_of);
	*tree = (struct tree){ 0 };
}

static struct tree_group *add_group(struct tree *tree)
{
	struct tree_group *groups =
		array_grow(tree->groups, &tree->group_room, tree->group_count + 1, sizeof(*groups));
	if (!groups)
		return NULL;
	tree->groups = groups;
	groups[tree->group_count] = (struct tree_group){ 0 };
	return &groups[tree->group_count++];
}

static struct tree_level *add_level(struct tree *tree)
{
	struct tree_level *levels =
		array_grow(tree->levels, &tree->level_room, tree->level_count + 1, sizeof(*levels));
	if (!levels)
		return NULL;
	tree->levels = levels;
	levels[tree->level_count] = (struct tree_level){
		.first_group = tree->group_count,
		.positions_mark = tree->positions.count,
	};
	return &levels[tree->level_count++];
}

static void drop_level(struct tree *tree)
{
	const struct tree_level *level = &tree->levels[--tree->level_count];
	tree->group_count = level->first_group;
	tree->positions.count = level->positions_mark;
}

static struct tree_group *level_groups(const struct tree *tree, const struct tree_level *level)
{
	return tree->groups + level->first_group;
}

/* The line is shown where all frames have the same. */
static void note_line(struct tree_group *group, uint32_t line)
{
	if (group->line_fixed || group->site.line == line)
		return;
	group->site.line = 0;
	group->line_fixed = true;
}

static void name_group(const struct tree *tree, struct tree_group *group,
		       const struct tree_position *at)
{
	group->name = tree_frames_name(&tree->frames, at);
	const struct tree_name *name = &tree->frames.names[group->name];
	group->site.function = name->function;
	group->site.file = name->file;
	group->site.module = name->module;
	group->site.address = name->address;
	group->site.line = tree_frames_line(&tree->frames, at);
}

/* Makes the groups of `count` positions, and counts and sums up what they hold. */
static int find_groups(struct tree *tree, size_t first, size_t count)
{
	size_t before = tree->group_count;
	for (size_t i = 0; i < count; i++) {
		const struct tree_position *at = &tree->positions.items[first + i];
		uint32_t *group_of = &tree->group_of[tree_frames_name(&tree->frames, at)];
		if (!*group_of) {
			struct tree_group *added = add_group(tree);
			if (!added)
				return -ENOMEM;
			name_group(tree, added, at);
			*group_of = (uint32_t)(tree->group_count - before);
		}
		struct tree_group *group = &tree->groups[before + *group_of - 1];
		group->site.stack_count++;
		note_line(group, tree_frames_line(&tree->frames, at));
		tree_frames_add_costs(&tree->frames, at, &group->site.costs);
	}
	return 0;
}

/* Lays the positions of each group side by side. */
static int sort_positions(struct tree *tree, const struct tree_level *level, size_t first,
			  size_t count)
{
	struct tree_position *items = tree->positions.items + first;
	struct tree_position *scratch =
		array_grow(tree->scratch.items, &tree->scratch.room, count, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	tree->scratch.items = scratch;
	struct tree_group *groups = level_groups(tree, level);
	size_t end = 0;
	for (size_t i = 0; i < level->count; i++)
		groups[i].site.first_stack = (uint32_t)(end += groups[i].site.stack_count);
	for (size_t i = count; i-- > 0;) {
		uint32_t group = tree->group_of[tree_frames_name(&tree->frames, &items[i])];
		scratch[--groups[group - 1].site.first_stack] = items[i];
	}
	for (size_t i = 0; i < count; i++)
		items[i] = scratch[i];
	for (size_t i = 0; i < level->count; i++) {
		groups[i].site.first_stack += (uint32_t)first;
		tree->group_of[groups[i].name] = 0;
	}
	return 0;
}

static int compare_groups(const void *left, const void *right, void *context)
{
	const struct tree_group *a = left, *b = right;
	const struct tree *tree = context;
	return sites_compare(&a->site, &b->site, tree->model, tree->options.sort);
}

/* Chooses the siblings to show and brings them to the front. */
static void choose(struct tree *tree, struct tree_level *level, size_t most, int64_t least)
{
	struct tree_group *groups = level_groups(tree, level);
	size_t limit = most && most < level->count ? most : level->count;
	order_first(groups, level->count, sizeof(*groups), limit, compare_groups, tree);
	while (level->shown < limit &&
	       sites_cost(&groups[level->shown].site.costs, tree->options.sort) >= least)
		level->shown++;
}

/* Groups the last `count` of the positions from `first` on as a new level. */
static int group_positions(struct tree *tree, struct tree_level *level, size_t first, size_t count)
{
	int error = find_groups(tree, first, count);
	level->count = tree->group_count - level->first_group;
	return error || !count ? error : sort_positions(tree, level, first, count);
}

static int push_position(struct tree_positions *positions, struct tree_position at)
{
	struct tree_position *items =
		array_grow(positions->items, &positions->room, positions->count + 1, sizeof(at));
	if (!items)
		return -ENOMEM;
	positions->items = items;
	items[positions->count++] = at;
	return 0;
}

/* A site as a root: its name and costs are those of the table. */
static int add_site(struct tree *tree, const struct site *site)
{
	struct tree_group *group = add_group(tree);
	if (!group)
		return -ENOMEM;
	*group = (struct tree_group){ .site = *site, .line_fixed = true };
	group->site.first_stack = (uint32_t)tree->positions.count;
	for (uint32_t i = 0; i < site->stack_count; i++) {
		struct tree_position at =
			tree_frames_site(&tree->frames, tree->table->stacks[site->first_stack + i]);
		group->name = tree_frames_name(&tree->frames, &at);
		if (push_position(&tree->positions, at))
			return -ENOMEM;
	}
	return 0;
}

static int start_callers(struct tree *tree, struct tree_level *level)
{
	size_t count = tree->table->count;
	level->count = count;
	level->shown =
		tree->options.roots && tree->options.roots < count ? tree->options.roots : count;
	if (tree->options.fraction) {
		while (level->shown && sites_cost(&tree->table->sites[level->shown - 1].costs,
						  tree->options.sort) <= 0)
			level->shown--;
	}
	int error = 0;
	for (size_t i = 0; !error && i < level->shown; i++)
		error = add_site(tree, &tree->table->sites[i]);
	return error;
}

static int start_callees(struct tree *tree, struct tree_level *level)
{
	int error = tree_frames_outermost(&tree->frames, &tree->positions);
	if (!error)
		error = group_positions(tree, level, 0, tree->positions.count);
	if (!error)
		choose(tree, level, tree->options.roots, tree->options.fraction ? 1 : INT64_MIN);
	return error;
}

static int start(struct tree *tree)
{
	struct tree_level *level = add_level(tree);
	tree->started = true;
	if (!level)
		return -ENOMEM;
	return tree->options.direction == REPORT_TREE_CALLERS ? start_callers(tree, level)
							      : start_callees(tree, level);
}

/* What came after a group's frames and has another name stays, the rest goes on to be moved again. */
static int keep_others(struct tree *tree, struct tree_group *group, size_t first)
{
	struct tree_positions *positions = &tree->positions;
	size_t kept = first;
	for (size_t i = first; i < positions->count; i++) {
		struct tree_position at = positions->items[i];
		if (tree_frames_name(&tree->frames, &at) != group->name) {
			positions->items[kept++] = at;
			continue;
		}
		group->recursive = true;
		note_line(group, tree_frames_line(&tree->frames, &at));
		if (push_position(&tree->pending, at))
			return -ENOMEM;
	}
	positions->count = kept;
	return 0;
}

/* Moves the group's positions on by a frame, and over the calls of a function by itself. */
static int step_group(struct tree *tree, struct tree_group *group, struct costs *self)
{
	struct tree_position *items = tree->positions.items;
	tree->pending.count = 0;
	for (uint32_t i = 0; i < group->site.stack_count; i++) {
		if (push_position(&tree->pending, items[group->site.first_stack + i]))
			return -ENOMEM;
	}
	int error = 0;
	while (!error && tree->pending.count) {
		struct tree_position at = tree->pending.items[--tree->pending.count];
		size_t first = tree->positions.count;
		error = tree_frames_step(&tree->frames, &at, &tree->positions, self);
		if (!error)
			error = keep_others(tree, group, first);
	}
	return error;
}

static void sum_rest(const struct tree *tree, const struct tree_level *level,
		     struct tree_rest *rest)
{
	bool sites = level == tree->levels && tree->options.direction == REPORT_TREE_CALLERS;
	rest->count = level->count - level->shown;
	for (size_t i = level->shown; i < level->count; i++)
		costs_add(&rest->costs, sites ? &tree->table->sites[i].costs
					      : &level_groups(tree, level)[i].site.costs);
}

/* Makes the level below the node that comes next. */
static int expand(struct tree *tree, struct tree_node *node)
{
	struct tree_level *below = add_level(tree);
	if (!below)
		return -ENOMEM;
	const struct tree_level *level = &tree->levels[tree->level_count - 2];
	struct tree_group *group = level_groups(tree, level) + level->next;
	size_t first = tree->positions.count;
	int error = step_group(tree, group, &node->self);
	node->site = group->site;
	node->recursive = group->recursive;
	if (tree->level_count == 2)
		tree->least = least_cost(tree, &group->site.costs);
	size_t count = tree->positions.count - first;
	if (error)
		return error;
	if (tree->options.depth && tree->level_count > tree->options.depth) {
		node->too_deep = count;
		node->self = node->site.costs;
		return 0;
	}
	error = group_positions(tree, below, first, count);
	if (!error)
		choose(tree, below, tree->options.top, tree->least);
	node->children = below->shown;
	sum_rest(tree, below, &node->rest);
	return error;
}

/* How the node stands among its siblings. */
static void place(const struct tree *tree, size_t depth, struct tree_node *node)
{
	const struct tree_level *level = &tree->levels[depth - 1];
	node->depth = depth;
	node->first = level->next == 0;
	node->last = level->next + 1 == level->shown;
	if (depth == 1)
		return;
	const struct tree_level *above = level - 1;
	const struct costs *parent = &level_groups(tree, above)[above->next].site.costs;
	node->whole =
		level->count == 1 && sites_cost(parent, tree->options.sort) ==
					     sites_cost(&node->site.costs, tree->options.sort);
}

int tree_next(struct tree *tree, struct tree_node *node)
{
	*node = (struct tree_node){ 0 };
	int error = tree->started ? 0 : start(tree);
	if (error)
		return error;
	size_t depth = tree->level_count;
	const struct tree_level *level = &tree->levels[depth - 1];
	if (level->next < level->shown) {
		error = expand(tree, node);
		place(tree, depth, node);
		return error ? error : TREE_ENTER;
	}
	if (depth == 1) {
		sum_rest(tree, level, &node->rest);
		return TREE_END;
	}
	node->depth = depth - 1;
	drop_level(tree);
	tree->levels[depth - 2].next++;
	return TREE_LEAVE;
}
