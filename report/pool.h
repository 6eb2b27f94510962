/* SPDX-License-Identifier: MIT */
/*
 * The string pool: each text once, named by a dense id from 1 in order of
 * arrival.  Used by the writer (ids become string.id) and the model (equal ids
 * mean equal texts, across files). All zero is the empty pool.  Texts are bytes
 * without NUL inside; pointers handed out live as long as the pool.
 */
#ifndef MEMTRACK_REPORT_POOL_H
#define MEMTRACK_REPORT_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "report/hash_index.h"

struct pool_chunk;

struct pool {
	const char **texts; /* by id; [0] is not used */
	size_t count;	    /* ids given out */
	size_t capacity;
	struct hash_index index;
	struct pool_chunk *chunks; /* where the bytes are, newest first */
};

void pool_release(struct pool *pool);
/* The id of a text, or 0 when out of memory. */
uint32_t pool_add(struct pool *pool, const char *text, size_t length);
/* NULL for id 0. */
const char *pool_text(const struct pool *pool, uint32_t id);

#endif
