/* SPDX-License-Identifier: MIT */
/* A plug-in, built twice (WHO=red, WHO=blue): plug_WHO_alloc makes one block of SIZE bytes. */
#include "prog.h"

#define GLUE3_(a, b, c) a##b##c
#define GLUE3(a, b, c)	GLUE3_(a, b, c)

SITE static void *GLUE3(plug_, WHO, _alloc)(void)
{
	void *p = malloc(SIZE);
	KEEP(p);
	return p;
}

void *plug_make(void)
{
	void *p = GLUE3(plug_, WHO, _alloc)();
	KEEP(p);
	return p;
}
