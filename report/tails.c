/* SPDX-License-Identifier: MIT */
/*
 * See tails.h.  Sorted by their components from the last to the first, paths
 * with a common tail lie side by side, and those with a longer one closer: what
 * finds no partner within its own range is left for the range around it.
 */
#include "report/tails.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COMPONENTS_MAX 64 /* more of a path are not compared: a bound on the recursion */

/* A part of a path: what lies before it, and its end. */
struct component {
	const char *start, *end;
};

/* The component that ends before `end`; empty at the beginning of the path. */
static struct component component_before(const char *path, const char *end)
{
	while (end > path && end[-1] == '/')
		end--;
	const char *start = end;
	while (start > path && start[-1] != '/')
		start--;
	return (struct component){ start, end };
}

static int compare_components(struct component a, struct component b)
{
	size_t a_length = (size_t)(a.end - a.start), b_length = (size_t)(b.end - b.start);
	int order = memcmp(a.start, b.start, a_length < b_length ? a_length : b_length);
	return order ? order : (a_length > b_length) - (a_length < b_length);
}

/* How many components from the end are equal; *order is that of the first that are not. */
static size_t compare_paths(const char *a, const char *b, int *order)
{
	struct component of_a = { a, a + strlen(a) }, of_b = { b, b + strlen(b) };
	for (size_t same = 0; same < COMPONENTS_MAX; same++) {
		of_a = component_before(a, same ? of_a.start : of_a.end);
		of_b = component_before(b, same ? of_b.start : of_b.end);
		*order = compare_components(of_a, of_b);
		if (*order)
			return same;
		if (of_a.start == of_a.end)
			break;
	}
	*order = 0;
	return COMPONENTS_MAX;
}

static int compare_tails(const void *left, const void *right)
{
	const struct tail *a = left, *b = right;
	int order = (a->group > b->group) - (a->group < b->group);
	if (!order)
		order = !a->path - !b->path;
	if (!order && a->path)
		compare_paths(a->path, b->path, &order);
	if (!order)
		order = (a->side > b->side) - (a->side < b->side);
	return order ? order : (a->id > b->id) - (a->id < b->id);
}

static bool is_same(const struct tail *a, const struct tail *b)
{
	int order;
	return compare_paths(a->path, b->path, &order) == COMPONENTS_MAX;
}

static bool same_tail(const struct tail *a, const struct tail *b, size_t depth)
{
	int order;
	return compare_paths(a->path, b->path, &order) >= depth;
}

struct pairing {
	tails_pair *pair;
	void *context;
};

/* Pairs tails of the two sides in their order; the others are moved to the front and counted. */
static size_t pair_in_order(struct tail *tails, size_t count, const struct pairing *p)
{
	size_t next[2] = { 0, 0 }, left = 0;
	for (;;) {
		for (uint32_t side = 0; side < 2; side++) {
			while (next[side] < count && tails[next[side]].side != side)
				next[side]++;
		}
		if (next[0] == count || next[1] == count)
			break;
		p->pair(p->context, tails[next[0]++].id, tails[next[1]++].id);
	}
	/* One side is used up; of the other all from here on are left. */
	uint32_t rest = next[0] == count;
	for (size_t i = next[rest]; i < count; i++) {
		if (tails[i].side == rest)
			tails[left++] = tails[i];
	}
	return left;
}

/* Pairs tails that have `depth` components in common; returns how many are left, at the front. */
static size_t match_range(struct tail *tails, size_t count, size_t depth, const struct pairing *p)
{
	size_t left = 0;
	if (count && is_same(&tails[0], &tails[count - 1]))
		return pair_in_order(tails, count, p);
	for (size_t start = 0, end; start < count; start = end) {
		for (end = start + 1; end < count; end++) {
			if (!same_tail(&tails[start], &tails[end], depth + 1))
				break;
		}
		size_t kept = end - start == 1
				      ? 1
				      : match_range(tails + start, end - start, depth + 1, p);
		memmove(tails + left, tails + start, kept * sizeof(*tails));
		left += kept;
	}
	return depth ? pair_in_order(tails, left, p) : left;
}

/* A path that is not known can only be the one that is left. */
static void match_unknown(const struct tail *known, size_t known_count, const struct tail *unknown,
			  size_t unknown_count, const struct pairing *p)
{
	const struct tail *other = unknown_count == 2 ? &unknown[1] : known;
	if (unknown_count == 0 || known_count + unknown_count != 2 || other->side == unknown->side)
		return;
	bool first = unknown->side == 0;
	p->pair(p->context, first ? unknown->id : other->id, first ? other->id : unknown->id);
}

static void match_group(struct tail *tails, size_t count, const struct pairing *p)
{
	size_t known = 0;
	while (known < count && tails[known].path)
		known++;
	size_t left = match_range(tails, known, 0, p);
	match_unknown(tails, left, tails + known, count - known, p);
}

void tails_match(struct tail *tails, size_t count, tails_pair *pair, void *context)
{
	struct pairing p = { pair, context };
	qsort(tails, count, sizeof(*tails), compare_tails);
	for (size_t start = 0, end; start < count; start = end) {
		for (end = start + 1; end < count && tails[end].group == tails[start].group; end++)
			;
		if (end - start > 1)
			match_group(tails + start, end - start, &p);
	}
}
