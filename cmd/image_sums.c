/* SPDX-License-Identifier: MIT */
/* Sums of counters; see image_sums.h. */
#include "cmd/image_sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int64_t image_whole_blocks(uint64_t units, int64_t *carry)
{
	const int64_t half = 1 << (SEG_SAMPLE_BITS - 1);
	uint64_t sum = units + (uint64_t)(*carry + half);

	*carry = (int64_t)(sum & (2 * half - 1)) - half;
	return (int64_t)sum >> SEG_SAMPLE_BITS;
}

struct peak_rule peak_rule_of(const struct seg_header *h)
{
	struct seg_account account = seg_unpack(h->packed);

	return h->several ? (struct peak_rule){ account.epoch, account.at_max }
			  : (struct peak_rule){ h->single_epoch, h->single_at_max };
}

/* Has the counter changed since the maximum?  Then it has kept what it was. */
static bool is_saved(const struct seg_counter *c, struct peak_rule peak)
{
	return !peak.at_max && c->epoch == peak.epoch;
}

static void add_counter(struct image_cost *cost, const struct seg_counter *c,
			const struct seg_shard *shard, struct peak_rule peak)
{
	int64_t live_blocks = (int64_t)(c->allocations - c->frees);
	int64_t live_bytes = (int64_t)(c->bytes - c->freed_bytes);
	bool saved = is_saved(c, peak);

	if (!shard->inherited) {
		cost->allocations += c->allocations;
		cost->bytes += c->bytes;
	}
	cost->frees += c->frees;
	cost->freed_bytes += c->freed_bytes;
	cost->temporary += c->temporary;
	cost->reallocations += c->reallocations;
	add_wrapping(&cost->live_blocks, live_blocks);
	add_wrapping(&cost->live_bytes, live_bytes);
	add_wrapping(&cost->peak_blocks, saved ? c->peak_blocks : live_blocks);
	add_wrapping(&cost->peak_bytes, saved ? c->peak_bytes : live_bytes);
}

static void add_variances(struct variance_sums *sums, const struct seg_variance *v, bool inherited,
			  bool saved)
{
	uint64_t live_blocks = v->allocations - v->frees, live_bytes = v->bytes - v->freed_bytes;

	if (!inherited) {
		sums->allocations += v->allocations;
		sums->bytes += v->bytes;
	}
	sums->frees += v->frees;
	sums->freed_bytes += v->freed_bytes;
	sums->temporary += v->temporary;
	sums->reallocations += v->reallocations;
	sums->live_blocks += live_blocks;
	sums->live_bytes += live_bytes;
	sums->peak_blocks += saved ? v->peak_blocks : live_blocks;
	sums->peak_bytes += saved ? v->peak_bytes : live_bytes;
}

int image_sums_init(struct image_sums *sums, size_t count, const struct seg_header *header)
{
	*sums = (struct image_sums){ .count = count };
	sums->costs = calloc(count + 1, sizeof(*sums->costs));
	if (header->sample_mean)
		sums->variances = calloc(count + 1, sizeof(*sums->variances));
	return sums->costs && (sums->variances || !header->sample_mean) ? 0 : -ENOMEM;
}

void image_sums_add(struct image_sums *sums, size_t at, const struct seg_counter *counter,
		    const struct seg_variance *variance, const struct seg_shard *shard,
		    struct peak_rule peak)
{
	add_counter(&sums->costs[at], counter, shard, peak);
	if (sums->variances)
		add_variances(&sums->variances[at], variance, shard->inherited,
			      is_saved(counter, peak));
}

/* From the segment's units to blocks.  By what is rounded first is up to chance, which is drawn from what tells images
 * apart: the same segment gives the same figures. */
static void round_blocks(const struct image_sums *sums, const struct seg_header *header)
{
	int64_t carry[6];

	for (unsigned i = 0; i < 6; i++)
		carry[i] = (int64_t)((header->image + i) * 0x9e3779b97f4a7c15u >>
				     (64 - SEG_SAMPLE_BITS)) -
			   (1 << (SEG_SAMPLE_BITS - 1));
	for (size_t i = 0; i < sums->count; i++) {
		struct image_cost *c = &sums->costs[i];

		c->allocations = (uint64_t)image_whole_blocks(c->allocations, &carry[0]);
		c->frees = (uint64_t)image_whole_blocks(c->frees, &carry[1]);
		c->temporary = (uint64_t)image_whole_blocks(c->temporary, &carry[2]);
		c->reallocations = (uint64_t)image_whole_blocks(c->reallocations, &carry[3]);
		c->live_blocks = image_whole_blocks((uint64_t)c->live_blocks, &carry[4]);
		c->peak_blocks = image_whole_blocks((uint64_t)c->peak_blocks, &carry[5]);
	}
}

/* Below zero: differences of figures that changed while they were read. */
static double variance_of(uint64_t sum, double unit)
{
	return (int64_t)sum > 0 ? (double)sum * unit : 0;
}

static struct image_variances *convert_variances(const struct variance_sums *sums, size_t count,
						 uint64_t mean)
{
	double block = ldexp(1, -seg_sample_blocks_bits(mean));
	double unit = (double)seg_sample_bytes_unit(mean);
	double byte = unit * unit / (1 << SEG_VARIANCE_BITS);
	struct image_variances *variances = calloc(count + 1, sizeof(*variances));

	for (size_t i = 0; variances && i < count; i++, sums++)
		variances[i] = (struct image_variances){
			.allocations = variance_of(sums->allocations, block),
			.bytes = variance_of(sums->bytes, byte),
			.frees = variance_of(sums->frees, block),
			.freed_bytes = variance_of(sums->freed_bytes, byte),
			.temporary = variance_of(sums->temporary, block),
			.reallocations = variance_of(sums->reallocations, block),
			.live_blocks = variance_of(sums->live_blocks, block),
			.live_bytes = variance_of(sums->live_bytes, byte),
			.peak_blocks = variance_of(sums->peak_blocks, block),
			.peak_bytes = variance_of(sums->peak_bytes, byte),
		};
	return variances;
}

int image_sums_finish(struct image_sums *sums, const struct seg_header *header,
		      struct image_variances **variances)
{
	if (!sums->variances)
		return 0;
	round_blocks(sums, header);
	*variances = convert_variances(sums->variances, sums->count, header->sample_mean);
	free(sums->variances);
	sums->variances = NULL;
	return *variances ? 0 : -ENOMEM;
}

static bool is_something(const struct image_cost *c)
{
	return c->allocations || c->frees || c->live_blocks || c->live_bytes || c->peak_blocks;
}

size_t image_sums_compact(struct image_cost *costs, struct image_variances *variances, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_something(&costs[i]))
			continue;
		if (variances)
			variances[kept] = variances[i];
		costs[kept++] = costs[i];
	}
	return kept;
}
