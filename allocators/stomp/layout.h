/* SPDX-License-Identifier: MIT */
/*
 * The stomp file: where the guard-page allocator of each process of a session puts what it found.  One file in the session
 * directory, made by memtrack, sparse, mapped shared by all; read by memtrack, while the processes run and after.  Not
 * there when the library is preloaded without memtrack: then errors go to stderr.
 *
 * Rules as in agent/layout.h: fixed-width integers, offsets, never pointers, reserved fields zero, all of it hostile to the
 * reader: copy, bounds-check, then use.  Writers are several processes at once: places are taken by atomic additions,
 * which may run past the ends of the tables (what found no place is counted, see `lost`).
 *
 * Memory order: an error's entry in the directory is stored with release when its record is complete and never changes
 * after; counters of a process are plain 64-bit stores that may be read at any time.
 */
#ifndef MEMTRACK_ALLOCATORS_STOMP_LAYOUT_H
#define MEMTRACK_ALLOCATORS_STOMP_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define STOMP_MAGIC	     0x3130504d5453544dull /* "MTSTMP01" */
#define STOMP_LAYOUT_VERSION 1u

#define STOMP_FILE	     "stomp" /* its name in the session directory */
#define STOMP_FILE_SIZE	     (32ull << 20)
/* The options after "stomp:", as a comma list ("under,align=1"). */
#define STOMP_OPTIONS_VARIABLE "MEMTRACK_STOMP"

enum { STOMP_PROCESSES = 4096, STOMP_ERRORS = 4096, STOMP_DEPTH = 256, STOMP_MODULES = 64 };

/* How blocks are protected. */
enum stomp_guard {
	STOMP_GUARD_NONE = 0,	  /* not started */
	STOMP_GUARD_MADVISE = 1,  /* guard pages by MADV_GUARD_INSTALL */
	STOMP_GUARD_MPROTECT = 2, /* guard pages by mprotect, within a budget */
	STOMP_GUARD_CANARY = 3,	  /* patterns around the block, checked when it is freed */
	STOMP_GUARDS = 4,
};

enum stomp_kind {
	STOMP_BUFFER_OVERFLOW = 1,  /* "heap-buffer-overflow" */
	STOMP_BUFFER_UNDERFLOW = 2, /* "heap-buffer-underflow" */
	STOMP_USE_AFTER_FREE = 3,   /* "heap-use-after-free" */
	STOMP_DOUBLE_FREE = 4,	    /* "double-free": also realloc of a freed block */
	STOMP_INVALID_FREE =
		5, /* "invalid-free": of what no allocation returned, also by realloc */
	STOMP_CORRUPTION =
		6, /* "heap-corruption": bytes beside or in a block were overwritten, seen at its free */
};

enum stomp_access { STOMP_NO_ACCESS = 0, STOMP_READ = 1, STOMP_WRITE = 2 };

/* One process image that the library started in. */
struct stomp_process {
	int32_t pid;
	uint32_t guard; /* enum stomp_guard in force for new blocks now */
	uint64_t start_monotonic_ns;
	uint64_t blocks
		[STOMP_GUARDS]; /* allocations so far, by how each was protected; [0]: not at all */
	uint64_t budget;	/* most blocks that can be guarded at a time; 0: no limit */
	uint64_t refused;	/* guards that the kernel refused; their blocks have canaries */
	uint64_t errors;	/* found, including those that were not stored */
	uint64_t reserved[5];
};

enum stomp_flags {
	STOMP_HAS_BLOCK = 1,  /* block_* and `allocated` are about the nearest block */
	STOMP_HAS_FREED = 2,  /* it had been freed: `freed` is known */
	STOMP_CONTINUED = 4,  /* the program goes on (stomp:continue) */
	STOMP_BY_REALLOC = 8, /* a free that was part of realloc */
};

/* Frames from the innermost outward.  Lies at `offset` from the start of the error's record. */
struct stomp_stack {
	uint32_t offset, count;
	uint32_t end; /* enum seg_root: why the last is the outermost */
	uint32_t reserved;
};

struct stomp_frame {
	uint64_t
		address; /* a return address; of an interrupted frame the address of the instruction */
	uint32_t module;      /* index + 1 into the record's modules; 0: code of no file */
	uint32_t interrupted; /* 1: by a signal, as the frame at fault */
};

struct stomp_module {
	uint64_t bias;		  /* runtime address minus link-time address */
	uint64_t start, end;	  /* runtime address range */
	uint32_t path, path_size; /* offset from the start of the record; size 0: the executable */
	uint32_t build_id_size;
	uint8_t build_id[32];
	uint32_t reserved;
};

struct stomp_error {
	uint32_t record_size; /* this and all that belongs to it */
	uint32_t kind, access;
	uint32_t flags;
	int32_t pid, tid; /* tid: as the kernel counts */
	uint32_t process; /* index into the processes; STOMP_PROCESSES or more: it found no place */
	uint32_t thread;  /* from 1, in order of their first allocation or free */
	uint32_t allocated_thread, freed_thread;
	uint64_t monotonic_ns;
	uint64_t address; /* that was accessed or freed; of a corruption the first bad byte */
	uint64_t block_address, block_size;  /* offset = address - block_address */
	uint64_t corrupt_bytes;		     /* of a corruption: how many were overwritten */
	struct stomp_stack stack;	     /* of the access or free */
	struct stomp_stack allocated, freed; /* count 0: unknown */
	uint32_t modules, module_count;	     /* offset from the start of the record */
	uint64_t count; /* how often at this place in the code; grows while the program goes on */
	uint64_t reserved[1];
};

/* Code of the executable, link-time addresses. */
struct stomp_range {
	uint64_t start, end;
};

struct stomp_header {
	uint64_t magic;
	uint32_t layout_version, header_size;
	uint32_t process_count, error_count; /* places taken; may exceed the tables */
	uint64_t
		used; /* bytes of the file that are given out; memtrack sets it to sizeof(struct stomp_header) */
	uint64_t lost; /* errors without a place or room */
	/* stomp:function: only blocks are guarded whose stack has a frame in one of the ranges; set by memtrack before the
	 * start.  chosen 0: all blocks. */
	uint32_t chosen, range_count;
	uint64_t ranges;       /* offset of struct stomp_range, ascending, disjoint */
	uint32_t program_size; /* of the path of the executable they are of, which follows them */
	uint32_t reserved;
	struct stomp_process processes[STOMP_PROCESSES];
	uint64_t errors
		[STOMP_ERRORS]; /* offset of struct stomp_error in the file; 0: not complete (yet) */
};

static_assert(sizeof(struct stomp_process) == 112, "process");
static_assert(sizeof(struct stomp_frame) == 16, "frame");
static_assert(sizeof(struct stomp_module) == 72, "module");
static_assert(sizeof(struct stomp_error) == 152, "error");

#endif
