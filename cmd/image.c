/* SPDX-License-Identifier: MIT */
/* Segments into memory; see image.h. */
#include "cmd/image.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/image_private.h"

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

/* Sums of hostile figures may wrap around. */
static void add(int64_t *sum, int64_t value)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)value);
}

/* Estimated numbers of blocks are in small units.  What is rounded off is carried on to the next number: from a first
 * *carry at random (at least minus half a block, and less than half a one), neither a single number nor their sum is
 * biased; the sum is off by less than one.  Whole numbers stay what they are. */
static int64_t whole_blocks(uint64_t units, int64_t *carry)
{
	const int64_t half = 1 << (SEG_SAMPLE_BITS - 1);
	uint64_t sum = units + (uint64_t)(*carry + half);

	*carry = (int64_t)(sum & (2 * half - 1)) - half;
	return (int64_t)sum >> SEG_SAMPLE_BITS;
}

struct image_totals image_read_totals(struct image_source source, const struct seg_header *header)
{
	struct image_totals totals = { 0, 0 };
	struct seg_shard shard;

	for (uint32_t i = 0;
	     i < at_most(header->shard_count,
			 records_limit(source, sizeof(struct seg_shard), MOST_SHARDS));
	     i++) {
		struct seg_place place = seg_chunk_of(i, SEG_SHARD_FIRST);

		if (place.chunk >= SEG_SHARD_CHUNKS || !header->shard_chunks[place.chunk] ||
		    !read_at(source,
			     header->shard_chunks[place.chunk] + place.position * sizeof(shard),
			     &shard, sizeof(shard)))
			continue;
		add(&totals.bytes, shard.live_bytes);
		add(&totals.blocks, shard.live_blocks);
	}
	if (header->sample_mean)
		totals.blocks = whole_blocks((uint64_t)totals.blocks, &(int64_t){ 0 });
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

struct peak_rule {
	uint32_t epoch;
	bool at_max;
};

/* Has the counter changed since the maximum?  Then it has kept what it was. */
static bool is_saved(const struct seg_counter *c, struct peak_rule peak)
{
	return !peak.at_max && c->epoch == peak.epoch;
}

static void add_counter(struct image_cost *cost, const struct seg_counter *c,
			const struct seg_shard *shard, struct peak_rule peak)
{
	int64_t live_blocks = (int64_t)(c->allocations - c->frees);
	int64_t live_bytes = (int64_t)(c->bytes - c->freed_bytes);
	bool saved = is_saved(c, peak);

	if (!shard->inherited) {
		cost->allocations += c->allocations;
		cost->bytes += c->bytes;
	}
	cost->frees += c->frees;
	cost->freed_bytes += c->freed_bytes;
	cost->temporary += c->temporary;
	cost->reallocations += c->reallocations;
	add(&cost->live_blocks, live_blocks);
	add(&cost->live_bytes, live_bytes);
	add(&cost->peak_blocks, saved ? c->peak_blocks : live_blocks);
	add(&cost->peak_bytes, saved ? c->peak_bytes : live_bytes);
}

/* Sums of variances in the units of the segment.  They wrap around, as the differences do that they are made of. */
struct variance_sums {
	uint64_t allocations, bytes, frees, freed_bytes, temporary, reallocations;
	uint64_t live_blocks, live_bytes, peak_blocks, peak_bytes;
};

static void add_variances(struct variance_sums *sums, const struct seg_variance *v, bool inherited,
			  bool saved)
{
	uint64_t live_blocks = v->allocations - v->frees, live_bytes = v->bytes - v->freed_bytes;

	if (!inherited) {
		sums->allocations += v->allocations;
		sums->bytes += v->bytes;
	}
	sums->frees += v->frees;
	sums->freed_bytes += v->freed_bytes;
	sums->temporary += v->temporary;
	sums->reallocations += v->reallocations;
	sums->live_blocks += live_blocks;
	sums->live_bytes += live_bytes;
	sums->peak_blocks += saved ? v->peak_blocks : live_blocks;
	sums->peak_bytes += saved ? v->peak_bytes : live_bytes;
}

/* What is done with each counter of a shard. */
struct costs_pass {
	struct image *image;
	struct variance_sums *variances; /* of each of the costs; NULL: not sampled */
	uint32_t *place; /* by node: 1 + its index in the costs, once that is known */
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
		if (pass->variances)
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

/* `at`: index in the costs. */
static void add_at(struct costs_pass *pass, uint32_t at, const struct seg_counter *counter,
		   const struct seg_variance *variance, const struct seg_shard *shard)
{
	add_counter(&pass->image->costs[at], counter, shard, pass->peak);
	if (pass->variances)
		add_variances(&pass->variances[at], variance, shard->inherited,
			      is_saved(counter, pass->peak));
}

/* A node without a place: its first counter came after the nodes were marked; that process still runs. */
static void sum_counter(struct costs_pass *pass, const struct seg_counter *counter,
			const struct seg_variance *variance, const struct seg_shard *shard)
{
	uint32_t place = pass->place[counter->node];

	if (place)
		add_at(pass, place - 1, counter, variance, shard);
}

/* Makes room for the costs of the nodes that are marked, in the order of the nodes. */
static int place_costs(struct costs_pass *pass)
{
	struct image *image = pass->image;
	uint32_t count = 0;

	for (uint32_t i = 0; i < pass->nodes; i++)
		if (pass->place[i])
			pass->place[i] = ++count;
	image->costs = calloc(count + 1ul, sizeof(*image->costs));
	if (image->header.sample_mean)
		pass->variances = calloc(count + 1ul, sizeof(*pass->variances));
	if (!image->costs || (image->header.sample_mean && !pass->variances))
		return -ENOMEM;
	image->cost_count = count;
	for (uint32_t i = 0; i < pass->nodes; i++)
		if (pass->place[i])
			image->costs[pass->place[i] - 1].node = i;
	return 0;
}

/* Counters are read twice, so that only nodes with costs take memory: most nodes are but the way to others. */
static int sum_shards(struct costs_pass *pass, struct image_source source,
		      const struct seg_shard *shards, uint32_t count)
{
	pass->place[SEG_UNATTRIBUTED] = 1;
	pass->take = mark_node;
	for (uint32_t i = 0; i < count; i++)
		take_shard(pass, source, &shards[i]);
	if (place_costs(pass) < 0)
		return -ENOMEM;
	pass->take = sum_counter;
	for (uint32_t i = 0; i < count; i++) {
		take_shard(pass, source, &shards[i]);
		add_at(pass, pass->place[SEG_UNATTRIBUTED] - 1, &shards[i].none,
		       &shards[i].none_variance, &shards[i]);
	}
	return 0;
}

/* From the segment's units to blocks.  By what is rounded first is up to chance, which is drawn from what tells images
 * apart: the same segment gives the same figures. */
static void round_blocks(struct image *image)
{
	int64_t carry[6];

	for (unsigned i = 0; i < 6; i++)
		carry[i] = (int64_t)((image->header.image + i) * 0x9e3779b97f4a7c15u >>
				     (64 - SEG_SAMPLE_BITS)) -
			   (1 << (SEG_SAMPLE_BITS - 1));
	for (size_t i = 0; i < image->cost_count; i++) {
		struct image_cost *c = &image->costs[i];

		c->allocations = (uint64_t)whole_blocks(c->allocations, &carry[0]);
		c->frees = (uint64_t)whole_blocks(c->frees, &carry[1]);
		c->temporary = (uint64_t)whole_blocks(c->temporary, &carry[2]);
		c->reallocations = (uint64_t)whole_blocks(c->reallocations, &carry[3]);
		c->live_blocks = whole_blocks((uint64_t)c->live_blocks, &carry[4]);
		c->peak_blocks = whole_blocks((uint64_t)c->peak_blocks, &carry[5]);
	}
}

/* Below zero: differences of figures that changed while they were read. */
static double variance_of(uint64_t sum, double unit)
{
	return (int64_t)sum > 0 ? (double)sum * unit : 0;
}

static int convert_variances(struct image *image, const struct variance_sums *sums)
{
	double block = ldexp(1, -seg_sample_blocks_bits(image->header.sample_mean));
	double byte = (double)seg_sample_bytes_unit(image->header.sample_mean);

	byte *= byte / (1 << SEG_VARIANCE_BITS);
	image->variances = calloc(image->cost_count + 1, sizeof(*image->variances));
	if (!image->variances)
		return -ENOMEM;
	for (size_t i = 0; i < image->cost_count; i++, sums++)
		image->variances[i] = (struct image_variances){
			.allocations = variance_of(sums->allocations, block),
			.bytes = variance_of(sums->bytes, byte),
			.frees = variance_of(sums->frees, block),
			.freed_bytes = variance_of(sums->freed_bytes, byte),
			.temporary = variance_of(sums->temporary, block),
			.reallocations = variance_of(sums->reallocations, block),
			.live_blocks = variance_of(sums->live_blocks, block),
			.live_bytes = variance_of(sums->live_bytes, byte),
			.peak_blocks = variance_of(sums->peak_blocks, block),
			.peak_bytes = variance_of(sums->peak_bytes, byte),
		};
	return 0;
}

static struct peak_rule peak_rule_of(struct image *image)
{
	const struct seg_header *h = &image->header;
	struct seg_account account = seg_unpack(h->packed);

	if (!h->several) {
		image->peak_bytes = h->single_max;
		return (struct peak_rule){ h->single_epoch, h->single_at_max };
	}
	image->peak_bytes = account.max;
	image->peak_error = (int64_t)h->peak_error;
	return (struct peak_rule){ account.epoch, account.at_max };
}

static bool is_something(const struct image_cost *c)
{
	return c->allocations || c->frees || c->live_blocks || c->live_bytes || c->peak_blocks;
}

/* Leaves only what says something. */
static void compact_costs(struct image *image)
{
	size_t kept = 0;

	for (size_t i = 0; i < image->cost_count; i++) {
		if (!is_something(&image->costs[i]))
			continue;
		if (image->variances)
			image->variances[kept] = image->variances[i];
		image->costs[kept++] = image->costs[i];
	}
	image->cost_count = kept;
}

static int read_costs(struct image_source source, struct image *image, struct diag *diag)
{
	const struct seg_header *h = &image->header;
	uint32_t count = at_most(h->shard_count,
				 records_limit(source, sizeof(struct seg_shard), MOST_SHARDS));
	struct costs_pass pass = {
		.image = image,
		.nodes = image->node_count > SEG_FIRST_NODE ? image->node_count : SEG_FIRST_NODE,
		.peak = peak_rule_of(image),
	};
	struct seg_shard *shards = calloc(count + 1ul, sizeof(*shards));
	int error = -ENOMEM;

	pass.place = calloc(pass.nodes, sizeof(*pass.place));
	if (shards && pass.place) {
		read_records(source,
			     (struct records){ h->shard_chunks, SEG_SHARD_CHUNKS, SEG_SHARD_FIRST,
					       sizeof(*shards) },
			     0, count, shards);
		error = sum_shards(&pass, source, shards, count);
	}
	if (!error && pass.variances) {
		round_blocks(image);
		error = convert_variances(image, pass.variances);
	}
	if (!error && !(h->flags & SEG_WITHOUT_STACKS))
		image->unattributed = image->costs[pass.place[SEG_UNATTRIBUTED] - 1].allocations;
	free(pass.variances);
	free(shards);
	free(pass.place);
	if (error)
		return diag_set(diag, error, "out of memory");
	compact_costs(image);
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
	free(image->bad_frees);
	free(image->executable);
	free(image->directory);
	free(image->allocator);
	memset(image, 0, sizeof(*image));
}
