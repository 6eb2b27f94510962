/* SPDX-License-Identifier: MIT */
/*
 * Names of the threads of a process that runs, read from /proc: of those that its agent was not told, because the thread
 * inherited its name or got it past the hooks.  The process never waits for it.
 */
#ifndef MEMTRACK_CMD_THREAD_NAMES_H
#define MEMTRACK_CMD_THREAD_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "agent/layout.h"
#include "cmd/image.h"

/* What is known of the holder of a shard. */
struct thread_name {
	uint32_t holders, tid; /* as in the shard when its holder was first seen */
	uint64_t next_ns, every_ns;
	char text[SEG_NAME_SIZE]; /* "" not known */
};

/* By shard. */
struct thread_names {
	struct thread_name *names;
	uint32_t count;
};

/* Looks at threads that are new, and at the others the more rarely the longer they live: names may be set late.  `now` is
 * any clock. */
void thread_names_look(struct thread_names *names, struct image_source source,
		       const struct seg_header *header, uint64_t now_ns);
/* The name that the last holder of shard `index` had when it was seen; "" unknown.  holders, tid: as the shard tells them. */
const char *thread_names_find(const struct thread_names *names, uint32_t index, uint32_t holders,
			      uint32_t tid);
void thread_names_release(struct thread_names *names);

#endif
