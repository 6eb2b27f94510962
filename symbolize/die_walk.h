/* SPDX-License-Identifier: MIT */
/*
 * A walk over the DIE tree of one unit, without recursion and in time linear to
 * its size.
 */
#ifndef MEMTRACK_SYMBOLIZE_DIE_WALK_H
#define MEMTRACK_SYMBOLIZE_DIE_WALK_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/* Deeper DIEs are passed over. */
#define DIE_DEPTH_MAX 200

struct die_walk {
	Dwarf *dwarf;
	const unsigned char *end;	    /* of the unit's DIEs */
	unsigned int depth;		    /* of the current DIE; the unit's own is at 0 */
	Dwarf_Die stack[DIE_DEPTH_MAX + 1]; /* the current DIE and those around it */
};

/* Starts at the unit's own DIE.  False if the unit is damaged. */
bool die_walk_start(struct die_walk *walk, Dwarf_Die *unit_die);
/* Moves on, into the current DIE's children if `descend`.  False at the end,
 * which is also where damage was met. */
bool die_walk_next(struct die_walk *walk, bool descend);

static inline Dwarf_Die *die_walk_current(struct die_walk *walk)
{
	return &walk->stack[walk->depth];
}

#endif
