/* SPDX-License-Identifier: MIT */
/*
 * Expanding .gnu_debugdata.
 */
#ifndef MEMTRACK_SYMBOLIZE_XZ_H
#define MEMTRACK_SYMBOLIZE_XZ_H

#include <stddef.h>

/* The expanded bytes, malloc'ed, or NULL: damaged, too large, or out of
 * memory. */
void *xz_expand(const void *bytes, size_t size, size_t *expanded_size);

#endif
