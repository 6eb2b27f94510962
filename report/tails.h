/* SPDX-License-Identifier: MIT */
/*
 * Pairs paths of two sides by the ends they have in common, longest first: of
 * /build/1/src/x.c, /build/1/lib/x.c and /tmp/src/x.c the first and the last are one file.
 */
#ifndef MEMTRACK_REPORT_TAILS_H
#define MEMTRACK_REPORT_TAILS_H

#include <stddef.h>
#include <stdint.h>

struct tail {
	uint32_t group;	  /* only paths of one group are paired */
	uint32_t side;	  /* 0 or 1: only paths of different sides */
	const char *path; /* NULL: not known; goes with the only one that is left of its group */
	uint32_t id;
};

typedef void tails_pair(void *context, uint32_t old_id, uint32_t new_id);

/*
 * Calls pair() at most once for each path.  Base names at least must be equal.
 * The tails are reordered; the result does not depend on how they lay.
 */
void tails_match(struct tail *tails, size_t count, tails_pair *pair, void *context);

#endif
