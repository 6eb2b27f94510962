/* SPDX-License-Identifier: MIT */
/* Strings in chunks that never move. */
#include "report/pool.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (256u * 1024)

struct pool_chunk {
	struct pool_chunk *next;
	size_t used, size;
	char bytes[];
};

struct wanted_text {
	const struct pool *pool;
	const char *text;
	size_t length;
};

void pool_release(struct pool *pool)
{
	while (pool->chunks) {
		struct pool_chunk *next = pool->chunks->next;
		free(pool->chunks);
		pool->chunks = next;
	}
	free(pool->texts);
	hash_index_release(&pool->index);
	*pool = (struct pool){ 0 };
}

static bool text_equal(const void *context, uint32_t id)
{
	const struct wanted_text *wanted = context;
	const char *text = wanted->pool->texts[id];
	return strncmp(text, wanted->text, wanted->length) == 0 && text[wanted->length] == '\0';
}

static struct pool_chunk *chunk_with_room(struct pool *pool, size_t size)
{
	struct pool_chunk *chunk = pool->chunks;
	if (chunk && chunk->size - chunk->used >= size)
		return chunk;
	size_t capacity = size > CHUNK_BYTES ? size : CHUNK_BYTES;
	chunk = malloc(sizeof(*chunk) + capacity);
	if (!chunk)
		return NULL;
	*chunk = (struct pool_chunk){ .next = pool->chunks, .size = capacity };
	pool->chunks = chunk;
	return chunk;
}

static const char *store(struct pool *pool, const char *text, size_t length)
{
	struct pool_chunk *chunk = chunk_with_room(pool, length + 1);
	if (!chunk)
		return NULL;
	char *copy = chunk->bytes + chunk->used;
	memcpy(copy, text, length);
	copy[length] = '\0';
	chunk->used += length + 1;
	return copy;
}

uint32_t pool_add(struct pool *pool, const char *text, size_t length)
{
	uint32_t hash = hash_bytes(text, length);
	struct wanted_text wanted = { pool, text, length };
	uint32_t id = hash_index_find(&pool->index, hash, text_equal, &wanted);
	if (id)
		return id;
	if (pool->count + 1 >= UINT32_MAX)
		return 0;
	const char **texts =
		array_grow(pool->texts, &pool->capacity, pool->count + 2, sizeof(*texts));
	if (!texts)
		return 0;
	pool->texts = texts;
	const char *copy = store(pool, text, length);
	id = (uint32_t)pool->count + 1;
	if (!copy || hash_index_add(&pool->index, hash, id))
		return 0;
	texts[id] = copy;
	pool->count = id;
	return id;
}

const char *pool_text(const struct pool *pool, uint32_t id)
{
	return id ? pool->texts[id] : NULL;
}
