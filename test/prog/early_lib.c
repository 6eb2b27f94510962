/* SPDX-License-Identifier: MIT */
/* The library of early.c; the figures are there. */
#include "prog.h"

void early_lib_touch(void);

static void *constructed[5];

SITE static void *lib_constructor(void)
{
	void *p = malloc(111);
	KEEP(p);
	return p;
}

SITE static void *lib_destructor(void)
{
	void *p = malloc(70);
	KEEP(p);
	return p;
}

__attribute__((constructor)) static void construct(void)
{
	for (int i = 0; i < 5; i++)
		constructed[i] = lib_constructor();
}

__attribute__((destructor)) static void destruct(void)
{
	for (int i = 0; i < 5; i++)
		free(constructed[i]);
	lib_destructor();
	lib_destructor();
	BARRIER();
}

void early_lib_touch(void)
{
	BARRIER();
}
