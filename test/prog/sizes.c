/* SPDX-License-Identifier: MIT */
/*
 * Sizes at the edges of whatever a record may be packed into.
 *   edge    for k = 3..31: malloc(2^k - 1), malloc(2^k), malloc(2^k + 1), all freed at once: 87 allocations,
 *           3 * (2^3 + ... + 2^31) = 3 * (2^32 - 2^3) = 12884901864 bytes, all temporary
 *   giant   malloc(2^32 - 1), malloc(2^32), malloc(2^32 + 5), each freed before the next: 3 allocations, 12884901892 bytes,
 *           then malloc(5 * 2^30) at kept and realloc of it at regrown to 6 * 2^30, freed
 *   kept    1 allocation, 5368709120 bytes;  regrown  1 allocation, 6442450944 bytes
 * The peak is regrown's block alone: 6442450944 bytes.  Nothing is written into the blocks.  Says "refused" and stops where the
 * kernel refuses so much.
 */
#include "prog.h"

SITE static void *edge(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	return p;
}

SITE static void *giant(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	return p;
}

SITE static void *kept(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	return p;
}

SITE static void *regrown(void *old, size_t size)
{
	void *p = realloc(old, size);
	KEEP(p);
	return p;
}

static void *granted(void *p)
{
	if (!p) {
		say("refused\n");
		_exit(0);
	}
	return p;
}

int main(void)
{
	for (int k = 3; k <= 31; k++) {
		for (int d = -1; d <= 1; d++)
			free(granted(edge(((size_t)1 << k) + (size_t)d)));
	}
	free(granted(giant(((size_t)1 << 32) - 1)));
	free(granted(giant((size_t)1 << 32)));
	free(granted(giant(((size_t)1 << 32) + 5)));
	void *p = granted(kept((size_t)5 << 30));
	p = granted(regrown(p, (size_t)6 << 30));
	free(p);
	say("granted\n");
	return 0;
}
