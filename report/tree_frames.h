/* SPDX-License-Identifier: MIT */
/*
 * The frames of stacks as a tree of names needs them: one step at a time, from the
 * site outward to the callers or from the outermost frame inward to the site,
 * inlined frames included.  The frames that ran before main and the plumbing within a site
 * are left out, unless a stack has no others.
 */
#ifndef MEMTRACK_REPORT_TREE_FRAMES_H
#define MEMTRACK_REPORT_TREE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/hash_index.h"
#include "report/report.h"

struct costs;
struct model;
struct site_table;

/* What frames are merged by. */
struct tree_name {
	uint32_t function, file, module; /* text ids */
	uint64_t address;		 /* set only when the function is not known */
};

/* One frame on the way of a stack (callers) or of all stacks that come by here (callees). */
struct tree_position {
	uint32_t node;	/* 0: of stacks of which nothing is known */
	uint32_t frame; /* of its location, from the innermost */
	uint32_t stack; /* callers: index into model->stacks */
};

struct tree_positions {
	struct tree_position *items;
	size_t count, room;
};

struct tree_frames {
	const struct model *model;
	const struct site_table *table;
	enum report_tree direction;
	struct tree_name *names; /* [0]: nothing is known */
	size_t name_count, name_room;
	struct hash_index name_index;
	uint32_t *first_name; /* by location: into frame_names, of its innermost frame */
	uint32_t *frame_names;
	bool *startup; /* by node: it and all its callers ran before main */

	/*
	 * For callees, by node: which nodes it called, and which stacks have their site in
	 * it; only of what the filters let pass.  Those of node n begin at first_X[n] and
	 * end before first_X[n + 1].  Node 0 calls the outermost frames.
	 */
	uint32_t *first_callee, *callees;
	uint32_t *first_stack, *stacks;
	struct costs *inner; /* Σ over the stacks whose site is further inward */
};

/* 0 or -ENOMEM; to be released in both cases. */
int tree_frames_init(struct tree_frames *f, const struct model *model,
		     const struct site_table *table, enum report_tree direction)
	__attribute__((warn_unused_result));
void tree_frames_release(struct tree_frames *f);

/* Callers: where a stack has its site. */
struct tree_position tree_frames_site(const struct tree_frames *f, uint32_t stack);
/* Callees: the outermost frames of all stacks.  0 or -ENOMEM. */
int tree_frames_outermost(const struct tree_frames *f, struct tree_positions *out)
	__attribute__((warn_unused_result));
/* The id of the frame's name. */
uint32_t tree_frames_name(const struct tree_frames *f, const struct tree_position *at);
/* 0: not known. */
uint32_t tree_frames_line(const struct tree_frames *f, const struct tree_position *at);
/* Adds what goes through the frame. */
void tree_frames_add_costs(const struct tree_frames *f, const struct tree_position *at,
			   struct costs *sum);
/*
 * Appends the frames that follow: at most one of callers.  What ends here is added
 * to `self`.  0 or -ENOMEM.
 */
int tree_frames_step(const struct tree_frames *f, const struct tree_position *at,
		     struct tree_positions *out, struct costs *self)
	__attribute__((warn_unused_result));

#endif
