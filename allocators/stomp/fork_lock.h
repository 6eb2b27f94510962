/* SPDX-License-Identifier: MIT */
/* A lock that is held over a fork, so that the child finds consistent what it guards. */
#ifndef MEMTRACK_ALLOCATORS_STOMP_FORK_LOCK_H
#define MEMTRACK_ALLOCATORS_STOMP_FORK_LOCK_H

#include <stdbool.h>

#include "agent/rt/lock.h"

/* Before.  Not to be had when a signal handler forks in the midst of what the lock guards: then it stays as it is. */
static inline bool fork_lock(struct rt_lock *lock)
{
	return rt_lock_try(lock);
}

static inline void fork_unlock_parent(struct rt_lock *lock, bool had)
{
	if (had)
		rt_unlock(lock);
}

/* Whoever held it else does not exist here. */
static inline void fork_unlock_child(struct rt_lock *lock)
{
	*lock = (struct rt_lock){ 0 };
}

#endif
