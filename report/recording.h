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
};

struct rec_module {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size;
	const char *symbols; /* "dwarf", "elf", "none", "missing", "replaced", "unreadable" */
};

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
/* A node of the stack tree: a location called from `parent` (0: the outermost frame).  location 0 is the
 * mark "frames were left out here" of a stack longer than --depth.  The caller adds each
 * (parent, location) once. */
int rec_add_node(struct recording *rec, rec_id parent, rec_id location, rec_id *id,
		 struct diag *diag) __attribute__((warn_unused_result));
/* The costs of one stack (named by its innermost node; 0 = no stack known) in one process.  Added at most
 * once for each (process, node, end).  The variances are written when the process was sampled. */
int rec_add_stack(struct recording *rec, rec_id process, rec_id node, enum stack_end end,
		  const struct costs *costs, struct diag *diag) __attribute__((warn_unused_result));
int rec_add_sample(struct recording *rec, rec_id process, const struct rec_sample *sample,
		   struct diag *diag) __attribute__((warn_unused_result));
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
