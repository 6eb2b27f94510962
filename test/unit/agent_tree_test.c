/* SPDX-License-Identifier: MIT */
/* The stack tree: ids and keys, against lists of what was asked for.  Links the agent without hooks.o. */
#include "agent/stack_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/layout.h"
#include "test/unit/agent_fixture.h"

struct key {
	uintptr_t address;
	uint32_t parent;
	uint32_t id;
};

enum { KEYS = 200000, MOST_IDS = 1 << 20 };
static struct key keys[KEYS];
static uint8_t seen[MOST_IDS];

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->parent < y->parent ? -1 : x->parent > y->parent;
}

/* Keys of all sorts: far apart, close together, same address or same parent, and families in which
 * address ^ parent << 32 ^ parent is the same, which is what the table hashes. */
static struct key any_key(uint64_t *random, unsigned i)
{
	struct key k = { .parent = 1 + (uint32_t)fixture_below(random, 5000) };

	switch (i % 8) {
	case 0:
		k.address = 0x400000 + i;
		break;
	case 1:
		k.address = 0x7f0000001000;
		k.parent = 16 + i;
		break;
	case 2:
		k.parent = 1 + i % 3000;
		k.address = 0x7f3300000000 ^ (uint64_t)k.parent << 32 ^ k.parent;
		break;
	case 3:
		k.parent = 7;
		k.address = fixture_random(random) >> 17;
		break;
	default:
		k.address = fixture_random(random) >> 17;
	}
	k.address += 2 * (k.address < 2); /* 0 is no address and 1 is the mark of a cut */
	return k;
}

static unsigned make_keys(uint64_t seed)
{
	unsigned count = 1;

	for (unsigned i = 0; i < KEYS; i++)
		keys[i] = any_key(&seed, i);
	qsort(keys, KEYS, sizeof(*keys), by_key);
	for (unsigned i = 1; i < KEYS; i++)
		if (by_key(&keys[i], &keys[count - 1]))
			keys[count++] = keys[i];
	for (unsigned i = count - 1; i; i--) {
		unsigned k = (unsigned)fixture_below(&seed, i + 1);
		struct key key = keys[i];

		keys[i] = keys[k];
		keys[k] = key;
	}
	return count;
}

static void check_stored(const struct key *k)
{
	const struct seg_node *n = fixture_node(k->id);

	assert_non_null(n);
	assert_int_equal(n->address, k->address);
	assert_int_equal(n->parent, k->parent);
}

/* One thread: exactly one id a key, found again at every stage of growth from 64 buckets on. */
static void test_one_id_for_one_key(void **state)
{
	const struct seg_header *header = fixture_at(0);
	unsigned count = make_keys(99);
	uint32_t before = header->node_count;
	uint64_t random = 5;

	(void)state;
	assert_true(count > KEYS / 2);
	memset(seen, 0, sizeof(seen));
	for (unsigned i = 0; i < count; i++) {
		const struct key *old = &keys[fixture_below(&random, i + 1)];

		keys[i].id = stack_tree_child(keys[i].parent, keys[i].address);
		assert_in_range(keys[i].id, SEG_FIRST_NODE, MOST_IDS - 1);
		assert_false(seen[keys[i].id]);
		seen[keys[i].id] = 1;
		assert_int_equal(stack_tree_child(old->parent, old->address), old->id);
	}
	assert_int_equal(header->node_count, before + count);
	for (unsigned i = 0; i < count; i++) {
		check_stored(&keys[i]);
		assert_int_equal(stack_tree_child(keys[i].parent, keys[i].address), keys[i].id);
	}
	assert_int_equal(header->node_count, before + count);
}

/* A function returned to and the same instruction interrupted are two frames. */
static void test_interrupted(void **state)
{
	uintptr_t address = (uintptr_t)qsort + 4;
	uint32_t plain = stack_tree_child(SEG_ROOT_COMPLETE, address);
	uint32_t interrupted = stack_tree_child(SEG_ROOT_COMPLETE, address | SEG_INTERRUPTED);

	(void)state;
	assert_int_not_equal(plain, interrupted);
	assert_int_equal(fixture_node(plain)->address, address);
	assert_int_equal(fixture_node(interrupted)->address, address | SEG_INTERRUPTED);
	assert_int_equal(fixture_node(plain)->module, fixture_node(interrupted)->module);
	assert_int_not_equal(fixture_node(plain)->module, 0);
}

/* A cut mark is a key like others, below each parent. */
static void test_cut_marks(void **state)
{
	uint32_t a = stack_tree_child(SEG_ROOT_COMPLETE, 0x1000), b;

	(void)state;
	b = stack_tree_child(a, SEG_ADDRESS_CUT);
	assert_int_not_equal(a, b);
	assert_int_equal(stack_tree_child(a, SEG_ADDRESS_CUT), b);
	assert_int_not_equal(stack_tree_child(SEG_ROOT_COMPLETE, SEG_ADDRESS_CUT), b);
	assert_int_equal(fixture_node(b)->address, SEG_ADDRESS_CUT);
	assert_int_equal(fixture_node(b)->parent, a);
	assert_int_equal(fixture_node(b)->module, 0);
}

static void check_module(uintptr_t address, bool interrupted)
{
	const struct seg_header *header = fixture_at(0);
	const struct seg_node *node;
	const struct seg_module *module;
	struct link_map *map;
	char name[4096] = "";
	Dl_info info;

	assert_true(
		dladdr1((void *)(address - !interrupted), &info, (void **)&map, RTLD_DL_LINKMAP));
	node = fixture_node(
		stack_tree_child(SEG_ROOT_COMPLETE, address | (interrupted ? SEG_INTERRUPTED : 0)));
	assert_in_range(node->module, 1, header->module_count - 1);
	module = fixture_record(header->module_chunks, SEG_MODULE_FIRST, sizeof(*module),
				node->module);
	assert_in_range(address - !interrupted, module->start, module->end - 1);
	assert_int_equal(module->bias, map->l_addr);
	assert_int_equal(module->path_size, strlen(map->l_name));
	memcpy(name, fixture_at(module->path), module->path_size);
	assert_string_equal(name, map->l_name);
}

/* The module of a node is the loader's for the byte before a return address, or for an interrupted instruction. */
static void test_modules(void **state)
{
	struct dl_find_object object;

	(void)state;
	assert_int_equal(_dl_find_object((void *)qsort, &object), 0);
	check_module((uintptr_t)object.dlfo_map_start + 1, false);
	check_module((uintptr_t)object.dlfo_map_end, false);
	check_module((uintptr_t)object.dlfo_map_start, true);
	check_module((uintptr_t)object.dlfo_map_end - 1, true);
	check_module((uintptr_t)qsort + 9, false);
	check_module((uintptr_t)check_module + 9, false);
	check_module((uintptr_t)_cmocka_run_group_tests + 9, false);
	assert_int_equal(fixture_node(stack_tree_child(SEG_ROOT_COMPLETE, 0x2000))->module, 0);
}

/* -- threads -------------------------------------------------------------------------------------- */

enum { THREADS = 4, SHARED = 30000, OWN = 15000 };

struct worker {
	pthread_t thread;
	pthread_barrier_t *barrier;
	unsigned index, count;
	struct key keys[SHARED + OWN];
};

/* The shared keys come in the same order to all, so that threads meet at the same key again and again. */
static void fill(struct worker *w)
{
	uint64_t shared = 77, own = 1000 + w->index;

	w->count = 0;
	for (unsigned i = 0; i < SHARED; i++) {
		w->keys[w->count++] = any_key(&shared, 8 * i + 3);
		if (i % 2 == w->index % 2 && i / 2 < OWN)
			w->keys[w->count++] = any_key(&own, 8 * i + i % 8 + w->index);
	}
}

static void *insert(void *context)
{
	struct worker *w = context;

	for (unsigned i = 0; i < w->count; i++) {
		if (i % 64 == 0)
			pthread_barrier_wait(w->barrier);
		w->keys[i].id = stack_tree_child(w->keys[i].parent, w->keys[i].address);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct worker *workers = calloc(THREADS, sizeof(*workers));
	pthread_barrier_t barrier;

	(void)state;
	assert_non_null(workers);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].index = i;
		workers[i].barrier = &barrier;
		fill(&workers[i]);
		assert_int_equal(workers[i].count, workers[0].count);
	}
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&workers[i].thread, NULL, insert, &workers[i]), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		for (unsigned k = 0; k < workers[i].count; k++) {
			const struct key *key = &workers[i].keys[k];
			struct key again = *key;

			assert_in_range(key->id, SEG_FIRST_NODE, MOST_IDS - 1);
			check_stored(key);
			again.id = stack_tree_child(key->parent, key->address);
			check_stored(&again);
		}
	pthread_barrier_destroy(&barrier);
	free(workers);
}

static int start(void **state)
{
	(void)state;
	fixture_start(256, 64);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	fixture_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_id_for_one_key),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_cut_marks),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_threads),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, stop);
}
