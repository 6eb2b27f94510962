/* SPDX-License-Identifier: MIT */
/*
 * live BLOCKS COUNT: keeps BLOCKS blocks and replaces one of them, by chance, COUNT times; at the end all are freed, again in
 * an order by chance.  Here the tables of block addresses are as large as the heap, and no look-up is in the cache.  Prints
 * the time of a replacement (one free, one malloc), and that of each block at the beginning and at the end.
 */
#include "test/bench/prog/bench.h"

static void **blocks;
static unsigned long block_count;
static double fill_ns, clear_ns;

static unsigned long any_block(unsigned long *random)
{
	/* The high half is the better one; multiply and shift instead of a division. */
	return (next_random(random) >> 32) * block_count >> 32;
}

static void replace(long count, unsigned long *random)
{
	for (long i = 0; i < count; i++) {
		unsigned long at = any_block(random);
		free(blocks[at]);
		blocks[at] = allocate((unsigned long)i);
	}
}

static void shuffle(unsigned long *random)
{
	for (unsigned long i = block_count - 1; i > 0; i--) {
		unsigned long j = (next_random(random) >> 32) * (i + 1) >> 32;
		void *block = blocks[i];
		blocks[i] = blocks[j];
		blocks[j] = block;
	}
}

SITE static void live_body(struct work *work)
{
	unsigned long random = 88172645463325252ul;
	fill_ns = -clock_ns(CLOCK_MONOTONIC);
	for (unsigned long i = 0; i < block_count; i++)
		blocks[i] = allocate(i);
	fill_ns += clock_ns(CLOCK_MONOTONIC);
	replace((long)block_count / 4, &random); /* warm-up */
	timer_start(work);
	replace(work->count, &random);
	timer_stop(work);
	shuffle(&random);
	clear_ns = -clock_ns(CLOCK_MONOTONIC);
	for (unsigned long i = 0; i < block_count; i++)
		free(blocks[i]);
	clear_ns += clock_ns(CLOCK_MONOTONIC);
}

int main(int argc, char **argv)
{
	struct work work = { .depth = 20, .body = live_body };
	block_count = (unsigned long)number_argument(argc, argv, 1, 1000000, 2, 1l << 28);
	work.count = number_argument(argc, argv, 2, 4000000, 1, 1l << 40);
	blocks = malloc(block_count * sizeof(*blocks));
	REQUIRE(blocks != NULL);
	level02(&work);
	free(blocks);
	say("ns_per_pair=%.2f cpu_ns_per_pair=%.2f fill_ns=%.2f clear_ns=%.2f\n",
	    work.wall_ns / (double)work.count, work.cpu_ns / (double)work.count,
	    fill_ns / (double)block_count, clear_ns / (double)block_count);
	return 0;
}
