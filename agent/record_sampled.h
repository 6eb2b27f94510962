/* SPDX-License-Identifier: MIT */
/*
 * Events of a sampled recording (sample.h): the same as in record.h, for the few blocks that a point falls on, with what
 * they stand for.  Frees of other blocks are nothing: neither unknown nor double frees can be told.
 */
#ifndef MEMTRACK_AGENT_RECORD_SAMPLED_H
#define MEMTRACK_AGENT_RECORD_SAMPLED_H

#include <stddef.h>
#include <stdint.h>

#include "agent/blocks.h"
#include "agent/threads.h"

void record_sampled_alloc(const void *block, size_t size, const uintptr_t *frame);
/* An allocation of before the agent could start, of which only the calling address is known. */
void record_sampled_early(const void *block, size_t size, uintptr_t caller);
void record_sampled_inherited(struct shard *shard, const struct block *b);
/* `b`: what block_take said. */
void record_sampled_free(const void *block, const struct block *b, uintptr_t frame,
			 bool by_realloc);

#endif
