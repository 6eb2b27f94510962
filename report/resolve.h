/* SPDX-License-Identifier: MIT */
/*
 * Looking the names of a recording up again, with the debug information that is
 * at hand now; called by cmd/symbolize.c.  What a recording knows is never
 * replaced by less.  One thread.
 *
 * Errors: 0 or -errno with *diag filled.
 */
#ifndef MEMTRACK_REPORT_RESOLVE_H
#define MEMTRACK_REPORT_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/diag.h"
#include "symbolize/symbolize.h"

struct resolution;

/* Of places in the code, before and after. */
struct resolve_summary {
	size_t places;
	size_t named, named_before; /* with a function */
	size_t lined, lined_before; /* with a source line */
	size_t bare_modules;	    /* without debug information, though there are places in them */
	bool changed;
};

/* A module of which places have no name. */
struct resolve_nameless {
	const char *path;   /* NULL: the recording does not say */
	const char *reason; /* in words */
};

int resolve_open(struct resolution **resolution, const char *path, struct diag *diag)
	__attribute__((warn_unused_result));
void resolve_close(struct resolution *resolution);

/* Looks up every place of a module with a build-id; nothing is written. */
int resolve_names(struct resolution *resolution, const struct sym_options *symbols,
		  struct resolve_summary *summary, struct diag *diag)
	__attribute__((warn_unused_result));
/* The next module without names, from *position (0 at first) on; false when there is none. */
bool resolve_next_nameless(const struct resolution *resolution, size_t *position,
			   struct resolve_nameless *nameless);

/*
 * Writes the recording, with what was found and all else as it was: to `output`, where an existing file is kept as
 * OUTPUT.old, or, when that is NULL, in its own place.  Until the end nothing changes there.
 */
int resolve_write(struct resolution *resolution, const char *output, struct diag *diag)
	__attribute__((warn_unused_result));

#endif
