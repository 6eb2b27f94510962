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

/*
 * Open addressing, linear probing.  An entry is a node in the low half and, in the high half, bits of the hash of its key,
 * so that the nodes of other keys are not looked at; 0: a free place.  Replaced by a larger copy when it fills; readers of
 * the old one only miss what is new.
 */
struct table {
	uint32_t mask;
	uint64_t entries[];
};
#define NODE_GONE UINT32_MAX /* of a library that was unloaded */

static struct table *table;
static uint32_t table_used;
static struct seg_node *chunks[SEG_NODE_CHUNKS];
/*
 * By node, in private memory: its child that was asked for last; 0: none.  A hint.  Nodes of a path get their ids one after
 * the other, so a way that was gone before lies in few cache lines here, where the table has one for each step.
 */
static uint32_t *children[SEG_NODE_CHUNKS];
static uint32_t backed_nodes; /* ids below may be written */
static bool full;	      /* no room for more nodes: known stacks go on being counted */

static inline struct seg_node *node_at(uint32_t id)
{
	struct seg_place place = seg_chunk_of(id, SEG_NODE_FIRST);

	return &chunks[place.chunk][place.position];
}

/* NULL: there was no room for it. */
static inline uint32_t *child_hint(uint32_t id)
{
	struct seg_place place = seg_chunk_of(id, SEG_NODE_FIRST);
	uint32_t *chunk = __atomic_load_n(&children[place.chunk], __ATOMIC_ACQUIRE);

	return chunk ? &chunk[place.position] : NULL;
}

static inline uint64_t hash_of(uint32_t parent, uintptr_t address)
{
	uint64_t h = (address ^ (uint64_t)parent << 32 ^ parent) * 0x9e3779b97f4a7c15ull;

	return h ^ h >> 29;
}

static inline uint64_t entry_of(uint64_t hash, uint32_t node)
{
	return hash << 32 | node;
}

/* The place of a key; its entry has the other bits. */
static inline uint32_t place_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

static struct table *new_table(uint32_t entries)
{
	struct table *t = rt_map(sizeof(*t) + (size_t)entries * sizeof(uint64_t));

	if (t)
		t->mask = entries - 1;
	return t;
}

static void delete_table(struct table *t)
{
	/* Other threads may be reading it still: they find it empty. */
	rt_map_over(t, sizeof(*t) + ((size_t)t->mask + 1) * sizeof(uint64_t));
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
			if (!children[place.chunk])
				__atomic_store_n(
					&children[place.chunk],
					rt_map(size / sizeof(struct seg_node) * sizeof(uint32_t)),
					__ATOMIC_RELEASE);
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

static void put(struct table *t, uint32_t node)
{
	const struct seg_node *n = node_at(node);
	uint64_t hash = hash_of(n->parent, n->address);
	uint32_t i = place_of(hash);

	while (t->entries[i & t->mask])
		i++;
	t->entries[i & t->mask] = entry_of(hash, node);
}

/* Doubles the table.  Nodes that other threads enter into the old one meanwhile are not found again: see the header. */
static void grow_table(struct table *old)
{
	struct table *t;
	uint32_t kept = 0;

	if (!rt_lock_try(&growth_lock))
		return;
	/* Not when another thread has done it: of the old table nothing is left then. */
	if (table != old || !(t = new_table(2 * (old->mask + 1)))) {
		rt_unlock(&growth_lock);
		return;
	}
	for (uint32_t i = 0; i <= old->mask; i++) {
		uint32_t node = (uint32_t)__atomic_load_n(&old->entries[i], __ATOMIC_ACQUIRE);

		if (node && node != NODE_GONE) {
			put(t, node);
			kept++;
		}
	}
	__atomic_store_n(&table_used, kept, __ATOMIC_RELAXED);
	__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	delete_table(old);
	rt_unlock(&growth_lock);
}

static void forget_hints(void)
{
	for (uint32_t id = 0; id < backed_nodes; id++) {
		uint32_t *hint = child_hint(id);

		if (hint && *hint && module_unloaded(node_at(*hint)->module))
			__atomic_store_n(hint, 0, __ATOMIC_RELEASE);
	}
}

uint32_t stack_tree_early(uintptr_t caller)
{
	return caller ? stack_tree_child(SEG_ROOT_UNREADABLE, caller) : SEG_ROOT_NONE;
}

void stack_tree_forget_unloaded(void)
{
	forget_hints();
	for (uint32_t i = 0; i <= table->mask; i++) {
		uint32_t node = (uint32_t)table->entries[i];

		if (node && node != NODE_GONE && module_unloaded(node_at(node)->module))
			__atomic_store_n(&table->entries[i], NODE_GONE, __ATOMIC_RELEASE);
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
	return !modules_closing(modules_now()) || node->address == SEG_ADDRESS_CUT ||
	       module_at_node(node->address) == node->module;
}

static inline bool is_child(uint32_t node, uint32_t parent, uintptr_t address)
{
	const struct seg_node *n = node_at(node);

	return n->address == address && n->parent == parent && __builtin_expect(still_true(n), 1);
}

/* The node of an entry, if it is that of the key; 0: not. */
static inline uint32_t node_of(uint64_t entry, uint64_t hash, uint32_t parent, uintptr_t address)
{
	uint32_t node = (uint32_t)entry;

	if ((uint32_t)(entry >> 32) != (uint32_t)hash || node == NODE_GONE)
		return 0;
	return is_child(node, parent, address) ? node : 0;
}

/* Adds a node, from the first place on that was found free. */
__attribute__((noinline)) static uint32_t enter(struct table *t, uint32_t mask, uint32_t place,
						uint64_t hash, uint32_t parent, uintptr_t address)
{
	uint32_t id = new_node(parent, address);

	if (!id)
		return SEG_ROOT_NONE;
	for (uint32_t n = 0; n <= mask; n++, place++) {
		uint64_t seen = 0;
		uint32_t other;

		/* Release: the node is complete for whoever finds it. */
		if (__atomic_compare_exchange_n(&t->entries[place & mask], &seen,
						entry_of(hash, id), false, __ATOMIC_RELEASE,
						__ATOMIC_ACQUIRE)) {
			if (__atomic_add_fetch(&table_used, 1, __ATOMIC_RELAXED) > mask / 4 * 3)
				grow_table(t);
			return id;
		}
		other = node_of(seen, hash, parent, address);
		if (other) {
			__atomic_store_n(&node_at(id)->address, 0, __ATOMIC_RELAXED);
			return other;
		}
	}
	return id; /* a full table: the node counts all the same */
}

static uint32_t look_up(uint32_t parent, uintptr_t address)
{
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	uint64_t hash = hash_of(parent, address);
	uint32_t place = place_of(hash), mask = t->mask, last = place + mask;

	for (;; place++) {
		uint64_t entry = __atomic_load_n(&t->entries[place & mask], __ATOMIC_ACQUIRE);
		uint32_t node = entry ? node_of(entry, hash, parent, address) : 0;

		if (__builtin_expect(node != 0, 1))
			return node;
		if (!entry || place == last)
			return enter(t, mask, place, hash, parent, address);
	}
}

uint32_t stack_tree_child(uint32_t parent, uintptr_t address)
{
	uint32_t *hint = child_hint(parent);
	uint32_t child = hint ? __atomic_load_n(hint, __ATOMIC_ACQUIRE) : 0;

	if (child && is_child(child, parent, address))
		return child;
	child = look_up(parent, address);
	if (hint && child)
		__atomic_store_n(hint, child, __ATOMIC_RELEASE);
	return child;
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

const struct seg_node *stack_tree_node(uint32_t id)
{
	return node_at(id);
}
