/* SPDX-License-Identifier: MIT */
/* See diff_lines.h. */
#include "report/diff_lines.h"

#include <errno.h>
#include <stdlib.h>

#include "report/view.h"

struct wanted_line {
	const struct diff_lines *lines;
	uint32_t row, line;
};

static bool line_equal(const void *context, uint32_t id)
{
	const struct wanted_line *wanted = context;
	const struct diff_line *line = &wanted->lines->items[id - 1];
	return line->row == wanted->row && line->line == wanted->line;
}

/* The entry, made when it is new; NULL when out of memory. */
static struct diff_line *get_line(struct diff_lines *lines, uint32_t row, uint32_t line)
{
	struct wanted_line wanted = { lines, row, line };
	uint32_t hash = hash_mix(5, (uint64_t)row << 32 | line);
	uint32_t id = hash_index_find(&lines->index, hash, line_equal, &wanted);
	if (id)
		return &lines->items[id - 1];
	struct diff_line *items =
		array_grow(lines->items, &lines->room, lines->count + 1, sizeof(*items));
	if (!items)
		return NULL;
	lines->items = items;
	if (hash_index_add(&lines->index, hash, (uint32_t)lines->count + 1))
		return NULL;
	items[lines->count] = (struct diff_line){ .row = row, .line = line };
	return &items[lines->count++];
}

int diff_lines_add(struct diff_lines *lines, const struct diff *diff, uint32_t row, enum side side,
		   uint32_t site)
{
	const struct site *sites = diff->match.views[side]->table.sites;
	struct diff_line *line = get_line(lines, row, sites[site].line);
	if (!line)
		return -ENOMEM;
	int64_t cost = sites_cost(&sites[site].costs, diff->sort);
	uint32_t largest = line->sites[side];
	if (!largest || cost > sites_cost(&sites[largest - 1].costs, diff->sort))
		line->sites[side] = site + 1;
	if (__builtin_add_overflow(line->costs[side], cost, &line->costs[side]))
		line->costs[side] = INT64_MAX;
	return 0;
}

static bool is_only_of(const struct diff_line *line, enum side side)
{
	return line->sites[side] && !line->sites[!side];
}

static uint64_t change_of(const struct diff_line *line)
{
	return diff_magnitude(diff_difference(line->costs[SIDE_OLD], line->costs[SIDE_NEW]));
}

/* The larger change; of equal ones that of the new recording, its larger cost, then the smaller number. */
static bool is_better(const struct diff_line *a, const struct diff_line *b)
{
	uint64_t by_a = change_of(a), by_b = change_of(b);
	if (by_a != by_b)
		return by_a > by_b;
	if (!a->sites[SIDE_NEW] != !b->sites[SIDE_NEW])
		return a->sites[SIDE_NEW];
	if (a->costs[SIDE_NEW] != b->costs[SIDE_NEW])
		return a->costs[SIDE_NEW] > b->costs[SIDE_NEW];
	return a->line < b->line;
}

/* What is known of a row. */
struct choice {
	const struct diff_line *best;
	const struct diff_line *costly[SIDES]; /* the last with a cost */
	uint32_t count[SIDES];		       /* how many there are of these */
};

static void consider(struct choice *choice, const struct diff_line *line)
{
	if (!choice->best || is_better(line, choice->best))
		choice->best = line;
	for (int side = 0; side < SIDES; side++) {
		if (line->costs[side] == 0)
			continue;
		choice->costly[side] = line;
		choice->count[side]++;
	}
}

/* A single line that went and a single one that came are one that moved. */
static bool has_moved(const struct choice *choice)
{
	return choice->count[SIDE_OLD] == 1 && choice->count[SIDE_NEW] == 1 &&
	       is_only_of(choice->costly[SIDE_OLD], SIDE_OLD) &&
	       is_only_of(choice->costly[SIDE_NEW], SIDE_NEW);
}

static void apply(const struct choice *choice, struct diff_row *row)
{
	const struct diff_line *line = has_moved(choice) ? choice->costly[SIDE_NEW] : choice->best;
	row->side = line->sites[SIDE_NEW] ? SIDE_NEW : SIDE_OLD;
	for (int side = 0; side < SIDES; side++) {
		if (line->sites[side])
			row->sites[side] = line->sites[side];
	}
}

int diff_lines_choose(const struct diff_lines *lines, struct diff *diff)
{
	struct choice *choices = calloc(diff->count + 1, sizeof(*choices));
	if (!choices)
		return -ENOMEM;
	for (size_t i = 0; i < lines->count; i++)
		consider(&choices[lines->items[i].row - 1], &lines->items[i]);
	for (size_t i = 0; i < diff->count; i++)
		apply(&choices[i], &diff->rows[i]);
	free(choices);
	return 0;
}

void diff_lines_release(struct diff_lines *lines)
{
	free(lines->items);
	hash_index_release(&lines->index);
}
