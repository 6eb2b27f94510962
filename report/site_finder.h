/* SPDX-License-Identifier: MIT */
/*
 * Which frame of a stack is its site: the innermost that is not plumbing.
 * The one place of this rule: reports feed a recording's code to it, and so does
 * the writer of recordings, which stores the sites for SQL.
 *
 * Locations come first, each followed by its frames, then nodes after their
 * parents; both get ids from 1 in this order.  Memory: a few bytes each.
 */
#ifndef MEMTRACK_REPORT_SITE_FINDER_H
#define MEMTRACK_REPORT_SITE_FINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumbing;
struct pool;

/* One source-level frame of one location. */
struct frame_ref {
	uint32_t location; /* 0: none */
	uint32_t frame;	   /* 0-based from the innermost; 0 too when the location has no frames */
};

struct finder_location {
	uint32_t frame_count; /* so far */
	uint32_t frame;	      /* the innermost that is no plumbing; 0 when all are */
	bool found;	      /* there is such a frame */
	bool runtime;	      /* of a module that is plumbing, whatever its frames are called */
	bool entry;	      /* the outermost frame is the C library's caller of main */
};

struct finder_node {
	uint32_t location; /* where the site is or, when all is plumbing, the innermost known */
	bool found;	   /* it is the site */
	bool outermost;
};

/* Set texts and plumbing, the rest 0.  All functions that return an int: 0 or -ENOMEM. */
struct site_finder {
	const struct pool *texts; /* what text ids mean; may grow meanwhile */
	const struct plumbing *plumbing;
	uint8_t *known; /* by text id: what was asked before, and the answers */
	size_t known_room;
	struct finder_location *locations; /* from index 1 */
	struct finder_node *nodes;	   /* likewise */
	size_t location_count, location_room;
	size_t node_count, node_room;
};

void finder_release(struct site_finder *finder);
/* `module`: text id of its path. */
int finder_add_location(struct site_finder *finder, uint32_t module)
	__attribute__((warn_unused_result));
/* The next frame, outward, of the last location. */
int finder_add_frame(struct site_finder *finder, uint32_t function, uint32_t file)
	__attribute__((warn_unused_result));
int finder_add_node(struct site_finder *finder, uint32_t parent, uint32_t location)
	__attribute__((warn_unused_result));

/* The site of the stack of a node; location 0 when all its frames are plumbing. */
struct frame_ref finder_site(const struct site_finder *finder, uint32_t node);
/* The same, but the innermost frame that is known when all are plumbing; location 0 when none is. */
struct frame_ref finder_place(const struct site_finder *finder, uint32_t node);

#endif
