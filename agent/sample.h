/* SPDX-License-Identifier: MIT */
/*
 * Sampling: one allocation per `mean` bytes on average, instead of all.
 *
 * Points lie on the bytes a thread asks for as a Poisson process of rate 1/mean; an allocation that covers one or more of
 * them is recorded.  A block of `size` bytes is therefore recorded with the probability p = 1 - exp(-size / mean) (sizes
 * below SAMPLE_SMALLEST count as that), and stands for 1/p blocks and size/p bytes: the Horvitz-Thompson estimator, which
 * is unbiased for every sum of blocks or bytes, of a stack, live or ever allocated, at any moment.  Its variance is
 * estimated, unbiased as well, by the sum of (1-p)/p^2 over the recorded blocks (times size^2 for bytes).
 *
 * All of it in integers: floating point would leave its traces in the flags of the target's arithmetic.
 *
 * A free must know at once whether its block was recorded: a filter of counters by hashed address says "no", or "look".
 */
#ifndef MEMTRACK_AGENT_SAMPLE_H
#define MEMTRACK_AGENT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/rt/hidden.h"

enum { SAMPLE_SMALLEST = 16 };

/* Bytes from one point to the next on average; 0: every allocation is recorded.  Set once at start. */
extern HIDDEN uint64_t sample_mean;

/* What a recorded block stands for; a function of its size alone, so that its free takes away what its allocation added.
 * Units: see seg_header.sample_mean. */
struct sample_weight {
	uint64_t blocks, bytes;
	uint64_t blocks_variance, bytes_variance;
};
struct sample_weight sample_weigh(uint64_t size);

/* The distance to the next point, at least 1.  *state is that of a random number generator, seeded when it is 0. */
uint64_t sample_gap(uint64_t *state);

/* -- the filter ------------------------------------------------------------------------------------- */

enum { SAMPLE_FILTER_BITS = 16 };
extern HIDDEN uint8_t sample_filter[1u << SAMPLE_FILTER_BITS];

static inline uint8_t *sample_filter_at(const void *block)
{
	uintptr_t a = (uintptr_t)block;

	return &sample_filter[(a >> 4 ^ a >> 20) & ((1u << SAMPLE_FILTER_BITS) - 1)];
}

/* False: this block was not recorded. */
static inline bool sample_may_have(const void *block)
{
	return __atomic_load_n(sample_filter_at(block), __ATOMIC_RELAXED) != 0;
}

void sample_filter_add(const void *block);
void sample_filter_remove(const void *block);

#endif
