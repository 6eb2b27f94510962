/* SPDX-License-Identifier: MIT */
/*
 * Wrong frees.  good makes 10 x 100, of which 5 stay; then the argument picks:
 *   double    frees a block twice, which libc answers with SIGABRT
 *   foreign   frees a pointer into the stack, likewise
 *   deepbind  PLUGIN: takes 10 blocks from the plug-in (plug.c), opened with RTLD_DEEPBIND so that its malloc may be libc's own, and
 *             frees them here; status 0
 *   wrapped   nothing more (for the build with a wrapper library): status 0
 * good: 10 allocations, 1000 bytes, 5 blocks (500 bytes) stay.
 */
#include <dlfcn.h>

#include "prog.h"

SITE static void *good(void)
{
	void *p = malloc(100);
	KEEP(p);
	return p;
}

SITE static void release(void *p)
{
	free(p);
	BARRIER();
}

static void deepbind(const char *plugin)
{
	void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	REQUIRE(library);
	void *(*make)(void) = (void *(*)(void))(uintptr_t)dlsym(library, "plug_make");
	REQUIRE(make);
	for (int i = 0; i < 10; i++)
		release(make());
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	for (int i = 0; i < 10; i++) {
		void *p = good();
		if (i % 2)
			release(p);
	}
	if (strcmp(what, "double") == 0) {
		void *p = malloc(200);
		KEEP(p);
		release(p);
		KEEP(p);
		release(p);
	} else if (strcmp(what, "foreign") == 0) {
		char room[256] __attribute__((aligned(16)));
		memset(room, 0, sizeof(room));
		void *p = room + 64;
		KEEP(p);
		release(p);
	} else if (strcmp(what, "deepbind") == 0) {
		deepbind(argv[2]);
	}
	return 0;
}
