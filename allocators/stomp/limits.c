/* SPDX-License-Identifier: MIT */
/* The limit on address space; see limits.h. */
#include "allocators/stomp/limits.h"

#include <stdbool.h>
#include <stddef.h>

#include "agent/rt/sys.h"
#include "allocators/stomp/arena.h"

#define TABLES (3ull << 30) /* at most: ours, and the agent's block map */

static bool raised; /* the limit is one that was set here */

static int change(pid_t pid, int resource, const struct rlimit *set, struct rlimit *old)
{
	return (int)rt_syscall6(SYS_prlimit64, pid, resource, (long)set, (long)old, 0, 0);
}

static rlim_t more(rlim_t limit)
{
	const rlim_t reserved = stomp_arena.size + TABLES;

	return limit > RLIM_INFINITY - reserved ? limit : limit + reserved;
}

static rlim_t less(rlim_t limit)
{
	const rlim_t reserved = stomp_arena.size + TABLES;

	return limit == RLIM_INFINITY || limit < reserved ? limit : limit - reserved;
}

int limits_change(pid_t pid, int resource, const struct rlimit *set, struct rlimit *old)
{
	struct rlimit larger;
	bool was_raised = raised;
	int error;

	if (resource != RLIMIT_AS || !stomp_arena.size ||
	    (pid && pid != (pid_t)rt_syscall3(SYS_getpid, 0, 0, 0)))
		return change(pid, resource, set, old);
	if (set)
		larger = (struct rlimit){ more(set->rlim_cur), more(set->rlim_max) };
	error = change(pid, resource, set ? &larger : NULL, old);
	if (!error && set)
		raised = true;
	if (!error && old && was_raised)
		*old = (struct rlimit){ less(old->rlim_cur), less(old->rlim_max) };
	return error;
}
