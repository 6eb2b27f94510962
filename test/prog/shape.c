/* SPDX-License-Identifier: MIT */
/*
 * Heap over time.  At about 0.0 s base makes 1000000, at 0.4 s hump makes 8 x 1000000, at 0.8 s these are freed, at 1.2 s
 * it ends.  Peak 9000000 in 9 blocks: base 1000000, hump 8000000.  Says the seconds on CLOCK_MONOTONIC since its own start
 * at which the peak was reached and left.
 */
#include <time.h>

#include "prog.h"

SITE static void *base(void)
{
	void *p = malloc(1000000);
	KEEP(p);
	return p;
}

SITE static void *hump(void)
{
	void *p = malloc(1000000);
	KEEP(p);
	return p;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void)
{
	double start = now();
	void *b = base();
	usleep(400000);
	void *h[8];
	for (int i = 0; i < 8; i++)
		h[i] = hump();
	double reached = now();
	usleep(400000);
	double left = now();
	for (int i = 0; i < 8; i++)
		free(h[i]);
	usleep(400000);
	free(b);
	say("%.3f %.3f\n", reached - start, left - start);
	return 0;
}
