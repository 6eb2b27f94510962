/* SPDX-License-Identifier: MIT */
/*
 * The stack tree: a stack is a node (return address, parent node), named by a dense 32-bit id.  Look-up takes no lock
 * and compares the full key, so two stacks are never one because of a hash.  It may happen (two threads at
 * once, a table that grows just then) that one stack gets two ids: the reader adds them up.
 */
#ifndef MEMTRACK_AGENT_STACK_TREE_H
#define MEMTRACK_AGENT_STACK_TREE_H

#include <stdbool.h>
#include <stdint.h>

bool stack_tree_start(uint32_t buckets);
/* The node of `address` (as in struct seg_node) called from `parent`; made when new.  SEG_ROOT_NONE: no room. */
uint32_t stack_tree_child(uint32_t parent, uintptr_t address);
/* The node of an event of which only the calling address is known; 0: not even that. */
uint32_t stack_tree_early(uintptr_t caller);
/* Takes the nodes of unloaded modules out of the look-up table: a library that comes to the same addresses must get
 * nodes of its own.  Under the growth lock. */
void stack_tree_forget_unloaded(void);
/* In a forked child: copies the parent's first `count` nodes into the new segment under their old ids. */
bool stack_tree_inherit(uint32_t count);

/* The record of a node that was had from here. */
struct seg_node;
const struct seg_node *stack_tree_node(uint32_t id);

#endif
