/* SPDX-License-Identifier: MIT */
/*
 * Slack (--slack): how much more than was asked for the real allocator says that a block may be used for.  It is asked
 * after each allocation, and again before the block is freed: nothing needs to be kept for each block.  Kept beside the
 * counters, and changed by their owner, after them.
 */
#ifndef MEMTRACK_AGENT_RECORD_SLACK_H
#define MEMTRACK_AGENT_RECORD_SLACK_H

#include <stdint.h>

#include "agent/layout.h"
#include "agent/threads.h"

/* Before anything is recorded: an allocator may allocate when it is asked for the first time (tcmalloc). */
void record_slack_start(void);
/* Of a live block of `size` bytes as asked for. */
uint64_t record_slack_of(const void *block, uint64_t size);
/* `counter`: as it is after the event. */
void record_slack_allocated(struct shard *shard, const struct seg_counter *counter, uint64_t slack);
void record_slack_freed(struct shard *shard, const struct seg_counter *counter, uint64_t slack);

/*
 * In a forked child, the slack of the blocks that it inherits: by node, of nodes below `nodes`; NULL: no memory.  It is
 * taken from what the parent had counted at the fork, not by asking for each block: a block may lie in memory that the
 * child has no access to (MADV_DONTFORK), and there may be millions.  Before threads_forget.
 */
int64_t *record_slack_gather(uint32_t nodes);
/* Enters it into the shard that has those blocks. */
void record_slack_inherit(struct shard *shard, const int64_t *slack, uint32_t nodes);
void record_slack_release(int64_t *slack, uint32_t nodes);

#endif
