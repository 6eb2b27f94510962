/* SPDX-License-Identifier: MIT */
/* What each stack has live, of a process that may be running; see image.h. */
#include "cmd/image_private.h"

/* No more than `count` counters of a shard. */
static void take_counters(struct image_source source, const struct seg_shard *shard, uint32_t count,
			  uint32_t nodes, image_take_live *take, void *context)
{
	struct records records = { shard->chunks, SEG_COUNTER_CHUNKS, SEG_COUNTER_FIRST,
				   sizeof(struct seg_counter) };
	struct seg_counter counters[COUNTERS_AT_ONCE];

	for (uint32_t from = 0, n; from < count; from += n) {
		n = at_most(count - from, COUNTERS_AT_ONCE);
		read_records(source, records, from, n, counters);
		for (uint32_t i = 0; i < n; i++) {
			const struct seg_counter *c = &counters[i];

			if (c->node >= SEG_FIRST_NODE && c->node < nodes)
				take(context, c->node, c->allocations - c->frees,
				     c->bytes - c->freed_bytes);
		}
	}
}

uint32_t image_read_live(struct image_source source, const struct seg_header *header,
			 image_take_live *take, void *context)
{
	const struct records shards = { header->shard_chunks, SEG_SHARD_CHUNKS, SEG_SHARD_FIRST,
					sizeof(struct seg_shard) };
	uint32_t count = at_most(header->shard_count,
				 records_limit(source, sizeof(struct seg_shard), MOST_SHARDS));
	uint32_t nodes = at_most(header->node_count,
				 records_limit(source, sizeof(struct seg_node), MOST_NODES));
	/* Of all shards together: damaged ones may all claim the same ones. */
	uint32_t left = records_limit(source, sizeof(struct seg_counter), MOST_COUNTERS);
	struct seg_shard shard;

	for (uint32_t i = 0; i < count; i++) {
		read_records(source, shards, i, 1, &shard);
		take(context, SEG_UNATTRIBUTED, shard.none.allocations - shard.none.frees,
		     shard.none.bytes - shard.none.freed_bytes);
		shard.counter_count = at_most(shard.counter_count, left);
		left -= shard.counter_count;
		take_counters(source, &shard, shard.counter_count, nodes, take, context);
	}
	return nodes;
}
