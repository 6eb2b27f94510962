/* SPDX-License-Identifier: MIT */
/*
 * Stacks as a tree of frames, merged by function, file and module: who called each site,
 * or, from main inward, where the memory went.  Calls of a function by itself are one node.
 *
 * The tree is never in memory as a whole: it is walked depth first, and what lies below
 * a node is grouped when the walk comes to it.
 *
 *	error = tree_open(&tree, model, table, &options);
 *	while (!error && (event = tree_next(&tree, &node)) > TREE_END)
 *		...
 *	tree_close(&tree);
 */
#ifndef MEMTRACK_REPORT_TREE_H
#define MEMTRACK_REPORT_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/sites.h"
#include "report/tree_frames.h"

struct tree_options {
	enum report_tree direction;
	enum report_sort sort;
	size_t roots; /* most roots; 0: all */
	size_t top;   /* most children of a node; 0: all */
	size_t depth; /* most frames one below the other; 0: all */
	/* Leaves out roots that cost nothing, and what is less than one in so many of its root; 0: none. */
	int fraction;
};

/* What is left of siblings when some are shown. */
struct tree_rest {
	size_t count;
	struct costs costs;
};

struct tree_node {
	/* Function, file, module, and line where it is the same for all; all costs, children included. */
	struct site site;
	/* What did not go through any child; also what does, where the children are too deep. */
	struct costs self;
	size_t depth;	       /* of a root 1 */
	bool recursive;	       /* called itself */
	bool too_deep;	       /* options.depth left out what is below */
	bool first, last;      /* of the children of its parent; a rest comes after the last */
	bool whole;	       /* the only child, and by the sort key all of its parent */
	size_t children;       /* to follow below it */
	struct tree_rest rest; /* of its children */
};

enum tree_event {
	TREE_END,   /* node: only `rest`, of the roots */
	TREE_ENTER, /* node: what comes next; its children follow */
	TREE_LEAVE, /* node: only `depth`; its children are done */
};

/* The whole tree for programs; for people what is not too little to matter. */
struct tree_options tree_options_of(const struct report_options *options);

struct tree_group;
struct tree_level;

struct tree {
	const struct model *model;
	const struct site_table *table;
	struct tree_options options;
	struct tree_frames frames;
	int64_t least; /* cost of what is shown below the root at hand */
	bool started;
	/* Nodes from a root to where the walk is, with their siblings; stacks, the last at the end. */
	struct tree_level *levels;
	size_t level_count, level_room;
	struct tree_group *groups;
	size_t group_count, group_room;
	struct tree_positions positions;
	struct tree_positions pending, scratch;
	uint32_t *group_of; /* by name, while children are grouped */
};

/* 0 or -ENOMEM; to be closed in both cases. */
int tree_open(struct tree *tree, const struct model *model, const struct site_table *table,
	      const struct tree_options *options) __attribute__((warn_unused_result));
/* An enum tree_event, or -ENOMEM. */
int tree_next(struct tree *tree, struct tree_node *node) __attribute__((warn_unused_result));
void tree_close(struct tree *tree);

#endif
