/* SPDX-License-Identifier: MIT */
/* The arithmetic of sampling; see sample.h. */
#include "agent/sample.h"

#include "agent/arch.h"
#include "agent/layout.h"

typedef unsigned __int128 wide;

#define ONE_20 (1ull << 20)
#define ONE_40 (1ull << 40)

uint64_t sample_mean;
uint8_t sample_filter[1u << SAMPLE_FILTER_BITS];

/* No product below exceeds 64 bits: the mean is at most SEG_SAMPLE_MOST, and sizes of 32 times that are certain. */

/* 1/p = 1/(1 - exp(-x)) in units of 2^-20, for x = size / mean up to 1: 1/x + 1/2 + x/12 - x^3/720 + x^5/30240, the
 * series of x/(1 - exp(-x)) divided by x; off by less than 1e-6. */
static uint64_t inverse_of_small(uint64_t size, uint64_t mean)
{
	uint64_t x = (size << 20) / mean, x2 = x * x >> 20, x3 = x2 * x >> 20;

	return (mean << 20) / size + ONE_20 / 2 + x / 12 - x3 / 720 + (x3 * x2 >> 20) / 30240;
}

/* The same for any x below 32: with q(x) = exp(-x), q(2x) = q(x)^2. */
static uint64_t inverse(uint64_t size)
{
	uint64_t mean = sample_mean, q;
	unsigned halvings = 0;

	while (size > mean) {
		mean *= 2;
		halvings++;
	}
	if (!halvings)
		return inverse_of_small(size, mean);
	q = ONE_40 - (ONE_40 << 20) / inverse_of_small(size, mean);
	while (halvings--)
		q = (uint64_t)((wide)q * q >> 40);
	return (ONE_40 << 20) / (ONE_40 - q);
}

/* (1-p)/p^2 = 1/p x (1/p - 1), of 1/p in units of 2^-20, in units of 2^-seg_sample_blocks_bits. */
static uint64_t blocks_variance(uint64_t inverse_p)
{
	int shift = 40 - seg_sample_blocks_bits(sample_mean);

	return (uint64_t)(((wide)inverse_p * (inverse_p - ONE_20) + ((wide)1 << (shift - 1))) >>
			  shift);
}

/* The same times size^2: size/p x (size/p - size), of size/p in units of 2^-20. */
static uint64_t bytes_variance(uint64_t bytes, uint64_t size)
{
	uint64_t unit = seg_sample_bytes_unit(sample_mean);

	return (uint64_t)((wide)(bytes / unit) * ((bytes - (size << 20)) / unit) >>
			  (40 - SEG_VARIANCE_BITS));
}

struct sample_weight sample_weigh(uint64_t size)
{
	uint64_t measured = size < SAMPLE_SMALLEST ? SAMPLE_SMALLEST : size, w, bytes;

	if (measured / 32 >= sample_mean) /* p = 1 - 1e-14 */
		return (struct sample_weight){ .blocks = 1 << SEG_SAMPLE_BITS, .bytes = size };
	w = inverse(measured);
	bytes = size * w;
	return (struct sample_weight){
		.blocks = (w + (1 << (19 - SEG_SAMPLE_BITS))) >> (20 - SEG_SAMPLE_BITS),
		.bytes = (bytes + ONE_20 / 2) >> 20,
		.blocks_variance = blocks_variance(w),
		.bytes_variance = bytes_variance(bytes, size),
	};
}

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016. */
static uint64_t next_random(uint64_t *state)
{
	if (!*state)
		*state = (arch_cycles() ^ (uint64_t)(uintptr_t)state << 20) | 1;
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

/* -log2(u / 2^64) in units of 2^-32, for u > 0: bit by bit, as squaring doubles a logarithm. */
static uint64_t minus_log2(uint64_t u)
{
	unsigned zeros = (unsigned)__builtin_clzll(u);
	uint64_t y = u << zeros, fraction = 0; /* y: 1 to 2 in units of 2^-63 */

	for (unsigned i = 0; i < 32; i++) {
		wide square = (wide)y * y >> 63;
		bool twice = square >> 64;

		y = (uint64_t)(square >> twice);
		fraction = fraction << 1 | twice;
	}
	return ((uint64_t)(zeros + 1) << 32) - fraction;
}

uint64_t sample_gap(uint64_t *state)
{
	const uint64_t ln2 = 2977044472ull; /* in units of 2^-32 */
	uint64_t logarithm = minus_log2(next_random(state) | 1);
	uint64_t exponential = (uint64_t)((wide)logarithm * ln2 >> 32);

	return (uint64_t)((wide)sample_mean * exponential >> 32) + 1;
}

/* Counters stay at the highest value when they reach it. */
void sample_filter_add(const void *block)
{
	uint8_t *at = sample_filter_at(block), n = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (n != UINT8_MAX && !__atomic_compare_exchange_n(at, &n, (uint8_t)(n + 1), true,
							      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void sample_filter_remove(const void *block)
{
	uint8_t *at = sample_filter_at(block), n = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (n != UINT8_MAX && n &&
	       !__atomic_compare_exchange_n(at, &n, (uint8_t)(n - 1), true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}
