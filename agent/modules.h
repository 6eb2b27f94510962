/* SPDX-License-Identifier: MIT */
/*
 * The load map: which ELF object an address belongs to.  Objects are entered when an address in them is first met, and
 * marked as unloaded after a dlclose that removed them; the generation counts those.  Look-up goes through glibc's
 * _dl_find_object, which takes no lock and is safe in signal handlers.
 */
#ifndef MEMTRACK_AGENT_MODULES_H
#define MEMTRACK_AGENT_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/rt/hidden.h"

/* A loaded object as the loader describes it now. */
struct object {
	uintptr_t start, end;
	uintptr_t bias;
	const char *name;
	const uint8_t *eh_frame_hdr; /* NULL when it has none */
	const void *map;	     /* the loader's name for it */
};

/* Learns where the program itself lies from the kernel's auxiliary vector (its headers; NULL: unknown).  The loader
 * describes a program whose segments are not adjacent piece by piece. */
void modules_start(const unsigned long *auxiliary);
/* The object of an address in it that is executing, or will be returned to: it cannot be unloaded meanwhile. */
bool object_find(uintptr_t address, struct object *object);
/* Where the kernel or the loader enters an object; 0 unknown. */
uintptr_t object_entry(const struct object *object);

/* Index of the module of an address, entering it when new; 0: code of no file, or no room. */
uint32_t module_of(uintptr_t address);
bool module_unloaded(uint32_t module);
/* What was entered of it.  *path is not terminated; NULL: it found no room, or is the executable. */
struct seg_module;
const struct seg_module *module_record(uint32_t module, const char **path);

/*
 * The state of the load map in one word, so that one comparison tells whether what was learnt about addresses still
 * holds.  Low half: the generation, raised whenever a module that was entered has gone.  High half: how many dlcloses
 * are running; while there are any, what is cached about addresses may be stale at any moment.
 */
extern HIDDEN uint64_t modules_state;
#define MODULES_CLOSING (1ull << 32)

static inline uint64_t modules_now(void)
{
	return __atomic_load_n(&modules_state, __ATOMIC_ACQUIRE);
}

static inline bool modules_closing(uint64_t state)
{
	return state >= MODULES_CLOSING;
}

/* After a dlclose: marks modules that are gone; true when there were any.  Under the growth lock.  The caller tells the
 * stack tree and raises the generation. */
bool modules_mark_unloaded(void);
/* In a forked child: enters the parent's modules, as of the fork, into the new segment under their old indices. */
bool modules_inherit(void);

#endif
