/* SPDX-License-Identifier: MIT */
/*
 * Eight threads.  Each makes 2000 x 100 (kept), waits for all, frees them, waits for all, then makes and frees
 * 500 x 1000 one at a time.  The highest moment is the one between the waits: 8 * 2000 * 100 = 1600000 bytes of
 * "kept", in 16000 blocks, plus what libc makes for the threads themselves.
 *   kept      16000 allocations  1600000 bytes, 0 stay
 *   passing    4000 allocations  4000000 bytes, 0 stay
 */
#include <pthread.h>

#include "prog.h"

#define THREADS 8
#define BLOCKS	2000

static pthread_barrier_t all;

SITE static void *kept(void)
{
	void *p = malloc(100);
	KEEP(p);
	return p;
}

SITE static void *passing(void)
{
	void *p = malloc(1000);
	KEEP(p);
	return p;
}

static void *work(void *unused)
{
	void *block[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		block[i] = kept();
	pthread_barrier_wait(&all);
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
	pthread_barrier_wait(&all);
	for (int i = 0; i < 500; i++)
		free(passing());
	return unused;
}

int main(void)
{
	pthread_t thread[THREADS];
	REQUIRE(pthread_barrier_init(&all, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&thread[i], NULL, work, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(thread[i], NULL) == 0);
	return 0;
}
