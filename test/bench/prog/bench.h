/* SPDX-License-Identifier: MIT */
/*
 * What the programs of the benchmarks share: a call chain of a chosen depth, made of functions that differ (each with a
 * return address and a frame size of its own, as in a real program), block sizes, clocks and threads.  Each program
 * measures itself, around its loop only, so that the start of a program does not blur the figures.
 */
#ifndef MEMTRACK_BENCH_H
#define MEMTRACK_BENCH_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <time.h>

#include "test/prog/prog.h"

enum { MOST_THREADS = 16, LEAST_DEPTH = 3, MOST_DEPTH = 60, PORTIONS = 64 };

struct work {
	int depth; /* frames of the program from main, or a thread's first function, to the body, both included */
	long count;
	void (*body)(struct work *); /* the function that calls malloc */
	double wall_ns, cpu_ns;	     /* what the body measured, for all of its `count` */
	/* The same of its median portion, times PORTIONS: not blurred by what else the machine had to do. */
	double typical_wall_ns, typical_cpu_ns;
	int index; /* of the thread */
};

/* Something to keep on the stack during the calls that follow, which cannot be tail calls then. */
#define LOCALS(words)         \
 unsigned long locals[words]; \
 __asm__ volatile("" : : "r"(locals) : "memory")

/* level02 calls level03 and so on; the last one that `depth` leaves room for calls the body. */
#define LEVEL(digits, next)                        \
 SITE static void level##digits(struct work *work) \
 {                                                 \
  enum { NUMBER = 1##digits - 100 };               \
  LOCALS(1 + NUMBER * 7 % 5);                      \
  if (work->depth > NUMBER + 1)                    \
   next(work);                                     \
  else                                             \
   work->body(work);                               \
  BARRIER();                                       \
 }

#define TEN_LEVELS(ten, next) \
 LEVEL(ten##9, next)          \
 LEVEL(ten##8, level##ten##9) \
 LEVEL(ten##7, level##ten##8) \
 LEVEL(ten##6, level##ten##7) \
 LEVEL(ten##5, level##ten##6) \
 LEVEL(ten##4, level##ten##5) \
 LEVEL(ten##3, level##ten##4) \
 LEVEL(ten##2, level##ten##3) \
 LEVEL(ten##1, level##ten##2) \
 LEVEL(ten##0, level##ten##1)

SITE static void beyond_the_last_level(struct work *work)
{
	(void)work;
	_exit(99);
}

TEN_LEVELS(5, beyond_the_last_level)
TEN_LEVELS(4, level50)
TEN_LEVELS(3, level40)
TEN_LEVELS(2, level30)
TEN_LEVELS(1, level20)
TEN_LEVELS(0, level10)

/* 16 to 143, all of them, in an order that is not a plain climb. */
static inline size_t block_size(unsigned long i)
{
	return 16 + (i * 37 & 127);
}

/* A block that is written to, which keeps the compiler from dropping the pair of calls. */
static inline void *allocate(unsigned long i)
{
	char *block = malloc(block_size(i));
	REQUIRE(block != NULL);
	*(volatile char *)block = (char)i;
	return block;
}

static inline double clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void timer_start(struct work *work)
{
	work->wall_ns = -clock_ns(CLOCK_MONOTONIC);
	work->cpu_ns = -clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline void timer_stop(struct work *work)
{
	work->wall_ns += clock_ns(CLOCK_MONOTONIC);
	work->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

__attribute__((unused)) static double median(double *values, int count)
{
	for (int i = 1; i < count; i++) {
		double value = values[i];
		int j = i;
		for (; j > 0 && values[j - 1] > value; j--)
			values[j] = values[j - 1];
		values[j] = value;
	}
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* xorshift: cheap, and the same in every run. */
static inline unsigned long next_random(unsigned long *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Threads start their loops together; one thread is main itself, as in a program without threads. */
static pthread_barrier_t all_ready;

__attribute__((unused)) static void wait_for_all(void)
{
	pthread_barrier_wait(&all_ready);
}

__attribute__((unused)) SITE static void *thread_main(void *work)
{
	level02(work);
	return NULL;
}

/* Runs `threads` copies of `work`, each in a thread of its own; the times of `work` become their means. */
__attribute__((unused)) static void run_threads(struct work *work, int threads)
{
	pthread_t thread[MOST_THREADS];
	struct work copy[MOST_THREADS];
	REQUIRE(threads >= 1 && threads <= MOST_THREADS);
	REQUIRE(pthread_barrier_init(&all_ready, NULL, (unsigned)threads) == 0);
	for (int i = 0; i < threads; i++) {
		copy[i] = *work;
		copy[i].index = i;
		REQUIRE(pthread_create(&thread[i], NULL, thread_main, &copy[i]) == 0);
	}
	work->wall_ns = work->cpu_ns = work->typical_wall_ns = work->typical_cpu_ns = 0;
	for (int i = 0; i < threads; i++) {
		REQUIRE(pthread_join(thread[i], NULL) == 0);
		work->wall_ns += copy[i].wall_ns / threads;
		work->cpu_ns += copy[i].cpu_ns / threads;
		work->typical_wall_ns += copy[i].typical_wall_ns / threads;
		work->typical_cpu_ns += copy[i].typical_cpu_ns / threads;
	}
}

static inline long number_argument(int argc, char **argv, int index, long otherwise, long least,
				   long most)
{
	long value = index < argc ? atol(argv[index]) : otherwise;
	if (value < least || value > most) {
		say_to(2, "%s: argument %d must be %ld to %ld\n", argv[0], index, least, most);
		_exit(2);
	}
	return value;
}

#endif
