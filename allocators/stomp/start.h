/* SPDX-License-Identifier: MIT */
/* The library's life in a process: starts at the first call of a hook, anew in a forked child; never ends. */
#ifndef MEMTRACK_ALLOCATORS_STOMP_START_H
#define MEMTRACK_ALLOCATORS_STOMP_START_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/rt/sys.h"

/* Wiped by the kernel in every forked child (MADV_WIPEONFORK), however it was forked. */
union stomp_live {
	uint32_t active;
	char page[RT_PAGE];
};
extern union stomp_live stomp_live;

/* False: it is still starting, or not yet relocated. */
bool stomp_wake(void);

static inline bool stomp_is_on(void)
{
	return __builtin_expect(stomp_live.active, 1) || stomp_wake();
}

#endif
