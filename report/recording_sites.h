/* SPDX-License-Identifier: MIT */
/*
 * The sites that the writer of a recording stores: each once, with a number, and
 * the number of every stack's site.
 */
#ifndef MEMTRACK_REPORT_RECORDING_SITES_H
#define MEMTRACK_REPORT_RECORDING_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "report/hash_index.h"
#include "report/plumbing.h"
#include "report/site_finder.h"

/* By what sites differ.  All are text ids, 0 for what is unknown. */
struct rec_site {
	uint32_t function, file, line;
	uint32_t module;  /* its path */
	uint64_t address; /* only where no function is known */
	uint32_t id;	  /* in the recording; 0: not in it yet */
};

/* All 0 but what rec_sites_init sets. */
struct rec_sites {
	struct site_finder finder;
	struct plumbing plumbing; /* built-in rules only */
	struct rec_site *sites;	  /* from index 1 */
	uint32_t *of_location;	  /* index of the site that a stack has there, from index 1 */
	size_t count, room, location_room;
	uint32_t ids;		 /* given out by the caller */
	struct rec_site current; /* of the location at hand */
	struct hash_index index;
};

struct pool;

void rec_sites_init(struct rec_sites *sites, const struct pool *texts);
void rec_sites_release(struct rec_sites *sites);

/*
 * To be told of all locations, each with its frames and an end, and of all nodes, in the order of their ids.
 * 0 or -ENOMEM.
 */
int rec_sites_add_location(struct rec_sites *sites, uint32_t module, uint64_t address)
	__attribute__((warn_unused_result));
int rec_sites_add_frame(struct rec_sites *sites, uint32_t function, uint32_t file, uint32_t line)
	__attribute__((warn_unused_result));
int rec_sites_end_location(struct rec_sites *sites) __attribute__((warn_unused_result));
int rec_sites_add_node(struct rec_sites *sites, uint32_t parent, uint32_t location)
	__attribute__((warn_unused_result));
/* The site of a node's stack; NULL when nothing at all is known.  The caller sets its id when it is new. */
struct rec_site *rec_sites_of_node(struct rec_sites *sites, uint32_t node);

#endif
