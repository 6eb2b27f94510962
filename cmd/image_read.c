/* SPDX-License-Identifier: MIT */
/* Records out of the file of a segment; see image_private.h. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/image_private.h"

bool read_at(struct image_source source, uint64_t offset, void *to, size_t size)
{
	char *p = to;

	memset(to, 0, size);
	if (offset > SEG_REGION_SIZE || size > SEG_REGION_SIZE - offset)
		return false;
	offset += source.base;
	while (size) {
		ssize_t n = pread(source.fd, p, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		p += n;
		offset += (size_t)n;
		size -= (size_t)n;
	}
	return true;
}

void read_records(struct image_source source, struct records r, uint32_t from, uint32_t count,
		  void *to)
{
	char *p = to;

	while (count) {
		struct seg_place place = seg_chunk_of(from, r.first);
		uint64_t n = ((uint64_t)r.first << place.chunk) - place.position;

		if (n > count)
			n = count;
		if (place.chunk >= r.chunk_count || !r.chunks[place.chunk] ||
		    !read_at(source, r.chunks[place.chunk] + place.position * r.size, p,
			     n * r.size))
			memset(p, 0, n * r.size);
		p += n * r.size;
		from += (uint32_t)n;
		count -= (uint32_t)n;
	}
}

uint32_t records_limit(struct image_source source, size_t record_size, uint32_t limit)
{
	struct stat st;
	uint64_t room = fstat(source.fd, &st) == 0
				? ((uint64_t)st.st_blocks * 512 * 8 + (1 << 20)) / record_size
				: 0;

	return room < limit ? (uint32_t)room : limit;
}

uint32_t image_shard_count(struct image_source source, const struct seg_header *header)
{
	return at_most(header->shard_count,
		       records_limit(source, sizeof(struct seg_shard), MOST_SHARDS));
}

void image_read_shard(struct image_source source, const struct seg_header *header, uint32_t index,
		      struct seg_shard *shard)
{
	read_records(source,
		     (struct records){ header->shard_chunks, SEG_SHARD_CHUNKS, SEG_SHARD_FIRST,
				       sizeof(*shard) },
		     index, 1, shard);
}
