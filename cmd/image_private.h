/* SPDX-License-Identifier: MIT */
/*
 * What the files that read segments share: bytes and records out of a file that another process writes, and may have
 * damaged.
 */
#ifndef MEMTRACK_CMD_IMAGE_PRIVATE_H
#define MEMTRACK_CMD_IMAGE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/image.h"

/* Whatever a damaged header claims. */
enum {
	MOST_NODES = 1 << 26,
	MOST_SHARDS = 1 << 20,
	MOST_COUNTERS = 1 << 26,
	COUNTERS_AT_ONCE = 1 << 9,
};

/* A segmented array in the file: `chunk_count` chunks, the first of which holds `first` records. */
struct records {
	const uint64_t *chunks;
	unsigned chunk_count;
	uint32_t first;
	size_t size; /* of a record */
};

/* Bytes past the end of the file read as zeros. */
bool read_at(struct image_source source, uint64_t offset, void *to, size_t size);
/* Records [from, from + count); zeros where a chunk is missing. */
void read_records(struct image_source source, struct records records, uint32_t from, uint32_t count,
		  void *to);
/* No more records can be there than the file has room for; its size says nothing, it is sparse.  A file system that
 * compresses may store several times what it has blocks for. */
uint32_t records_limit(struct image_source source, size_t record_size, uint32_t limit);

uint32_t image_shard_count(struct image_source source, const struct seg_header *header);
/* Zeros where it is missing. */
void image_read_shard(struct image_source source, const struct seg_header *header, uint32_t index,
		      struct seg_shard *shard);

/* Adds their slack to the costs, where it was recorded. */
int image_load_slack(struct image_source source, struct image *image, struct diag *diag)
	__attribute__((warn_unused_result));

static inline uint32_t at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

#endif
