/* SPDX-License-Identifier: MIT */
/*
 * The session: a directory (mode 0700) with the segments of one `memtrack run`, and the environment by which agents
 * find it.  Lies under /dev/shm when there is room, else under $TMPDIR, else beside the output; --session-dir overrides.
 */
#ifndef MEMTRACK_CMD_SESSION_H
#define MEMTRACK_CMD_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "report/diag.h"

#define SESSION_PREFIX "memtrack-" /* of session directories: memtrack-PID-RANDOM */

struct session_options {
	const char *base;   /* --session-dir; NULL: choose */
	const char *beside; /* directory of the output */
	uint32_t depth, buckets;
	bool follow;
};

struct session {
	char *directory;
	char *agent; /* path of libmemtrack.so as LD_PRELOAD takes it */
	struct session_options options;
	struct rlimit size_limit; /* RLIMIT_FSIZE as memtrack found it, for the target */
};

int session_create(struct session *session, const struct session_options *options,
		   struct diag *diag) __attribute__((warn_unused_result));
/* Makes spares where some were claimed. */
void session_refill(const struct session *session);
/* Sets LD_PRELOAD and MEMTRACK_SESSION in the calling process, which is about to become the target.  0 or -errno. */
int session_export(const struct session *session) __attribute__((warn_unused_result));
/* Removes our files from the directory, and the directory if nothing else is in it. */
void session_remove(const char *directory);
/* Leaves the directory as it is. */
void session_release(struct session *session);

/* The agent's library beside this binary, in the build tree or installed; malloc'ed, NULL with *diag filled. */
char *session_find_agent(struct diag *diag);

#endif
