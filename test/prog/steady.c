/* SPDX-License-Identifier: MIT */
/*
 * N pairs of malloc and free between two marks (a write to descriptor -1), after a warm-up
 * over the same sites and sizes.  steady_site: N + 2000 allocations (warm-up included), all freed.
 * With a second argument T, T threads do so at the same time, each between marks of its own: T * (N + 2000).
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "prog.h"

static long pairs;
static pthread_barrier_t ready;

SITE static void *steady_site(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	return p;
}

SITE static void loop(long count)
{
	for (long i = 0; i < count; i++)
		free(steady_site(16 + (size_t)(i % 50) * 8));
	BARRIER();
}

static void mark(void)
{
	syscall(SYS_write, -1, "mark", 4);
}

static void run(void)
{
	loop(2000);
	pthread_barrier_wait(&ready);
	mark();
	loop(pairs);
	mark();
	pthread_barrier_wait(&ready);
}

static void *body(void *unused)
{
	run();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[16];
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	pairs = argc > 1 ? atol(argv[1]) : 1000;
	REQUIRE(threads <= 16);
	REQUIRE(pthread_barrier_init(&ready, NULL, threads ? (unsigned)threads : 1) == 0);
	if (!threads)
		run();
	for (int i = 0; i < threads; i++)
		REQUIRE(pthread_create(&thread[i], NULL, body, NULL) == 0);
	for (int i = 0; i < threads; i++)
		REQUIRE(pthread_join(thread[i], NULL) == 0);
	return 0;
}
