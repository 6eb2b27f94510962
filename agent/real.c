/* SPDX-License-Identifier: MIT */
/* Next-function look-up and the bootstrap arena; see real.h. */
#include "agent/real.h"

#include <dlfcn.h>

#include "agent/rt/mem.h"

struct real_functions real;
size_t real_least = 16;
void *(*real_dlopen)(const char *, int);
static bool resolved;

/* Holds its own address only once the loader has relocated this library. */
static const void *const relocated = &relocated;

struct bootstrap_header {
	size_t size;
	uintptr_t caller;
	const void *next; /* the early block before this one */
	uintptr_t reserved;
};
_Alignas(16) char bootstrap_arena[BOOTSTRAP_SIZE];
static size_t bootstrap_used;
static const void
	*early; /* the last block that the program asked for before relocation: one thread, then */

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

/* dlopen and dlclose too: a library that is bound deeply may open others, and close them. */
static struct real_hook hooks[] = {
	{ "malloc", 0, 0 },
	{ "free", 0, 0 },
	{ "calloc", 0, 0 },
	{ "realloc", 0, 0 },
	{ "reallocarray", 0, 0 },
	{ "memalign", 0, 0 },
	{ "aligned_alloc", 0, 0 },
	{ "posix_memalign", 0, 0 },
	{ "valloc", 0, 0 },
	{ "pvalloc", 0, 0 },
	{ "malloc_usable_size", 0, 0 },
	{ "dlopen", 0, 0 },
	{ "dlclose", 0, 0 },
};

/* Ours are the first definitions, unless the program has its own: then those are what others should call. */
static void note_hooks(void)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++) {
		hooks[i].hook = (uintptr_t)dlsym(RTLD_DEFAULT, hooks[i].name);
		hooks[i].real = (uintptr_t)next(hooks[i].name);
	}
}

const struct real_hook *real_hook_of(const char *name)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++) {
		size_t n = rt_length(hooks[i].name);

		if (hooks[i].hook && rt_length(name) == n && memcmp(name, hooks[i].name, n) == 0)
			return &hooks[i];
	}
	return NULL;
}

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
	RESOLVE(malloc_usable_size, "malloc_usable_size");
	RESOLVE(dlclose, "dlclose");
	RESOLVE(prctl, "prctl");
	RESOLVE(iterate, "dl_iterate_phdr");
	RESOLVE(find_object, "_dl_find_object");
	RESOLVE(key_create, "pthread_key_create");
	RESOLVE(key_set, "pthread_setspecific");
	RESOLVE(set_name, "pthread_setname_np");
	*(void **)(void *)&real_dlopen = next("dlopen");
	note_hooks();
	dlerror(); /* a failed look-up must not become the program's first error message */
	__atomic_store_n(&resolved, true, __ATOMIC_RELEASE);
}

real_sparse_heap *real_find_sparse_heap(void)
{
	real_sparse_heap *found;

	*(void **)(void *)&found = next("memtrack_sparse_heap");
	return found;
}

static struct bootstrap_header *header_of(const void *block)
{
	return (struct bootstrap_header *)block - 1;
}

void *bootstrap_alloc(size_t alignment, size_t size, uintptr_t caller)
{
	size_t need, start;
	char *block;

	if (alignment < 16)
		alignment = 16;
	if (size > BOOTSTRAP_SIZE || alignment > BOOTSTRAP_SIZE)
		return NULL;
	need = (size + alignment + sizeof(struct bootstrap_header) + 15) & ~15ul;
	start = __atomic_fetch_add(&bootstrap_used, need, __ATOMIC_RELAXED);
	if (start + need > BOOTSTRAP_SIZE)
		return NULL;
	block = bootstrap_arena + start + sizeof(struct bootstrap_header);
	block = (char *)(((uintptr_t)block + alignment - 1) & ~(alignment - 1));
	*header_of(block) =
		(struct bootstrap_header){ .size = size, .caller = caller, .next = early };
	if (!real_relocated())
		early = block;
	return block;
}

void bootstrap_visit(void (*visit)(const void *block, size_t size, uintptr_t caller))
{
	for (const void *block = early; block; block = header_of(block)->next)
		visit(block, header_of(block)->size, header_of(block)->caller);
}

size_t bootstrap_size(const void *block)
{
	return header_of(block)->size;
}
