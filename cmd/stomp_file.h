/* SPDX-License-Identifier: MIT */
/*
 * Reading the stomp file of a session: what the guard-page allocator of each process found.  The processes write to it
 * meanwhile, and may have been made to write anything: all is copied, checked, then used.
 */
#ifndef MEMTRACK_CMD_STOMP_FILE_H
#define MEMTRACK_CMD_STOMP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocators/stomp/layout.h"
#include "report/recording.h"

struct found_frame {
	uint64_t address;
	uint32_t module; /* index + 1 into the modules; 0: code of no file */
	bool interrupted;
};

struct found_module {
	char *path; /* as the loader names it; "": the executable */
	uint64_t bias;
	uint8_t build_id[32];
	uint32_t build_id_size;
};

/* An error as it was found: names and rows come later. */
struct found_error {
	struct rec_error rec; /* without process, time and nodes */
	uint32_t number;      /* its place in the directory */
	uint32_t process;     /* index into the processes; STOMP_PROCESSES: of none of them */
	uint64_t monotonic_ns;
	struct found_stack {
		struct found_frame *frames; /* from the innermost outward, without our own */
		uint32_t count;
	} stacks[ERROR_STACKS];
	struct found_module *modules;
	uint32_t module_count;
};

struct stomp_file {
	int fd;			  /* -1: there is none */
	uint32_t pending;	  /* entries before this were looked at, */
	bool taken[STOMP_ERRORS]; /* and of these, these were complete */
	uint64_t bytes;	  /* of records that were read: there can be no more than the file has */
	uint64_t damaged; /* entries that lead to no error */
};

/* What the file says in all. */
struct stomp_state {
	uint32_t process_count;
	struct stomp_process *processes; /* malloc'ed */
	uint64_t lost;			 /* errors without a place, or damaged */
};

/* Opens the file in the directory of a session; none is no error. */
void stomp_file_open(struct stomp_file *file, const char *directory);
void stomp_file_close(struct stomp_file *file);
/* The next error that has come since, in order of their places as far as they are complete: 1, to be released by
 * found_error_release; 0 when there is no more for now; -ENOMEM. */
/* Is there an entry that was not looked at? */
bool stomp_file_has_more(const struct stomp_file *file);
int stomp_file_next(struct stomp_file *file, struct found_error *error)
	__attribute__((warn_unused_result));
/* 0 or -ENOMEM.  No file: nothing. */
int stomp_file_state(const struct stomp_file *file, struct stomp_state *state)
	__attribute__((warn_unused_result));
void found_error_release(struct found_error *error);

#endif
