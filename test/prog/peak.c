/* SPDX-License-Identifier: MIT */
/*
 * Scripted sequences for the peak.  The argument picks:
 *   humps      first makes 1000 x 3000 = 3000000 and frees it; then both makes 1000000 that stays to the end, second
 *              makes 2000100 in one block; all is freed.  Peak 3000100 in 2 blocks: first 0, both 1000000, second 2000100.
 *   rising     rising makes 100 x 1000, never freed: the peak is at the end: 100000 in 100 blocks.
 *   tie        first 500 x 100 freed, second 500 x 100 freed, first 500 x 100 freed: 50000 in 500 blocks, reached three
 *              times; the share is that of one of the moments, so it belongs to one site alone.
 *   swap       both makes 100000; while it lives, first 50000 is freed and second 50001 made: peak 150001 in 2 blocks:
 *              both 100000, second 50001, first 0.
 *   realloc    grown: realloc from 1000000 to 1500000 and to 500000, then freed: 1500000 in 1 block, not 2500000.
 *   zero       1000 blocks of 0 bytes around one of 10 bytes: peak 10 bytes; the number of blocks at the peak is the one
 *              at the first moment with 10 live bytes: 500 blocks of 0 bytes, and one of 10.
 *   random N   N pseudo-random operations over the sites r0 ... r4 with the peak worked out here, by plain addition:
 *              prints "PEAK_BYTES PEAK_BLOCKS R0 R1 R2 R3 R4 ALLOCATIONS BYTES REALLOCATIONS LEAKED_BLOCKS LEAKED_BYTES",
 *              R0-R4 being the sites' bytes at the peak.  A second argument seeds it.  Fails by itself (97) if two moments tie.
 */
#include "prog.h"

#define DEFINE_SITE(name)                            \
 SITE static void *name(void *old, size_t size)      \
 {                                                   \
  void *p = old ? realloc(old, size) : malloc(size); \
  KEEP(p);                                           \
  return p;                                          \
 }

DEFINE_SITE(first)
DEFINE_SITE(second)
DEFINE_SITE(both)
DEFINE_SITE(rising)
DEFINE_SITE(grown)
DEFINE_SITE(empty)
DEFINE_SITE(r0)
DEFINE_SITE(r1)
DEFINE_SITE(r2)
DEFINE_SITE(r3)
DEFINE_SITE(r4)

#define SLOTS 4000
static void *slot[SLOTS];

static void fill(void *site(void *, size_t), int count, size_t size)
{
	for (int i = 0; i < count; i++)
		slot[i] = site(NULL, size);
}

static void drop(int count)
{
	for (int i = 0; i < count; i++)
		free(slot[i]);
}

static void do_random(long operations, uint64_t seed)
{
	static void *(*const sites[5])(void *, size_t) = { r0, r1, r2, r3, r4 };
	static unsigned char owner[SLOTS];
	static size_t sizes[SLOTS];
	long live[5] = { 0 }, at_peak[5] = { 0 };
	long total = 0, blocks = 0, peak = 0, peak_blocks = 0, allocations = 0, bytes = 0;
	long reallocations = 0;
	int tie = 0;
	for (long i = 0; i < operations; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		unsigned index = (unsigned)(seed >> 33) % SLOTS;
		unsigned site = (unsigned)(seed >> 20) % 5;
		size_t size = (seed >> 24) % 9973;
		/* Phases of growth and shrinking, so that there are many maxima of which one is the highest. */
		int growing = (i / 1500) % 3 != 2;
		if (!slot[index] && growing) {
			slot[index] = sites[site](NULL, size);
			blocks++;
		} else if (slot[index] && growing && size % 4 == 0 && size > 0) {
			slot[index] = sites[site](slot[index], size);
			live[owner[index]] -= (long)sizes[index];
			total -= (long)sizes[index];
			reallocations++;
		} else if (slot[index] && !growing) {
			free(slot[index]);
			slot[index] = NULL;
			live[owner[index]] -= (long)sizes[index];
			total -= (long)sizes[index];
			blocks--;
			continue;
		} else {
			continue;
		}
		owner[index] = (unsigned char)site;
		sizes[index] = size;
		live[site] += (long)size;
		total += (long)size;
		bytes += (long)size;
		allocations++;
		if (total == peak && size > 0)
			tie = 1;
		if (total > peak) {
			peak = total;
			peak_blocks = blocks;
			memcpy(at_peak, live, sizeof(live));
			tie = 0;
		}
	}
	REQUIRE(!tie);
	say("%ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld\n", peak, peak_blocks, at_peak[0],
	    at_peak[1], at_peak[2], at_peak[3], at_peak[4], allocations, bytes, reallocations,
	    blocks, total);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "humps") == 0) {
		fill(first, 1000, 3000);
		drop(1000);
		void *b = both(NULL, 1000000);
		free(second(NULL, 2000100));
		free(b);
	} else if (strcmp(what, "rising") == 0) {
		fill(rising, 100, 1000);
	} else if (strcmp(what, "tie") == 0) {
		for (int i = 0; i < 3; i++) {
			fill(i == 1 ? second : first, 500, 100);
			drop(500);
		}
	} else if (strcmp(what, "swap") == 0) {
		void *b = both(NULL, 100000);
		free(first(NULL, 50000));
		free(second(NULL, 50001));
		free(b);
	} else if (strcmp(what, "realloc") == 0) {
		void *p = grown(grown(grown(NULL, 1000000), 1500000), 500000);
		free(p);
	} else if (strcmp(what, "zero") == 0) {
		for (int i = 0; i < 500; i++)
			empty(NULL, 0);
		void *p = both(NULL, 10);
		for (int i = 0; i < 500; i++)
			empty(NULL, 0);
		free(p);
	} else if (strcmp(what, "random") == 0) {
		do_random(atol(argv[2]), argc > 3 ? (uint64_t)atol(argv[3]) : 1);
	} else {
		return 98;
	}
	return 0;
}
