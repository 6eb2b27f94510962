/* SPDX-License-Identifier: MIT */
/*
 * Every entry point of the allocator, each at a site of its own, with the corners that glibc defines.  A site
 * makes these successful calls (sizes are those asked for; failed calls and realloc(p, 0) count as no allocation):
 *   by_malloc          malloc(10), malloc(0), malloc(0)                      3 allocations    10 bytes
 *   by_calloc          calloc(3, 5), calloc(0, 8), calloc(8, 0)              3                15
 *   by_realloc         realloc(NULL, 24), (p, 100000), (p, 8), then (p, 0)   3            100032
 *   by_reallocarray    (NULL, 3, 7), (p, 30, 10)                             2               321
 *   by_memalign        memalign(64, 100), memalign(24, 50)                   2               150
 *   by_posix_memalign  (4096, 10), (8, 0)                                    2                10
 *   by_aligned_alloc   (256, 512), (256, 100)                                2               612
 *   by_valloc          valloc(11)                                            1                11
 *   by_pvalloc         pvalloc(12), pvalloc(0)                               2                12
 *   by_cfree           malloc(77), given back through cfree                  1                77
 *   fails              malloc(PTRDIFF_MAX+1), calloc overflow, realloc(p, PTRDIFF_MAX+1), reallocarray overflow,
 *                      posix_memalign with a wrong alignment and with a size too large, memalign too large;
 *                      the one successful call is the malloc(64) whose reallocs fail: 1 allocation, 64 bytes
 *   usable             for n = 0, 37, 74 ... < 5000: malloc(n), all of its usable size is written
 *                      136 allocations, 37 * (0 + 1 + ... + 135) = 339660 bytes
 *   by_size            malloc(40) -> free_sized, aligned_alloc(64, 128) -> free_aligned_sized, only where the process has
 *                      these two (C23): 2 allocations, 168 bytes; else 0.  Says "sized" or "no sized" on stdout.
 * Everything is freed.  Reallocations (realloc of a live block that succeeds, not to 0): by_realloc 2, by_reallocarray 1.
 */
#include <malloc.h>

#include "prog.h"

extern void free_sized(void *p, size_t size) __attribute__((weak));
extern void free_aligned_sized(void *p, size_t alignment, size_t size) __attribute__((weak));

/* glibc took cfree out of its headers and its default symbols; old binaries still bind to it like this. */
__asm__(".symver cfree_of_old, cfree@GLIBC_2.2.5");
extern void cfree_of_old(void *p);

static int is_aligned(const void *p, size_t alignment)
{
	return ((uintptr_t)p & (alignment - 1)) == 0;
}

SITE static void by_malloc(void)
{
	void *a = malloc(10);
	void *b = malloc(0);
	void *c = malloc(0);
	REQUIRE(a && b && c && b != c && is_aligned(a, 16) && is_aligned(b, 16));
	free(c);
	free(b);
	free(a);
	free(NULL);
	BARRIER();
}

SITE static void by_calloc(void)
{
	char *a = calloc(3, 5);
	void *b = calloc(0, 8);
	void *c = calloc(8, 0);
	REQUIRE(a && b && c);
	for (int i = 0; i < 15; i++)
		REQUIRE(a[i] == 0);
	free(a);
	free(b);
	free(c);
	BARRIER();
}

SITE static void by_realloc(void)
{
	char *p = realloc(NULL, 24);
	REQUIRE(p);
	memset(p, 'a', 24);
	p = realloc(p, 100000);
	REQUIRE(p && p[0] == 'a' && p[23] == 'a');
	p = realloc(p, 8);
	REQUIRE(p && p[7] == 'a');
	REQUIRE(realloc(p, 0) == NULL);
	BARRIER();
}

SITE static void by_reallocarray(void)
{
	char *p = reallocarray(NULL, 3, 7);
	REQUIRE(p);
	p[20] = 'b';
	p = reallocarray(p, 30, 10);
	REQUIRE(p && p[20] == 'b');
	free(p);
	BARRIER();
}

SITE static void by_memalign(void)
{
	void *p = memalign(64, 100);
	REQUIRE(p && is_aligned(p, 64));
	free(p);
	p = memalign(24, 50);
	REQUIRE(p && is_aligned(p, 32));
	free(p);
	BARRIER();
}

SITE static void by_posix_memalign(void)
{
	void *p = NULL;
	REQUIRE(posix_memalign(&p, 4096, 10) == 0 && is_aligned(p, 4096));
	free(p);
	REQUIRE(posix_memalign(&p, 8, 0) == 0 && p);
	free(p);
	BARRIER();
}

SITE static void by_aligned_alloc(void)
{
	void *p = aligned_alloc(256, 512);
	REQUIRE(p && is_aligned(p, 256));
	free(p);
	p = aligned_alloc(256, 100);
	REQUIRE(p && is_aligned(p, 256));
	free(p);
	BARRIER();
}

SITE static void by_valloc(void)
{
	void *p = valloc(11);
	REQUIRE(p && is_aligned(p, 4096));
	free(p);
	BARRIER();
}

SITE static void by_pvalloc(void)
{
	void *p = pvalloc(12);
	REQUIRE(p && is_aligned(p, 4096) && malloc_usable_size(p) >= 4096);
	free(p);
	p = pvalloc(0);
	REQUIRE(p);
	free(p);
	BARRIER();
}

SITE static void by_cfree(void)
{
	void *p = malloc(77);
	KEEP(p);
	cfree_of_old(p);
	BARRIER();
}

SITE static void fails(void)
{
	volatile size_t too_large = (size_t)PTRDIFF_MAX + 1;
	volatile size_t half = SIZE_MAX / 2 + 1;
	errno = 0;
	REQUIRE(malloc(too_large) == NULL && errno == ENOMEM);
	errno = 0;
	REQUIRE(calloc(half, 2) == NULL && errno == ENOMEM);
	char *p = malloc(64);
	REQUIRE(p);
	memset(p, 'c', 64);
	errno = 0;
	REQUIRE(realloc(p, too_large) == NULL && errno == ENOMEM);
	errno = 0;
	REQUIRE(reallocarray(p, half, 4) == NULL && errno == ENOMEM);
	REQUIRE(p[0] == 'c' && p[63] == 'c');
	free(p);
	void *out = (void *)0x1234;
	errno = 55;
	REQUIRE(posix_memalign(&out, 24, 8) == EINVAL && out == (void *)0x1234);
	REQUIRE(posix_memalign(&out, 4, 8) == EINVAL && out == (void *)0x1234);
	REQUIRE(posix_memalign(&out, 64, too_large) == ENOMEM && out == (void *)0x1234);
	errno = 0;
	REQUIRE(memalign(64, too_large) == NULL && errno == ENOMEM);
	BARRIER();
}

SITE static void usable(void)
{
	REQUIRE(malloc_usable_size(NULL) == 0);
	for (size_t n = 0; n < 5000; n += 37) {
		void *p = malloc(n);
		size_t size = malloc_usable_size(p);
		REQUIRE(p && size >= n);
		memset(p, 0x5a, size);
		free(p);
	}
}

SITE static void by_size(void)
{
	if (!free_sized || !free_aligned_sized) {
		say("no sized\n");
		return;
	}
	void *p = malloc(40);
	KEEP(p);
	free_sized(p, 40);
	p = aligned_alloc(64, 128);
	KEEP(p);
	free_aligned_sized(p, 64, 128);
	free_sized(NULL, 0);
	say("sized\n");
}

int main(void)
{
	by_malloc();
	by_calloc();
	by_realloc();
	by_reallocarray();
	by_memalign();
	by_posix_memalign();
	by_aligned_alloc();
	by_valloc();
	by_pvalloc();
	by_cfree();
	fails();
	usable();
	by_size();
	BARRIER();
	return 0;
}
