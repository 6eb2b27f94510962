/* SPDX-License-Identifier: MIT */
/*
 * Recording one event.  Called by the hooks of any thread, also in signal handlers; `frame` is the hook's own frame
 * (built with a frame pointer).  Order: an allocation is recorded after the real call, a free before it; a realloc
 * takes the old record before the call and puts it back when the call fails.  Keeps errno.
 */
#ifndef MEMTRACK_AGENT_RECORD_H
#define MEMTRACK_AGENT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/blocks.h"

struct shard;

void record_alloc(const void *block, size_t size, const uintptr_t *frame);
/* An allocation of before the agent could start, of which only the calling address is known; 0: not even that. */
void record_early_alloc(const void *block, size_t size, uintptr_t caller);
void record_free(const void *block, const uintptr_t *frame);
/* A block of before the fork, in a forked child; `shard` is for those. */
void record_inherited(struct shard *shard, const struct block *b);
/* The free of a bootstrap block, which may never have been recorded. */
void record_early_free(const void *block, const uintptr_t *frame);
/* The old block of a realloc that succeeded: `old` is what block_take said before the call.  `moved`: into a new block;
 * false: realloc(p, 0) that only freed. */
void record_replaced(const void *block, const struct block *old, const uintptr_t *frame,
		     bool moved);
/* The same when the mode is not RECORD_EXACT.  `slack`: what record_slack_of said of the old block before the call. */
void record_replaced_apart(const void *block, const struct block *old, uint64_t slack,
			   const uintptr_t *frame, bool moved);
/* The old block of a realloc that failed. */
void record_put_back(const void *block, const struct block *old);

#endif
