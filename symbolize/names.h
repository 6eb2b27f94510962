/* SPDX-License-Identifier: MIT */
/*
 * The strings a symbolizer hands out: each distinct text once, kept until the
 * symbolizer goes; and next to a linkage name its readable form, worked out
 * once.
 */
#ifndef MEMTRACK_SYMBOLIZE_NAMES_H
#define MEMTRACK_SYMBOLIZE_NAMES_H

#include <stddef.h>

struct name;

/* All zero is an empty collection. */
struct names {
	struct name *
		*slots; /* open addressing, a power of two of them, at most three quarters used */
	size_t slots_count;
	size_t used;
};

/* The one copy of `text`, or NULL when out of memory. */
const char *names_intern(struct names *names, const char *text);
/* The readable form of a linkage name, itself interned; NULL when it is not
 * mangled (or out of memory: a name less readable is better than none). */
const char *names_readable(struct names *names, const char *linkage);
void names_release(struct names *names);

#endif
