/* SPDX-License-Identifier: MIT */
/* What the user asked for, after "stomp:" or in MEMTRACK_STOMP.  Read once at start. */
#ifndef MEMTRACK_ALLOCATORS_STOMP_OPTIONS_H
#define MEMTRACK_ALLOCATORS_STOMP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "allocators/stomp/layout.h"

struct stomp_options {
	bool under;	     /* blocks begin at a guard instead of ending at one */
	bool go_on;	     /* after an error */
	uint32_t align;	     /* of blocks for which none is asked; a power of two, at most a page */
	uint64_t quarantine; /* bytes of address space that are kept from reuse after a free */
	uint64_t sample;     /* one block in so many is guarded */
	uint64_t min, max;   /* sizes that are guarded */
	enum stomp_guard guard; /* STOMP_GUARD_NONE: the best there is */
};
extern struct stomp_options stomp_options;

/* A list of name=number and names, separated by commas; NULL: none.  Returns the first word that is not understood, which
 * has no effect; NULL: all were. */
const char *stomp_options_read(const char *text);

#endif
