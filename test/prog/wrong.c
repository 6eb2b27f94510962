/* SPDX-License-Identifier: MIT */
/*
 * Wrong frees.  good makes 10 x 100, of which 5 stay; then the argument picks:
 *   double    frees a block twice, which libc answers with SIGABRT
 *   foreign   frees a pointer into the stack, likewise
 *   deepbind  PLUGIN: takes 10 blocks from the plug-in (plug.c), opened with RTLD_DEEPBIND so that its malloc may be libc's own, and
 *             frees them here; status 0
 *   survived  three times frees a block of 40 bytes of make_small twice, and seven times a pointer into the stack (release_odd),
 *             and leaves the abort that libc answers with by siglongjmp; status 0
 *   wrapped   nothing more (for the build with a wrapper library): status 0
 * good: 10 allocations, 1000 bytes, 5 blocks (500 bytes) stay.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>

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

SITE static void *make_small(void)
{
	void *p = malloc(40);
	KEEP(p);
	return p;
}

SITE static void release_again(void *p)
{
	free(p);
	BARRIER();
}

SITE static void release_odd(void *p)
{
	free(p);
	BARRIER();
}

static sigjmp_buf out_of_abort;

static void leave_abort(int number)
{
	(void)number;
	siglongjmp(out_of_abort, 1);
}

static void survived(void)
{
	char room[64] __attribute__((aligned(16)));
	void *volatile inside = room + 16;

	memset(room, 0, sizeof(room));
	signal(SIGABRT, leave_abort);
	for (volatile int i = 0; i < 3; i++) {
		void *p = make_small();
		release(p);
		KEEP(p);
		if (!sigsetjmp(out_of_abort, 1))
			release_again(p);
	}
	for (volatile int i = 0; i < 7; i++)
		if (!sigsetjmp(out_of_abort, 1))
			release_odd(inside);
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
	} else if (strcmp(what, "survived") == 0) {
		survived();
	} else if (strcmp(what, "deepbind") == 0) {
		deepbind(argv[2]);
	}
	return 0;
}
