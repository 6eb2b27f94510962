/* SPDX-License-Identifier: MIT */
/*
 * The agent's one kind of lock, for growth only; never taken on the steady path.  It gives up rather than hang: at
 * once when this thread holds it already (a signal handler interrupted the growth), and after a while when the
 * holder does not move (stopped, or gone in a way nobody could see).
 */
#ifndef MEMTRACK_AGENT_RT_LOCK_H
#define MEMTRACK_AGENT_RT_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct rt_lock {
	uint32_t word;	 /* 0 free, 1 held, 2 held and waited for */
	uintptr_t owner; /* thread pointer of the holder */
};

bool rt_lock_try(struct rt_lock *lock);
void rt_unlock(struct rt_lock *lock);

#endif
