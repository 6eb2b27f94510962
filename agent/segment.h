/* SPDX-License-Identifier: MIT */
/*
 * The agent's side of the segment: claiming a file, mapping windows of it, and growing.
 *
 * Growth needs no descriptor, no path and no call that a sandbox, a chroot or RLIMIT_FSIZE would stop: the file has its
 * full (sparse) size from the start; a page is made real by rt_touch before the first write to it, so that a full file
 * system is an error code here and no SIGBUS in the target; a further window is mapped by duplicating the last page
 * of the former one with mremap.
 */
#ifndef MEMTRACK_AGENT_SEGMENT_H
#define MEMTRACK_AGENT_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/layout.h"
#include "agent/rt/hidden.h"

/* The current segment's header, or NULL.  Set by segment_claim, read by everybody. */
extern HIDDEN struct seg_header *segment;

struct segment_request {
	const char *directory; /* of the session; absolute */
	uint32_t depth;
	uint32_t origin; /* enum seg_origin */
	uint64_t parent_image;
	uint64_t sample_mean, flags; /* see struct seg_header */
};

/* Takes a region of the file of `parent` (the segment that a forked child found itself with), else claims a spare file
 * or makes one; maps it and fills in who we are.  The state stays CLAIMED until segment_activate.  Start-up and fork
 * only.  On failure `segment` is NULL.  The parent's mappings stay: its records are still to be copied. */
bool segment_claim(const struct segment_request *request, struct seg_header *parent);
/* The same in private memory, which nobody else sees and a forked child has a copy of; for who needs stacks alone. */
bool segment_claim_private(const struct segment_request *request);
void segment_activate(void);

/* A range of the region for records; 64-aligned, zero.  *offset is what goes into directories.  NULL when there is no more
 * room.  Only the first `backed` bytes may be written to before segment_back is called for more.  The caller holds
 * growth_lock. */
void *segment_alloc(size_t size, size_t backed, uint64_t *offset);
/* Makes [address, address + size) of the segment writable without risk; false: no room. */
bool segment_back(const void *address, size_t size);

/* Counts something that is not in the counters as it should be. */
void segment_drop(enum seg_drop what, uint64_t count);

#endif
