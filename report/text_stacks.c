/* SPDX-License-Identifier: MIT */
/*
 * The heaviest stacks of a site, in the table of a text report.  Stacks that
 * print the same, as they differ in frames that are not shown only, are one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/text.h"
#include "report/units.h"

#define SHOWN	   2 /* of each site, when the second makes a tenth of it */
#define INDENT	   6
#define CANDIDATES 10 /* no more stacks can make a tenth each */

/* Stacks that print the same. */
struct alike {
	const struct model_stack *first;
	char *text; /* as printed alone; malloc'ed */
	uint32_t count;
	struct costs costs;
};

/* " in 3 blocks", of what the first column is about; nothing when the cost is a count itself. */
static void put_stack_blocks(struct text *t, const struct costs *costs, enum report_sort sort)
{
	char count[UNITS_TEXT], error[TEXT_ERROR];
	const struct cost_variances *v = &costs->variances;
	int64_t blocks = sort == REPORT_SORT_PEAK ? costs->peak_blocks : costs->leaked_blocks;
	if (sort == REPORT_SORT_PEAK || sort == REPORT_SORT_LEAKED)
		fprintf(t->out, " in %s%s block%s", units_signed_count(count, blocks),
			text_error(t, error, (double)blocks,
				   sort == REPORT_SORT_PEAK ? v->peak_blocks : v->leaked_blocks),
			blocks == 1 ? "" : "s");
	else if (sort == REPORT_SORT_ALLOCATED)
		fprintf(t->out, " by %s%s allocation%s", units_count(count, costs->allocations),
			text_error(t, error, (double)costs->allocations, v->allocations),
			costs->allocations == 1 ? "" : "s");
}

static void put_heading(struct text *t, const struct alike *group)
{
	char cost[96], count[UNITS_TEXT];
	enum report_sort sort = t->report->options->sort;
	text_cost_words(t, cost, sizeof(cost), &group->costs, sort);
	text_spaces(t, 4);
	fputs(cost, t->out);
	put_stack_blocks(t, &group->costs, sort);
	if (group->count == 1)
		fputs(" from\n", t->out);
	else
		fprintf(t->out, " from %s stacks alike\n", units_count(count, group->count));
}

static char *print_alone(struct text *t, const struct model_stack *stack)
{
	FILE *out = t->out;
	char *text = NULL;
	size_t size = 0;
	t->out = open_memstream(&text, &size);
	if (t->out) {
		text_stack(t, stack, 0, INDENT);
		if (ferror(t->out) | fclose(t->out)) {
			free(text);
			text = NULL;
		}
	}
	t->out = out;
	if (!text)
		t->error = -ENOMEM;
	return text;
}

/* Takes the text. */
static size_t add_stack(struct alike *groups, size_t count, const struct model_stack *stack,
			char *text)
{
	size_t i = 0;
	while (i < count && strcmp(groups[i].text, text) != 0)
		i++;
	if (i == count)
		groups[i] = (struct alike){ .first = stack, .text = text };
	else
		free(text);
	groups[i].count++;
	costs_add(&groups[i].costs, &stack->costs);
	return i == count ? count + 1 : count;
}

/* The heaviest first; equal ones stay in order. */
static void sort_groups(struct alike *groups, size_t count, enum report_sort sort)
{
	for (size_t i = 1; i < count; i++) {
		struct alike group = groups[i];
		size_t at = i;
		for (;
		     at && sites_cost(&groups[at - 1].costs, sort) < sites_cost(&group.costs, sort);
		     at--)
			groups[at] = groups[at - 1];
		groups[at] = group;
	}
}

/* Of the heaviest stack, and of those that make a tenth of the site each. */
static size_t list_groups(struct text *t, const struct site *site, struct alike *groups)
{
	const uint32_t *stacks = t->report->table->stacks + site->first_stack;
	enum report_sort sort = t->report->options->sort;
	size_t count = 0;
	sites_sort_stacks(t->report->table, site, t->model, sort, CANDIDATES);
	for (uint32_t i = 0; i < site->stack_count && i < CANDIDATES; i++) {
		const struct model_stack *stack = &t->model->stacks[stacks[i]];
		if (i && sites_cost(&stack->costs, sort) < sites_cost(&site->costs, sort) / 10 + 1)
			break;
		char *text = print_alone(t, stack);
		if (!text)
			break;
		count = add_stack(groups, count, stack, text);
	}
	sort_groups(groups, count, sort);
	return count;
}

/* All of the site's stacks but those of the shown groups; the groups are of its first stacks. */
static void put_others(struct text *t, const struct site *site, const struct alike *groups,
		       size_t count, size_t shown)
{
	struct costs rest = { 0 };
	uint32_t others = site->stack_count, grouped = 0;
	char cost[96], number[UNITS_TEXT], remark[160];
	for (size_t i = 0; i < count; i++) {
		grouped += groups[i].count;
		if (i < shown)
			others -= groups[i].count;
		else
			costs_add(&rest, &groups[i].costs);
	}
	for (uint32_t i = grouped; i < site->stack_count; i++)
		costs_add(&rest,
			  &t->model->stacks[t->report->table->stacks[site->first_stack + i]].costs);
	if (others == 0)
		return;
	text_cost_words(t, cost, sizeof(cost), &rest, t->report->options->sort);
	snprintf(remark, sizeof(remark), "%s more stack%s with %s", units_count(number, others),
		 others == 1 ? "" : "s", cost);
	text_remark(t, 4, TEXT_DIM, remark);
}

void text_stacks(struct text *t, const struct site *site)
{
	struct alike groups[CANDIDATES];
	size_t count = list_groups(t, site, groups);
	size_t shown = count < SHOWN ? count : SHOWN;
	uint32_t previous = 0;
	for (size_t i = 0; i < shown; i++) {
		if (site->stack_count > 1)
			put_heading(t, &groups[i]);
		text_stack(t, groups[i].first, previous, site->stack_count > 1 ? INDENT : 4);
		previous = groups[i].first->node;
	}
	put_others(t, site, groups, count, shown);
	for (size_t i = 0; i < count; i++)
		free(groups[i].text);
}
