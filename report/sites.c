/* SPDX-License-Identifier: MIT */
/*
 * Grouping and sorting for reports; called by report.c.  Everything is linear
 * in nodes and stacks but the choice of the groups to show.
 */
#include "report/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/filter.h"
#include "report/model.h"
#include "report/order.h"

struct builder {
	const struct model *model;
	const struct plumbing *plumbing;
	const struct site_options *options;
	struct site_table *table;
	struct hash_index groups;
	uint32_t *group_of; /* by stack: site + 1, 0 = filtered out */
	size_t room;
};

int64_t sites_cost(const struct costs *costs, enum report_sort sort)
{
	switch (sort) {
	case REPORT_SORT_LEAKED:
		return costs->leaked_bytes;
	case REPORT_SORT_ALLOCATED:
		return (int64_t)costs->allocated_bytes;
	case REPORT_SORT_ALLOCATIONS:
		return (int64_t)costs->allocations;
	case REPORT_SORT_TEMPORARY:
		return (int64_t)costs->temporary_allocations;
	case REPORT_SORT_SLACK:
		return costs->slack.peak_bytes;
	case REPORT_SORT_PEAK:
		break;
	}
	return costs->peak_bytes;
}

static int add_location(struct site_finder *finder, const struct model *model, uint32_t id)
{
	const struct model_location *location = &model->locations[id];
	uint32_t module = location->module ? model->modules[location->module].path : 0;
	int error = finder_add_location(finder, module);
	for (uint32_t i = 0; i < location->frame_count && !error; i++) {
		const struct model_frame *frame = &model->frames[location->first_frame + i];
		error = finder_add_frame(finder, frame->function, frame->file);
	}
	return error;
}

static int find_sites(struct builder *b)
{
	const struct model *model = b->model;
	struct site_finder *finder = &b->table->finder;
	int error = 0;
	finder->texts = &model->strings;
	finder->plumbing = b->plumbing;
	for (uint32_t id = 1; id <= model->location_count && !error; id++)
		error = add_location(finder, model, id);
	for (size_t id = 1; id <= model->node_count && !error; id++)
		error = finder_add_node(finder, model->nodes[id].parent, model->nodes[id].location);
	return error;
}

static void name_site(const struct builder *b, struct frame_ref ref, struct site *site)
{
	const struct model *model = b->model;
	if (!ref.location)
		return;
	const struct model_location *location = &model->locations[ref.location];
	site->module = location->module ? model->modules[location->module].path : 0;
	if (location->frame_count) {
		const struct model_frame *frame = &model->frames[location->first_frame + ref.frame];
		site->function = frame->function;
		site->file = frame->file;
		site->line = frame->line;
	}
	if (!site->function)
		site->address = location->address;
}

/* Keeps of a full site only what the grouping is by. */
static void reduce_site(struct site *site, enum report_by by)
{
	if (by == REPORT_BY_SITE || by == REPORT_BY_STACK)
		return;
	site->line = 0;
	site->address = 0;
	if (by == REPORT_BY_FUNCTION)
		return;
	site->function = 0;
	/*
	 * A file of the same name is one file, whichever module it was compiled
	 * into.
	 */
	if (by == REPORT_BY_FILE && site->file)
		site->module = 0;
	else
		site->file = 0;
}

static struct site make_site(const struct builder *b, uint32_t stack_index)
{
	const struct model_stack *stack = &b->model->stacks[stack_index];
	enum report_by by = b->options->by;
	struct site site = { 0 };
	if (by == REPORT_BY_PROCESS) {
		site.process = stack->process + 1;
		site.module = b->model->processes[stack->process].executable;
		return site;
	}
	if (by == REPORT_BY_TAG)
		return site; /* all have none */
	name_site(b, finder_place(&b->table->finder, stack->node), &site);
	reduce_site(&site, by);
	if (by == REPORT_BY_STACK)
		site.stack_id = stack_index + 1;
	return site;
}

static uint32_t site_hash(const struct site *site)
{
	uint32_t hash = hash_mix(5, (uint64_t)site->function << 32 | site->file);
	hash = hash_mix(hash, (uint64_t)site->module << 32 | site->line);
	hash = hash_mix(hash, site->address);
	return hash_mix(hash, (uint64_t)site->process << 32 | site->stack_id);
}

struct wanted_site {
	const struct site_table *table;
	const struct site *site;
};

static bool site_equal(const void *context, uint32_t id)
{
	const struct wanted_site *wanted = context;
	const struct site *a = wanted->site, *b = &wanted->table->sites[id - 1];
	return a->function == b->function && a->file == b->file && a->module == b->module &&
	       a->line == b->line && a->address == b->address && a->process == b->process &&
	       a->stack_id == b->stack_id;
}

/* The group of a site, made when it is new; 0 when out of memory. */
static uint32_t group_of_site(struct builder *b, const struct site *site)
{
	struct site_table *table = b->table;
	struct wanted_site wanted = { table, site };
	uint32_t hash = site_hash(site);
	uint32_t id = hash_index_find(&b->groups, hash, site_equal, &wanted);
	if (id)
		return id;
	struct site *sites = array_grow(table->sites, &b->room, table->count + 1, sizeof(*sites));
	if (!sites)
		return 0;
	table->sites = sites;
	sites[table->count] = *site;
	id = (uint32_t)++table->count;
	return hash_index_add(&b->groups, hash, id) ? 0 : id;
}

static int group_stacks(struct builder *b, const struct filter_set *filters)
{
	const struct model *model = b->model;
	struct site_table *table = b->table;
	for (uint32_t i = 0; i < model->stack_count; i++) {
		const struct model_stack *stack = &model->stacks[i];
		if (!filter_passes(filters, stack->node))
			continue;
		struct site site = make_site(b, i);
		uint32_t group = group_of_site(b, &site);
		if (!group)
			return -ENOMEM;
		b->group_of[i] = group;
		table->sites[group - 1].stack_count++;
		costs_add(&table->sites[group - 1].costs, &stack->costs);
		costs_add(&table->costs, &stack->costs);
		table->stack_count++;
	}
	return 0;
}

/* Lays the stacks of each site side by side. */
static int list_stacks(struct builder *b)
{
	struct site_table *table = b->table;
	table->stacks = malloc((table->stack_count + 1) * sizeof(*table->stacks));
	if (!table->stacks)
		return -ENOMEM;
	uint32_t next = 0;
	for (size_t i = 0; i < table->count; i++) {
		table->sites[i].first_stack = next;
		next += table->sites[i].stack_count;
		table->sites[i].stack_count = 0;
	}
	for (uint32_t i = 0; i < b->model->stack_count; i++) {
		if (!b->group_of[i])
			continue;
		struct site *site = &table->sites[b->group_of[i] - 1];
		table->stacks[site->first_stack + site->stack_count++] = i;
	}
	return 0;
}

struct sort_context {
	const struct model *model;
	enum report_sort sort;
};

static int larger_first(int64_t a, int64_t b)
{
	return a > b ? -1 : a < b;
}

static int compare_costs(const struct costs *a, const struct costs *b, enum report_sort sort)
{
	int order = larger_first(sites_cost(a, sort), sites_cost(b, sort));
	for (int key = REPORT_SORT_PEAK; !order && key <= REPORT_SORT_TEMPORARY; key++)
		order = larger_first(sites_cost(a, (enum report_sort)key),
				     sites_cost(b, (enum report_sort)key));
	return order;
}

/* Unknown names come last. */
static int compare_texts(const struct model *model, uint32_t a, uint32_t b)
{
	if (a == b)
		return 0;
	if (!a || !b)
		return a ? -1 : 1;
	return strcmp(model_text(model, a), model_text(model, b));
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int sites_compare(const struct site *a, const struct site *b, const struct model *model,
		  enum report_sort sort)
{
	int order = compare_costs(&a->costs, &b->costs, sort);
	if (!order)
		order = compare_texts(model, a->function, b->function);
	if (!order)
		order = compare_texts(model, a->file, b->file);
	if (!order)
		order = compare_numbers(a->line, b->line);
	if (!order)
		order = compare_texts(model, a->module, b->module);
	if (!order)
		order = compare_numbers(a->address, b->address);
	if (!order)
		order = compare_numbers(a->process, b->process);
	if (!order)
		order = compare_numbers(a->stack_id, b->stack_id);
	return order ? order : compare_numbers(a->part, b->part);
}

static int compare_sites(const void *left, const void *right, void *context)
{
	const struct sort_context *c = context;
	return sites_compare(left, right, c->model, c->sort);
}

static int compare_stacks(const void *left, const void *right, void *context)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct sort_context *c = context;
	int order = compare_costs(&c->model->stacks[a].costs, &c->model->stacks[b].costs, c->sort);
	return order ? order : compare_numbers(a, b);
}

void sites_sort_stacks(struct site_table *table, const struct site *site, const struct model *model,
		       enum report_sort sort, size_t first)
{
	struct sort_context context = { model, sort };
	order_first(table->stacks + site->first_stack, site->stack_count, sizeof(*table->stacks),
		    first, compare_stacks, &context);
}

void sites_sort(struct site_table *table, const struct model *model,
		const struct site_options *options)
{
	struct sort_context context = { model, options->sort };
	order_first(table->sites, table->count, sizeof(*table->sites),
		    options->top ? options->top : table->count, compare_sites, &context);
}

int sites_build(struct site_table *table, const struct model *model,
		const struct site_options *options, const struct plumbing *plumbing,
		const struct filter_set *filters, struct diag *diag)
{
	struct builder b = {
		.model = model, .plumbing = plumbing, .options = options, .table = table
	};
	*table = (struct site_table){ 0 };
	b.group_of = calloc(model->stack_count + 1, sizeof(*b.group_of));
	int error = b.group_of ? find_sites(&b) : -ENOMEM;
	if (!error)
		error = group_stacks(&b, filters);
	if (!error)
		error = list_stacks(&b);
	if (!error)
		sites_sort(table, model, options);
	free(b.group_of);
	hash_index_release(&b.groups);
	if (error) {
		sites_release(table);
		return diag_set(diag, error, "out of memory");
	}
	return 0;
}

void sites_release(struct site_table *table)
{
	free(table->sites);
	free(table->stacks);
	finder_release(&table->finder);
	*table = (struct site_table){ 0 };
}
