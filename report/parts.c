/* SPDX-License-Identifier: MIT */
/* See parts.h. */
#include "report/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "report/model.h"

static int refuse_at(const struct report_options *o, struct diag *diag)
{
	diag_set(diag, -EINVAL,
		 "--by %s cannot be combined with --at: recordings know the costs of a %s at the "
		 "peak and at the end only",
		 report_by_names[o->by].name, report_by_names[o->by].name);
	diag_hint(diag, "report by site, stack, function, file or module");
	return -EINVAL;
}

int parts_check_options(const struct report_options *o, struct diag *diag)
{
	if (is_by_part(o->by) && o->at.kind)
		return refuse_at(o, diag);
	if (!is_by_part(o->by) || !(o->filters.count || o->excludes.count || o->focus.count ||
				    o->ignore.count || o->suppressions.count))
		return 0;
	diag_set(diag, -EINVAL,
		 "--by %s cannot be combined with --filter, --exclude, --focus, --ignore or "
		 "--suppressions: recordings do not divide the costs of a %s by stack",
		 report_by_names[o->by].name, report_by_names[o->by].name);
	diag_hint(diag,
		  "leave these options out, or report by site, stack, function, file or module");
	return -EINVAL;
}

static int refuse_old(const struct model *model, enum report_by by, const struct report_list *files,
		      struct diag *diag)
{
	diag_set(
		diag, -EINVAL,
		"cannot report by %s: recordings hold no such data when, like '%s', they are of an "
		"earlier memtrack",
		report_by_names[by].name, files->items[model->without_parts - 1]);
	diag_hint(diag, "record the program again, or report by site, stack, function, file, "
			"module or process");
	return -EINVAL;
}

/* Equal sizes are one row. */
static struct site *site_of(const struct site_table *table, const struct model *model,
			    const struct model_part *part)
{
	for (size_t i = 0; part->kind == PART_SIZE && i < table->count; i++) {
		if (model->parts[table->sites[i].part - 1].key == part->key)
			return &table->sites[i];
	}
	return &table->sites[table->count];
}

static void add_parts(struct site_table *table, const struct model *model, enum part_kind kind)
{
	for (size_t i = 0; i < model->part_count; i++) {
		const struct model_part *part = &model->parts[i];
		if (part->kind != kind)
			continue;
		struct site *site = site_of(table, model, part);
		if (site == &table->sites[table->count]) {
			site->part = (uint32_t)i + 1;
			table->count++;
		}
		costs_add(&site->costs, &part->costs);
		costs_add(&table->costs, &part->costs);
	}
}

static int compare_sizes(const void *left, const void *right, void *context)
{
	const struct model *model = context;
	const struct site *a = left, *b = right;
	uint64_t x = model->parts[a->part - 1].key, y = model->parts[b->part - 1].key;
	return x < y ? -1 : x > y;
}

int parts_build(struct site_table *table, const struct model *model,
		const struct site_options *options, const struct report_list *files,
		struct diag *diag)
{
	*table = (struct site_table){ 0 };
	if (model->without_parts)
		return refuse_old(model, options->by, files, diag);
	table->sites = calloc(model->part_count + 1, sizeof(*table->sites));
	if (!table->sites)
		return diag_set(diag, -ENOMEM, "out of memory");
	add_parts(table, model, options->by == REPORT_BY_SIZE ? PART_SIZE : PART_THREAD);
	sites_sort(table, model, options);
	if (options->by == REPORT_BY_SIZE) {
		size_t shown =
			options->top && options->top < table->count ? options->top : table->count;
		qsort_r(table->sites, shown, sizeof(*table->sites), compare_sizes, (void *)model);
	}
	return 0;
}
