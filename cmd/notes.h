/* SPDX-License-Identifier: MIT */
/* The limits that bit in a run, as lines for people. */
#ifndef MEMTRACK_CMD_NOTES_H
#define MEMTRACK_CMD_NOTES_H

#include <stdbool.h>

#include "agent/layout.h"

/* Paths of libraries. */
struct notes_of_allocator {
	const char *served; /* malloc, as seen in the process; "" unknown */
	const char *asked;  /* by --malloc; NULL: none, or not known */
	bool our_operators; /* our C++ operators came before those of the allocator */
};

/* One line a note; NULL when there is nothing to note (or no memory).  malloc'ed. */
char *notes_of(const struct seg_header *header, const struct notes_of_allocator *allocator);

#endif
