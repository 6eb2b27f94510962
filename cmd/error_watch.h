/* SPDX-License-Identifier: MIT */
/*
 * Errors that the guard-page allocator finds, shown on stderr while the program runs: a look now and then, and one at the
 * end, for a target dies right after its error was written.
 */
#ifndef MEMTRACK_CMD_ERROR_WATCH_H
#define MEMTRACK_CMD_ERROR_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cmd/stomp_file.h"
#include "cmd/watch.h"
#include "symbolize/symbolize.h"

#define ERROR_WATCH_MOST 20 /* shown at length */

struct error_watch {
	struct stomp_file file;
	const struct watch *watch;
	struct sym_options symbols;
	struct sym *sym; /* made for the first error */
	FILE *out;
	bool color, utf8;
	size_t shown, more;
};

/* Both `watch` and what `symbols` points to must live as long. */
void error_watch_init(struct error_watch *e, const struct watch *watch,
		      const struct sym_options *symbols, FILE *out, bool color, bool utf8);
/* Shows what has come since. */
void error_watch_look(struct error_watch *e);
/* Is there something to show?  Cheap. */
bool error_watch_pending(const struct error_watch *errors);
/* Says how many were too many to show, and releases all but what it looked names up with: NULL, or the caller's to free. */
struct sym *error_watch_end(struct error_watch *e);

#endif
