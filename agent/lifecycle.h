/* SPDX-License-Identifier: MIT */
/*
 * The agent's life in a process: starts at the first call of a hook (which may be before any constructor), never
 * ends before the process does, and starts anew in a forked child.
 */
#ifndef MEMTRACK_AGENT_LIFECYCLE_H
#define MEMTRACK_AGENT_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/rt/hidden.h"
#include "agent/rt/sys.h"

/* A page of its own that the kernel wipes in every forked child (MADV_WIPEONFORK), however it was forked: the child
 * can never write into its parent's segment. */
union live_page {
	struct {
		uint32_t active;
		uint32_t resting; /* started, but not to record: --trace=none */
	};
	char page[RT_PAGE];
};
extern HIDDEN union live_page agent_live;

/* Starts or restarts recording if it should be on.  False: only pass calls on. */
bool agent_wake(void);

static inline bool agent_is_on(void)
{
	return __builtin_expect(agent_live.active, 1) || agent_wake();
}

#endif
