/* SPDX-License-Identifier: MIT */
/*
 * Which stacks hold the heap, over time.  Now and then the counters of a running process are read from its segment, and what
 * has changed since is kept: a list of moments, each with the stacks whose live blocks are others than at the moment before.
 * The process has no part in it and never waits.
 *
 * The list stays small however long the process runs: when it has become too long, or its changes too many, every other moment
 * is merged into the one after it, and the next ones come at half the rate.  What a moment says stays what was read then.
 */
#ifndef MEMTRACK_CMD_MOMENTS_H
#define MEMTRACK_CMD_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/image.h"

#define MOMENTS_MOST 256 /* then every other one goes: a run has half as many at least */

/* What one stack has live.  Blocks are in the units of the segment.  Never below zero. */
struct moment_live {
	int64_t blocks, bytes;
};

struct moment_change {
	uint32_t stack; /* index into stacks */
	struct moment_live live;
};

struct moment {
	int64_t t_ns; /* since the start of the process; rises strictly */
	size_t first; /* of its changes, which go on to the first of the next moment */
};

struct moment_stack {
	uint32_t node;
	size_t place;		   /* of its change, while moments are merged */
	struct moment_live latest; /* as of the last moment */
	struct moment_live
		other; /* while counters are read: their sum; while moments are merged: as of the last one that stays */
};

/* All zero: none yet. */
struct moments {
	struct moment *list;
	size_t count, room;
	struct moment_change *changes;
	size_t change_count, change_room;
	struct moment_stack *stacks;
	size_t stack_count, stack_room;
	uint32_t *index; /* by node: 1 + its index in stacks, 0 none */
	size_t index_size;

	uint64_t every_ns, next_ns; /* the next one is due, since the start of the process */
	uint64_t idle_until_ns;	    /* or then, while the totals stay what they are */
	struct image_totals totals; /* when the counters were last read */
	bool stopped;		    /* the process has ended, or memory has */
};

/* Who else is watched: all processes together take little of a CPU, and little of the recording. */
struct moments_share {
	size_t image;  /* the number of this one in the session, from 0 */
	size_t living; /* how many run */
};

/* Reads the counters if that is due.  `totals`: the process's at this time. */
void moments_look(struct moments *moments, struct image_source source,
		  const struct seg_header *header, const struct image_totals *totals,
		  const struct moments_share *share);
/* So many changes may be kept of an image that has `nodes` nodes, and is number `image` of the session, from 0: what they take
 * in the recording is little beside the nodes, or little at all. */
size_t moments_budget(size_t image, uint32_t nodes);

/* What moments_look is made of: between the two, all parts of what is live are handed over. */
void moments_begin(struct moments *moments);
image_take_live moments_take; /* the context: the moments */
void moments_end(struct moments *moments, int64_t t_ns, size_t most);

/* No more will come: frees what only served to read. */
void moments_stop(struct moments *moments);
void moments_release(struct moments *moments);

#endif
