/* SPDX-License-Identifier: MIT */
/*
 * A program with an allocator of its own in the executable, as if it were linked in statically: there is nothing that a preload
 * could record.  WITH adds the names by which well-known allocators are recognised: 0 none, 1 mimalloc, 2 jemalloc.
 * Makes 10 blocks, says "own malloc" and ends with status 9.
 */
#include "prog.h"

static char arena[1 << 20] __attribute__((aligned(16)));
static size_t used;
static int calls;

void *malloc(size_t size)
{
	size_t start = used + 16;
	size = (size + 15) & ~(size_t)15;
	if (start + size > sizeof(arena))
		return NULL;
	memcpy(arena + used, &size, sizeof(size));
	used = start + size;
	calls++;
	return arena + start;
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

void *realloc(void *old, size_t size)
{
	char *p = malloc(size);
	if (p && old)
		memcpy(p, old, size);
	return p;
}

#if WITH == 1
void *mi_malloc(size_t size)
{
	return malloc(size);
}
void mi_free(void *p)
{
	free(p);
}
int mi_version(void)
{
	return 212;
}
#elif WITH == 2
void *je_malloc(size_t size)
{
	return malloc(size);
}
void je_free(void *p)
{
	free(p);
}
int je_mallctl(const char *name)
{
	return name != NULL;
}
int mallctl(const char *name)
{
	return name != NULL;
}
#endif

int main(void)
{
	for (int i = 0; i < 10; i++) {
		void *p = malloc(100);
		KEEP(p);
		free(p);
	}
	say(calls >= 10 ? "own malloc\n" : "not own\n");
	return 9;
}
