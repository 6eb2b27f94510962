/* SPDX-License-Identifier: MIT */
/*
 * Downloading debug information.  Exists only when the user allowed it; the
 * library that does it is loaded when first needed, so that there is no
 * dependency on it.
 */
#ifndef MEMTRACK_SYMBOLIZE_DEBUGINFOD_H
#define MEMTRACK_SYMBOLIZE_DEBUGINFOD_H

#include <stddef.h>

struct build_id;
struct debuginfod;

typedef void debuginfod_progress(void *context, const char *what, size_t done, size_t total);

/* NULL when out of memory.  `progress` may be NULL. */
struct debuginfod *debuginfod_new(debuginfod_progress *progress, void *context);
/* The path of the debug file for a build-id, malloc'ed; NULL when no server has
 * it, none is set in DEBUGINFOD_URLS, or time ran out. */
char *debuginfod_fetch(struct debuginfod *debuginfod, const struct build_id *build_id);
void debuginfod_free(struct debuginfod *debuginfod);

#endif
