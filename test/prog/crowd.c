/* SPDX-License-Identifier: MIT */
/*
 * crowd COUNT: COUNT blocks of 1 to 64 bytes (i % 64 + 1) live at once, each written to its ends and checked, at the site crowded;
 * one in ten is replaced.  Says "COUNT blocks, RSS KIB": the process's resident set when all of them lived.
 *   crowded  COUNT + COUNT / 10 allocations
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "prog.h"

SITE static unsigned char *crowded(size_t i)
{
	size_t size = i % 64 + 1;
	unsigned char *p = malloc(size);
	KEEP(p);
	REQUIRE(p);
	p[0] = p[size - 1] = (unsigned char)(i * 31);
	return p;
}

static void leave(unsigned char *p, size_t i)
{
	REQUIRE(p[0] == (unsigned char)(i * 31) && p[i % 64] == (unsigned char)(i * 31));
	free(p);
}

static long rss_kib(void)
{
	char text[8192];
	int fd = open("/proc/self/status", O_RDONLY);
	REQUIRE(fd >= 0);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	REQUIRE(n > 0);
	text[n] = 0;
	close(fd);
	const char *line = strstr(text, "VmRSS:");
	REQUIRE(line);
	return strtol(line + 6, NULL, 10);
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 400000;
	/* No block of its own. */
	unsigned char **blocks = mmap(NULL, count * sizeof(*blocks), PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(blocks != MAP_FAILED);
	for (size_t i = 0; i < count; i++)
		blocks[i] = crowded(i);
	for (size_t i = 0; i < count; i += 10) {
		leave(blocks[i], i);
		blocks[i] = crowded(i);
	}
	say("%zu blocks, RSS %ld\n", count, rss_kib());
	for (size_t i = 0; i < count; i++)
		leave(blocks[i], i);
	return 0;
}
