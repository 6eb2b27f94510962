/* SPDX-License-Identifier: MIT */
/*
 * The block map: pointer -> (stack node, size), a shadow of the address space at 16 bytes a granule.  Three levels: two
 * small directories and leaves of 2 MiB, each for 4 MiB of addresses, mapped on first use.  No locks: a block has one
 * owner at a time.  Private memory, so a forked child inherits it.
 */
#ifndef MEMTRACK_AGENT_BLOCKS_H
#define MEMTRACK_AGENT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum block_state { BLOCK_UNKNOWN, BLOCK_LIVE, BLOCK_FREED };

struct block {
	enum block_state state;
	uint32_t node; /* of the stack that allocated it */
	uint64_t size; /* as asked for */
};

/* Records a live block.  False: no memory for the map; the block's free will be unknown.  *former is what was known of
 * the address; BLOCK_LIVE there means that a free was never seen. */
bool block_put(const void *address, uint32_t node, uint64_t size, struct block *former);
/* What is known of a block that is being freed; it counts as freed from now on. */
struct block block_take(const void *address);
/* Calls `visit` for all live blocks.  Only in a process with one thread (a forked child). */
void blocks_visit(void (*visit)(const struct block *block, void *context), void *context);

#endif
