/* SPDX-License-Identifier: MIT */
/*
 * The next definitions of the allocation functions after ours, and what else is looked up by name, once.  The only
 * file that may call dlsym.
 *
 * While look-ups run (dlsym may allocate), and before this library is relocated (an IFUNC resolver of a library that
 * the loader relocates earlier), allocations come from a small static arena that is never given back.
 */
#ifndef MEMTRACK_AGENT_REAL_H
#define MEMTRACK_AGENT_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/rt/hidden.h"

struct dl_find_object;
struct dl_phdr_info;

struct real_functions {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);
	int (*dlclose)(void *);
	int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
	int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *),
		       void *); /* takes the loader's lock */
	/* Tells the loaded object of an address; takes no lock (glibc 2.35).  NULL on older ones. */
	int (*find_object)(void *, struct dl_find_object *);
	int (*key_create)(unsigned int *, void (*)(void *));
	int (*key_set)(unsigned int, const void *);
	int (*set_name)(uintptr_t thread, const char *name);
};

extern HIDDEN struct real_functions real;
extern HIDDEN void *(*real_dlopen)(const char *, int); /* apart, for the assembly of the hook */

/* A hooked function by name: the hook, and what it stands before. */
struct real_hook {
	const char *name;
	uintptr_t hook, real;
};
const struct real_hook *real_hook_of(const char *name);

/* The next malloc is asked for at least so many bytes: see hooks.c. */
extern HIDDEN size_t real_least;

/*
 * The guard-page allocator, when it is the next malloc, tells where its blocks lie far apart (see blocks_sparse) by a
 * function that it exports.  Only then: a failed look-up leaves its traces.
 */
typedef void real_sparse_heap(uint64_t *base, uint64_t *size, uint32_t *apart_bits);
real_sparse_heap *real_find_sparse_heap(void);

/* False until the loader has relocated this library: nothing outside of it can be reached before. */
bool real_relocated(void);
/* False while allocation has to come from the bootstrap arena. */
bool real_ready(void);
/* Looks everything up; the caller sees to it that this happens once.  Only names that every libc has: of a failed look-up
 * the loader keeps a message, in memory that it would later give to the program's own free. */
void real_resolve(void);

/* NULL when full.  `caller` is the address that the hook returns to. */
void *bootstrap_alloc(size_t alignment, size_t size, uintptr_t caller);
/* Calls `visit` for the blocks that the program asked for before this library was relocated: those of our own look-ups
 * are not among them. */
void bootstrap_visit(void (*visit)(const void *block, size_t size, uintptr_t caller));
enum { BOOTSTRAP_SIZE = 64 * 1024 };
extern HIDDEN char bootstrap_arena[BOOTSTRAP_SIZE];
static inline bool bootstrap_owns(const void *block)
{
	return (uintptr_t)block - (uintptr_t)bootstrap_arena < BOOTSTRAP_SIZE;
}
size_t bootstrap_size(const void *block);

#endif
