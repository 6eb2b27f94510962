/* SPDX-License-Identifier: MIT */
/* See tree_frames.h.  Setting up is linear in frames, nodes and stacks. */
#include "report/tree_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "report/plumbing.h"
#include "report/sites.h"

struct wanted_name {
	const struct tree_frames *f;
	struct tree_name name;
};

static bool name_equal(const void *context, uint32_t id)
{
	const struct wanted_name *wanted = context;
	const struct tree_name *a = &wanted->name, *b = &wanted->f->names[id];
	return a->function == b->function && a->file == b->file && a->module == b->module &&
	       a->address == b->address;
}

/* 0 when out of memory. */
static uint32_t intern_name(struct tree_frames *f, struct tree_name name)
{
	struct wanted_name wanted = { f, name };
	uint32_t hash = hash_mix(6, (uint64_t)name.function << 32 | name.file);
	hash = hash_mix(hash_mix(hash, name.module), name.address);
	uint32_t id = hash_index_find(&f->name_index, hash, name_equal, &wanted);
	if (id)
		return id;
	struct tree_name *names =
		array_grow(f->names, &f->name_room, f->name_count + 1, sizeof(*names));
	if (!names)
		return 0;
	f->names = names;
	id = (uint32_t)f->name_count++;
	names[id] = name;
	return hash_index_add(&f->name_index, hash, id) ? 0 : id;
}

static struct tree_name frame_name(const struct model *model, const struct model_location *location,
				   uint32_t frame)
{
	struct tree_name name = { 0 };
	if (location->module)
		name.module = model->modules[location->module].path;
	if (location->frame_count) {
		name.function = model->frames[location->first_frame + frame].function;
		name.file = model->frames[location->first_frame + frame].file;
	}
	if (!name.function)
		name.address = location->address;
	return name;
}

/* A location without frames stands for one of which only the address is known. */
static uint32_t frame_count(const struct model_location *location)
{
	return location->frame_count ? location->frame_count : 1;
}

static int name_frames(struct tree_frames *f)
{
	const struct model *model = f->model;
	size_t count = 1;
	f->first_name = calloc(model->location_count + 1, sizeof(*f->first_name));
	f->names = calloc(1, sizeof(*f->names));
	if (!f->first_name || !f->names)
		return -ENOMEM;
	f->name_count = f->name_room = 1;
	for (size_t id = 1; id <= model->location_count; id++) {
		f->first_name[id] = (uint32_t)count;
		count += frame_count(&model->locations[id]);
	}
	f->frame_names = count < UINT32_MAX ? calloc(count, sizeof(*f->frame_names)) : NULL;
	if (!f->frame_names)
		return -ENOMEM;
	for (size_t id = 1; id <= model->location_count; id++) {
		const struct model_location *location = &model->locations[id];
		for (uint32_t i = 0; i < frame_count(location); i++) {
			uint32_t name = intern_name(f, frame_name(model, location, i));
			if (!name)
				return -ENOMEM;
			f->frame_names[f->first_name[id] + i] = name;
		}
	}
	return 0;
}

static bool location_is_startup(const struct model *model, const struct model_location *location)
{
	if (location->module &&
	    plumbing_module(model_text(model, model->modules[location->module].path)))
		return true;
	for (uint32_t i = 0; i < location->frame_count; i++) {
		const char *function =
			model_text(model, model->frames[location->first_frame + i].function);
		if (!function || strcmp(function, "_start") != 0)
			return false;
	}
	return location->frame_count;
}

/* The caller of the C library's start of main is _start, named or not. */
static bool is_entry(const struct model *model, const struct model_node *node)
{
	const struct model_location *location = &model->locations[node->location];
	if (!node->parent || model->nodes[node->parent].parent || !node->location ||
	    !location->frame_count)
		return false;
	uint32_t outermost = location->first_frame + location->frame_count - 1;
	const char *function = model_text(model, model->frames[outermost].function);
	return function && plumbing_entry(function);
}

static int find_startup(struct tree_frames *f)
{
	const struct model *model = f->model;
	f->startup = calloc(model->node_count + 1, sizeof(*f->startup));
	if (!f->startup)
		return -ENOMEM;
	for (size_t id = 1; id <= model->node_count; id++) {
		const struct model_node *node = &model->nodes[id];
		if (!node->parent || f->startup[node->parent])
			f->startup[id] =
				!node->location ||
				location_is_startup(model, &model->locations[node->location]);
		f->startup[id] |= is_entry(model, node);
	}
	return 0;
}

/* The next node outward that is a frame, not the mark that some are missing. */
static uint32_t outer_frame(const struct model *model, uint32_t node)
{
	do
		node = model->nodes[node].parent;
	while (node && !model->nodes[node].location);
	return node;
}

/* The same, and 0 when what follows only ran before main. */
static uint32_t caller(const struct tree_frames *f, uint32_t node)
{
	uint32_t outer = outer_frame(f->model, node);
	return f->startup[outer] && !f->startup[node] ? 0 : outer;
}

struct tree_position tree_frames_site(const struct tree_frames *f, uint32_t stack)
{
	const struct model *model = f->model;
	uint32_t node = model->stacks[stack].node;
	struct frame_ref site = finder_place(&f->table->finder, node);
	while (node && (!site.location || model->nodes[node].location != site.location))
		node = model->nodes[node].parent;
	return (struct tree_position){ node, site.frame, stack };
}

#define NOWHERE UINT32_MAX

/* Lists for each key the numbers of the items that have it; NOWHERE: in no list. */
static int list_by_key(const uint32_t *keys, size_t count, size_t key_count, uint32_t **first,
		       uint32_t **list)
{
	uint32_t *begin = *first = calloc(key_count + 1, sizeof(**first));
	*list = malloc((count + 1) * sizeof(**list));
	if (!begin || !*list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (keys[i] != NOWHERE)
			begin[keys[i]]++;
	}
	uint32_t end = 0;
	for (size_t key = 0; key <= key_count; key++)
		begin[key] = end += begin[key];
	for (size_t i = count; i-- > 0;) {
		if (keys[i] != NOWHERE)
			(*list)[--begin[keys[i]]] = (uint32_t)i;
	}
	return 0;
}

static bool has_stacks(const struct tree_frames *f, uint32_t node)
{
	return f->first_stack[node] < f->first_stack[node + 1];
}

static void add_stacks(const struct tree_frames *f, uint32_t node, struct costs *sum)
{
	for (uint32_t i = f->first_stack[node]; i < f->first_stack[node + 1]; i++)
		costs_add(sum, &f->model->stacks[f->table->stacks[f->stacks[i]]].costs);
}

static int list_stacks(struct tree_frames *f)
{
	size_t count = f->table->stack_count;
	uint32_t *sites = malloc((count + 1) * sizeof(*sites));
	if (!sites)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sites[i] = tree_frames_site(f, f->table->stacks[i]).node;
	int error =
		list_by_key(sites, count, f->model->node_count + 1, &f->first_stack, &f->stacks);
	free(sites);
	return error;
}

/* Callers have the smaller ids: by the time a node is met, all it called has been. */
static void find_callers(struct tree_frames *f, uint32_t *callers, bool *used)
{
	for (uint32_t id = (uint32_t)f->model->node_count; id > 0; id--) {
		callers[id] = NOWHERE;
		if (!used[id] && !has_stacks(f, id))
			continue;
		uint32_t outer = callers[id] = caller(f, id);
		if (!outer)
			continue;
		used[outer] = true;
		costs_add(&f->inner[outer], &f->inner[id]);
		add_stacks(f, id, &f->inner[outer]);
	}
	callers[0] = NOWHERE;
}

static int list_callees(struct tree_frames *f)
{
	size_t count = f->model->node_count + 1;
	uint32_t *callers = malloc(count * sizeof(*callers));
	bool *used = calloc(count, sizeof(*used));
	f->inner = calloc(count, sizeof(*f->inner));
	int error = callers && used && f->inner ? 0 : -ENOMEM;
	if (!error) {
		find_callers(f, callers, used);
		error = list_by_key(callers, count, count, &f->first_callee, &f->callees);
	}
	free(callers);
	free(used);
	return error;
}

int tree_frames_init(struct tree_frames *f, const struct model *model,
		     const struct site_table *table, enum report_tree direction)
{
	*f = (struct tree_frames){ .model = model, .table = table, .direction = direction };
	int error = name_frames(f);
	if (!error)
		error = find_startup(f);
	if (!error && direction == REPORT_TREE_CALLEES)
		error = list_stacks(f);
	if (!error && direction == REPORT_TREE_CALLEES)
		error = list_callees(f);
	return error;
}

void tree_frames_release(struct tree_frames *f)
{
	free(f->names);
	free(f->first_name);
	free(f->frame_names);
	free(f->startup);
	free(f->first_callee);
	free(f->callees);
	free(f->first_stack);
	free(f->stacks);
	free(f->inner);
	hash_index_release(&f->name_index);
	*f = (struct tree_frames){ 0 };
}

static int push(struct tree_positions *out, struct tree_position at)
{
	struct tree_position *items =
		array_grow(out->items, &out->room, out->count + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	out->items = items;
	items[out->count++] = at;
	return 0;
}

static const struct model_location *location_of(const struct tree_frames *f,
						const struct tree_position *at)
{
	return &f->model->locations[f->model->nodes[at->node].location];
}

static int push_callees(const struct tree_frames *f, uint32_t node, struct tree_positions *out)
{
	int error = 0;
	for (uint32_t i = f->first_callee[node]; !error && i < f->first_callee[node + 1]; i++) {
		struct tree_position at = { .node = f->callees[i] };
		at.frame = frame_count(location_of(f, &at)) - 1;
		error = push(out, at);
	}
	return error;
}

int tree_frames_outermost(const struct tree_frames *f, struct tree_positions *out)
{
	int error = push_callees(f, 0, out);
	if (!error && has_stacks(f, 0))
		error = push(out, (struct tree_position){ 0 });
	return error;
}

uint32_t tree_frames_name(const struct tree_frames *f, const struct tree_position *at)
{
	if (!at->node)
		return 0;
	uint32_t location = f->model->nodes[at->node].location;
	return f->frame_names[f->first_name[location] + at->frame];
}

uint32_t tree_frames_line(const struct tree_frames *f, const struct tree_position *at)
{
	if (!at->node)
		return 0;
	const struct model_location *location = location_of(f, at);
	return location->frame_count ? f->model->frames[location->first_frame + at->frame].line : 0;
}

/* Stacks with their site in a node have it in the same frame: it is one location. */
static uint32_t site_frame(const struct tree_frames *f, uint32_t node)
{
	return finder_place(&f->table->finder, node).frame;
}

void tree_frames_add_costs(const struct tree_frames *f, const struct tree_position *at,
			   struct costs *sum)
{
	if (f->direction == REPORT_TREE_CALLERS) {
		costs_add(sum, &f->model->stacks[at->stack].costs);
		return;
	}
	if (has_stacks(f, at->node) && at->frame >= site_frame(f, at->node))
		add_stacks(f, at->node, sum);
	costs_add(sum, &f->inner[at->node]);
}

static int step_outward(const struct tree_frames *f, struct tree_position at,
			struct tree_positions *out, struct costs *self)
{
	if (at.node && at.frame + 1 < frame_count(location_of(f, &at))) {
		at.frame++;
		return push(out, at);
	}
	uint32_t outer = at.node ? caller(f, at.node) : 0;
	if (outer)
		return push(out, (struct tree_position){ outer, 0, at.stack });
	costs_add(self, &f->model->stacks[at.stack].costs);
	return 0;
}

static int step_inward(const struct tree_frames *f, struct tree_position at,
		       struct tree_positions *out, struct costs *self)
{
	bool site_here = has_stacks(f, at.node);
	if (site_here && at.frame == site_frame(f, at.node))
		add_stacks(f, at.node, self);
	if (!at.node)
		return 0;
	if (at.frame == 0)
		return push_callees(f, at.node, out);
	bool goes_on = f->first_callee[at.node] < f->first_callee[at.node + 1] ||
		       (site_here && at.frame > site_frame(f, at.node));
	return goes_on ? push(out, (struct tree_position){ .node = at.node, .frame = at.frame - 1 })
		       : 0;
}

int tree_frames_step(const struct tree_frames *f, const struct tree_position *at,
		     struct tree_positions *out, struct costs *self)
{
	return f->direction == REPORT_TREE_CALLERS ? step_outward(f, *at, out, self)
						   : step_inward(f, *at, out, self);
}
