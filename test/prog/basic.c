/* SPDX-License-Identifier: MIT */
/*
 * The plain case, single-threaded, in this order:
 *   small   for i in 0..999: malloc(100); block i is freed at once unless i % 10 == 0
 *           1000 allocations, 100000 bytes, 900 of them temporary, 100 blocks (10000 bytes) stay
 *   zeroed  calloc(50, 40), stays until after large: 1 allocation, 2000 bytes, then freed
 *   large   malloc(1000000) freed at once (temporary), then 10 x malloc(200000) that stay
 *           11 allocations, 3000000 bytes, 10 blocks (2000000 bytes) stay
 * Totals: 1012 allocations, 3102000 bytes, 902 frees, 1092000 bytes freed, 901 temporary,
 *         110 blocks (2010000 bytes) leaked.  (zeroed's free comes after other allocations, so it is not temporary.)
 * Peak: after the last large block, before zeroed's free: 2012000 bytes in 111 blocks; small 10000, zeroed 2000, large 2000000.
 * With the argument "nothing" it allocates nothing at all: every figure is 0.
 */
#include "prog.h"

SITE static void *small(void)
{
	void *p = malloc(100);
	KEEP(p);
	return p;
}

SITE static void *zeroed(void)
{
	void *p = calloc(50, 40);
	KEEP(p);
	return p;
}

SITE static void *large(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	return p;
}

SITE static void work(void)
{
	for (int i = 0; i < 1000; i++) {
		void *p = small();
		if (i % 10 != 0)
			free(p);
	}
	void *z = zeroed();
	free(large(1000000));
	for (int i = 0; i < 10; i++)
		large(200000);
	free(z);
	BARRIER();
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "nothing") == 0)
		return 0;
	work();
	if (argc > 1 && strcmp(argv[1], "status") == 0)
		return atoi(argv[2]);
	say("basic done\n");
	return 0;
}
