/* SPDX-License-Identifier: MIT */
/*
 * Inside debug_info: one compilation unit and what has been read of it.
 */
#ifndef MEMTRACK_SYMBOLIZE_UNIT_H
#define MEMTRACK_SYMBOLIZE_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/interval.h"

struct names;

#define NODE_NONE UINT32_MAX

/* More ranges than this in a unit, or units' ranges in a module, are damage:
 * many DIEs may share one long list. */
#define RANGES_MAX 4000000

/* A function with code, or a call that was inlined into one. */
struct node {
	void *die;	    /* address of its DIE */
	uint32_t parent;    /* the node it was inlined into; NODE_NONE for a function */
	uint32_t call_file; /* where the inlined call stands */
	uint32_t call_line;
};

/* A function's own body and the DIE it is an instance of. */
struct body {
	const void *origin;
	uint32_t node;
};

/* Addresses outside of the module's code are left-overs of discarded
 * sections. */
struct text_span {
	uint64_t low;
	uint64_t high; /* 0: unknown, take everything */
};

struct unit {
	Dwarf_Die die;	/* the unit as the module has it: lines and ranges */
	Dwarf_Die tree; /* the DIE whose children are the functions: another one for split DWARF */
	bool opened;	/* tree, nodes and ranges are there */
	struct node *nodes; /* in the order of the tree: parents before children */
	size_t nodes_count;
	size_t nodes_capacity;
	struct interval_set ranges; /* value: index into nodes */

	bool bodies_listed;
	struct body *bodies; /* ascending by origin */
	size_t bodies_count;

	bool lines_opened;
	Dwarf_Lines *lines;
	size_t lines_count;
	Dwarf_Files *files; /* of the tree: what call_file counts in */
	size_t files_count;
	const char **file_names; /* interned, by call_file; NULL: not asked for yet */
	const char *folder;	 /* DW_AT_comp_dir or NULL */
};

/* Reads functions and inlined calls; nothing if done already.  0 or -ENOMEM. */
int unit_open(struct unit *unit, const struct text_span *text) __attribute__((warn_unused_result));
/* Forgets them again. */
void unit_close(struct unit *unit);
/* Adds the code ranges of a DIE to a set; *budget bounds how many are looked
 * at.  0 or -ENOMEM. */
int unit_add_ranges(Dwarf_Die *die, const struct text_span *text, struct interval_set *set,
		    uint64_t rank, uint32_t value, size_t *budget)
	__attribute__((warn_unused_result));
/* The innermost node at an address, or NODE_NONE. */
uint32_t unit_find(const struct unit *unit, uint64_t address);

/* The line of an address; false when the table has none. */
bool unit_find_line(struct unit *unit, struct names *names, uint64_t address, const char **file,
		    uint32_t *line);
/* The file a node's call stands in; NULL unknown. */
const char *unit_call_file(struct unit *unit, struct names *names, uint32_t call_file);

#endif
