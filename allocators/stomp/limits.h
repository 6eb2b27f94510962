/* SPDX-License-Identifier: MIT */
/*
 * RLIMIT_AS, as a program sets it for itself: it does not know of the address space that we have reserved, of which next to
 * nothing is used.  What it sets is made larger by that, and smaller again when it asks.
 */
#ifndef MEMTRACK_ALLOCATORS_STOMP_LIMITS_H
#define MEMTRACK_ALLOCATORS_STOMP_LIMITS_H

#include <sys/resource.h>
#include <sys/types.h>

/* prlimit(2); 0, or -errno. */
int limits_change(pid_t pid, int resource, const struct rlimit *set, struct rlimit *old);

#endif
