/* SPDX-License-Identifier: MIT */
/*
 * shuffle THREADS OPERATIONS SEED: threads take blocks out of shared slots, whoever put them there, and free, reallocate or
 * replace them, so that an address goes from thread to thread at once.  Each thread counts what it did; the sum is printed:
 * "ALLOCATIONS BYTES FREES REALLOCATIONS LEFT_BLOCKS LEFT_BYTES".  made is the site of all mallocs, remade that of all reallocs.
 * What pthread_create allocates comes on top in the totals of the process, so compare the sums over made and remade.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "prog.h"

#define SLOTS 64

struct block {
	size_t size;
	char rest[];
};

static struct block *_Atomic slot[SLOTS];
static atomic_long allocations, bytes, frees, reallocations;
static long operations;

SITE static void *made(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	return p;
}

SITE static void *remade(void *old, size_t size)
{
	void *p = realloc(old, size);
	KEEP(p);
	return p;
}

static void *body(void *seed_of)
{
	uint64_t seed = *(uint64_t *)seed_of;
	long a = 0, b = 0, f = 0, r = 0;
	for (long i = 0; i < operations; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		size_t size = sizeof(struct block) + (seed >> 40) % 300;
		/* Now and then a large one, so that realloc moves pages and free unmaps them. */
		if ((seed >> 30) % 500 == 0)
			size += 200000;
		struct block *block = atomic_exchange(&slot[(seed >> 33) % SLOTS], NULL);
		if (!block) {
			block = made(size);
			a++, b += (long)size;
		} else if ((seed >> 20) % 3 == 0) {
			block = remade(block, size);
			a++, b += (long)size, r++, f++;
		} else if ((seed >> 20) % 3 == 1) {
			free(block);
			f++;
			continue;
		} else {
			size = block->size;
		}
		block->size = size;
		block = atomic_exchange(&slot[(seed >> 50) % SLOTS], block);
		if (block) {
			free(block);
			f++;
		}
	}
	atomic_fetch_add(&allocations, a);
	atomic_fetch_add(&bytes, b);
	atomic_fetch_add(&frees, f);
	atomic_fetch_add(&reallocations, r);
	return NULL;
}

int main(int argc, char **argv)
{
	REQUIRE(argc == 4);
	int threads = atoi(argv[1]);
	operations = atol(argv[2]);
	pthread_t thread[64];
	uint64_t seed[64];
	REQUIRE(threads <= 64);
	for (int i = 0; i < threads; i++) {
		seed[i] = (uint64_t)atol(argv[3]) * 1000 + (uint64_t)i;
		REQUIRE(pthread_create(&thread[i], NULL, body, &seed[i]) == 0);
	}
	for (int i = 0; i < threads; i++)
		REQUIRE(pthread_join(thread[i], NULL) == 0);
	long left = 0, left_bytes = 0;
	for (int i = 0; i < SLOTS; i++) {
		if (slot[i]) {
			left++;
			left_bytes += (long)slot[i]->size;
		}
	}
	say("%ld %ld %ld %ld %ld %ld\n", allocations, bytes, frees, reallocations, left,
	    left_bytes);
	return 0;
}
