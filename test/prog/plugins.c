/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes two plug-ins in turn, 40 times each; the second is loaded where the first lay.
 * In each round 10 blocks are made, the first of them stays:
 *   plug_red_alloc   400 allocations of 60 bytes (24000), 40 stay (2400)
 *   plug_blue_alloc  400 allocations of 90 bytes (36000), 40 stay (3600)
 * Stacks: plug_red_alloc<plug_make<use<main.  Says "reused" when the address was the same at least once.
 * usage: plugins RED BLUE
 */
#include <dlfcn.h>

#include "prog.h"

SITE static void *use(const char *file)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	REQUIRE(library);
	void *(*make)(void) = (void *(*)(void))(uintptr_t)dlsym(library, "plug_make");
	REQUIRE(make);
	for (int i = 0; i < 10; i++) {
		void *p = make();
		if (i != 0)
			free(p);
	}
	void *where = (void *)(uintptr_t)make;
	REQUIRE(dlclose(library) == 0);
	return where;
}

int main(int argc, char **argv)
{
	REQUIRE(argc == 3);
	int reused = 0;
	for (int i = 0; i < 40; i++) {
		void *red = use(argv[1]);
		void *blue = use(argv[2]);
		reused += red == blue;
	}
	say("%s\n", reused ? "reused" : "never reused");
	return 0;
}
