/* SPDX-License-Identifier: MIT */
/*
 * Realloc moves a block to the site of the realloc, with its new size, whether it moves in memory or not.
 *   born    10 x malloc(100)                         10 allocations   1000 bytes, none stays
 *   grown   realloc of each to 200, 400, 800         30             14000, 10 blocks of 800 stay
 *   shrunk  malloc(5000) -> 4000 .. 1000 in place     4             10000 (realloc), 1 block of 1000 stays
 *   first   the malloc(5000) of it                    1              5000
 *   chain   1, 2, 4 ... 2^20 by realloc from NULL    21           2097151, freed: 0 stays
 *   ended   realloc(born2(300), 0): a free            0
 *   born2   malloc(300)                               1               300
 *   failing realloc(kept(700), PTRDIFF_MAX + 1)       0               0; kept: 1 x 700 stays, at its first site
 * Reallocations: 30 + 4 + 20 = 54 (the chain's first call has no old block).
 * Totals: allocations 10+30+4+1+21+1+1 = 68, bytes 1000+14000+10000+5000+2097151+300+700 = 2128151,
 *         leaked 10 + 1 + 1 = 12 blocks, 8000 + 1000 + 700 = 9700 bytes; frees = 68 - 12 = 56.
 * Peak: the chain's last block, 2^20, together with all that stays but kept (made later): 1048576 + 8000 + 1000 = 1057576
 *       in 12 blocks.  The old and the new block of a realloc never count together.
 */
#include "prog.h"

SITE static void *born(void)
{
	void *p = malloc(100);
	KEEP(p);
	return p;
}

SITE static void *grown(void *old, size_t size)
{
	void *p = realloc(old, size);
	KEEP(p);
	return p;
}

SITE static void *first(void)
{
	void *p = malloc(5000);
	KEEP(p);
	return p;
}

SITE static void *shrunk(void *old, size_t size)
{
	void *p = realloc(old, size);
	KEEP(p);
	return p;
}

SITE static void *chain(void *old, size_t size)
{
	void *p = realloc(old, size);
	KEEP(p);
	return p;
}

SITE static void *born2(void)
{
	void *p = malloc(300);
	KEEP(p);
	return p;
}

SITE static void *ended(void *old)
{
	void *p = realloc(old, 0);
	KEEP(p);
	return p;
}

SITE static void *kept(void)
{
	void *p = malloc(700);
	KEEP(p);
	return p;
}

SITE static void *failing(void *old)
{
	volatile size_t too_large = (size_t)PTRDIFF_MAX + 1;
	void *p = realloc(old, too_large);
	KEEP(p);
	return p;
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		char *p = born();
		memset(p, i, 100);
		for (size_t size = 200; size <= 800; size *= 2) {
			p = grown(p, size);
			REQUIRE(p && p[99] == i);
		}
	}
	void *p = first();
	for (size_t size = 4000; size >= 1000; size -= 1000)
		p = shrunk(p, size);
	p = NULL;
	for (size_t size = 1; size <= 1 << 20; size *= 2)
		p = chain(p, size);
	free(p);
	REQUIRE(ended(born2()) == NULL);
	REQUIRE(failing(kept()) == NULL);
	return 0;
}
