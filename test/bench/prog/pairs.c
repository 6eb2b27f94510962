/* SPDX-License-Identifier: MIT */
/*
 * pairs DEPTH THREADS COUNT [leaves]: a loop of malloc and free, COUNT pairs in each thread, at a stack depth of DEPTH
 * frames (main and the function with the loop included).  Prints the time of a pair, the mean of the threads: of all by the
 * clock, and of the median of 64 portions by the clock and as CPU time.
 *
 * With "leaves" malloc is not called by the loop, but by functions that take turns, one to four calls further in, and
 * free by the loop: in a real program hardly two allocations in a row have the same caller, and what was remembered of
 * the last stack fits in part only.
 */
#include "test/bench/prog/bench.h"

enum { WARM_UP = 2560 }; /* 20 rounds of all sizes */

/* The work in portions, each with its times; the first is the warm-up.  All by the same loop, so that it is the same call of
 * malloc that is warm. */
#define PORTION_BY_PORTION(work, pair)                            \
 do {                                                             \
  double wall[PORTIONS], cpu[PORTIONS];                           \
  double wall_sum = 0, cpu_sum = 0;                               \
  for (int portion = -1; portion < PORTIONS; portion++) {         \
   long count = portion < 0 ? WARM_UP : (work)->count / PORTIONS; \
   if (portion == 0)                                              \
    wait_for_all();                                               \
   timer_start(work);                                             \
   KEEP(count);                                                   \
   for (long i = 0; i < count; i++)                               \
    pair((unsigned long)i);                                       \
   timer_stop(work);                                              \
   if (portion < 0)                                               \
    continue;                                                     \
   wall_sum += wall[portion] = (work)->wall_ns;                   \
   cpu_sum += cpu[portion] = (work)->cpu_ns;                      \
  }                                                               \
  (work)->wall_ns = wall_sum;                                     \
  (work)->cpu_ns = cpu_sum;                                       \
  (work)->typical_wall_ns = median(wall, PORTIONS) * PORTIONS;    \
  (work)->typical_cpu_ns = median(cpu, PORTIONS) * PORTIONS;      \
 } while (0)

#define PAIR(i) free(allocate(i))

SITE static void pairs_body(struct work *work)
{
	PORTION_BY_PORTION(work, PAIR);
}

/* What calls malloc at the end of each way in. */
#define LEAF(name)                       \
 SITE static void *name(unsigned long i) \
 {                                       \
  void *block = allocate(i);             \
  KEEP(block);                           \
  return block;                          \
 }
#define STEP(name, next)                 \
 SITE static void *name(unsigned long i) \
 {                                       \
  LOCALS(3);                             \
  void *block = next(i);                 \
  KEEP(block);                           \
  return block;                          \
 }

LEAF(leaf_a)
LEAF(leaf_b)
LEAF(leaf_c)
LEAF(leaf_d)
STEP(two_a, leaf_a)
STEP(two_b, leaf_b)
STEP(three_a, two_a)
STEP(three_c, two_b)
STEP(four_a, three_a)

SITE static void *one_of_the_leaves(unsigned long i)
{
	void *block;
	switch (i & 7) {
	case 0:
		block = leaf_a(i);
		break;
	case 1:
		block = two_a(i);
		break;
	case 2:
		block = leaf_c(i);
		break;
	case 3:
		block = three_a(i);
		break;
	case 4:
		block = two_b(i);
		break;
	case 5:
		block = leaf_d(i);
		break;
	case 6:
		block = four_a(i);
		break;
	default:
		block = three_c(i);
		break;
	}
	KEEP(block);
	return block;
}

#define LEAVES_PAIR(i) free(one_of_the_leaves(i))

SITE static void leaves_body(struct work *work)
{
	PORTION_BY_PORTION(work, LEAVES_PAIR);
}

int main(int argc, char **argv)
{
	struct work work = { .body = pairs_body };
	long threads = number_argument(argc, argv, 2, 1, 1, MOST_THREADS);
	work.depth = (int)number_argument(argc, argv, 1, 20, LEAST_DEPTH, MOST_DEPTH);
	work.count = number_argument(argc, argv, 3, 1000000, PORTIONS, 1l << 40);
	work.count -= work.count % PORTIONS;
	if (argc > 4 && strcmp(argv[4], "leaves") == 0)
		work.body = leaves_body;
	if (threads > 1) {
		run_threads(&work, (int)threads);
	} else {
		REQUIRE(pthread_barrier_init(&all_ready, NULL, 1) == 0);
		level02(&work);
	}
	say("ns_per_pair=%.2f typical_ns=%.2f typical_cpu_ns=%.2f\n",
	    work.wall_ns / (double)work.count, work.typical_wall_ns / (double)work.count,
	    work.typical_cpu_ns / (double)work.count);
	return 0;
}
