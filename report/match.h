/* SPDX-License-Identifier: MIT */
/*
 * What is the same in two recordings, by names: addresses differ from run to
 * run and from build to build, and so do lines and the folders that sources and
 * programs lie in.
 *
 * A place in the code is its module's base name, its function and its source
 * file; without a name, the module's base name and the address in it.  Source
 * files are the same when the ends of their paths are: among functions of one
 * name in one module, those go together whose files have the longest tail in
 * common, the file's base name at least.  A file that is not known goes with the only one that
 * is left.  The module of the program itself may have two names.
 */
#ifndef MEMTRACK_REPORT_MATCH_H
#define MEMTRACK_REPORT_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/hash_index.h"
#include "report/pool.h"

struct view;

enum side { SIDE_OLD, SIDE_NEW, SIDES };

struct place {
	uint32_t module, function; /* ids of match.names */
	uint32_t file;		   /* text id of the side's model */
	uint32_t side;		   /* 0 where nothing depends on it: without function and file */
	uint64_t address;	   /* only without a function */
	uint32_t same; /* the place's id, or that of the same place in the old recording */
};

/* A stack, as its innermost source-level frame and the stack that this was called from. */
struct chain {
	uint32_t caller; /* 0: none */
	uint32_t place;	 /* 0: frames were left out here */
	uint32_t line;
	bool startup; /* only code that ran before main or the thread's function */
};

struct match {
	const struct view *views[SIDES];
	bool lines; /* lines must be the same, too */
	struct pool names;
	uint32_t *names_of[SIDES];   /* by text id: of functions; 0 not asked yet */
	uint32_t *modules_of[SIDES]; /* by text id: of modules */
	struct place *places;	     /* [0] is used; ids count from 1 */
	size_t place_count, place_room;
	struct hash_index place_index;
	uint32_t *frames[SIDES];    /* by frame: its place */
	uint32_t *locations[SIDES]; /* by location without frames: its place */
	uint32_t *sites[SIDES];	    /* by site of the view's table: its place */
	struct chain *chains;	    /* [0] is used; ids count from 1 */
	size_t chain_count, chain_room;
	struct hash_index chain_index;
};

/* The views must outlive the match.  0 or -ENOMEM; then nothing is left to release. */
int match_init(struct match *match, const struct view *const views[SIDES], bool lines)
	__attribute__((warn_unused_result));
void match_release(struct match *match);

/* The place of a site: equal for the same of both sides. */
static inline uint32_t match_site(const struct match *match, enum side side, size_t site)
{
	return match->places[match->sites[side][site]].same;
}

/*
 * By node of one side: what the stack that ends there is, equal for the same of both sides.  Inlined frames
 * count as frames; frames outside of main or a thread's function do not, unless there are no others.
 */
int match_stacks(struct match *match, enum side side, uint32_t **stacks)
	__attribute__((warn_unused_result));

#endif
