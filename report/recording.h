/* SPDX-License-Identifier: MIT */
/*
 * The recording: one .dat file, an SQLite database (report/schema.sql is its definition; memtrack-dat(5)
 * describes it for users).  Writer and reader stand side by side.
 *
 * Units: bytes, blocks (counts), nanoseconds.  Times within a run (`t_ns`) count from the process's start;
 * `start_time_ns` is Unix time.  Strings are UTF-8 or, for paths and commands, raw bytes (stored as they
 * are; the JSON renderer escapes what is no UTF-8).
 * Threads: a recording is used by one thread.  Errors: 0 or -errno with *diag filled.
 */
#ifndef MEMTRACK_REPORT_RECORDING_H
#define MEMTRACK_REPORT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/diag.h"

struct recording;
struct sqlite3;

typedef struct {
	int64_t v;
} rec_id; /* a row id; 0 = none */

/* The variances of figures that are estimates, by the names of the figures: the squares of their standard errors. */
struct cost_variances {
	double allocations;
	double allocated_bytes;
	double frees;
	double freed_bytes;
	double temporary_allocations;
	double reallocations;
	double peak_blocks;
	double peak_bytes;
	double leaked_blocks;
	double leaked_bytes;
};

/* What the allocator lost to rounding up sizes, in bytes: what blocks may be used for less what was asked for. */
struct cost_slack {
	uint64_t allocated_bytes;
	int64_t peak_bytes,
		leaked_bytes; /* of the blocks that these figures of the costs are about */
};

/* What a set of allocations cost.  Σ over stacks equals the process's totals. */
struct costs {
	uint64_t allocations;
	uint64_t allocated_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t temporary_allocations;
	uint64_t reallocations;
	int64_t peak_blocks; /* live when the process's heap was at its peak */
	int64_t peak_bytes;
	int64_t leaked_blocks; /* live when the process ended */
	int64_t leaked_bytes;
	struct cost_variances variances; /* all 0 where every allocation was recorded */
	struct cost_slack slack;	 /* all 0 where it was not recorded */
};

/* Sums stay at the largest value that there is. */
void costs_add(struct costs *sum, const struct costs *more);

/* Why the outermost frame of a stack is the outermost. */
enum stack_end {
	STACK_COMPLETE = 0,   /* main's caller or the thread's start function was reached */
	STACK_DEPTH,	      /* longer than --depth: frames were left out */
	STACK_NO_UNWIND_INFO, /* code without unwind information, and no frame pointer to go by */
	STACK_UNREADABLE,     /* the next frame would lie in memory that cannot be read */
	STACK_BAD_FRAME,      /* the unwind information led to no plausible frame */
	STACK_UNATTRIBUTED,   /* no room (or no time) was left to record a stack at all */
};

/* One process image: an exec starts a new one under the same pid. */
struct rec_process {
	int32_t pid, parent_pid;
	rec_id parent;		 /* the image it was forked or exec'ed from, when recorded */
	const char *executable;	 /* absolute path */
	const char *const *argv; /* NULL-terminated */
	int64_t start_time_ns;
	int64_t duration_ns;
	int exit_code;	 /* -1 unknown or killed by a signal */
	int exit_signal; /* 0 none */
	bool complete;	 /* false: the end of the process was not seen */
	bool exec_ended; /* the image ended by exec: another image goes on under the pid */
	const char
		*allocator; /* which library served malloc, as seen in the process; NULL unknown */

	/* Totals.  The sums of `costs` come from the stacks; these cannot. */
	int64_t peak_bytes, peak_blocks, peak_time_ns;
	int64_t peak_error_bytes; /* bound of the error of peak figures (threads); 0 exact */
	uint64_t unknown_frees, double_frees;
	uint64_t dropped_events;   /* allocations and frees that were not counted at all */
	uint64_t unattributed;	   /* allocations counted, but without a stack */
	uint64_t truncated_events; /* allocations whose stack is truncated */
	uint64_t threads;	   /* threads that allocated or freed */
	int64_t peak_rss_bytes;
	const char *notes; /* one line a note, for people: limits that bit in this run; NULL none */
	/* Bytes per sample: allocations were sampled, and all costs are estimates.  0: every allocation was recorded. */
	int64_t sample_mean;
	bool slack; /* was recorded */
};

struct rec_module {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size;
	const char *symbols; /* "dwarf", "elf", "none", "missing", "replaced", "unreadable" */
};

/* Why there are no names, of rec_module.symbols, in words; NULL when there are some. */
const char *rec_symbols_reason(const char *symbols);

/* One source-level frame; NULL/0 where unknown. */
struct rec_frame {
	const char *function;
	const char *file;
	uint32_t line;
	bool inlined;
};

struct rec_sample {
	int64_t t_ns;
	int64_t heap_bytes, blocks, rss_bytes;
};

/* What can be wrong with a program's use of its heap. */
enum error_kind {
	ERROR_BUFFER_OVERFLOW = 1,
	ERROR_BUFFER_UNDERFLOW,
	ERROR_USE_AFTER_FREE,
	ERROR_DOUBLE_FREE,  /* also realloc of a freed block */
	ERROR_INVALID_FREE, /* of what no allocation returned */
	ERROR_CORRUPTION,   /* bytes beside or in a block were overwritten; found later */
	ERROR_KINDS,
};

enum error_access { ERROR_NO_ACCESS, ERROR_READ, ERROR_WRITE, ERROR_ACCESSES };

enum error_source {
	ERROR_FROM_STOMP = 1, /* the guard-page allocator */
	ERROR_FROM_AGENT,     /* the block map: frees of what is no live block */
	ERROR_SOURCES,
};

/* The stacks of an error. */
enum error_stack { ERROR_STACK, ERROR_ALLOCATED, ERROR_FREED, ERROR_STACKS };

struct rec_error {
	rec_id process; /* 0: it could not be told which image of `pid` */
	int32_t pid;
	enum error_source source;
	enum error_kind kind;
	enum error_access access;
	uint64_t address; /* that was accessed or freed; of a corruption the first bad byte */
	bool has_block;	  /* the nearest block is known, and so is ERROR_ALLOCATED */
	bool block_freed; /* it had been freed before, by ERROR_FREED */
	uint64_t block_address, block_size;
	uint64_t corrupt_bytes;				 /* of a corruption */
	uint32_t thread, allocated_thread, freed_thread; /* from 1; 0 unknown */
	int32_t tid;	 /* of `thread`, as the kernel counts; 0 unknown */
	int64_t t_ns;	 /* negative: not known */
	uint64_t count;	 /* how often; the rest is about the first */
	bool continued;	 /* the program was let go on */
	bool by_realloc; /* a free that was part of realloc */
	struct rec_error_stack {
		rec_id node; /* 0: not known */
		enum stack_end end;
	} stacks[ERROR_STACKS];
};

/* How blocks were protected by the guard-page allocator. */
enum guard_method {
	GUARD_NONE,
	GUARD_MADVISE,	/* guard pages by MADV_GUARD_INSTALL */
	GUARD_MPROTECT, /* guard pages by mprotect */
	GUARD_CANARY,	/* patterns around the block that are checked when it is freed */
	GUARD_METHODS,
};

struct rec_guard {
	enum guard_method method;	/* in force at the end */
	uint64_t blocks[GUARD_METHODS]; /* allocations, by how each was protected */
	uint64_t budget;		/* most blocks with guard pages at a time; 0 no limit */
	uint64_t refused;		/* guard pages that the kernel refused */
	uint64_t errors, errors_lost;	/* found; of these, not in the recording */
};

/* Who made and freed. */
struct rec_thread {
	uint32_t number;  /* from 1 */
	int32_t tid;	  /* as the kernel counts; 0 unknown */
	const char *name; /* NULL unknown */
	uint64_t
		holders; /* threads one after the other, `tid` and `name` of the last; 0: none, only borrowed or: */
	bool inherited; /* nobody: blocks that the parent process had at the fork */
};

/* Other ways to divide the costs of a process than by stack. */
enum part_kind {
	PART_THREAD = 1, /* key: the thread's number */
	PART_SIZE,	 /* key: the smallest size of a class; see report/size_class.h */
	PART_KINDS,
};

/* As JSON and SQL name them; NULL for what is none. */
const char *error_kind_name(enum error_kind kind);
const char *error_access_name(enum error_access access);
const char *error_source_name(enum error_source source);
const char *guard_method_name(enum guard_method method);

/*
 * Writing.  rec_create makes a temporary file beside `path`; rec_finish commits and renames it over `path`,
 * keeping an existing file as PATH.old; until then nothing at `path` changes.  rec_abandon removes the
 * temporary file.  A full disk is one clear diag.
 */
int rec_create(struct recording **rec, const char *path, const char *host, const char *options,
	       struct diag *diag) __attribute__((warn_unused_result));
int rec_add_process(struct recording *rec, const struct rec_process *process, rec_id *id,
		    struct diag *diag) __attribute__((warn_unused_result));
int rec_add_module(struct recording *rec, const struct rec_module *module, rec_id *id,
		   struct diag *diag) __attribute__((warn_unused_result));
/* A code location: (module, link-time address) and its frames from the innermost (inlined) outward;
 * count 0 when no name is known.  module 0: code of no file (JIT); `address` is then absolute. */
int rec_add_location(struct recording *rec, rec_id module, uint64_t address,
		     const struct rec_frame *frames, size_t count, rec_id *id, struct diag *diag)
	__attribute__((warn_unused_result));
/* The address of the location is that of an interrupted instruction, and not a return address. */
int rec_mark_interrupted(struct recording *rec, rec_id location, struct diag *diag)
	__attribute__((warn_unused_result));
/* A node of the stack tree: a location called from `parent` (0: the outermost frame).  location 0 is the
 * mark "frames were left out here" of a stack longer than --depth.  The caller adds each
 * (parent, location) once. */
int rec_add_node(struct recording *rec, rec_id parent, rec_id location, rec_id *id,
		 struct diag *diag) __attribute__((warn_unused_result));
/* The costs of one stack (named by its innermost node; 0 = no stack known) in one process.  Added at most
 * once for each (process, node, end).  The variances are written when the process was sampled, the slack when that was recorded. */
int rec_add_stack(struct recording *rec, rec_id process, rec_id node, enum stack_end end,
		  const struct costs *costs, struct diag *diag) __attribute__((warn_unused_result));
int rec_add_sample(struct recording *rec, rec_id process, const struct rec_sample *sample,
		   struct diag *diag) __attribute__((warn_unused_result));
/* A moment at which it was seen which stacks had live blocks.  Those of a process are added in the order of time, which is not
 * negative. */
int rec_add_moment(struct recording *rec, rec_id process, int64_t t_ns, rec_id *id,
		   struct diag *diag) __attribute__((warn_unused_result));
/* What a stack had live then, which is something else than at the process's moment before (at the first: than nothing).  Not
 * negative; to be added in the order of (moment, node, end). */
int rec_add_moment_stack(struct recording *rec, rec_id moment, rec_id node, enum stack_end end,
			 int64_t blocks, int64_t bytes, struct diag *diag)
	__attribute__((warn_unused_result));
/* Counts too large for the file are cut to the largest that there is. */
int rec_add_error(struct recording *rec, const struct rec_error *error, struct diag *diag)
	__attribute__((warn_unused_result));
/* At most once for each process. */
int rec_add_guard(struct recording *rec, rec_id process, const struct rec_guard *guard,
		  struct diag *diag) __attribute__((warn_unused_result));
/* At most once for each number of a process. */
int rec_add_thread(struct recording *rec, rec_id process, const struct rec_thread *thread,
		   struct diag *diag) __attribute__((warn_unused_result));
/* What a thread or a size cost one process; at most once for each (process, kind, key).  The variances are written when the
 * process was sampled. */
int rec_add_part(struct recording *rec, rec_id process, enum part_kind kind, uint64_t key,
		 const struct costs *costs, struct diag *diag) __attribute__((warn_unused_result));
/* Both free `rec`, also on failure. */
int rec_finish(struct recording *rec, struct diag *diag) __attribute__((warn_unused_result));
void rec_abandon(struct recording *rec);

/*
 * Reading: read-only, defensive, schema untrusted.  Refuses, each with its own words: a missing file, a
 * directory, an empty file, no SQLite database, an SQLite database that is no recording, a newer
 * version, a truncated or damaged file.
 */
int rec_open(struct recording **rec, const char *path, struct diag *diag)
	__attribute__((warn_unused_result));
void rec_close(struct recording *rec);
/* The connection behind an open recording, for queries; it stays the recording's. */
struct sqlite3 *rec_database(struct recording *rec);

#endif
