/* SPDX-License-Identifier: MIT */
/* Slack of blocks; see record_slack.h. */
#include "agent/record_slack.h"

#include "agent/counters.h"
#include "agent/real.h"
#include "agent/rt/sys.h"

enum {
	MOST_ASKING =
		4 /* inside each other: signal handlers may be, an allocator that recurses must end */
};

void record_slack_start(void)
{
	real.malloc_usable_size(NULL);
}

uint64_t record_slack_of(const void *block, uint64_t size)
{
	struct thread *t = &thread_self;
	size_t usable;

	if (bootstrap_owns(block) || t->asking >= MOST_ASKING)
		return 0;
	t->asking++;
	usable = real.malloc_usable_size((void *)block);
	t->asking--;
	return usable > size ? usable - size : 0;
}

/* Before a change: saves what was live at the maximum, as counter_stamp does. */
static void stamp(struct seg_slack *slack, uint32_t epoch)
{
	if (slack->epoch == epoch)
		return;
	slack->peak = (int64_t)(slack->allocated - slack->freed);
	slack->epoch = epoch;
}

void record_slack_allocated(struct shard *shard, const struct seg_counter *counter, uint64_t slack)
{
	struct counter_slack s = counter_slack(shard, counter);

	if (!s.counts)
		return;
	stamp(s.counts, counter->epoch);
	s.counts->allocated += slack;
	*s.live += (int64_t)slack;
}

void record_slack_freed(struct shard *shard, const struct seg_counter *counter, uint64_t slack)
{
	struct counter_slack s = counter_slack(shard, counter);

	if (!s.counts)
		return;
	stamp(s.counts, counter->epoch);
	s.counts->freed += slack;
	*s.live -= (int64_t)slack;
}

/* -- forked children ------------------------------------------------------------------------------ */

struct gathering {
	int64_t *slack;
	uint32_t nodes;
};

/* Counters that the parent made since the fork have no slack in our memory. */
static void gather_shard(const struct shard *shard, void *context)
{
	const struct gathering *g = context;

	g->slack[SEG_UNATTRIBUTED] += shard->live_none_slack;
	for (uint32_t i = 0; i < shard->backed_counters; i++) {
		struct seg_place place = seg_chunk_of(i, SEG_COUNTER_FIRST);
		uint32_t node = shard->chunks[place.chunk][place.position].node;

		if (node < g->nodes)
			g->slack[node] += shard->live_slack[place.chunk][place.position];
	}
}

int64_t *record_slack_gather(uint32_t nodes)
{
	struct gathering g = { rt_map(nodes * sizeof(*g.slack)), nodes };

	if (g.slack)
		threads_visit(gather_shard, &g);
	return g.slack;
}

void record_slack_inherit(struct shard *shard, const int64_t *slack, uint32_t nodes)
{
	for (uint32_t i = SEG_UNATTRIBUTED; i < nodes; i++) {
		uint32_t node = i;

		if (slack[i] > 0)
			record_slack_allocated(shard, counter_of(shard, &node), (uint64_t)slack[i]);
	}
}

void record_slack_release(int64_t *slack, uint32_t nodes)
{
	if (slack)
		rt_unmap(slack, nodes * sizeof(*slack));
}
