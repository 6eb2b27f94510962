/* SPDX-License-Identifier: MIT */
/* Segments into memory; see image.h. */
#include "cmd/image.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/image_parts.h"
#include "cmd/image_private.h"
#include "cmd/image_sums.h"

enum {
	MOST_MODULES = 1 << 16,
	LONGEST_PATH = 1 << 16,
	LONGEST_ARGUMENTS = 1 << 22,
};

int image_read_header(struct image_source source, struct seg_header *header, struct diag *diag)
{
	if (!read_at(source, 0, header, sizeof(*header)))
		return diag_set(diag, -errno, "cannot read a segment: %s", strerror(errno));
	if (header->magic != SEG_MAGIC || header->state != SEG_ACTIVE)
		return diag_set(diag, -EAGAIN, "the segment was never used");
	if (header->layout_version != SEG_LAYOUT_VERSION || header->header_size != sizeof(*header))
		return diag_set(
			diag, -EPROTO,
			"the segment is of another version of memtrack (layout %u, here %u)",
			header->layout_version, SEG_LAYOUT_VERSION);
	if (header->sample_mean > SEG_SAMPLE_MOST) /* damage: but no division must suffer */
		header->sample_mean = SEG_SAMPLE_MOST;
	return 0;
}

struct image_totals image_read_totals(struct image_source source, const struct seg_header *header)
{
	struct image_totals totals = { 0, 0 };
	struct seg_shard shard;

	for (uint32_t i = 0; i < image_shard_count(source, header); i++) {
		image_read_shard(source, header, i, &shard);
		add_wrapping(&totals.bytes, shard.live_bytes);
		for (uint32_t k = SEG_SIZE_FIRST; k < SEG_SIZES; k++)
			add_wrapping(&totals.blocks,
				     (int64_t)(shard.sizes[k].allocations - shard.sizes[k].frees));
	}
	if (header->sample_mean)
		totals.blocks = image_whole_blocks((uint64_t)totals.blocks, &(int64_t){ 0 });
	return totals;
}

static char *read_text(struct image_source source, uint64_t offset, uint32_t size, uint32_t limit)
{
	char *text = calloc(1, (size_t)size + 1 < limit ? (size_t)size + 1 : limit);

	if (text && offset && size && size < limit)
		read_at(source, offset, text, size);
	return text;
}

static char **split_arguments(const char *bytes, uint32_t size)
{
	size_t count = 0, n = 0;
	char **argv;

	for (uint32_t i = 0; i < size; i++)
		count += bytes[i] == 0;
	argv = calloc(count + 2, sizeof(*argv));
	for (uint32_t i = 0; argv && i < size && n <= count; n++) {
		argv[n] = strndup(bytes + i, size - i);
		i += (uint32_t)strlen(bytes + i) + 1;
	}
	return argv;
}

/* A program that was started by naming the loader first: the kernel knows the loader only. */
static int look_behind_loader(struct image *image)
{
	const char *base = strrchr(image->executable, '/');
	char *full = NULL;

	if (!base || strncmp(base, "/ld-", 4) != 0 || !image->argv[0] ||
	    !strchr(image->argv[0], '/'))
		return 0;
	if (asprintf(&full, "%s%s%s", image->argv[0][0] == '/' ? "" : image->directory,
		     image->argv[0][0] == '/' ? "" : "/", image->argv[0]) < 0)
		return -ENOMEM;
	free(image->executable);
	image->executable = full;
	return 0;
}

static int read_identity(struct image_source source, struct image *image, struct diag *diag)
{
	const struct seg_header *h = &image->header;
	uint32_t size = h->arguments_size < LONGEST_ARGUMENTS ? h->arguments_size : 0;
	char *arguments = read_text(source, h->arguments, size, LONGEST_ARGUMENTS);

	image->executable = read_text(source, h->executable, h->executable_size, LONGEST_PATH);
	image->directory = read_text(source, h->directory, h->directory_size, LONGEST_PATH);
	image->allocator = read_text(source, h->allocator, h->allocator_size, LONGEST_PATH);
	image->argv = arguments ? split_arguments(arguments, size) : NULL;
	free(arguments);
	if (!image->executable || !image->directory || !image->allocator || !image->argv ||
	    look_behind_loader(image) < 0)
		return diag_set(diag, -ENOMEM, "out of memory");
	return 0;
}

/* The executable has no name in the load map; a library opened by a relative path is taken to lie below the directory
 * the process started in. */
char *image_path(const struct image *image, const char *path)
{
	char *full;

	if (!*path)
		return strdup(image->executable);
	if (*path == '/' || !strchr(path, '/') || !*image->directory)
		return strdup(path);
	if (asprintf(&full, "%s/%s", image->directory, path) < 0)
		return NULL;
	return full;
}

static int read_modules(struct image_source source, struct image *image, struct diag *diag)
{
	const struct seg_header *h = &image->header;
	uint32_t count = at_most(h->module_count,
				 records_limit(source, sizeof(struct seg_module), MOST_MODULES));
	struct seg_module *records = calloc(count + 1ul, sizeof(*records));

	image->modules = calloc(count + 1ul, sizeof(*image->modules));
	if (!records || !image->modules) {
		free(records);
		return diag_set(diag, -ENOMEM, "out of memory");
	}
	read_records(source,
		     (struct records){ h->module_chunks, SEG_MODULE_CHUNKS, SEG_MODULE_FIRST,
				       sizeof(*records) },
		     0, count, records);
	for (uint32_t i = 1; i < count; i++) {
		struct image_module *m = &image->modules[i];
		char *path = read_text(source, records[i].path, records[i].path_size, LONGEST_PATH);

		m->path = path ? image_path(image, path) : NULL;
		free(path);
		m->bias = records[i].bias;
		m->build_id_size = at_most(records[i].build_id_size, sizeof(m->build_id));
		memcpy(m->build_id, records[i].build_id, sizeof(m->build_id));
		image->module_count = i + 1;
		if (!m->path) {
			free(records);
			return diag_set(diag, -ENOMEM, "out of memory");
		}
	}
	free(records);
	return 0;
}

static int read_nodes(struct image_source source, struct image *image, struct diag *diag)
{
	const struct seg_header *h = &image->header;
	uint32_t count =
		at_most(h->node_count, records_limit(source, sizeof(struct seg_node), MOST_NODES));

	image->nodes = calloc(count + 1ul, sizeof(*image->nodes));
	if (!image->nodes)
		return diag_set(diag, -ENOMEM, "out of memory for %u stack nodes", count);
	read_records(source,
		     (struct records){ h->node_chunks, SEG_NODE_CHUNKS, SEG_NODE_FIRST,
				       sizeof(*image->nodes) },
		     0, count, image->nodes);
	for (uint32_t i = 0; i < count; i++) {
		/* A parent is made before its children: anything else is damage, and would let a walk loop. */
		if (image->nodes[i].parent >= i)
			image->nodes[i].parent = SEG_ROOT_NONE;
		if (image->nodes[i].module >= image->module_count)
			image->nodes[i].module = 0;
	}
	image->node_count = count;
	return 0;
}

/* What is done with each counter of a shard. */
struct costs_pass {
	struct image_sums sums;
	uint32_t *place; /* by node: 1 + its index in the sums, once that is known */
	uint32_t nodes;
	struct peak_rule peak;
	void (*take)(struct costs_pass *pass, const struct seg_counter *counter,
		     const struct seg_variance *variance, const struct seg_shard *shard);
};

static void take_shard(struct costs_pass *pass, struct image_source source,
		       const struct seg_shard *shard)
{
	uint32_t count = at_most(shard->counter_count,
				 records_limit(source, sizeof(struct seg_counter), MOST_COUNTERS));
	struct records records = { shard->chunks, SEG_COUNTER_CHUNKS, SEG_COUNTER_FIRST,
				   sizeof(struct seg_counter) };
	struct records variance_records = { shard->variance_chunks, SEG_COUNTER_CHUNKS,
					    SEG_COUNTER_FIRST, sizeof(struct seg_variance) };
	struct seg_counter counters[COUNTERS_AT_ONCE];
	struct seg_variance variances[COUNTERS_AT_ONCE];

	for (uint32_t from = 0, n; from < count; from += n) {
		n = at_most(count - from, COUNTERS_AT_ONCE);
		read_records(source, records, from, n, counters);
		if (pass->sums.variances)
			read_records(source, variance_records, from, n, variances);
		for (uint32_t i = 0; i < n; i++)
			if (counters[i].node >= SEG_FIRST_NODE && counters[i].node < pass->nodes)
				pass->take(pass, &counters[i], &variances[i], shard);
	}
}

static void mark_node(struct costs_pass *pass, const struct seg_counter *counter,
		      const struct seg_variance *variance, const struct seg_shard *shard)
{
	(void)variance;
	(void)shard;
	pass->place[counter->node] = 1;
}

/* A node without a place: its first counter came after the nodes were marked; that process still runs. */
static void sum_counter(struct costs_pass *pass, const struct seg_counter *counter,
			const struct seg_variance *variance, const struct seg_shard *shard)
{
	uint32_t place = pass->place[counter->node];

	if (place)
		image_sums_add(&pass->sums, place - 1, counter, variance, shard, pass->peak);
}

/* Makes room for the costs of the nodes that are marked, in the order of the nodes. */
static int place_costs(struct costs_pass *pass, const struct seg_header *header)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < pass->nodes; i++)
		if (pass->place[i])
			pass->place[i] = ++count;
	if (image_sums_init(&pass->sums, count, header) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < pass->nodes; i++)
		if (pass->place[i])
			pass->sums.costs[pass->place[i] - 1].node = i;
	return 0;
}

/* Counters are read twice, so that only nodes with costs take memory: most nodes are but the way to others. */
static int sum_shards(struct costs_pass *pass, struct image_source source,
		      const struct seg_header *header, const struct seg_shard *shards,
		      uint32_t count)
{
	pass->place[SEG_UNATTRIBUTED] = 1;
	pass->take = mark_node;
	for (uint32_t i = 0; i < count; i++)
		take_shard(pass, source, &shards[i]);
	if (place_costs(pass, header) < 0)
		return -ENOMEM;
	pass->take = sum_counter;
	for (uint32_t i = 0; i < count; i++) {
		take_shard(pass, source, &shards[i]);
		image_sums_add(&pass->sums, pass->place[SEG_UNATTRIBUTED] - 1, &shards[i].none,
			       &shards[i].none_variance, &shards[i], pass->peak);
	}
	return 0;
}

static void read_peak(struct image *image)
{
	const struct seg_header *h = &image->header;

	image->peak_bytes = h->several ? seg_unpack(h->packed).max : h->single_max;
	image->peak_error = h->several ? (int64_t)h->peak_error : 0;
}

static int read_costs(struct image_source source, struct image *image, struct diag *diag)
{
	const struct seg_header *h = &image->header;
	uint32_t count = image_shard_count(source, h);
	struct costs_pass pass = {
		.nodes = image->node_count > SEG_FIRST_NODE ? image->node_count : SEG_FIRST_NODE,
		.peak = peak_rule_of(h),
	};
	struct seg_shard *shards = calloc(count + 1ul, sizeof(*shards));
	int error = -ENOMEM;

	read_peak(image);
	pass.place = calloc(pass.nodes, sizeof(*pass.place));
	if (shards && pass.place) {
		read_records(source,
			     (struct records){ h->shard_chunks, SEG_SHARD_CHUNKS, SEG_SHARD_FIRST,
					       sizeof(*shards) },
			     0, count, shards);
		error = sum_shards(&pass, source, h, shards, count);
	}
	if (!error)
		error = image_sums_finish(&pass.sums, h, &image->variances);
	image->costs = pass.sums.costs;
	if (!error && !(h->flags & SEG_WITHOUT_STACKS))
		image->unattributed = image->costs[pass.place[SEG_UNATTRIBUTED] - 1].allocations;
	free(pass.sums.variances);
	free(shards);
	free(pass.place);
	if (error)
		return diag_set(diag, error, "out of memory");
	image->cost_count = image_sums_compact(image->costs, image->variances, pass.sums.count);
	return 0;
}

static uint32_t known_node(const struct image *image, uint64_t node)
{
	return node < image->node_count ? (uint32_t)node : SEG_ROOT_NONE;
}

/* In a sampled recording most blocks are unknown: nothing is said of their frees. */
static int read_bad_frees(struct image_source source, struct image *image, struct diag *diag)
{
	struct seg_bad_free *records;

	if (!image->header.bad_frees || image->header.sample_mean)
		return 0;
	records = calloc(SEG_BAD_FREES, sizeof(*records));
	image->bad_frees = calloc(SEG_BAD_FREES, sizeof(*image->bad_frees));
	if (!records || !image->bad_frees) {
		free(records);
		return diag_set(diag, -ENOMEM, "out of memory");
	}
	if (!read_at(source, image->header.bad_frees, records, SEG_BAD_FREES * sizeof(*records)))
		memset(records, 0, SEG_BAD_FREES * sizeof(*records));
	for (size_t i = 0; i < SEG_BAD_FREES; i++) {
		const struct seg_bad_free *r = &records[i];

		if (!r->count || r->state > 1)
			continue;
		image->bad_frees[image->bad_free_count++] = (struct image_bad_free){
			.node = known_node(image, r->key & UINT32_MAX),
			.allocated = known_node(image, r->key >> 32),
			.count = r->count,
			.address = r->address,
			.size = r->state ? r->size : 0,
			.freed_before = r->state == 1,
			.thread = r->thread,
		};
	}
	free(records);
	return 0;
}

enum stack_end image_stack_end(uint32_t root)
{
	switch (root) {
	case SEG_ROOT_COMPLETE:
		return STACK_COMPLETE;
	case SEG_ROOT_DEPTH:
		return STACK_DEPTH;
	case SEG_ROOT_NO_UNWIND:
		return STACK_NO_UNWIND_INFO;
	case SEG_ROOT_UNREADABLE:
		return STACK_UNREADABLE;
	case SEG_ROOT_BAD_FRAME:
		return STACK_BAD_FRAME;
	default:
		return STACK_UNATTRIBUTED;
	}
}

int image_identify(struct image_source source, struct image *image, struct diag *diag)
{
	int error;

	memset(image, 0, sizeof(*image));
	error = image_read_header(source, &image->header, diag);
	return error ? error : read_identity(source, image, diag);
}

int image_load(struct image_source source, struct image *image, struct diag *diag)
{
	int error;

	error = image_identify(source, image, diag);
	if (!error)
		error = read_modules(source, image, diag);
	if (!error)
		error = read_nodes(source, image, diag);
	if (!error)
		error = read_costs(source, image, diag);
	if (!error)
		error = image_load_slack(source, image, diag);
	if (!error)
		error = image_load_parts(source, image, diag);
	if (!error)
		error = read_bad_frees(source, image, diag);
	return error;
}

void image_release(struct image *image)
{
	for (uint32_t i = 0; image->modules && i < image->module_count; i++)
		free(image->modules[i].path);
	for (char **a = image->argv; a && *a; a++)
		free(*a);
	free(image->argv);
	free(image->modules);
	free(image->nodes);
	free(image->costs);
	free(image->variances);
	free(image->slack);
	free(image->bad_frees);
	image_release_parts(image);
	free(image->executable);
	free(image->directory);
	free(image->allocator);
	memset(image, 0, sizeof(*image));
}
