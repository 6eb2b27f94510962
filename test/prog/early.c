/* SPDX-License-Identifier: MIT */
/*
 * Before and after main, with a library (early_lib.c) that does the same:
 *   in_preinit       .preinit_array, before the constructors of all libraries: 10 x 100, 8 of which main frees: 2 (200) stay
 *   in_constructor   a constructor of the program: 10 x 200, 9 freed in main: 1 (200) stays
 *   in_destructor    a destructor of the program: 4 x 50 that stay (200)
 *   in_atexit        a function of atexit: 3 x 60 that stay (180)
 *   lib_constructor  the library's constructor: 5 x 111 (555), freed in its destructor, which runs after all of the program's
 *   lib_destructor   the library's destructor, after that: 2 x 70 that stay (140)
 */
#include "prog.h"

extern void early_lib_touch(void);

static void *preinit[10], *constructed[10];

SITE static void *in_preinit(void)
{
	void *p = malloc(100);
	KEEP(p);
	return p;
}

SITE static void *in_constructor(void)
{
	void *p = malloc(200);
	KEEP(p);
	return p;
}

SITE static void *in_destructor(void)
{
	void *p = malloc(50);
	KEEP(p);
	return p;
}

SITE static void *in_atexit(void)
{
	void *p = malloc(60);
	KEEP(p);
	return p;
}

static void do_preinit(void)
{
	for (int i = 0; i < 10; i++)
		preinit[i] = in_preinit();
}

__attribute__((section(".preinit_array"), used)) static void (*preinit_entry)(void) = do_preinit;

__attribute__((constructor)) static void do_construct(void)
{
	for (int i = 0; i < 10; i++)
		constructed[i] = in_constructor();
}

__attribute__((destructor)) static void do_destruct(void)
{
	for (int i = 0; i < 4; i++)
		in_destructor();
	BARRIER();
}

static void do_atexit(void)
{
	for (int i = 0; i < 3; i++)
		in_atexit();
	BARRIER();
}

int main(void)
{
	early_lib_touch();
	REQUIRE(atexit(do_atexit) == 0);
	for (int i = 0; i < 8; i++)
		free(preinit[i]);
	for (int i = 0; i < 9; i++)
		free(constructed[i]);
	return 0;
}
