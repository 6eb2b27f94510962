/* SPDX-License-Identifier: MIT */
/*
 * On any allocator: only what all of them do alike.
 *   grown    10 x malloc(100), each grown by realloc to 300 and to 5000 bytes, freed: 30 allocations, 54000 bytes, 20 reallocations
 *   emptied  10 x malloc(64), then realloc to 0 bytes, and what that gives is freed: 10 allocations of 64 bytes where realloc
 *            frees; where it gives a block, 10 more of 0 bytes, 10 reallocations
 *   aligned  5 x posix_memalign(64, 1000): 5 allocations, 5000 bytes, which stay
 *   mapped   1 x calloc(1000, 1000): 1 allocation, 1000000 bytes, freed
 * With the argument "maps" it then prints /proc/self/maps.
 */
#include <fcntl.h>

#include "prog.h"

SITE static void grown(void)
{
	for (int i = 0; i < 10; i++) {
		char *p = malloc(100);
		KEEP(p);
		p = realloc(p, 300);
		KEEP(p);
		p = realloc(p, 5000);
		KEEP(p);
		free(p);
	}
}

SITE static void emptied(void)
{
	for (int i = 0; i < 10; i++) {
		char *p = malloc(64);
		KEEP(p);
		p = realloc(p, 0);
		KEEP(p);
		free(p);
	}
}

SITE static void aligned(void)
{
	for (int i = 0; i < 5; i++) {
		void *p = NULL;
		REQUIRE(posix_memalign(&p, 64, 1000) == 0);
		REQUIRE((uintptr_t)p % 64 == 0);
		KEEP(p);
	}
}

SITE static void mapped(void)
{
	char *p = calloc(1000, 1000);
	KEEP(p);
	for (int i = 0; i < 1000000; i++)
		REQUIRE(p[i] == 0);
	free(p);
}

static void print_maps(void)
{
	static char text[1 << 16];
	int fd = open("/proc/self/maps", O_RDONLY);
	ssize_t n, size = 0;
	while ((n = read(fd, text + size, sizeof(text) - 1 - (size_t)size)) > 0)
		size += n;
	REQUIRE(size > 0 && write(1, text, (size_t)size) == size);
}

int main(int argc, char **argv)
{
	grown();
	emptied();
	aligned();
	mapped();
	if (argc > 1 && strcmp(argv[1], "maps") == 0)
		print_maps();
	return 0;
}
