/* SPDX-License-Identifier: MIT */
/*
 * Reading a segment: what the agent of one process image recorded.  The file is read with pread, so that neither a hole
 * nor a truncation can hurt, and every index and offset is checked: the target may have written into it.
 */
#ifndef MEMTRACK_CMD_IMAGE_H
#define MEMTRACK_CMD_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/layout.h"
#include "report/diag.h"
#include "report/recording.h"

/* Where a segment lies: a region of an open file. */
struct image_source {
	int fd;
	uint64_t base;
};

/* The costs of one stack node, summed over all shards. */
struct image_cost {
	uint32_t node; /* SEG_UNATTRIBUTED: without a stack */
	uint64_t allocations, bytes, frees, freed_bytes, temporary, reallocations;
	int64_t live_blocks, live_bytes;
	int64_t peak_blocks, peak_bytes;
};

/* In a sampled recording: estimated variances of the costs. */
struct image_variances {
	double allocations, bytes, frees, freed_bytes, temporary, reallocations;
	double live_blocks, live_bytes, peak_blocks, peak_bytes;
};

/* In a recording with slack: what the allocator's rounding up cost, in bytes. */
struct image_slack {
	uint64_t allocated;
	int64_t peak, live;
};

/* Frees of what was no live block, by one stack. */
struct image_bad_free {
	uint32_t node;	    /* of the free; below SEG_FIRST_NODE: not known */
	uint32_t allocated; /* of the block's allocation; likewise */
	uint64_t count;
	uint64_t address, size; /* of the first; size: of its block, when that was freed before */
	bool freed_before;	/* else nothing is known of the address */
	uint32_t thread;
};

/* Costs by something else than stacks; the `node` of each is its key. */
struct image_part {
	struct image_cost *costs;
	struct image_variances *variances; /* of each of the costs; NULL: these are exact */
	size_t count;
};

/* Who counted in a shard. */
struct image_thread {
	uint32_t holders;	  /* how many threads, one after the other */
	uint32_t tid;		  /* of the last; 0 unknown */
	bool inherited;		  /* nobody: its blocks lived when the process was forked */
	char name[SEG_NAME_SIZE]; /* of the last; "" unknown */
};

struct image_module {
	char *path; /* absolute, as far as known */
	uint64_t bias;
	uint8_t build_id[32];
	uint32_t build_id_size;
};

struct image {
	struct seg_header header;
	char *executable; /* "" unknown */
	char *directory;
	char *allocator;
	char **argv; /* NULL-terminated */

	/* Filled by image_load only.  Nodes and modules by index. */
	struct seg_node *nodes;
	uint32_t node_count;
	struct image_module *modules;
	uint32_t module_count;
	struct image_cost *costs;
	struct image_variances *variances; /* of each of the costs; NULL: these are exact */
	struct image_slack *slack;	   /* of each of the costs; NULL: not recorded */
	size_t cost_count;
	uint64_t unattributed;
	int64_t peak_bytes, peak_error;
	struct image_bad_free *bad_frees;
	size_t bad_free_count;
	struct image_part by_size;    /* key: the class, see image_parts.h */
	struct image_part by_thread;  /* key: number of the shard, from 1 */
	struct image_thread *threads; /* all shards: [0] is number 1 */
	uint32_t thread_count;
};

/* Live totals of a process that may be running. */
struct image_totals {
	int64_t bytes, blocks;
};

/* Reads and checks the header; -EAGAIN while the agent is still setting it up or the file is a spare. */
int image_read_header(struct image_source source, struct seg_header *header, struct diag *diag)
	__attribute__((warn_unused_result));
struct image_totals image_read_totals(struct image_source source, const struct seg_header *header);
/* What one shard has counted of the blocks of a node that are live: a part of a sum, which may be below zero and is to be
 * added as what it is, a 64-bit number that wraps around.  Blocks are in the units of the segment. */
typedef void image_take_live(void *context, uint32_t node, uint64_t blocks, uint64_t bytes);
/* Hands over all parts of what the stacks of a process have live, blocks without a stack under SEG_UNATTRIBUTED.  The process
 * goes on meanwhile: each counter is read at a time of its own.  Returns how many nodes the process has. */
uint32_t image_read_live(struct image_source source, const struct seg_header *header,
			 image_take_live *take, void *context);
/* Reads who it is, and nothing else. */
int image_identify(struct image_source source, struct image *image, struct diag *diag)
	__attribute__((warn_unused_result));
/* Reads everything.  Damaged parts are left out. */
int image_load(struct image_source source, struct image *image, struct diag *diag)
	__attribute__((warn_unused_result));
void image_release(struct image *image);
/* A path as the loader names it ("": the executable), made absolute as far as it is known; malloc'ed. */
char *image_path(const struct image *image, const char *path);
/* How the outermost frame of the stack at a root came to be that. */
enum stack_end image_stack_end(uint32_t root);

#endif
