/* SPDX-License-Identifier: MIT */
/* What can be said of a program before it starts: whether an agent can be preloaded into it, and whether it brings an
 * allocator of its own. */
#ifndef MEMTRACK_CMD_PROGRAM_H
#define MEMTRACK_CMD_PROGRAM_H

#include <stdbool.h>

struct program_facts {
	char *path;	/* as execvp will find it; NULL when it does not */
	int error;	/* errno of finding it: ENOENT, EACCES, EISDIR; 0 */
	bool is_elf;	/* itself, not by an interpreter */
	bool is_static; /* no program interpreter: nothing is preloaded */
	bool foreign;	/* of another processor or word size */
	bool privileged; /* set-user-id, set-group-id or file capabilities: the loader ignores LD_PRELOAD */
	bool own_malloc;    /* defines malloc itself */
	char allocator[64]; /* what it is by its symbols: "mimalloc", "jemalloc", ...; "" unknown */
	char architecture[32];
};

void program_examine(const char *name, struct program_facts *facts);
void program_release(struct program_facts *facts);

#endif
