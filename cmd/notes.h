/* SPDX-License-Identifier: MIT */
/* The limits that bit in a run, as lines for people. */
#ifndef MEMTRACK_CMD_NOTES_H
#define MEMTRACK_CMD_NOTES_H

#include "agent/layout.h"

/* `allocator`: path of the library that serves malloc.  One line a note; NULL when there is nothing to note (or no memory).  malloc'ed. */
char *notes_of(const struct seg_header *header, const char *allocator);

#endif
