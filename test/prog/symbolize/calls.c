/* SPDX-License-Identifier: MIT */
/*
 * Inlined calls three deep, a function of its own, a recursive one, and (in
 * start.S) assembly.
 */
#include "mark.h"

int assembly(int x);
int unused(void);

static volatile int sink;

static inline __attribute__((always_inline)) int leaf(int x)
{
	MARK(leaf); /* LINE leaf */
	return x + sink;
}

static inline __attribute__((always_inline)) int middle(int x)
{
	sink = x;
	return leaf(x + 1); /* LINE middle */
}

__attribute__((noinline)) int outer(int x)
{
	sink = x + 2;
	sink = middle(x); /* LINE outer */
	return sink;
}

static __attribute__((noinline)) int plain(int x)
{
	MARK(plain); /* LINE plain */
	return x * sink;
}

int main(int argc, char **argv)
{
	(void)argv;
	MARK(main); /* LINE main */
	return outer(argc) + plain(argc) + assembly(argc);
}
