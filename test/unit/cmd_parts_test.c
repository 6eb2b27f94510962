/* SPDX-License-Identifier: MIT */
/*
 * Costs by thread and by size out of hand-made segments, against sums made here.  Links the readers of segments, built with
 * -fsanitize=address,undefined.
 */
#include "cmd/image_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SHARDS = 9, SHARDS_AT = 1 << 16, VARIANCES_AT = 1 << 18, EPOCH = 5 };

static int fd = -1;
static struct seg_header header;
static struct seg_shard shards[SHARDS];
static struct seg_variance variances[SHARDS][SEG_SIZES];
static struct image image;

static uint64_t any(uint64_t below)
{
	static uint64_t state = 7;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 8) % below;
}

static void begin(uint64_t sample_mean)
{
	memset(&header, 0, sizeof(header));
	memset(shards, 0, sizeof(shards));
	memset(variances, 0, sizeof(variances));
	header = (struct seg_header){
		.magic = SEG_MAGIC,
		.layout_version = SEG_LAYOUT_VERSION,
		.header_size = sizeof(header),
		.state = SEG_ACTIVE,
		.node_count = SEG_FIRST_NODE,
		.module_count = 1,
		.shard_count = SHARDS,
		.single_epoch = EPOCH,
		.sample_mean = sample_mean,
		.image = 0x123456789,
	};
}

static void put(uint64_t offset, const void *data, size_t size)
{
	assert_int_equal(pwrite(fd, data, size, (off_t)offset), size);
}

/* Shards 0 to 3 lie in one chunk, 4 to 8 in the next. */
static void load(void)
{
	if (fd >= 0)
		close(fd);
	fd = memfd_create("segment", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)SEG_FILE_SIZE), 0);
	header.shard_chunks[0] = SHARDS_AT;
	header.shard_chunks[1] = SHARDS_AT + 4 * sizeof(*shards);
	for (unsigned i = 0; header.sample_mean && i < SHARDS; i++)
		shards[i].size_variances = VARIANCES_AT + i * sizeof(variances[i]);
	put(0, &header, sizeof(header));
	put(SHARDS_AT, shards, sizeof(shards));
	put(VARIANCES_AT, variances, sizeof(variances));
	assert_int_equal(image_load((struct image_source){ fd, 0 }, &image, NULL), 0);
}

static const struct image_cost *cost_of(const struct image_part *part, uint32_t key)
{
	for (size_t i = 0; i < part->count; i++)
		if (part->costs[i].node == key)
			return &part->costs[i];
	return NULL;
}

static void test_classes(void **state)
{
	(void)state;
	assert_int_equal(image_size_least(0), 0);
	assert_int_equal(image_size_least(1), 1);
	assert_int_equal(image_size_least(2), 9);
	assert_int_equal(image_size_least(3), 17);
	assert_int_equal(image_size_least(IMAGE_SIZES - 1), (1ull << 32) + 1);
	for (uint64_t size = 0, class = 0; class < IMAGE_SIZES; class ++) {
		begin(0);
		size = image_size_least((unsigned)class);
		shards[3].sizes[seg_size_index(size)].allocations = 1;
		load();
		assert_int_equal(image.by_size.count, 1);
		assert_int_equal(image.by_size.costs[0].node, class);
		image_release(&image);
	}
}

/* All that is beyond 4 GiB is one class. */
static void test_beyond(void **state)
{
	(void)state;
	begin(0);
	for (unsigned i = 32; i < SEG_SIZES - 1; i++)
		shards[1].sizes[i] = (struct seg_counter){ .allocations = 1, .bytes = 5ull << 32 };
	load();
	assert_int_equal(image.by_size.count, 1);
	assert_int_equal(image.by_size.costs[0].node, IMAGE_SIZES - 1);
	assert_int_equal(image.by_size.costs[0].allocations, 31);
	assert_int_equal(image.by_size.costs[0].bytes, 31 * (5ull << 32));
	image_release(&image);
}

static struct seg_counter any_counter(void)
{
	return (struct seg_counter){
		.epoch = any(2) ? EPOCH : 1,
		.allocations = any(1000),
		.bytes = any(1u << 30),
		.frees = any(1000),
		.freed_bytes = any(1u << 30),
		.temporary = any(100),
		.reallocations = any(100),
		.peak_blocks = (int64_t)any(2000) - 1000,
		.peak_bytes = (int64_t)any(1u << 30) - (1 << 29),
	};
}

static void add(struct image_cost *sum, const struct seg_counter *c, bool inherited)
{
	bool saved = c->epoch == EPOCH;
	int64_t blocks = (int64_t)(c->allocations - c->frees);
	int64_t bytes = (int64_t)(c->bytes - c->freed_bytes);

	sum->allocations += inherited ? 0 : c->allocations;
	sum->bytes += inherited ? 0 : c->bytes;
	sum->frees += c->frees;
	sum->freed_bytes += c->freed_bytes;
	sum->temporary += c->temporary;
	sum->reallocations += c->reallocations;
	sum->live_blocks += blocks;
	sum->live_bytes += bytes;
	sum->peak_blocks += saved ? c->peak_blocks : blocks;
	sum->peak_bytes += saved ? c->peak_bytes : bytes;
}

static void test_sums(void **state)
{
	struct image_cost by_class[8] = { 0 }, by_shard[SHARDS + 1] = { 0 };

	(void)state;
	begin(0);
	shards[5].inherited = 1;
	for (unsigned s = 0; s < SHARDS; s++)
		for (unsigned i = 2; i < 9; i++) {
			struct seg_counter c = any_counter();

			shards[s].sizes[i] = c;
			by_class[i - 1].node = i - 1;
			by_shard[s + 1].node = s + 1;
			add(&by_class[i - 1], &c, s == 5);
			add(&by_shard[s + 1], &c, s == 5);
		}
	load();
	assert_int_equal(image.by_size.count, 7);
	for (unsigned i = 1; i < 8; i++)
		assert_memory_equal(cost_of(&image.by_size, i), &by_class[i], sizeof(*by_class));
	assert_int_equal(image.by_thread.count, SHARDS);
	for (unsigned i = 1; i <= SHARDS; i++)
		assert_memory_equal(cost_of(&image.by_thread, i), &by_shard[i], sizeof(*by_shard));
	image_release(&image);
}

static void test_who(void **state)
{
	(void)state;
	begin(0);
	shards[0].holders = 1;
	shards[0].tid = 4711;
	memcpy(shards[0].name, "main", 5);
	shards[1].inherited = 1;
	shards[2].holders = 17;
	shards[2].tid = UINT32_MAX; /* damage */
	memset(shards[2].name, 'x', sizeof(shards[2].name));
	load();
	assert_int_equal(image.thread_count, SHARDS);
	assert_int_equal(image.threads[0].holders, 1);
	assert_int_equal(image.threads[0].tid, 4711);
	assert_string_equal(image.threads[0].name, "main");
	assert_false(image.threads[0].inherited);
	assert_true(image.threads[1].inherited);
	assert_int_equal(image.threads[2].holders, 17);
	assert_int_equal(image.threads[2].tid, 0);
	assert_string_equal(image.threads[2].name, "xxxxxxxxxxxxxxx");
	assert_string_equal(image.threads[3].name, "");
	image_release(&image);
}

/* A thread that made ten blocks, of which another freed eight; units of 2^-5 blocks squared, and of 256 bytes squared. */
static void test_sampled(void **state)
{
	const struct image_part *threads = &image.by_thread, *sizes = &image.by_size;

	(void)state;
	begin(1 << 22);
	shards[0].sizes[6] = (struct seg_counter){ .allocations = 10 << 10, .bytes = 1000 };
	variances[0][6] = (struct seg_variance){ .allocations = 320, .bytes = 1000 };
	shards[1].sizes[6] = (struct seg_counter){ .epoch = EPOCH,
						   .frees = 8 << 10,
						   .freed_bytes = 800,
						   .peak_blocks = -(2 << 10),
						   .peak_bytes = -200 };
	variances[1][6] = (struct seg_variance){ .frees = 256,
						 .freed_bytes = 800,
						 .peak_blocks = (uint64_t)-64,
						 .peak_bytes = (uint64_t)-200 };
	load();
	assert_int_equal(sizes->count, 1);
	assert_int_equal(sizes->costs[0].live_blocks, 2);
	assert_int_equal(sizes->costs[0].peak_blocks, 8);
	assert_true(sizes->variances[0].live_blocks == 2);
	assert_true(sizes->variances[0].peak_blocks == 8);
	assert_true(sizes->variances[0].bytes == 256 * 1000);
	assert_int_equal(threads->count, 2);
	assert_int_equal(threads->costs[1].live_blocks, -8);
	assert_int_equal(threads->costs[1].peak_bytes, -200);
	assert_true(threads->variances[0].live_blocks == 10);
	assert_true(threads->variances[1].live_blocks == 8);
	assert_true(threads->variances[1].peak_blocks == 2);
	image_release(&image);
	header.shard_count = UINT32_MAX; /* damage */
	shards[0].size_variances = UINT64_MAX - 8;
	load();
	image_release(&image);
}

/* However the blocks are divided, the rounded parts make the same sum. */
static void test_rounded_sums(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		uint64_t by_size = 0, by_thread = 0;

		begin(4096);
		header.image = any(UINT64_MAX);
		for (unsigned s = 0; s < SHARDS; s++)
			for (unsigned i = 2; i < 40; i++)
				shards[s].sizes[i].allocations = any(9000);
		load();
		for (size_t i = 0; i < image.by_size.count; i++)
			by_size += image.by_size.costs[i].allocations;
		for (size_t i = 0; i < image.by_thread.count; i++)
			by_thread += image.by_thread.costs[i].allocations;
		assert_int_equal(by_size, by_thread);
		image_release(&image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes), cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_sums),	cmocka_unit_test(test_who),
		cmocka_unit_test(test_sampled), cmocka_unit_test(test_rounded_sums),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
