/* SPDX-License-Identifier: MIT */
/*
 * Reading segments: hand-made ones against sums by node, damaged ones against the sanitizers.  Links cmd/image.o
 * and report/diag.o, built with -fsanitize=address,undefined.
 */
#include "cmd/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t random_state;

static uint64_t any(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t below(uint64_t count)
{
	return (any() >> 8) % count;
}

/* -- making a segment ------------------------------------------------------------------------------ */

static int fd = -1;
static uint64_t base; /* of the region that is written and read */
static struct seg_header header;
static struct diag diag;

static void write_at(uint64_t offset, const void *data, size_t size)
{
	assert_int_equal(pwrite(fd, data, size, (off_t)(base + offset)), size);
}

static uint64_t allocate(size_t size)
{
	uint64_t offset = header.used;

	header.used += (size + 63) & ~63ul;
	return offset;
}

static uint64_t store(const void *data, size_t size)
{
	uint64_t offset = allocate(size);

	write_at(offset, data, size);
	return offset;
}

/* Record `index` of a segmented array: chunk k has room for first << k. */
static void write_record(uint64_t *chunks, uint32_t first, uint32_t index, const void *record,
			 size_t size)
{
	uint64_t position = index, room = first;

	for (; position >= room; chunks++, room *= 2)
		position -= room;
	if (!*chunks)
		*chunks = allocate(room * size);
	write_at(*chunks + position * size, record, size);
}

static void write_header(void)
{
	write_at(0, &header, sizeof(header));
}

static void begin_at(uint64_t where)
{
	if (where == 0) {
		if (fd >= 0)
			close(fd);
		fd = memfd_create("segment", MFD_CLOEXEC);
		assert_true(fd >= 0);
		/* Sparse, as segments are: the size says nothing of what is in it. */
		assert_int_equal(ftruncate(fd, (off_t)SEG_FILE_SIZE), 0);
	}
	base = where;
	memset(&header, 0, sizeof(header));
	header.magic = SEG_MAGIC;
	header.layout_version = SEG_LAYOUT_VERSION;
	header.header_size = sizeof(header);
	header.state = SEG_ACTIVE;
	header.node_count = SEG_FIRST_NODE;
	header.module_count = 1;
	header.used = 4096;
}

static struct image image;

static void load(void)
{
	struct image_source source = { fd, base };

	write_header();
	memset(&diag, 0, sizeof(diag));
	assert_int_equal(image_load(source, &image, &diag), 0);
}

/* -- header ---------------------------------------------------------------------------------------- */

static int read_header(void)
{
	struct image_source source = { fd, base };
	struct seg_header copy;

	write_header();
	memset(&diag, 0, sizeof(diag));
	return image_read_header(source, &copy, &diag);
}

static void test_header(void **state)
{
	struct image_source source;

	(void)state;
	begin_at(0);
	assert_int_equal(read_header(), 0);
	header.state = SEG_CLAIMED;
	assert_int_equal(read_header(), -EAGAIN);
	header.state = SEG_EMPTY;
	assert_int_equal(read_header(), -EAGAIN);
	header.state = SEG_ACTIVE;
	header.magic ^= 1;
	assert_int_equal(read_header(), -EAGAIN);
	header.magic ^= 1;
	header.layout_version++;
	assert_int_equal(read_header(), -EPROTO);
	assert_non_null(strstr(diag.text, "version"));
	header.layout_version--;
	header.header_size += 8;
	assert_int_equal(read_header(), -EPROTO);
	header.header_size -= 8;
	assert_int_equal(read_header(), 0);
	assert_int_equal(ftruncate(fd, 100), 0); /* the rest is zero: no longer active */
	source = (struct image_source){ fd, 0 };
	header.state = 0;
	assert_int_equal(image_load(source, &image, &diag),
			 image_read_header(source, &header, NULL));
	image_release(&image);
	assert_int_equal(ftruncate(fd, 0), 0); /* a spare of no bytes */
	assert_int_equal(image_load(source, &image, &diag), -EAGAIN);
	image_release(&image);
	source.fd = -1;
	assert_true(image_load(source, &image, &diag) < 0);
	image_release(&image);
}

/* -- who ------------------------------------------------------------------------------------------- */

static void add_module(uint32_t index, const char *path)
{
	struct seg_module m = { .bias = 0x1000 * index, .build_id_size = 20 };

	memset(m.build_id, (int)index, 20);
	m.path_size = (uint32_t)strlen(path);
	m.path = m.path_size ? store(path, m.path_size) : 0;
	write_record(header.module_chunks, SEG_MODULE_FIRST, index, &m, sizeof(m));
	if (header.module_count <= index)
		header.module_count = index + 1;
}

#define TEXT(field, text) \
 (header.field = store(text, strlen(text)), header.field##_size = (uint32_t)strlen(text))

static void test_identity(void **state)
{
	static const char arguments[] = "prog\0-x\0\0two words\0";

	(void)state;
	begin_at(0);
	TEXT(executable, "/usr/bin/prog");
	TEXT(directory, "/home/me");
	TEXT(allocator, "/lib/libc.so.6");
	header.arguments = store(arguments, sizeof(arguments) - 1);
	header.arguments_size = sizeof(arguments) - 1;
	add_module(1, "");
	add_module(2, "/lib/libc.so.6");
	add_module(3, "lib/plugin.so");
	add_module(4, "linux-vdso.so.1");
	for (uint32_t i = 5; i < 300; i++)
		add_module(i, "/lib/more.so");
	load();
	assert_string_equal(image.executable, "/usr/bin/prog");
	assert_string_equal(image.directory, "/home/me");
	assert_string_equal(image.allocator, "/lib/libc.so.6");
	assert_string_equal(image.argv[0], "prog");
	assert_string_equal(image.argv[1], "-x");
	assert_string_equal(image.argv[2], "");
	assert_string_equal(image.argv[3], "two words");
	assert_null(image.argv[4]);
	assert_int_equal(image.module_count, 300);
	assert_string_equal(image.modules[1].path,
			    "/usr/bin/prog"); /* has no name in the load map */
	assert_string_equal(image.modules[2].path, "/lib/libc.so.6");
	assert_string_equal(image.modules[3].path, "/home/me/lib/plugin.so");
	assert_string_equal(image.modules[4].path, "linux-vdso.so.1");
	for (uint32_t i = 1; i < 300; i++) {
		assert_int_equal(image.modules[i].bias, 0x1000 * i);
		assert_int_equal(image.modules[i].build_id_size, 20);
		assert_int_equal(image.modules[i].build_id[19], i & 255);
	}
	image_release(&image);
}

static void test_nothing_known(void **state)
{
	(void)state;
	begin_at(0);
	load();
	assert_string_equal(image.executable, "");
	assert_string_equal(image.directory, "");
	assert_null(image.argv[0]);
	assert_int_equal(image.cost_count, 0);
	assert_int_equal(image.peak_bytes, 0);
	image_release(&image);
}

/* -- costs ----------------------------------------------------------------------------------------- */

enum { MOST_NODES = 6000 };

/* What a node should have. */
static struct {
	struct image_cost cost;
	bool used;
} model[MOST_NODES];

struct rule {
	bool several, at_max;
	uint32_t epoch;
};

/* layout.h: 48 bits total, 48 bits maximum, 1 bit at maximum, 31 bits epoch. */
static void set_account(const struct rule *rule, int64_t total, int64_t max)
{
	unsigned __int128 word = (unsigned __int128)((uint64_t)total & 0xffffffffffff) |
				 (unsigned __int128)(uint64_t)max << 48 |
				 (unsigned __int128)rule->at_max << 96 |
				 (unsigned __int128)rule->epoch << 97;

	header.several = rule->several;
	if (rule->several) {
		header.packed[0] = (uint64_t)word;
		header.packed[1] = (uint64_t)(word >> 64);
		header.single_epoch = ~rule->epoch;
		header.single_at_max = !rule->at_max;
		header.single_max = 1;
	} else {
		header.single_max = max;
		header.single_epoch = rule->epoch;
		header.single_at_max = rule->at_max;
	}
}

static struct seg_counter any_counter(uint32_t node, const struct rule *rule)
{
	struct seg_counter c = {
		.node = node,
		.epoch = below(2) ? rule->epoch : (uint32_t)below(5),
		.allocations = below(1000),
		.bytes = below(1ull << 40),
		.frees =
			below(1000), /* of other threads' blocks: may be more than allocated here */
		.freed_bytes = below(1ull << 40),
		.temporary = below(100),
		.reallocations = below(100),
		.peak_blocks = (int64_t)below(2000) - 1000,
		.peak_bytes = (int64_t)below(1ull << 40) - (1ll << 39),
	};

	return c;
}

static void add_to_model(const struct seg_counter *c, uint32_t node, const struct rule *rule,
			 bool inherited)
{
	struct image_cost *m = &model[node].cost;
	int64_t blocks = (int64_t)c->allocations - (int64_t)c->frees;
	int64_t bytes = (int64_t)c->bytes - (int64_t)c->freed_bytes;
	bool live_at_peak = rule->at_max || c->epoch != rule->epoch;

	model[node].used = true;
	m->node = node;
	m->allocations += inherited ? 0 : c->allocations;
	m->bytes += inherited ? 0 : c->bytes;
	m->frees += c->frees;
	m->freed_bytes += c->freed_bytes;
	m->temporary += c->temporary;
	m->reallocations += c->reallocations;
	m->live_blocks += blocks;
	m->live_bytes += bytes;
	m->peak_blocks += live_at_peak ? blocks : c->peak_blocks;
	m->peak_bytes += live_at_peak ? bytes : c->peak_bytes;
}

static void add_shard(uint32_t index, const struct rule *rule, uint32_t nodes)
{
	struct seg_shard shard = { .inherited = below(3) == 0 };
	uint32_t count = (uint32_t)below(index % 3 ? 40 : 1500);

	shard.live_bytes = (int64_t)below(1ull << 40) - (1ll << 39);
	for (uint32_t i = 0; i < count; i++) {
		struct seg_counter c = any_counter(SEG_FIRST_NODE + (uint32_t)below(nodes), rule);

		add_to_model(&c, c.node, rule, shard.inherited);
		write_record(shard.chunks, SEG_COUNTER_FIRST, i, &c, sizeof(c));
	}
	shard.counter_count = count;
	if (below(2)) {
		shard.none = any_counter(0, rule);
		add_to_model(&shard.none, SEG_UNATTRIBUTED, rule, shard.inherited);
	}
	write_record(header.shard_chunks, SEG_SHARD_FIRST, index, &shard, sizeof(shard));
}

static void add_nodes(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct seg_node n = {
			.address = 0x400000 + 16ull * i,
			.parent = i && below(4) ? SEG_FIRST_NODE + (uint32_t)below(i)
						: SEG_ROOT_COMPLETE,
			.module = (uint32_t)below(header.module_count),
		};

		write_record(header.node_chunks, SEG_NODE_FIRST, SEG_FIRST_NODE + i, &n, sizeof(n));
	}
	header.node_count = SEG_FIRST_NODE + count;
}

static void expect_costs(void)
{
	size_t found = 0;

	for (size_t i = 0; i < image.cost_count; i++) {
		const struct image_cost *c = &image.costs[i];

		assert_in_range(c->node, SEG_UNATTRIBUTED, MOST_NODES - 1);
		assert_true(i == 0 || image.costs[i - 1].node < c->node);
		assert_memory_equal(c, &model[c->node].cost, sizeof(*c));
		found += model[c->node].used;
	}
	for (size_t i = 0; i < MOST_NODES; i++) {
		struct image_cost none = { .node = model[i].cost.node };

		if (model[i].used && memcmp(&model[i].cost, &none, sizeof(none)) != 0)
			found--;
	}
	assert_int_equal(found, 0);
	assert_int_equal(image.unattributed, model[SEG_UNATTRIBUTED].cost.allocations);
}

static void make_random(const struct rule *rule)
{
	uint32_t shards = rule->several ? 1 + (uint32_t)below(20) : 1,
		 nodes = 1 + (uint32_t)below(5000);

	memset(model, 0, sizeof(model));
	set_account(rule, -5, 1234567890123);
	header.peak_error = 77;
	add_module(1, "");
	add_module(2, "/lib/x.so");
	add_nodes(nodes);
	for (uint32_t i = 0; i < shards; i++)
		add_shard(i, rule, nodes);
	header.shard_count = shards;
}

static const struct rule rules[] = {
	{ false, false, 0 },	     { false, true, 0 },	 { false, false, 3 },
	{ false, true, 3 },	     { true, false, 2 },	 { true, true, 2 },
	{ true, false, 0 },	     { true, true, 0 },		 { true, false, 4 },
	{ true, false, 0x7fffffff }, { true, true, 0x7fffffff },
};
enum { RULES = sizeof(rules) / sizeof(*rules) };

/* By node, while the process may be running. */
static struct {
	int64_t blocks, bytes;
} running[MOST_NODES];

static void take_live(void *context, uint32_t node, uint64_t blocks, uint64_t bytes)
{
	uint32_t *nodes = context;

	assert_true(node < *nodes || node == SEG_UNATTRIBUTED);
	if (node >= MOST_NODES)
		return;
	running[node].blocks = (int64_t)((uint64_t)running[node].blocks + blocks);
	running[node].bytes = (int64_t)((uint64_t)running[node].bytes + bytes);
}

static void expect_live(void)
{
	uint32_t nodes = header.node_count;

	memset(running, 0, sizeof(running));
	assert_int_equal(
		image_read_live((struct image_source){ fd, base }, &header, take_live, &nodes),
		nodes);
	for (size_t i = 0; i < MOST_NODES; i++) {
		assert_int_equal(running[i].blocks, model[i].cost.live_blocks);
		assert_int_equal(running[i].bytes, model[i].cost.live_bytes);
	}
}

static void test_sums(void **state)
{
	(void)state;
	random_state = 1;
	for (unsigned round = 0; round < 40; round++) {
		const struct rule *rule = &rules[round % RULES];

		begin_at(0);
		make_random(rule);
		load();
		expect_costs();
		expect_live();
		assert_int_equal(image.peak_bytes, 1234567890123);
		assert_int_equal(image.peak_error, rule->several ? 77 : 0);
		for (uint32_t i = SEG_FIRST_NODE; i < image.node_count; i++) {
			assert_int_equal(image.nodes[i].address,
					 0x400000 + 16ull * (i - SEG_FIRST_NODE));
			assert_true(image.nodes[i].parent < i);
		}
		image_release(&image);
	}
}

/* One counter each way, by hand. */
static void test_peak_rules(void **state)
{
	static const struct {
		bool at_max;
		uint32_t current, stamp;
		int64_t blocks, bytes;
	} cases[] = {
		{ false, 5, 5, 4, 400 }, /* changed since the maximum: what was saved then */
		{ false, 5, 4, 1, 100 }, /* not changed since */
		{ true, 5, 5, 1, 100 },	 /* ends at the maximum */
		{ true, 5, 4, 1, 100 },
	};

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct rule rule = { i >= 4, cases[i % 4].at_max, cases[i % 4].current };
		struct seg_shard shard = { .counter_count = 1 };
		struct seg_counter c = {
			.node = SEG_FIRST_NODE,
			.epoch = cases[i % 4].stamp,
			.allocations = 9,
			.frees = 8,
			.bytes = 900,
			.freed_bytes = 800,
			.peak_blocks = 4,
			.peak_bytes = 400,
		};

		begin_at(0);
		set_account(&rule, 100, 400);
		add_nodes(1);
		write_record(shard.chunks, SEG_COUNTER_FIRST, 0, &c, sizeof(c));
		write_record(header.shard_chunks, SEG_SHARD_FIRST, 0, &shard, sizeof(shard));
		header.shard_count = 1;
		load();
		assert_int_equal(image.cost_count, 1);
		assert_int_equal(image.costs[0].peak_blocks, cases[i % 4].blocks);
		assert_int_equal(image.costs[0].peak_bytes, cases[i % 4].bytes);
		assert_int_equal(image.peak_bytes, 400);
		image_release(&image);
	}
}

/* What a forked child has from its parent lives there but was not allocated there. */
static void test_inherited(void **state)
{
	struct seg_shard shards[2] = { { .counter_count = 1, .inherited = 1 },
				       { .counter_count = 1 } };
	struct seg_counter c = { .node = SEG_FIRST_NODE, .allocations = 10, .bytes = 1000 };
	struct rule rule = { true, true, 0 };

	(void)state;
	begin_at(0);
	set_account(&rule, 1000, 1000);
	add_nodes(1);
	write_record(shards[0].chunks, SEG_COUNTER_FIRST, 0, &c, sizeof(c));
	c = (struct seg_counter){ .node = SEG_FIRST_NODE,
				  .allocations = 2,
				  .bytes = 20,
				  .frees = 5,
				  .freed_bytes = 500 };
	write_record(shards[1].chunks, SEG_COUNTER_FIRST, 0, &c, sizeof(c));
	for (uint32_t i = 0; i < 2; i++)
		write_record(header.shard_chunks, SEG_SHARD_FIRST, i, &shards[i],
			     sizeof(shards[i]));
	header.shard_count = 2;
	load();
	assert_int_equal(image.cost_count, 1);
	assert_int_equal(image.costs[0].allocations, 2);
	assert_int_equal(image.costs[0].bytes, 20);
	assert_int_equal(image.costs[0].frees, 5);
	assert_int_equal(image.costs[0].live_blocks, 7);
	assert_int_equal(image.costs[0].live_bytes, 520);
	assert_int_equal(image.costs[0].peak_bytes, 520);
	image_release(&image);
}

/* In a sampled recording numbers of blocks are in small units; variances are in others. */
static void begin_sampled(uint64_t mean, uint32_t nodes)
{
	struct rule rule = { false, false, 7 };

	begin_at(0);
	header.sample_mean = mean;
	set_account(&rule, 0, 5000);
	add_nodes(nodes);
}

static void put_sampled(uint32_t shard_index, uint32_t count, const struct seg_counter *c,
			const struct seg_variance *v, bool inherited)
{
	struct seg_shard shard = { .counter_count = count, .inherited = inherited };

	for (uint32_t i = 0; i < count; i++) {
		write_record(shard.chunks, SEG_COUNTER_FIRST, i, &c[i], sizeof(*c));
		if (v)
			write_record(shard.variance_chunks, SEG_COUNTER_FIRST, i, &v[i],
				     sizeof(*v));
	}
	write_record(header.shard_chunks, SEG_SHARD_FIRST, shard_index, &shard, sizeof(shard));
	header.shard_count = shard_index + 1;
}

static void test_sampled(void **state)
{
	/* Allocated by one thread, freed by another; the second changed since the maximum; the third lived at the fork. */
	static const struct seg_counter counters[3] = {
		{ .node = SEG_FIRST_NODE,
		  .allocations = 10 << 10,
		  .bytes = 1000,
		  .temporary = 1 << 10,
		  .reallocations = 2 << 10 },
		{ .node = SEG_FIRST_NODE,
		  .epoch = 7,
		  .frees = 4 << 10,
		  .freed_bytes = 400,
		  .peak_blocks = -(3 << 10),
		  .peak_bytes = -300 },
		{ .node = SEG_FIRST_NODE, .allocations = 100 << 10, .bytes = 10000 },
	};
	static const struct seg_variance variances[3] = {
		{ .allocations = 1000, .bytes = 2000, .temporary = 10, .reallocations = 20 },
		{ .frees = 400,
		  .freed_bytes = 800,
		  .peak_blocks = (uint64_t)-300,
		  .peak_bytes = (uint64_t)-600 },
		{ .allocations = 5000, .bytes = 7000 },
	};
	const struct image_variances *v;
	const struct image_cost *c;

	(void)state;
	/* Units of 2^-5 blocks squared, and of the square of 64 bytes by 16. */
	begin_sampled(1 << 22, 1);
	for (uint32_t i = 0; i < 3; i++)
		put_sampled(i, 1, &counters[i], &variances[i], i == 2);
	load();
	assert_int_equal(image.cost_count, 1);
	c = &image.costs[0];
	assert_int_equal(c->allocations, 10);
	assert_int_equal(c->bytes, 1000);
	assert_int_equal(c->frees, 4);
	assert_int_equal(c->freed_bytes, 400);
	assert_int_equal(c->temporary, 1);
	assert_int_equal(c->reallocations, 2);
	assert_int_equal(c->live_blocks, 106);
	assert_int_equal(c->live_bytes, 10600);
	assert_int_equal(c->peak_blocks, 107);
	assert_int_equal(c->peak_bytes, 10700);
	v = &image.variances[0];
	assert_true(32 * v->allocations == 1000 && v->bytes == 256 * 2000);
	assert_true(32 * v->frees == 400 && v->freed_bytes == 256 * 800);
	assert_true(32 * v->temporary == 10 && 32 * v->reallocations == 20);
	assert_true(32 * v->live_blocks == 5600 && v->live_bytes == 256 * 8200);
	assert_true(32 * v->peak_blocks == 5700 && v->peak_bytes == 256 * 8400);
	image_release(&image);
	/* Small means: finer units of blocks, sixteenths of bytes squared. */
	header.sample_mean = 4096;
	load();
	assert_true(32768 * image.variances[0].allocations == 1000);
	assert_true(image.variances[0].bytes == 125);
	image_release(&image);
	header.sample_mean = SEG_SAMPLE_MOST;
	load();
	assert_true(image.variances[0].allocations == 2048 * 1000);
	image_release(&image);
	header.sample_mean = 0;
	load();
	assert_null(image.variances);
	assert_int_equal(image.costs[0].allocations, 10 << 10);
	image_release(&image);
}

/* Slack by node: of two threads, of none, of before a fork; saved when it was changed since the maximum. */
static void test_slack(void **state)
{
	static const uint32_t nodes[3] = { SEG_FIRST_NODE + 2, SEG_FIRST_NODE, SEG_FIRST_NODE + 9 };
	static const struct seg_slack slack[3][3] = {
		{ { 100, 30, 50, 7, 0 }, { 8, 0, 1, 6, 0 }, { 5, 5, 5, 7, 0 } },
		{ { 0, 20, -3, 7, 0 }, { 0, 0, 0, 0, 0 }, { 1, 0, 0, 0, 0 } },
		{ { 1000, 10, 0, 0, 0 }, { 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0 } },
	};
	static const struct image_slack expected[2] = { { 8, 8, 8 },
							{ 100, 50 - 3 + 990, 70 - 20 + 990 } };
	struct rule rule = { false, false, 7 };

	(void)state;
	begin_at(0);
	set_account(&rule, 0, 5000);
	add_nodes(5); /* of the third there is none */
	for (uint32_t i = 0; i < 3; i++) {
		struct seg_shard shard = { .counter_count = 3,
					   .inherited = i == 2,
					   .none = { .allocations = i == 0, .bytes = 10 },
					   .none_slack = { 6, 0, 0, 0, 0 } };

		for (uint32_t k = 0; k < 3; k++) {
			struct seg_counter c = { .node = nodes[k], .allocations = 1, .bytes = 1 };

			write_record(shard.chunks, SEG_COUNTER_FIRST, k, &c, sizeof(c));
			write_record(shard.slack_chunks, SEG_COUNTER_FIRST, k, &slack[i][k],
				     sizeof(slack[i][k]));
		}
		write_record(header.shard_chunks, SEG_SHARD_FIRST, i, &shard, sizeof(shard));
	}
	header.shard_count = 3;
	load();
	assert_null(image.slack);
	image_release(&image);
	header.flags = SEG_WITH_SLACK;
	load();
	assert_int_equal(image.cost_count, 3);
	assert_int_equal(image.costs[0].node, SEG_UNATTRIBUTED);
	assert_int_equal(image.slack[0].allocated, 12);
	assert_int_equal(image.slack[0].live, 18);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(image.slack[i + 1].allocated, expected[i].allocated);
		assert_int_equal(image.slack[i + 1].peak, expected[i].peak);
		assert_int_equal(image.slack[i + 1].live, expected[i].live);
	}
	image_release(&image);
	header.single_at_max = 1; /* then what is live is what was */
	load();
	assert_int_equal(image.slack[2].peak, 70 - 20 + 990);
	image_release(&image);
}

/* A sum of many numbers that are no whole ones is off by less than one; each is right on average; nothing stays nothing. */
static void test_rounding(void **state)
{
	static struct seg_counter counters[1000];
	double first = 0;

	(void)state;
	begin_sampled(4096, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		counters[i] = (struct seg_counter){ .node = SEG_FIRST_NODE + i,
						    .allocations = i % 10 == 9 ? 0 : 1618,
						    .bytes = 1,
						    .frees = i % 10 == 9 ? 2048 : 1024 };
	put_sampled(0, 1000, counters, NULL, false);
	for (unsigned round = 0; round < 1000; round++) {
		int64_t sum = 0, live = 0;

		header.image = round * 0x123456789abcdefull;
		load();
		assert_int_equal(image.cost_count, 1000);
		for (uint32_t i = 0; i < 1000; i++) {
			const struct image_cost *c = &image.costs[i];

			if (i % 10 == 9) {
				assert_int_equal(c->allocations, 0);
				assert_int_equal(c->live_blocks, -2);
			}
			assert_in_range(c->allocations, i % 10 == 9 ? 0 : 1, 2);
			assert_int_equal(c->frees, i % 10 == 9 ? 2 : 1);
			sum += (int64_t)c->allocations;
			live += c->live_blocks;
		}
		assert_in_range(sum, 1422 - 1, 1422 + 1); /* 900 * 1618 / 1024 = 1422.07 */
		assert_in_range(live, 322 - 1, 322 + 1);
		first += (double)image.costs[0].allocations / 1000;
		image_release(&image);
	}
	assert_true(first > 1.58 - 0.08 && first < 1.58 + 0.08);
}

static void test_sampled_totals(void **state)
{
	struct seg_shard shard = { .live_bytes = 12345, .sizes[5].allocations = 1500 };
	struct image_totals totals;

	(void)state;
	begin_sampled(512 << 10, 1);
	write_record(header.shard_chunks, SEG_SHARD_FIRST, 0, &shard, sizeof(shard));
	shard.sizes[5].allocations = 6 << 10;
	shard.sizes[9].frees = 1 << 10;
	write_record(header.shard_chunks, SEG_SHARD_FIRST, 1, &shard, sizeof(shard));
	header.shard_count = 2;
	write_header();
	totals = image_read_totals((struct image_source){ fd, base }, &header);
	assert_int_equal(totals.bytes, 24690);
	assert_int_equal(totals.blocks, 6); /* 6.46 */
}

static void test_totals(void **state)
{
	struct image_source source;
	int64_t bytes = 0, blocks = 0;
	struct image_totals totals;

	(void)state;
	begin_at(0);
	for (uint32_t i = 0; i < 500; i++) {
		struct seg_shard shard = { .live_bytes = (int64_t)(i * 1000) - 77777 };

		shard.sizes[2 + i % 62].allocations = i;
		shard.sizes[2 + i % 7].frees = 2 * i;
		bytes += shard.live_bytes;
		blocks -= (int64_t)i;
		write_record(header.shard_chunks, SEG_SHARD_FIRST, i, &shard, sizeof(shard));
	}
	header.shard_count = 500;
	write_header();
	source = (struct image_source){ fd, base };
	totals = image_read_totals(source, &header);
	assert_int_equal(totals.bytes, bytes);
	assert_int_equal(totals.blocks, blocks);
}

/* Each region is an image of its own, with offsets of its own. */
static void test_regions(void **state)
{
	static const uint64_t where[] = { 0, SEG_REGION_SIZE, 63 * SEG_REGION_SIZE };

	(void)state;
	random_state = 5;
	for (unsigned i = 0; i < 3; i++) {
		begin_at(where[i]);
		make_random(&rules[4 + i]);
		load();
		expect_costs();
		image_release(&image);
	}
	base = SEG_REGION_SIZE;
	header.magic = 0;
	assert_int_equal(read_header(), -EAGAIN);
	base = 2 * SEG_REGION_SIZE; /* never taken */
	assert_int_equal(image_load((struct image_source){ fd, base }, &image, NULL), -EAGAIN);
	image_release(&image);
	base = 0;
}

/* An offset that leads out of the region does not lead into the next one. */
static void test_regions_are_apart(void **state)
{
	(void)state;
	random_state = 6;
	begin_at(SEG_REGION_SIZE);
	make_random(&rules[4]);
	write_header();
	base = 0;
	for (unsigned k = 0; k < SEG_NODE_CHUNKS; k++) {
		header.node_chunks[k] += SEG_REGION_SIZE;
		header.shard_chunks[k] += SEG_REGION_SIZE;
	}
	load();
	assert_int_equal(image.cost_count, 0);
	for (uint32_t i = 0; i < image.node_count; i++)
		assert_int_equal(image.nodes[i].address, 0);
	image_release(&image);
}

/* -- bad frees ------------------------------------------------------------------------------------- */

static void put_bad_free(uint32_t index, const struct seg_bad_free *record)
{
	if (!header.bad_frees)
		header.bad_frees = allocate(SEG_BAD_FREES * sizeof(*record));
	write_at(header.bad_frees + index * sizeof(*record), record, sizeof(*record));
}

static uint64_t key_of(uint32_t node, uint32_t allocated)
{
	return (uint64_t)allocated << 32 | node;
}

static void make_bad_frees(void)
{
	struct seg_bad_free twice = { key_of(18, 17), 3, 0x5000, 40, 1, 2, 0 };
	struct seg_bad_free unknown = { key_of(19, 0), 1, 0x6000, 99, 0, 1, 0 };
	struct seg_bad_free far = { key_of(UINT32_MAX, 20), UINT64_MAX, 0x7000, 8, 1, 7, 0 };
	struct seg_bad_free none = { key_of(18, 17), 0, 0x8000, 40, 1, 2, 0 };
	struct seg_bad_free strange = { key_of(18, 17), 1, 0x9000, 40, 2, 2, 0 };

	begin_at(0);
	add_nodes(4); /* 16 to 19 */
	put_bad_free(700, &twice);
	put_bad_free(3, &unknown);
	put_bad_free(SEG_BAD_FREES - 1, &far);
	put_bad_free(4, &none);
	put_bad_free(5, &strange);
}

static void test_bad_frees(void **state)
{
	(void)state;
	begin_at(0);
	load();
	assert_int_equal(image.bad_free_count, 0);
	image_release(&image);
	make_bad_frees();
	load();
	assert_int_equal(image.bad_free_count, 3);
	assert_int_equal(image.bad_frees[0].node, 19);
	assert_int_equal(image.bad_frees[0].allocated, 0);
	assert_int_equal(image.bad_frees[0].count, 1);
	assert_int_equal(image.bad_frees[0].address, 0x6000);
	assert_int_equal(image.bad_frees[0].size, 0); /* of what is not known */
	assert_false(image.bad_frees[0].freed_before);
	assert_int_equal(image.bad_frees[0].thread, 1);
	assert_int_equal(image.bad_frees[1].node, 18);
	assert_int_equal(image.bad_frees[1].allocated, 17);
	assert_int_equal(image.bad_frees[1].count, 3);
	assert_int_equal(image.bad_frees[1].size, 40);
	assert_true(image.bad_frees[1].freed_before);
	assert_int_equal(image.bad_frees[1].thread, 2);
	assert_int_equal(image.bad_frees[2].node, SEG_ROOT_NONE);
	assert_int_equal(image.bad_frees[2].allocated, SEG_ROOT_NONE);
	assert_true(image.bad_frees[2].count == UINT64_MAX);
	image_release(&image);
	header.sample_mean = 4096;
	load();
	assert_int_equal(image.bad_free_count, 0);
	image_release(&image);
}

static void test_bad_frees_elsewhere(void **state)
{
	static const uint64_t bad[] = {
		1, 2048, SEG_REGION_SIZE - 100, SEG_REGION_SIZE, SEG_REGION_SIZE + 1, UINT64_MAX
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		make_bad_frees();
		header.bad_frees = bad[i];
		load();
		assert_true(image.bad_free_count <= SEG_BAD_FREES);
		if (bad[i] > SEG_REGION_SIZE - SEG_BAD_FREES * sizeof(struct seg_bad_free))
			assert_int_equal(image.bad_free_count, 0);
		for (size_t k = 0; k < image.bad_free_count; k++) {
			assert_true(image.bad_frees[k].node < image.node_count ||
				    image.bad_frees[k].node == SEG_ROOT_NONE);
			assert_true(image.bad_frees[k].allocated < image.node_count ||
				    image.bad_frees[k].allocated == SEG_ROOT_NONE);
		}
		image_release(&image);
	}
}

/* -- who alone ------------------------------------------------------------------------------------- */

static void test_identify(void **state)
{
	char *path;

	(void)state;
	begin_at(0);
	TEXT(executable, "/usr/bin/prog");
	TEXT(directory, "/home/me");
	add_nodes(4);
	write_header();
	assert_int_equal(image_identify((struct image_source){ fd, 0 }, &image, &diag), 0);
	assert_string_equal(image.executable, "/usr/bin/prog");
	assert_null(image.nodes);
	path = image_path(&image, "");
	assert_string_equal(path, "/usr/bin/prog");
	free(path);
	path = image_path(&image, "lib/x.so");
	assert_string_equal(path, "/home/me/lib/x.so");
	free(path);
	image_release(&image);
	header.state = SEG_CLAIMED;
	write_header();
	assert_int_equal(image_identify((struct image_source){ fd, 0 }, &image, &diag), -EAGAIN);
	image_release(&image);
}

/* -- damage ---------------------------------------------------------------------------------------- */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Whatever is read can be walked. */
static volatile uint64_t slack_seen; /* all of it can be read */

static void check_walkable(void)
{
	for (uint32_t i = 0; i < image.node_count; i++) {
		assert_true(image.nodes[i].parent < i || image.nodes[i].parent == SEG_ROOT_NONE);
		assert_true(image.nodes[i].module == 0 ||
			    image.nodes[i].module < image.module_count);
	}
	for (size_t i = 0; i < image.cost_count; i++)
		assert_true(image.costs[i].node < image.node_count ||
			    image.costs[i].node == SEG_UNATTRIBUTED);
	for (uint32_t i = 1; i < image.module_count; i++) {
		assert_non_null(image.modules[i].path);
		assert_true(image.modules[i].build_id_size <= 32);
	}
	assert_true(image.header.sample_mean <= SEG_SAMPLE_MOST);
	assert_true((image.variances != NULL) == (image.header.sample_mean != 0));
	for (size_t i = 0; image.slack && i < image.cost_count; i++)
		slack_seen += image.slack[i].allocated;
	for (size_t i = 0; image.variances && i < image.cost_count; i++) {
		const struct image_variances *v = &image.variances[i];

		assert_true(v->allocations >= 0 && v->allocations < 1e300);
		assert_true(v->live_bytes >= 0 && v->live_bytes < 1e300);
		assert_true(v->peak_blocks >= 0 && v->peak_blocks < 1e300);
	}
}

static void load_damaged(void)
{
	struct image_source source = { fd, base };
	struct image_totals totals;
	uint32_t nodes = header.node_count;
	double start = seconds();

	write_header();
	if (image_load(source, &image, &diag) == 0)
		check_walkable();
	image_release(&image);
	totals = image_read_totals(source, &header);
	(void)totals;
	assert_true(image_read_live(source, &header, take_live, &nodes) <= nodes);
	assert_true(seconds() - start < 2);
}

static void make_small(void)
{
	begin_at(0);
	TEXT(executable, "/usr/bin/prog");
	TEXT(directory, "/home/me");
	header.arguments = store("a\0b", 4);
	header.arguments_size = 4;
	make_random(&rules[4]);
}

static void test_damaged_nodes(void **state)
{
	static const struct seg_node bad[] = {
		{ 1, SEG_FIRST_NODE + 5, 0 },	{ 1, UINT32_MAX, 1 },
		{ 0, SEG_FIRST_NODE + 900, 0 }, { 2, SEG_FIRST_NODE, 99 },
		{ 3, 0, UINT32_MAX },		{ UINT64_MAX, 1 << 31, 1 << 31 },
	};

	(void)state;
	random_state = 11;
	begin_at(0);
	make_random(&rules[4]);
	add_nodes(2000);
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		write_record(header.node_chunks, SEG_NODE_FIRST, SEG_FIRST_NODE + 5 + i, &bad[i],
			     sizeof(bad[i]));
	load();
	check_walkable();
	assert_int_equal(image.node_count, SEG_FIRST_NODE + 2000);
	assert_int_equal(image.nodes[SEG_FIRST_NODE + 8].parent, SEG_FIRST_NODE);
	image_release(&image);
}

/* Counters of nodes that there are not, are left out. */
static void test_damaged_counters(void **state)
{
	static const uint32_t nodes[] = { 0,	      1,      SEG_UNATTRIBUTED, SEG_FIRST_NODE + 1,
					  UINT32_MAX, 1 << 31 };
	struct seg_shard shard = { .counter_count = 6 };
	struct seg_counter c = { .allocations = 1, .bytes = 1 };

	(void)state;
	begin_at(0);
	add_nodes(1);
	for (uint32_t i = 0; i < 6; i++) {
		c.node = nodes[i];
		write_record(shard.chunks, SEG_COUNTER_FIRST, i, &c, sizeof(c));
	}
	write_record(header.shard_chunks, SEG_SHARD_FIRST, 0, &shard, sizeof(shard));
	header.shard_count = 1;
	load();
	assert_int_equal(image.cost_count, 0);
	image_release(&image);
}

static void test_damaged_offsets(void **state)
{
	static const uint64_t bad[] = { 1,
					0xfff,
					SEG_REGION_SIZE - 1,
					SEG_REGION_SIZE,
					SEG_REGION_SIZE + 4096,
					1ull << 62,
					1ull << 63,
					UINT64_MAX - 100,
					UINT64_MAX };

	(void)state;
	random_state = 12;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		make_small();
		header.node_chunks[0] = bad[i];
		load_damaged();
		make_small();
		header.node_chunks[1] = header.node_chunks[2] = bad[i];
		load_damaged();
		make_small();
		header.module_chunks[0] = bad[i];
		load_damaged();
		make_small();
		header.executable = header.directory = header.arguments = header.allocator = bad[i];
		header.allocator_size = 100;
		load_damaged();
	}
}

static void test_damaged_shards(void **state)
{
	static const uint64_t bad[] = { SEG_REGION_SIZE - 8, SEG_REGION_SIZE, UINT64_MAX - 4096,
					3 };

	(void)state;
	random_state = 13;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct seg_shard shard = { .counter_count = 2000 };

		for (unsigned k = 0; k < SEG_COUNTER_CHUNKS; k++)
			shard.chunks[k] = shard.variance_chunks[k] = shard.slack_chunks[k] = bad[i];
		make_small();
		header.flags = i / 2 ? SEG_WITH_SLACK : 0;
		header.sample_mean = i % 2 ? UINT64_MAX : 0;
		write_record(header.shard_chunks, SEG_SHARD_FIRST, 0, &shard, sizeof(shard));
		load_damaged();
		make_small();
		header.shard_chunks[0] = bad[i];
		header.shard_count = 4;
		load_damaged();
	}
}

static void test_damaged_texts(void **state)
{
	static const uint32_t sizes[] = { 0,	   1,	     65535,	     65536,
					  1 << 22, 1u << 31, UINT32_MAX - 1, UINT32_MAX };

	(void)state;
	random_state = 14;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct seg_module m = { .path = 4096,
					.path_size = sizes[i],
					.build_id_size = sizes[i] };

		make_small();
		header.executable_size = header.directory_size = header.allocator_size = sizes[i];
		header.allocator = 4096;
		write_record(header.module_chunks, SEG_MODULE_FIRST, 2, &m, sizeof(m));
		load_damaged();
		make_small();
		header.arguments_size = sizes[i];
		load_damaged();
		make_small();
		header.arguments = 0;
		header.arguments_size = sizes[i] < 100000 ? sizes[i] : 100000;
		load_damaged();
	}
}

/* A count that was overwritten must cost no more than the file is worth: not gigabytes, not minutes. */
static void expect_cheap(uint32_t *count, uint32_t value)
{
	struct rusage before, after;

	*count = value;
	getrusage(RUSAGE_SELF, &before);
	load_damaged();
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 512 * 1024);
}

static void test_huge_counts(void **state)
{
	(void)state;
	random_state = 15;
	make_small();
	expect_cheap(&header.module_count, UINT32_MAX);
	make_small();
	expect_cheap(&header.shard_count, UINT32_MAX);
	make_small();
	expect_cheap(&header.node_count, UINT32_MAX);
}

/* Many shards that claim the same counters do not multiply them. */
static void test_shards_that_overlap(void **state)
{
	struct seg_shard shard = { .counter_count = UINT32_MAX };
	struct rule rule = { false, false, 0 };

	(void)state;
	random_state = 19;
	make_small();
	for (uint32_t i = 0; i < 5000; i++) {
		struct seg_counter c = any_counter(SEG_FIRST_NODE, &rule);

		write_record(shard.chunks, SEG_COUNTER_FIRST, i, &c, sizeof(c));
	}
	for (uint32_t i = 0; i < 4000; i++)
		write_record(header.shard_chunks, SEG_SHARD_FIRST, i, &shard, sizeof(shard));
	header.shard_count = 4000;
	write_header();
	double start = seconds();
	image_read_live((struct image_source){ fd, 0 }, &header, take_live, &(uint32_t){ 1 << 16 });
	assert_true(seconds() - start < 1);
}

static void test_huge_counter_count(void **state)
{
	struct seg_shard shard = { 0 };

	(void)state;
	random_state = 16;
	make_small();
	shard.counter_count = UINT32_MAX;
	write_record(header.shard_chunks, SEG_SHARD_FIRST, 0, &shard, sizeof(shard));
	expect_cheap(&header.shard_count, 1);
}

/* Bytes of the header and of the records, at random; counts stay small, for those have their own tests. */
static void test_damage_anywhere(void **state)
{
	static struct seg_header good;

	(void)state;
	random_state = 17;
	make_small();
	good = header;
	for (unsigned round = 0; round < 500; round++) {
		uint8_t *bytes = (uint8_t *)&header;

		header = good;
		if (round % 2)
			header.sample_mean = any() >> below(64);
		header.flags = round % 3 ? SEG_WITH_SLACK : 0;
		for (unsigned i = 0; i < 1 + round % 8; i++)
			bytes[below(sizeof(header))] = (uint8_t)any();
		for (unsigned i = 0; i < 20; i++) {
			uint8_t byte = (uint8_t)any();

			write_at(4096 + below(good.used - 4096), &byte, 1);
		}
		header.magic = SEG_MAGIC;
		header.state = SEG_ACTIVE;
		header.layout_version = SEG_LAYOUT_VERSION;
		header.header_size = sizeof(header);
		header.node_count %= 20000;
		header.module_count %= 1000;
		header.shard_count %= 100;
		load_damaged();
	}
}

/* The file ends anywhere. */
static void test_cut_short(void **state)
{
	(void)state;
	random_state = 18;
	make_small();
	write_header();
	for (uint64_t size = header.used; size > 100; size -= size / 9) {
		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		if (image_load((struct image_source){ fd, 0 }, &image, &diag) == 0)
			check_walkable();
		image_release(&image);
	}
}

static int end(void **state)
{
	(void)state;
	return close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_peak_rules),
		cmocka_unit_test(test_inherited),
		cmocka_unit_test(test_sampled),
		cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_slack),
		cmocka_unit_test(test_sampled_totals),
		cmocka_unit_test(test_totals),
		cmocka_unit_test(test_regions),
		cmocka_unit_test(test_regions_are_apart),
		cmocka_unit_test(test_bad_frees),
		cmocka_unit_test(test_bad_frees_elsewhere),
		cmocka_unit_test(test_identify),
		cmocka_unit_test(test_damaged_nodes),
		cmocka_unit_test(test_damaged_counters),
		cmocka_unit_test(test_damaged_offsets),
		cmocka_unit_test(test_damaged_shards),
		cmocka_unit_test(test_damaged_texts),
		cmocka_unit_test(test_damage_anywhere),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_huge_counts),
		cmocka_unit_test(test_huge_counter_count),
		cmocka_unit_test(test_shards_that_overlap),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, end);
}
