/* SPDX-License-Identifier: MIT */
/*
 * What the rest of symbolize/ needs to know about mangled names beyond
 * sym_demangle().
 */
#ifndef MEMTRACK_SYMBOLIZE_DEMANGLE_H
#define MEMTRACK_SYMBOLIZE_DEMANGLE_H

#include <stdbool.h>

/* Whether a name could be mangled at all, by its first letters: cheap. */
bool demangle_candidate(const char *linkage);

#endif
