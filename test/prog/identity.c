/* SPDX-License-Identifier: MIT */
/*
 * Built twice, with WHO=original and WHO=impostor, so that two different files can stand under one name.
 *   alloc_in_WHO  25 x 77 bytes that stay: 25 allocations, 1925 bytes, below run_WHO, below main
 * With the arguments "replace FILE" it renames FILE over its own name before it ends, with "delete" it removes its own name.
 */
#include "prog.h"

#define GLUE_(a, b) a##b
#define GLUE(a, b)  GLUE_(a, b)

#ifdef PADDING
/* Shifts everything behind it, so that the addresses of one build mean something else in the other. */
__asm__(".text\n.skip " PADDING ", 0x90\n");
#endif

SITE static void *GLUE(alloc_in_, WHO)(void)
{
	void *p = malloc(77);
	KEEP(p);
	return p;
}

SITE static void GLUE(run_, WHO)(void)
{
	for (int i = 0; i < 25; i++)
		GLUE(alloc_in_, WHO)();
	BARRIER();
}

int main(int argc, char **argv)
{
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	REQUIRE(length > 0);
	self[length] = 0;
	GLUE(run_, WHO)();
	if (argc > 2 && strcmp(argv[1], "replace") == 0)
		REQUIRE(rename(argv[2], self) == 0);
	if (argc > 1 && strcmp(argv[1], "delete") == 0)
		REQUIRE(unlink(self) == 0);
	return 0;
}
