/* SPDX-License-Identifier: MIT */
/* Slack out of a segment, beside the costs of the same stacks; called by image.c. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/image_private.h"
#include "cmd/image_sums.h"

struct slack_pass {
	struct image *image;
	struct image_source source;
	struct peak_rule peak;
	uint32_t *place; /* by node: 1 + its index in the costs, 0 none */
};

static void add_slack(const struct slack_pass *pass, uint32_t node, const struct seg_slack *s,
		      bool inherited)
{
	int64_t live = (int64_t)(s->allocated - s->freed);
	bool saved = !pass->peak.at_max && s->epoch == pass->peak.epoch;
	struct image_slack *sum;

	if (node >= pass->image->node_count || !pass->place[node])
		return;
	sum = &pass->image->slack[pass->place[node] - 1];
	sum->allocated += inherited ? 0 : s->allocated;
	add_wrapping(&sum->live, live);
	add_wrapping(&sum->peak, saved ? s->peak : live);
}

static void take_shard(const struct slack_pass *pass, const struct seg_shard *shard)
{
	uint32_t count =
		at_most(shard->counter_count,
			records_limit(pass->source, sizeof(struct seg_counter), MOST_COUNTERS));
	struct records counter_records = { shard->chunks, SEG_COUNTER_CHUNKS, SEG_COUNTER_FIRST,
					   sizeof(struct seg_counter) };
	struct records slack_records = { shard->slack_chunks, SEG_COUNTER_CHUNKS, SEG_COUNTER_FIRST,
					 sizeof(struct seg_slack) };
	struct seg_counter counters[COUNTERS_AT_ONCE];
	struct seg_slack slack[COUNTERS_AT_ONCE];

	for (uint32_t from = 0, n; from < count; from += n) {
		n = at_most(count - from, COUNTERS_AT_ONCE);
		read_records(pass->source, counter_records, from, n, counters);
		read_records(pass->source, slack_records, from, n, slack);
		for (uint32_t i = 0; i < n; i++)
			if (counters[i].node >= SEG_FIRST_NODE)
				add_slack(pass, counters[i].node, &slack[i], shard->inherited);
	}
	add_slack(pass, SEG_UNATTRIBUTED, &shard->none_slack, shard->inherited);
}

static void take_shards(const struct slack_pass *pass)
{
	const struct seg_header *h = &pass->image->header;
	uint32_t count = image_shard_count(pass->source, h);
	struct seg_shard shard;

	for (uint32_t i = 0; i < count; i++) {
		image_read_shard(pass->source, h, i, &shard);
		take_shard(pass, &shard);
	}
}

int image_load_slack(struct image_source source, struct image *image, struct diag *diag)
{
	struct slack_pass pass = {
		.image = image,
		.source = source,
		.peak = peak_rule_of(&image->header),
	};

	if (!(image->header.flags & SEG_WITH_SLACK))
		return 0;
	image->slack = calloc(image->cost_count + 1, sizeof(*image->slack));
	pass.place = calloc(image->node_count + 1ul, sizeof(*pass.place));
	if (!image->slack || !pass.place) {
		free(pass.place);
		return diag_set(diag, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < image->cost_count; i++)
		if (image->costs[i].node < image->node_count)
			pass.place[image->costs[i].node] = (uint32_t)i + 1;
	take_shards(&pass);
	free(pass.place);
	return 0;
}
