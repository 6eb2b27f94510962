/* SPDX-License-Identifier: MIT */
/* Counters of a shard: found by stack node, made on first use; and what is kept beside them. */
#ifndef MEMTRACK_AGENT_COUNTERS_H
#define MEMTRACK_AGENT_COUNTERS_H

#include <stdint.h>

#include "agent/layout.h"
#include "agent/rt/hidden.h"
#include "agent/threads.h"

/* What is recorded of an event.  Set once at start. */
enum record_mode {
	RECORD_EXACT,	/* every event, as it is: the way that must be fast */
	RECORD_SAMPLED, /* see sample.h; beside the counters are variances */
	RECORD_SLACK,	/* see record_slack.h; beside the counters is slack */
};
extern HIDDEN uint32_t record_mode;

struct seg_counter *counter_find(struct shard *shard, uint32_t *node);

/* The shard's counter for a stack.  Never NULL: events without a stack, and those that find no room, go to the shard's
 * `none`.  *node becomes SEG_UNATTRIBUTED then. */
static inline struct seg_counter *counter_of(struct shard *shard, uint32_t *node)
{
	struct seg_counter *last = shard->last;

	return __builtin_expect(last && last->node == *node, 1) ? last : counter_find(shard, node);
}

/* The shard's counter for blocks of a size. */
static inline struct seg_counter *counter_of_size(struct shard *shard, uint64_t size)
{
	return &shard->counts->sizes[seg_size_index(size)];
}

/* The variances of one of the shard's counters, in a sampled recording; NULL: there was no room. */
struct seg_variance *counter_variance(struct shard *shard, const struct seg_counter *counter);

/* The slack of one of the shard's counters, likewise. */
struct counter_slack {
	struct seg_slack *counts;
	int64_t *live; /* in private memory: at a fork, a child gets a copy of that moment */
};
struct counter_slack counter_slack(struct shard *shard, const struct seg_counter *counter);

/* Before a change in epoch `epoch`: saves what was live at the maximum.  See peak.h. */
static inline void counter_stamp(struct seg_counter *c, uint32_t epoch)
{
	if (c->epoch == epoch)
		return;
	c->peak_blocks = (int64_t)(c->allocations - c->frees);
	c->peak_bytes = (int64_t)(c->bytes - c->freed_bytes);
	c->epoch = epoch;
}

#endif
