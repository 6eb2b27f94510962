/* SPDX-License-Identifier: MIT */
/*
 * handoff COUNT: one thread allocates COUNT blocks, another frees them, as in a pipeline or a logger.  They go through a ring
 * in portions, so that what the two threads cost each other is less than what they allocate.  Prints the time of a block
 * from beginning to end by the clock, and the CPU time of both threads (waiting for each other is in it).
 */
#include <stdatomic.h>

#include "test/bench/prog/bench.h"

enum { RING = 8192, PORTION = 256, WARM_UP = 4 * RING };

static struct {
	void *block[RING];
	_Alignas(64) atomic_ulong made; /* by the first thread, in portions */
	_Alignas(64) atomic_ulong used; /* by the second */
} ring;

static void give(unsigned long from, unsigned long to)
{
	for (unsigned long i = from; i < to; i++) {
		if (i % PORTION == 0) {
			atomic_store_explicit(&ring.made, i, memory_order_release);
			while (i + PORTION -
				       atomic_load_explicit(&ring.used, memory_order_acquire) >
			       RING)
				sched_yield();
		}
		ring.block[i % RING] = allocate(i);
	}
	atomic_store_explicit(&ring.made, to, memory_order_release);
}

static void take(unsigned long from, unsigned long to)
{
	while (from < to) {
		unsigned long made = atomic_load_explicit(&ring.made, memory_order_acquire);
		if (made == from)
			sched_yield();
		for (; from < made && from < to; from++)
			free(ring.block[from % RING]);
		atomic_store_explicit(&ring.used, from, memory_order_release);
	}
}

SITE static void handoff_body(struct work *work)
{
	void (*role)(unsigned long, unsigned long) = work->index == 0 ? give : take;
	role(0, WARM_UP);
	wait_for_all();
	timer_start(work);
	role(WARM_UP, WARM_UP + (unsigned long)work->count);
	timer_stop(work);
}

int main(int argc, char **argv)
{
	struct work work = { .depth = 20, .body = handoff_body };
	work.count = number_argument(argc, argv, 1, 2000000, 1, 1l << 40);
	run_threads(&work, 2);
	say("ns_per_pair=%.2f cpu_ns_per_pair=%.2f\n", work.wall_ns / (double)work.count,
	    2 * work.cpu_ns / (double)work.count);
	return 0;
}
