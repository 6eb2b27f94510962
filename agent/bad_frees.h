/* SPDX-License-Identifier: MIT */
/* Frees of what is no live block, by their stack: struct seg_bad_free in layout.h. */
#ifndef MEMTRACK_AGENT_BAD_FREES_H
#define MEMTRACK_AGENT_BAD_FREES_H

#include <stdint.h>

struct block;

/* Counts one.  `node`: the stack of the free; `block` is known to have been freed, or not known at all. */
void bad_free_count(const void *address, const struct block *block, uint32_t node, uint32_t thread);
/* In a forked child: its own segment has none yet. */
void bad_frees_forget(void);

#endif
