/* SPDX-License-Identifier: MIT */
/* Next-function look-up and the bootstrap arena; see real.h. */
#include "agent/real.h"

#include <dlfcn.h>

#include "agent/rt/mem.h"

struct real_functions real;
static bool resolved;

/* Holds its own address only once the loader has relocated this library. */
static const void *const relocated = &relocated;

enum { BOOTSTRAP_SIZE = 64 * 1024, BOOTSTRAP_HEADER = 16 };
static _Alignas(16) char bootstrap[BOOTSTRAP_SIZE];
static size_t bootstrap_used;

bool real_relocated(void)
{
	const void *here = &relocated;

	/* The compiler must not know that both are the same. */
	__asm__("" : "+r"(here));
	return *(const void *const volatile *)here == here;
}

bool real_ready(void)
{
	return real_relocated() && __atomic_load_n(&resolved, __ATOMIC_ACQUIRE);
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* ISO C has no conversion from object to function pointers; POSIX promises that this works. */
#define RESOLVE(field, name) (*(void **)(void *)&real.field = next(name))

void real_resolve(void)
{
	RESOLVE(malloc, "malloc");
	RESOLVE(free, "free");
	RESOLVE(calloc, "calloc");
	RESOLVE(realloc, "realloc");
	RESOLVE(memalign, "memalign");
	RESOLVE(aligned_alloc, "aligned_alloc");
	RESOLVE(posix_memalign, "posix_memalign");
	RESOLVE(valloc, "valloc");
	RESOLVE(pvalloc, "pvalloc");
	RESOLVE(free_sized, "free_sized");
	RESOLVE(free_aligned_sized, "free_aligned_sized");
	RESOLVE(malloc_usable_size, "malloc_usable_size");
	RESOLVE(dlclose, "dlclose");
	RESOLVE(find_object, "_dl_find_object");
	RESOLVE(key_create, "pthread_key_create");
	RESOLVE(key_set, "pthread_setspecific");
	dlerror(); /* a failed look-up must not become the program's first error message */
	__atomic_store_n(&resolved, true, __ATOMIC_RELEASE);
}

void *bootstrap_alloc(size_t alignment, size_t size)
{
	size_t need, start;
	char *block;

	if (alignment < 16)
		alignment = 16;
	if (size > BOOTSTRAP_SIZE || alignment > BOOTSTRAP_SIZE)
		return NULL;
	need = size + alignment + BOOTSTRAP_HEADER;
	start = __atomic_fetch_add(&bootstrap_used, (need + 15) & ~15ul, __ATOMIC_RELAXED);
	if (start + need > BOOTSTRAP_SIZE)
		return NULL;
	block = bootstrap + start + BOOTSTRAP_HEADER;
	block = (char *)(((uintptr_t)block + alignment - 1) & ~(alignment - 1));
	memcpy(block - sizeof(size_t), &size, sizeof(size_t));
	return block;
}

bool bootstrap_owns(const void *block)
{
	return (uintptr_t)block - (uintptr_t)bootstrap < BOOTSTRAP_SIZE;
}

size_t bootstrap_size(const void *block)
{
	size_t size;

	memcpy(&size, (const char *)block - sizeof(size_t), sizeof(size_t));
	return size;
}
