/* SPDX-License-Identifier: MIT */
/*
 * Pages that fault, and how they are made: by MADV_GUARD_INSTALL (Linux 6.13), which costs no mapping, else by mprotect,
 * which costs two for each range between closed pages, of the few that a process may have (vm.max_map_count).
 *
 * A page of the arena is closed (it faults, and takes no memory) or open (it can be used).  Threads: any, for pages that
 * the caller owns.
 */
#ifndef MEMTRACK_ALLOCATORS_STOMP_GUARD_H
#define MEMTRACK_ALLOCATORS_STOMP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocators/stomp/layout.h"

/* Finds out what the kernel has, and the budget; `reserved` is a page of the arena to try it on. */
void guard_start(enum stomp_guard wanted, char *reserved);
enum stomp_guard guard_method(void);
/* Most ranges that may be open at a time; 0: no limit. */
uint64_t guard_budget(void);

/* Makes a range that was only reserved into closed pages, for this method. */
bool guard_prepare(enum stomp_guard how, char *pages, size_t size);
/* Closed pages become open ones, full of zeros.  False: the kernel refuses, or the budget is spent; they stay closed. */
bool guard_open(enum stomp_guard how, char *pages, size_t size);
/* Their content is gone.  False: the kernel refuses; they are full of zeros, but open. */
bool guard_close(enum stomp_guard how, char *pages, size_t size);

#endif
