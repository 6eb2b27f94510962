/* SPDX-License-Identifier: MIT */
/*
 * The session: a directory (mode 0700) with the segments of one `memtrack run`, and the environment by which agents
 * find it.  Lies under /dev/shm when there is room, else under $TMPDIR, else beside the output; --session-dir overrides.
 */
#ifndef MEMTRACK_CMD_SESSION_H
#define MEMTRACK_CMD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "report/diag.h"

struct allocator_choice; /* allocators/allocators.h */
struct stomp_functions;

#define SESSION_PREFIX "memtrack-" /* of session directories: memtrack-PID-RANDOM */

/* The libraries by their own names, and links to those whose paths LD_PRELOAD cannot say. */
#define SESSION_AGENT	  "libmemtrack.so"
#define SESSION_OPERATORS "libmemtrack-operators.so"
#define SESSION_ALLOCATOR "libmemtrack-allocator.so"
#define SESSION_STOMP	  "libmemtrack-stomp.so" /* by which the agent knows it */

struct session_options {
	const char *base;   /* --session-dir; NULL: choose */
	const char *beside; /* directory of the output */
	uint32_t depth, buckets;
	uint64_t sample; /* bytes; 0: record every allocation */
	bool slack;
	bool follow;
	bool trace;  /* record at all */
	bool stacks; /* with stacks */
	const struct allocator_choice
		*allocator; /* to put under the program; outlives the session */
	const struct stomp_functions *functions; /* whose blocks stomp guards; NULL: all */
};

struct session {
	char *directory;
	/* Paths of libraries as LD_PRELOAD takes them; NULL: not preloaded. */
	char *agent, *operators, *allocator;
	struct session_options options;
	struct rlimit size_limit; /* RLIMIT_FSIZE as memtrack found it, for the target */
};

int session_create(struct session *session, const struct session_options *options,
		   struct diag *diag) __attribute__((warn_unused_result));
/* Makes spares where some were claimed. */
void session_refill(const struct session *session);

/* The environment of a target: ours, with LD_PRELOAD, MEMTRACK_SESSION and what the allocator is told. */
struct session_environment {
	char **variables; /* for execve(2); those of our own are borrowed */
	char *preload, *word, *stomp;
	bool is_stomp; /* what the user's own variable says of it has no effect */
	size_t word_size;
};
int session_environment_init(struct session_environment *e, const struct session *session)
	__attribute__((warn_unused_result));
/* Puts the target's process in.  May be called after vfork(2), by which it becomes known. */
void session_environment_for(struct session_environment *e, const struct session *session,
			     pid_t target);
void session_environment_release(struct session_environment *e);

/* Removes our files from the directory, and the directory if nothing else is in it. */
void session_remove(const char *directory);
/* Leaves the directory as it is. */
void session_release(struct session *session);

/* The agent's library beside this binary, in the build tree or installed; malloc'ed, NULL with *diag filled. */
char *session_find_agent(struct diag *diag);
/* The same of another of our libraries.  `variable`: of the environment, names another build of it; or NULL. */
char *session_find_library(const char *name, const char *variable, struct diag *diag);
/* Something is preloaded that needs the session: the agent. */
bool session_has_agent(const struct session_options *options);

#endif
