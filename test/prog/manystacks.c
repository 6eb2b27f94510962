/* SPDX-License-Identifier: MIT */
/*
 * 2^N different stacks (default N = 14): a binary tree of calls of left and right, N deep, with one block of 24 bytes at each end,
 * freed unless all turns were to the left.  tree_site: 2^N allocations, 24 * 2^N bytes, 1 block (24 bytes) stays.
 * The second argument repeats all of it.
 */
#include "prog.h"

SITE static void *tree_site(void)
{
	void *p = malloc(24);
	KEEP(p);
	return p;
}

static void split(int depth, unsigned turns);

SITE static void left(int depth, unsigned turns)
{
	split(depth - 1, turns);
	BARRIER();
}

SITE static void right(int depth, unsigned turns)
{
	split(depth - 1, turns + 1);
	BARRIER();
}

SITE static void split(int depth, unsigned turns)
{
	if (depth == 0) {
		void *p = tree_site();
		if (turns != 0)
			free(p);
	} else {
		left(depth, turns);
		right(depth, turns);
	}
	BARRIER();
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 14;
	int rounds = argc > 2 ? atoi(argv[2]) : 1;
	for (int i = 0; i < rounds; i++)
		split(depth, 0);
	return 0;
}
