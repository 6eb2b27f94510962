/* SPDX-License-Identifier: MIT */
/* The arithmetic of sampling against the formulas of sample.h in floating point. */
#include "agent/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "agent/layout.h"
#include "test/unit/agent_fixture.h"

static const uint64_t means[] = {
	1, 64, 1000, 4096, 524288, 1ull << 30, SEG_SAMPLE_MOST,
};

static void assert_near(double got, double wanted, double relative, double absolute)
{
	if (fabs(got - wanted) > relative * fabs(wanted) + absolute)
		fail_msg("%.10g where %.10g is right", got, wanted);
}

/* p = 1 - exp(-size/mean); 1/p blocks, size/p bytes, variances (1-p)/p^2 and size^2 (1-p)/p^2. */
static void check_weight(uint64_t size, uint64_t mean)
{
	struct sample_weight w;
	double measured = size < 16 ? 16 : (double)size, p = -expm1(-measured / (double)mean);
	double spread = exp(-measured / (double)mean) / (p * p);
	double blocks_unit = ldexp(1, -seg_sample_blocks_bits(mean)),
	       bytes_unit = (double)seg_sample_bytes_unit(mean);

	sample_mean = mean;
	w = sample_weigh(size);
	assert_near((double)w.blocks / (1 << SEG_SAMPLE_BITS), 1 / p, 2e-6, 6e-4);
	assert_near((double)w.bytes, (double)size / p, 2e-6, 0.6);
	/* Where blocks are nearly certain to be recorded, what is left of the variance may be below its units. */
	assert_near((double)w.blocks_variance * blocks_unit, spread, 4e-6,
		    0.51 * blocks_unit + 4e-6 / p);
	/* 2^44 bytes in the smallest blocks. */
	assert_true((double)w.blocks_variance * ldexp(1, 44) / (double)mean < ldexp(1, 64));
	assert_near((double)w.bytes_variance / (1 << SEG_VARIANCE_BITS) * bytes_unit * bytes_unit,
		    spread * (double)size * (double)size, 2e-3,
		    0.1 * bytes_unit * bytes_unit + 4e-6 * (double)size * (double)size);
}

static void test_weights(void **state)
{
	uint64_t random = 17;

	(void)state;
	for (size_t m = 0; m < sizeof(means) / sizeof(*means); m++) {
		for (uint64_t size = 0; size < 3000; size++)
			check_weight(size, means[m]);
		for (unsigned i = 0; i < 20000; i++)
			check_weight(fixture_random(&random) >> (17 + i % 47), means[m]);
		for (unsigned i = 1; i < 70; i++) /* around the seams at powers of two and at 32 */
			for (int64_t d = -2; d <= 2; d++)
				check_weight((uint64_t)((int64_t)(means[m] * i) + d), means[m]);
	}
}

/* Distances are exponential: of a million, as many exceed each multiple of the mean as should, within 5 sigma. */
static void test_gaps(void **state)
{
	enum { COUNT = 1000000, STEPS = 80 };
	static unsigned above[STEPS];
	uint64_t random = 4711;
	double sum = 0;

	(void)state;
	sample_mean = 524288;
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t gap = sample_gap(&random);

		assert_true(gap >= 1);
		sum += (double)gap;
		for (unsigned k = 0; k < STEPS && gap > sample_mean / 8 * k; k++)
			above[k]++;
	}
	assert_near(sum / COUNT, 524288, 5 / sqrt(COUNT), 0);
	for (unsigned k = 0; k < STEPS; k++) {
		double p = exp(-(double)k / 8);

		assert_near(above[k], COUNT * p, 0, 5 * sqrt(COUNT * p * (1 - p)) + 1);
	}
}

/* A generator without a state makes itself one. */
static void test_seeding(void **state)
{
	uint64_t a = 0, b = 0;

	(void)state;
	sample_mean = 1ull << 38;
	assert_int_not_equal(sample_gap(&a), sample_gap(&b));
	assert_int_not_equal(a, 0);
}

/* The filter never denies a block that is there, whatever comes and goes with it. */
static void test_filter(void **state)
{
	enum { BLOCKS = 3000, ROUNDS = 300000 };
	static bool in[BLOCKS];
	uint64_t random = 99;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned k = (unsigned)fixture_below(&random, BLOCKS);
		const void *block =
			(const void *)(uintptr_t)(0x7f0000000000 + k * 48ul * (k % 7 + 1));
		bool more = i < ROUNDS / 2 ? fixture_below(&random, 3) : !fixture_below(&random, 8);

		if (more == in[k])
			continue;
		in[k] = more;
		if (more)
			sample_filter_add(block);
		else
			sample_filter_remove(block);
		for (unsigned j = k; j < BLOCKS; j += 97)
			if (in[j])
				assert_true(sample_may_have(
					(const void *)(uintptr_t)(0x7f0000000000 +
								  j * 48ul * (j % 7 + 1))));
	}
	for (unsigned k = 0; k < BLOCKS; k++)
		if (in[k])
			sample_filter_remove(
				(const void *)(uintptr_t)(0x7f0000000000 + k * 48ul * (k % 7 + 1)));
	for (unsigned k = 0; k < 1u << SAMPLE_FILTER_BITS; k++)
		assert_int_equal(sample_filter[k], 0);
}

/* A counter that has reached its end stays there. */
static void test_full_filter(void **state)
{
	const void *block = (const void *)0x1230;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		sample_filter_add(block);
	for (unsigned i = 0; i < 299; i++)
		sample_filter_remove(block);
	assert_true(sample_may_have(block));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights),	    cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_seeding),	    cmocka_unit_test(test_filter),
		cmocka_unit_test(test_full_filter),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
