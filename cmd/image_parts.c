/* SPDX-License-Identifier: MIT */
/* Costs by thread and by size; see image_parts.h. */
#include "cmd/image_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/image_private.h"
#include "cmd/image_sums.h"

/* The class of the blocks of 2^k + 1 to 2^(k+1) bytes, for the k that is their counter's index; those of more than 4 GiB
 * are one. */
static unsigned class_of(unsigned index)
{
	if (index == SEG_SIZES - 1)
		return 0;
	return index < 32 ? index - SEG_SIZE_FIRST + 1 : IMAGE_SIZES - 1;
}

uint64_t image_size_least(unsigned size_class)
{
	return size_class < 2 ? size_class : (1ull << (size_class + 1)) + 1;
}

static void read_size_variances(struct image_source source, const struct seg_shard *shard,
				struct seg_variance variances[SEG_SIZES])
{
	const size_t size = SEG_SIZES * sizeof(*variances);

	if (!shard->size_variances || !read_at(source, shard->size_variances, variances, size))
		memset(variances, 0, size);
}

struct parts {
	struct image_sums sizes, threads;
	struct peak_rule peak;
};

/* Each event of a shard is in one of its counters by size. */
static void add_shard(struct parts *parts, struct image_source source,
		      const struct seg_shard *shard, uint32_t index)
{
	struct seg_variance variances[SEG_SIZES];

	if (parts->sizes.variances)
		read_size_variances(source, shard, variances);
	for (unsigned i = SEG_SIZE_FIRST; i < SEG_SIZES; i++) {
		image_sums_add(&parts->sizes, class_of(i), &shard->sizes[i], &variances[i], shard,
			       parts->peak);
		image_sums_add(&parts->threads, index, &shard->sizes[i], &variances[i], shard,
			       parts->peak);
	}
}

static void note_thread(struct image_thread *thread, const struct seg_shard *shard)
{
	thread->holders = shard->holders;
	thread->tid = shard->tid <= INT32_MAX ? shard->tid : 0;
	thread->inherited = shard->inherited != 0;
	memcpy(thread->name, shard->name, sizeof(shard->name));
	thread->name[sizeof(thread->name) - 1] = 0;
}

/* A thread that freed more than it made: these were others' blocks, and the variances of the two add up.  Of one that did both
 * it is not known which; the difference, as for any other sum of live blocks, is the least that it can be. */
static void turn_variances(const struct image_sums *threads)
{
	for (size_t i = 0; threads->variances && i < threads->count; i++) {
		struct variance_sums *v = &threads->variances[i];
		uint64_t *const live[] = { &v->live_blocks, &v->live_bytes, &v->peak_blocks,
					   &v->peak_bytes };

		for (unsigned k = 0; k < 4; k++)
			if ((int64_t)*live[k] < 0)
				*live[k] = -*live[k];
	}
}

static int finish(struct image_part *part, struct image_sums *sums, const struct seg_header *header)
{
	int error = image_sums_finish(sums, header, &part->variances);

	part->costs = sums->costs;
	sums->costs = NULL;
	if (!error)
		part->count = image_sums_compact(part->costs, part->variances, sums->count);
	return error;
}

static int sum_shards(struct parts *parts, struct image_source source, struct image *image)
{
	const struct seg_header *h = &image->header;
	struct seg_shard shard;
	int error;

	for (unsigned i = 0; i < IMAGE_SIZES; i++)
		parts->sizes.costs[i].node = i;
	for (uint32_t i = 0; i < image->thread_count; i++) {
		parts->threads.costs[i].node = i + 1;
		image_read_shard(source, h, i, &shard);
		add_shard(parts, source, &shard, i);
		note_thread(&image->threads[i], &shard);
	}
	turn_variances(&parts->threads);
	error = finish(&image->by_size, &parts->sizes, h);
	return error ? error : finish(&image->by_thread, &parts->threads, h);
}

int image_load_parts(struct image_source source, struct image *image, struct diag *diag)
{
	const struct seg_header *h = &image->header;
	struct parts parts = { .peak = peak_rule_of(h) };
	uint32_t count = image_shard_count(source, h);
	int error = image_sums_init(&parts.sizes, IMAGE_SIZES, h);

	if (!error)
		error = image_sums_init(&parts.threads, count, h);
	image->threads = calloc(count + 1ul, sizeof(*image->threads));
	if (!error && image->threads) {
		image->thread_count = count;
		error = sum_shards(&parts, source, image);
	}
	free(parts.sizes.costs);
	free(parts.sizes.variances);
	free(parts.threads.costs);
	free(parts.threads.variances);
	return error || !image->threads ? diag_set(diag, -ENOMEM, "out of memory") : 0;
}

void image_release_parts(struct image *image)
{
	free(image->by_size.costs);
	free(image->by_size.variances);
	free(image->by_thread.costs);
	free(image->by_thread.variances);
	free(image->threads);
}
