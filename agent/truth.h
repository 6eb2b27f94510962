/* SPDX-License-Identifier: MIT */
/*
 * Truth mode, in a test build of the agent only (make truth): every n-th stack is walked again by an independent
 * unwinder, libunwind, and differences are counted (SEG_TRUTH_*) and printed.  The shipped agent has none of it.
 */
#ifndef MEMTRACK_AGENT_TRUTH_H
#define MEMTRACK_AGENT_TRUTH_H

#include <stdint.h>

struct shard;

#ifdef MEMTRACK_TRUTH
void truth_check(struct shard *shard, const uintptr_t *frame, uint32_t node);
#else
static inline void truth_check(struct shard *shard, const uintptr_t *frame, uint32_t node)
{
	(void)shard;
	(void)frame;
	(void)node;
}
#endif

#endif
