/* SPDX-License-Identifier: MIT */
/* The end of a session: from segments to a recording, with progress and the summary that people see. */
#ifndef MEMTRACK_CMD_FINISH_H
#define MEMTRACK_CMD_FINISH_H

#include <stdbool.h>

#include "cmd/symbols.h"
#include "cmd/watch.h"

/* What `run` and `recover` have in common. */
struct finish_options {
	const char *output;
	struct symbol_options symbols;
	struct sym *sym; /* in use with them already; NULL: none */
	bool quiet;
	bool not_recorded;     /* --trace=none */
	const char *allocator; /* library that was put under the program; NULL: none */
	bool operators;	       /* with our C++ operators before it */
	int signal;	       /* that ended the target; 0: none */
};

enum finished {
	FINISHED_WRITTEN,
	FINISHED_EMPTY,	 /* no process image holds anything: nothing was written, nothing said */
	FINISHED_FAILED, /* the segments are as they were; the error was printed */
};

/* Writes the recording; prints errors, warnings and (unless quiet) the summary. */
enum finished finish_session(const struct watch *watched, const struct finish_options *options,
			     const char *recorded_options);

#endif
