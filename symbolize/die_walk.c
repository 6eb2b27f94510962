/* SPDX-License-Identifier: MIT */
/*
 * libdw finds the sibling of a DIE that does not say where it is (clang's never
 * do) by reading over all its descendants, so a plain walk reads everything
 * once for each level above it.  But when a DIE has no sibling libdw tells
 * where it stopped, at the null entry that ends the list, and the entry after
 * that is the sibling of the parent.
 */
#include "symbolize/die_walk.h"

#include <string.h>

static const unsigned char *die_address(const Dwarf_Die *die)
{
	return die->addr;
}

bool die_walk_start(struct die_walk *walk, Dwarf_Die *unit_die)
{
	Dwarf_Off start = dwarf_dieoffset(unit_die) - dwarf_cuoffset(unit_die), next;
	size_t header_size;

	walk->dwarf = dwarf_cu_getdwarf(unit_die->cu);
	if (dwarf_next_unit(walk->dwarf, start, &next, &header_size, NULL, NULL, NULL, NULL, NULL,
			    NULL) ||
	    next <= dwarf_dieoffset(unit_die))
		return false;
	walk->end = die_address(unit_die) + (next - dwarf_dieoffset(unit_die));
	walk->depth = 0;
	walk->stack[0] = *unit_die;
	return true;
}

/* Only ever forward and inside the unit: a damaged sibling reference must not
 * make a loop. */
static bool is_onward(const struct die_walk *walk, const Dwarf_Die *from, const Dwarf_Die *to)
{
	return die_address(to) > die_address(from) && die_address(to) < walk->end;
}

/* Sets the current DIE to what follows the null entry at `*null`, if that is
 * where it points. */
static bool step_over_null(struct die_walk *walk, const unsigned char **null,
			   const unsigned char *after)
{
	if (*null <= after || *null + 1 >= walk->end || **null != 0)
		return false;
	++*null;
	if (**null == 0)
		return false;
	return dwarf_die_addr_die(walk->dwarf, (void *)*null, die_walk_current(walk)) != NULL;
}

/* The current DIE was the last of its list, which ended at `null`. */
static bool climb(struct die_walk *walk, const unsigned char *null)
{
	const unsigned char *after = die_address(die_walk_current(walk));

	while (walk->depth > 1) {
		Dwarf_Die next = { 0 };
		int result;

		if (!null)
			return false; /* the unit is at its end */
		walk->depth--;
		if (step_over_null(walk, &null, after))
			return true;
		if (null > after && null < walk->end && *null == 0)
			continue; /* the parent was the last of its list, too */
		result = dwarf_siblingof(die_walk_current(walk), &next);
		if (result < 0)
			return false;
		if (result == 0) {
			if (!is_onward(walk, die_walk_current(walk), &next) ||
			    die_address(&next) <= after)
				return false;
			*die_walk_current(walk) = next;
			return true;
		}
		null = next.addr;
	}
	return false;
}

bool die_walk_next(struct die_walk *walk, bool descend)
{
	Dwarf_Die *current = die_walk_current(walk), next = { 0 };
	int result;

	if (descend && walk->depth < DIE_DEPTH_MAX && dwarf_child(current, &next) == 0) {
		if (!is_onward(walk, current, &next))
			return false;
		walk->stack[++walk->depth] = next;
		return true;
	}
	if (walk->depth == 0)
		return false;
	memset(&next, 0, sizeof(next));
	result = dwarf_siblingof(current, &next);
	if (result < 0)
		return false;
	if (result > 0)
		return climb(walk, next.addr);
	if (!is_onward(walk, current, &next))
		return false;
	*current = next;
	return true;
}
