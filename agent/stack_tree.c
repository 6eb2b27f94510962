/* SPDX-License-Identifier: MIT */
/* The stack tree; see stack_tree.h.  Nodes lie in the segment, the look-up table in private memory. */
#include "agent/stack_tree.h"

#include <stddef.h>

#include "agent/growth.h"
#include "agent/layout.h"
#include "agent/modules.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "agent/segment.h"

enum { BACK_NODES = 1024 }; /* nodes made writable at a time: 16 KiB */

/* Open addressing, linear probing; a slot is a node id, 0 or GONE.  Replaced by a larger copy when it fills; readers
 * of the old one only miss what is new. */
struct table {
	uint32_t mask;
	uint32_t slots[];
};
#define GONE UINT32_MAX

static struct table *table;
static uint32_t table_used;
static struct seg_node *chunks[SEG_NODE_CHUNKS];
static uint32_t backed_nodes; /* ids below may be written */
static bool full;	      /* no room for more nodes: known stacks go on being counted */

static inline struct seg_node *node_at(uint32_t id)
{
	struct seg_place place = seg_chunk_of(id, SEG_NODE_FIRST);

	return &chunks[place.chunk][place.position];
}

static inline uint32_t hash_of(uint32_t parent, uintptr_t address)
{
	uint64_t h = (address ^ (uint64_t)parent << 32 ^ parent) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 32) ^ (uint32_t)(h >> 15);
}

static struct table *new_table(uint32_t slots)
{
	struct table *t = rt_map(sizeof(*t) + (size_t)slots * sizeof(uint32_t));

	if (t)
		t->mask = slots - 1;
	return t;
}

/* Makes ids up to and including `id` writable.  Under the growth lock. */
static bool back_nodes(uint32_t id)
{
	while (backed_nodes <= id) {
		struct seg_place place = seg_chunk_of(backed_nodes, SEG_NODE_FIRST);
		size_t size = ((size_t)SEG_NODE_FIRST << place.chunk) * sizeof(struct seg_node);

		if (place.chunk >= SEG_NODE_CHUNKS)
			return false;
		if (!chunks[place.chunk]) {
			uint64_t offset;
			struct seg_node *chunk = segment_alloc(size, 0, &offset);

			if (!chunk)
				return false;
			__atomic_store_n(&chunks[place.chunk], chunk, __ATOMIC_RELEASE);
			__atomic_store_n(&segment->node_chunks[place.chunk], offset,
					 __ATOMIC_RELEASE);
		}
		if (!segment_back(&chunks[place.chunk][place.position],
				  BACK_NODES * sizeof(struct seg_node)))
			return false;
		__atomic_store_n(&backed_nodes, backed_nodes + BACK_NODES, __ATOMIC_RELEASE);
	}
	return true;
}

bool stack_tree_start(uint32_t buckets)
{
	table = new_table(buckets);
	return table && back_nodes(0);
}

static void put(struct table *t, uint32_t id)
{
	const struct seg_node *n = node_at(id);
	uint32_t i = hash_of(n->parent, n->address);

	while (t->slots[i & t->mask])
		i++;
	t->slots[i & t->mask] = id;
}

/* Doubles the table.  Nodes that other threads enter into the old one meanwhile are not found again: see the header. */
static void grow_table(void)
{
	struct table *old = table, *t;
	uint32_t kept = 0;

	if (!rt_lock_try(&growth_lock))
		return;
	if (table != old || !(t = new_table(2 * (old->mask + 1)))) {
		rt_unlock(&growth_lock);
		return;
	}
	for (uint32_t i = 0; i <= old->mask; i++) {
		uint32_t id = __atomic_load_n(&old->slots[i], __ATOMIC_ACQUIRE);

		if (id && id != GONE) {
			put(t, id);
			kept++;
		}
	}
	__atomic_store_n(&table_used, kept, __ATOMIC_RELAXED);
	__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	rt_unlock(&growth_lock);
}

void stack_tree_forget_unloaded(void)
{
	for (uint32_t i = 0; i <= table->mask; i++) {
		uint32_t id = table->slots[i];

		if (id && id != GONE && module_unloaded(node_at(id)->module))
			__atomic_store_n(&table->slots[i], GONE, __ATOMIC_RELEASE);
	}
}

static uint32_t module_at_node(uintptr_t address)
{
	return module_of(address & SEG_INTERRUPTED ? address & ~SEG_INTERRUPTED : address - 1);
}

static uint32_t new_node(uint32_t parent, uintptr_t address)
{
	uint32_t module = address == SEG_ADDRESS_CUT ? 0 : module_at_node(address);
	struct seg_node *n;
	uint32_t id;

	if (__atomic_load_n(&full, __ATOMIC_RELAXED))
		return SEG_ROOT_NONE;
	id = __atomic_fetch_add(&segment->node_count, 1, __ATOMIC_RELAXED);
	if (id >= __atomic_load_n(&backed_nodes, __ATOMIC_ACQUIRE)) {
		if (!rt_lock_try(&growth_lock))
			return SEG_ROOT_NONE;
		full = !back_nodes(id);
		rt_unlock(&growth_lock);
		if (full)
			return SEG_ROOT_NONE;
	}
	n = node_at(id);
	n->parent = parent;
	n->module = module;
	__atomic_store_n(&n->address, address, __ATOMIC_RELEASE);
	return id;
}

/* While a dlclose runs, a node may be of a library that has just gone. */
static bool still_true(const struct seg_node *node)
{
	return !__atomic_load_n(&modules_closing, __ATOMIC_ACQUIRE) ||
	       node->address == SEG_ADDRESS_CUT || module_at_node(node->address) == node->module;
}

static inline bool is_child(uint32_t id, uint32_t parent, uintptr_t address)
{
	const struct seg_node *n = node_at(id);

	return n->address == address && n->parent == parent && still_true(n);
}

static uint32_t enter(struct table *t, uint32_t slot, uint32_t parent, uintptr_t address)
{
	uint32_t id = new_node(parent, address);

	if (!id)
		return SEG_ROOT_NONE;
	for (uint32_t n = 0; n <= t->mask; n++, slot++) {
		uint32_t seen = 0;

		/* Release: the node is complete for whoever finds it (acquire in stack_tree_child). */
		if (__atomic_compare_exchange_n(&t->slots[slot & t->mask], &seen, id, false,
						__ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
			if (__atomic_add_fetch(&table_used, 1, __ATOMIC_RELAXED) >
			    t->mask / 2 + t->mask / 8)
				grow_table();
			return id;
		}
		if (seen != GONE && is_child(seen, parent, address)) {
			__atomic_store_n(&node_at(id)->address, 0, __ATOMIC_RELAXED);
			return seen;
		}
	}
	return id; /* a full table: the node counts all the same */
}

uint32_t stack_tree_child(uint32_t parent, uintptr_t address)
{
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	uint32_t slot = hash_of(parent, address);

	for (uint32_t n = 0; n <= t->mask; n++, slot++) {
		uint32_t id = __atomic_load_n(&t->slots[slot & t->mask], __ATOMIC_ACQUIRE);

		if (!id)
			break;
		if (id != GONE && is_child(id, parent, address))
			return id;
	}
	return enter(t, slot, parent, address);
}

bool stack_tree_inherit(uint32_t count)
{
	struct seg_node *old[SEG_NODE_CHUNKS];
	uint32_t writable = backed_nodes;

	memcpy(old, chunks, sizeof(old));
	memset(chunks, 0, sizeof(chunks));
	backed_nodes = 0;
	if (count > writable)
		count = writable;
	for (uint32_t id = 0; id < count;) {
		struct seg_place place = seg_chunk_of(id, SEG_NODE_FIRST);
		uint32_t n = (SEG_NODE_FIRST << place.chunk) - place.position;

		if (n > count - id)
			n = count - id;
		if (!back_nodes(id + n - 1))
			return false;
		memcpy(&chunks[place.chunk][place.position], &old[place.chunk][place.position],
		       n * sizeof(struct seg_node));
		id += n;
	}
	segment->node_count = count < SEG_FIRST_NODE ? SEG_FIRST_NODE : count;
	return true;
}

#ifdef MEMTRACK_TRUTH
const struct seg_node *stack_tree_node(uint32_t id)
{
	return node_at(id);
}
#endif
