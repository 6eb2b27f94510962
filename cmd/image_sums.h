/* SPDX-License-Identifier: MIT */
/* Sums of the counters of a segment, by stack or by what else they are to be told apart. */
#ifndef MEMTRACK_CMD_IMAGE_SUMS_H
#define MEMTRACK_CMD_IMAGE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/layout.h"
#include "cmd/image.h"

/* How a counter tells its share of the peak: see agent/peak.h. */
struct peak_rule {
	uint32_t epoch;
	bool at_max;
};

/* Sums of variances in the units of the segment.  They wrap around, as the differences do that they are made of. */
struct variance_sums {
	uint64_t allocations, bytes, frees, freed_bytes, temporary, reallocations;
	uint64_t live_blocks, live_bytes, peak_blocks, peak_bytes;
};

struct image_sums {
	struct image_cost *costs;
	struct variance_sums *variances; /* of each of the costs; NULL: not sampled */
	size_t count;
};

/* Sums of hostile figures may wrap around. */
static inline void add_wrapping(int64_t *sum, int64_t value)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)value);
}

struct peak_rule peak_rule_of(const struct seg_header *header);

/* -ENOMEM; what was made is the caller's even then. */
int image_sums_init(struct image_sums *sums, size_t count, const struct seg_header *header)
	__attribute__((warn_unused_result));
/* Adds a shard's counter to number `at`. */
void image_sums_add(struct image_sums *sums, size_t at, const struct seg_counter *counter,
		    const struct seg_variance *variance, const struct seg_shard *shard,
		    struct peak_rule peak);
/* From the units of a sampled segment to those of a recording, the variances into a new array; both stay as they are when all
 * was recorded. */
int image_sums_finish(struct image_sums *sums, const struct seg_header *header,
		      struct image_variances **variances) __attribute__((warn_unused_result));
/* Leaves only what says something, and returns how many these are.  variances: may be NULL. */
size_t image_sums_compact(struct image_cost *costs, struct image_variances *variances,
			  size_t count);

/*
 * Estimated numbers of blocks are in small units.  What is rounded off is carried on to the next number: from a first
 * *carry at random (at least minus half a block, and less than half a one), neither a single number nor their sum is
 * biased; the sum is off by less than one, and the same however it is divided.  Whole numbers stay what they are.
 */
int64_t image_whole_blocks(uint64_t units, int64_t *carry);

#endif
