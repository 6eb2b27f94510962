/* SPDX-License-Identifier: MIT */
/* Error records as text on stderr, for a process that no memtrack watches. */
#ifndef MEMTRACK_ALLOCATORS_STOMP_PRINT_H
#define MEMTRACK_ALLOCATORS_STOMP_PRINT_H

#include "allocators/stomp/layout.h"

/* One error at a time. */
void print_error(const struct stomp_error *error);
/* "memtrack stomp: MESSAGE: WORD", the word up to its "," or ":". */
void print_warning(const char *message, const char *word);

#endif
