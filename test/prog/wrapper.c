/* SPDX-License-Identifier: MIT */
/*
 * A library of the program that wraps malloc in the way many do: it finds the next one by dlsym at its first call, serves
 * what comes meanwhile from a buffer of its own, and calls on.  Each call of the program is one allocation, not two.
 */
#include <dlfcn.h>

#include "prog.h"

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static char early[4096] __attribute__((aligned(16)));
static size_t early_used;
static int finding;

void *malloc(size_t size)
{
	if (!next_malloc) {
		if (finding) {
			void *p = early + early_used;
			early_used += (size + 15) & ~(size_t)15;
			return p;
		}
		finding = 1;
		next_malloc = (void *(*)(size_t))(uintptr_t)dlsym(RTLD_NEXT, "malloc");
		next_free = (void (*)(void *))(uintptr_t)dlsym(RTLD_NEXT, "free");
		finding = 0;
	}
	void *p = next_malloc(size);
	BARRIER();
	return p;
}

void free(void *p)
{
	if ((char *)p >= early && (char *)p < early + sizeof(early))
		return;
	if (!next_free)
		malloc(1);
	next_free(p);
	BARRIER();
}
