/* SPDX-License-Identifier: MIT */
/*
 * Recordings in memory, as reports need them: the processes asked for with
 * their stacks and frames, from one file or several.  Loading checks everything
 * a damaged or hostile file could get wrong, so that whoever reads a model need
 * not: every id is in range, every parent id is smaller than its child's (no
 * cycles), no stack is deeper than MODEL_DEPTH_MAX, sums do not overflow.
 *
 * Ids index the arrays from 1; 0 = none.  Texts are ids of `strings`: equal ids
 * mean equal texts.
 */
#ifndef MEMTRACK_REPORT_MODEL_H
#define MEMTRACK_REPORT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/hash_index.h"
#include "report/pool.h"
#include "report/recording.h"
#include "report/run_time.h"

#define MODEL_DEPTH_MAX 8192 /* twice what `memtrack run --depth` allows */

struct model_process {
	uint32_t file;	 /* index of the recording */
	uint32_t row;	 /* its id in the recording */
	uint32_t number; /* 1-based within its file, in order of start: what --process takes */
	uint32_t parent; /* the parent's number in the same file; 0 none */
	uint32_t argv;	 /* first index into model.argv */
	uint32_t argc;
	uint32_t executable, allocator, notes;
	bool selected;
	struct rec_process rec; /* numbers only: its pointers are NULL */
	struct costs costs;	/* the sum over its stacks */
	uint32_t stacks;
	bool guarded; /* by the guard-page allocator */
	struct rec_guard guard;
};

struct model_module {
	uint32_t path, symbols;
	uint32_t build_id; /* as hex; 0 none */
};

struct model_frame {
	uint32_t function, file;
	uint32_t line;
	bool inlined;
};

struct model_location {
	uint64_t address;
	uint32_t module;
	uint32_t first_frame; /* into frames; frame_count 0: no name is known */
	uint32_t frame_count;
	bool interrupted; /* there, by a signal; else the address is the one that a call returns to */
};

struct model_node {
	uint32_t parent;
	uint32_t location; /* 0: frames were left out here */
};

struct model_stack {
	uint32_t node;	  /* 0: no stack is known */
	uint32_t process; /* index; the first of several when they were merged */
	enum stack_end end;
	struct costs costs;
};

struct model_sample {
	uint32_t process;
	struct rec_sample sample;
};

struct model_error {
	uint32_t process;     /* index + 1; 0: of a process that has no image */
	struct rec_error rec; /* process and nodes: see here */
	uint32_t nodes[ERROR_STACKS];
};

struct model_thread {
	uint32_t process; /* index */
	uint32_t name;
	struct rec_thread rec; /* its name: see here */
};

/* What a thread or a class of sizes cost a process. */
struct model_part {
	uint32_t process; /* index */
	enum part_kind kind;
	uint64_t key;
	uint32_t thread; /* index; of PART_THREAD */
	struct costs costs;
};

/* Σ over the selected processes. */
struct model_totals {
	struct costs costs;   /* peak figures: the sum of each process's own */
	int64_t peak_time_ns; /* of the process with the highest peak */
	int64_t peak_error_bytes;
	uint64_t unknown_frees, double_frees, dropped_events, unattributed, truncated_events,
		threads;
	int64_t peak_rss_bytes;
	uint64_t errors_lost; /* found by the guard-page allocator, but not in the recording */
	uint32_t stacks, truncated_stacks;
	uint32_t processes;
	/*
	 * With model_options.at: the peak figures, of stacks too, are what was
	 * live at a moment, and this is when, the latest of the moments of the
	 * processes.  Their variances are not known: NaN.
	 */
	bool at_moment;
	int64_t at_ns;
	int64_t sample_mean;	  /* the largest of the processes' own; 0: all figures are exact */
	uint32_t slack_processes; /* so many have recorded it */
};

struct model {
	struct pool strings;
	struct model_process *processes; /* [0] is used; ordered by file, then number */
	struct model_module *modules;
	struct model_frame *frames; /* [0] is used */
	struct model_location *locations;
	struct model_node *nodes;
	struct model_stack *stacks;   /* [0] is used; only of selected processes */
	struct model_sample *samples; /* [0] is used; only of selected processes, as recorded */
	struct model_error *errors;   /* [0] is used; of selected processes and of unknown ones */
	struct model_thread *threads; /* [0] is used; of selected processes */
	struct model_part *parts;     /* [0] is used; of selected processes */
	uint32_t *argv;
	/*
	 * For modules, locations and nodes the largest id; for the others how
	 * many there are.
	 */
	size_t process_count, module_count, frame_count, location_count, node_count, stack_count,
		sample_count, error_count;
	size_t argv_count;
	size_t process_room, module_room, frame_room, location_room, node_room, stack_room,
		sample_room, argv_room, error_room;
	size_t thread_count, part_count, thread_room, part_room;
	size_t without_parts; /* index + 1 of the first recording that is older than threads and parts; 0 none */
	size_t errors_elsewhere; /* of processes that are not selected */
	size_t file_count;
	struct hash_index module_index, location_index, node_index,
		stack_index; /* used while loading */
	struct model_totals totals;
};

struct model_options {
	const char *const *files;
	size_t file_count;
	/*
	 * Which processes: all, else the process_number-th of each file, else
	 * those of pid, else the first.
	 */
	bool all;
	int process_number;
	int pid;
	/*
	 * Costs at a moment instead of the peak.  It counts from the start of
	 * the first selected process of each recording, and nothing later is
	 * seen than its last moment, or its end.
	 */
	struct run_time at;
	bool keep_processes_apart; /* else equal stacks of several processes become one */
};

/* On failure the model is released. */
int model_load(struct model *model, const struct model_options *options, struct diag *diag)
	__attribute__((warn_unused_result));
void model_release(struct model *model);
/*
 * How often, by the errors that are kept, or as counted, which is more where there
 * was no room for all: frees that the guard-page allocator stopped are not counted.
 */
uint64_t model_count_errors(const struct model *model, enum error_kind kind);

static inline const char *model_text(const struct model *model, uint32_t id)
{
	return pool_text(&model->strings, id);
}

#endif
