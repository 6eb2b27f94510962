/* SPDX-License-Identifier: MIT */
/*
 * Expanding xz data of unknown origin within fixed limits.
 */
#include "symbolize/xz.h"

#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>

#define DICTIONARY_MAX ((uint64_t)128 << 20)
#define EXPANDED_MAX   ((size_t)256 << 20)

/* Doubles the output when it is full; a lzma_ret. */
static lzma_ret make_room(lzma_stream *stream, uint8_t **output, size_t *capacity)
{
	size_t used = (size_t)stream->total_out;
	uint8_t *larger;

	if (stream->avail_out > 0)
		return LZMA_OK;
	if (*capacity >= EXPANDED_MAX)
		return LZMA_MEMLIMIT_ERROR;
	larger = realloc(*output, *capacity * 2);
	if (!larger)
		return LZMA_MEM_ERROR;
	*output = larger;
	*capacity *= 2;
	stream->next_out = larger + used;
	stream->avail_out = *capacity - used;
	return LZMA_OK;
}

void *xz_expand(const void *bytes, size_t size, size_t *expanded_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t capacity = (size_t)1 << 16;
	uint8_t *output = malloc(capacity);
	lzma_ret status = output ? lzma_stream_decoder(&stream, DICTIONARY_MAX, 0) : LZMA_MEM_ERROR;

	stream.next_in = bytes;
	stream.avail_in = size;
	stream.next_out = output;
	stream.avail_out = capacity;
	while (status == LZMA_OK) {
		status = lzma_code(&stream, LZMA_FINISH);
		if (status == LZMA_OK)
			status = make_room(&stream, &output, &capacity);
	}
	*expanded_size = (size_t)stream.total_out;
	lzma_end(&stream);
	if (status != LZMA_STREAM_END || *expanded_size == 0) {
		free(output);
		return NULL;
	}
	return output;
}
