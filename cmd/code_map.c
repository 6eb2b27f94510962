/* SPDX-License-Identifier: MIT */
/* Locations and nodes, each once; see code_map.h. */
#include "cmd/code_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGN_BIT_PID (1ull << 63)
#define INTERRUPTED  (1ull << 62)
#define MODULE_MASK  0xffffffffull

struct module {
	char *path;
	uint8_t build_id[SYM_BUILD_ID_MAX];
	uint32_t build_id_size;
	rec_id row;
	struct sym_module *symbols;
	bool bare; /* without debug information */
};

struct code {
	uint64_t
		owner; /* module index, INTERRUPTED or not; or SIGN_BIT_PID | pid for code of no file */
	uint64_t address;
	rec_id row;
};

struct node_key {
	uint32_t parent, location;
};

struct code_map {
	struct module *modules; /* from index 1 */
	uint32_t module_count, module_room;
	struct code *codes; /* from index 1 */
	uint32_t code_count, code_room;
	uint32_t *slots; /* open addressing over codes; 0 free */
	uint32_t slot_mask;
	struct node_key *nodes; /* by the recording's row, from index 1 */
	uint32_t node_count, node_room;
	uint32_t *node_slots; /* open addressing over nodes; 0 free */
	uint32_t node_mask;
};

struct code_map *code_map_new(void)
{
	struct code_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	/* Small at first: most programs of a build or a script allocate at few places. */
	map->slot_mask = (1u << 10) - 1;
	map->node_mask = (1u << 10) - 1;
	map->slots = calloc(map->slot_mask + 1ul, sizeof(*map->slots));
	map->node_slots = calloc(map->node_mask + 1ul, sizeof(*map->node_slots));
	map->module_room = 16;
	map->code_room = 512;
	map->node_room = 512;
	map->modules = calloc(map->module_room, sizeof(*map->modules));
	map->codes = calloc(map->code_room, sizeof(*map->codes));
	map->nodes = calloc(map->node_room, sizeof(*map->nodes));
	if (map->slots && map->node_slots && map->modules && map->codes && map->nodes)
		return map;
	code_map_free(map);
	return NULL;
}

void code_map_free(struct code_map *map)
{
	if (!map)
		return;
	for (uint32_t i = 1; map->modules && i <= map->module_count; i++)
		free(map->modules[i].path);
	free(map->modules);
	free(map->codes);
	free(map->slots);
	free(map->nodes);
	free(map->node_slots);
	free(map);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b << 29 | b >> 35)) * 0x9e3779b97f4a7c15ull;

	return h ^ h >> 32;
}

uint32_t code_map_module(struct code_map *map, const char *path, const uint8_t *build_id,
			 uint32_t size)
{
	struct module *m;

	for (uint32_t i = 1; i <= map->module_count; i++) {
		m = &map->modules[i];
		if (m->build_id_size == size && memcmp(m->build_id, build_id, size) == 0 &&
		    strcmp(m->path, path) == 0)
			return i;
	}
	if (map->module_count + 2 > map->module_room) {
		m = realloc(map->modules, 2ul * map->module_room * sizeof(*m));
		if (!m)
			return 0;
		map->modules = m;
		map->module_room *= 2;
	}
	m = &map->modules[map->module_count + 1];
	memset(m, 0, sizeof(*m));
	m->path = strdup(path);
	if (!m->path)
		return 0;
	m->build_id_size = size;
	memcpy(m->build_id, build_id, size);
	return ++map->module_count;
}

static int grow_slots(struct code_map *map)
{
	uint32_t mask = 2 * map->slot_mask + 1;
	uint32_t *slots = calloc(mask + 1ul, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 1; i <= map->code_count; i++) {
		uint64_t at = mix(map->codes[i].owner, map->codes[i].address);

		while (slots[at & mask])
			at++;
		slots[at & mask] = i;
	}
	free(map->slots);
	map->slots = slots;
	map->slot_mask = mask;
	return 0;
}

static uint32_t enter(struct code_map *map, uint64_t owner, uint64_t address)
{
	uint64_t at = mix(owner, address);
	uint32_t i;

	for (; (i = map->slots[at & map->slot_mask]); at++)
		if (map->codes[i].owner == owner && map->codes[i].address == address)
			return i;
	if (map->code_count + 2 > map->code_room) {
		struct code *codes = realloc(map->codes, 2ul * map->code_room * sizeof(*codes));

		if (!codes)
			return 0;
		map->codes = codes;
		map->code_room *= 2;
	}
	i = ++map->code_count;
	map->codes[i] = (struct code){ .owner = owner, .address = address };
	map->slots[at & map->slot_mask] = i;
	if (i > map->slot_mask / 2 && grow_slots(map) < 0)
		return 0;
	return i;
}

uint32_t code_map_enter(struct code_map *map, uint32_t module, uint64_t address, bool interrupted)
{
	return enter(map, module | (interrupted ? INTERRUPTED : 0), address);
}

uint32_t code_map_enter_jit(struct code_map *map, int32_t pid, uint64_t address)
{
	return enter(map, SIGN_BIT_PID | (uint32_t)pid, address);
}

/* -- writing ------------------------------------------------------------------------------------ */

struct write_state {
	struct code_map *map;
	struct recording *rec;
	const uint32_t *order; /* code indices of the module being resolved */
	int error;
	struct diag *diag;
};

static void write_location(void *context, size_t index, const struct sym_frame *frames,
			   size_t count)
{
	struct write_state *s = context;
	struct code *code = &s->map->codes[s->order[index]];
	struct rec_frame rows[SYM_FRAMES_MAX];
	rec_id module = { 0 };

	if (s->error)
		return;
	if (count > SYM_FRAMES_MAX)
		count = SYM_FRAMES_MAX;
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct rec_frame){ frames[i].function, frames[i].file, frames[i].line,
					      frames[i].inlined };
	if (!(code->owner & SIGN_BIT_PID))
		module = s->map->modules[code->owner & MODULE_MASK].row;
	s->error =
		rec_add_location(s->rec, module, code->address, rows, count, &code->row, s->diag);
	if (!s->error && !(code->owner & SIGN_BIT_PID) && code->owner & INTERRUPTED)
		s->error = rec_mark_interrupted(s->rec, code->row, s->diag);
}

static int resolve_module(struct write_state *s, struct sym *sym, struct module *m,
			  const uint64_t *addresses, size_t count)
{
	struct rec_module row = { .path = m->path,
				  .build_id = m->build_id,
				  .build_id_size = m->build_id_size };
	int error = sym_module_open(sym, m->path, m->build_id, m->build_id_size, &m->symbols);

	if (error)
		return diag_set(s->diag, error, "cannot look up symbols of '%s': %s", m->path,
				strerror(-error));
	row.symbols = sym_status_name(sym_module_status(m->symbols));
	m->bare = sym_module_status(m->symbols) != SYM_DWARF;
	error = rec_add_module(s->rec, &row, &m->row, s->diag);
	if (error)
		return error;
	error = sym_resolve(m->symbols, addresses, count, write_location, s);
	if (error)
		return diag_set(s->diag, error, "cannot look up symbols of '%s': %s", m->path,
				strerror(-error));
	return s->error;
}

/* Names of code that no file holds, from the perf map of its process. */
static int resolve_jit(struct write_state *s, const uint32_t *order, size_t count)
{
	struct sym_perf_map *perf = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map",
		 (int)(uint32_t)s->map->codes[order[0]].owner);
	if (sym_perf_map_open(path, &perf) < 0)
		perf = NULL;
	for (size_t i = 0; i < count && !s->error; i++) {
		struct sym_frame frame = { 0 };

		if (perf)
			frame.function =
				sym_perf_map_find(perf, s->map->codes[order[i]].address - 1);
		write_location(s, i, &frame, frame.function != NULL);
	}
	if (perf)
		sym_perf_map_close(perf);
	return s->error;
}

/* Codes of one module are resolved together. */
static uint64_t group_of(const struct code *code)
{
	return code->owner & ~INTERRUPTED;
}

/* Code indices, grouped by owner. */
static int by_owner(const void *a, const void *b, void *codes)
{
	const struct code *x = (const struct code *)codes + *(const uint32_t *)a;
	const struct code *y = (const struct code *)codes + *(const uint32_t *)b;

	if (group_of(x) != group_of(y))
		return group_of(x) < group_of(y) ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Inside the call that a return address follows; an interrupted instruction itself. */
static uint64_t look_up_address(const struct code *code)
{
	return code->owner & INTERRUPTED ? code->address : code->address - 1;
}

static int resolve_group(struct write_state *s, struct sym *sym, const uint32_t *order,
			 size_t count, uint64_t *addresses)
{
	const struct code *first = &s->map->codes[order[0]];

	s->order = order;
	if (first->owner & SIGN_BIT_PID)
		return resolve_jit(s, order, count);
	for (size_t i = 0; i < count; i++)
		addresses[i] = look_up_address(&s->map->codes[order[i]]);
	return resolve_module(s, sym, &s->map->modules[first->owner & MODULE_MASK], addresses,
			      count);
}

static int resolve_all(struct write_state *s, struct sym *sym,
		       void (*progress)(const char *what, size_t done, size_t total))
{
	struct code_map *map = s->map;
	uint32_t *order = calloc(map->code_count + 1ul, sizeof(*order));
	uint64_t *addresses = calloc(map->code_count + 1ul, sizeof(*addresses));
	int error = order && addresses ? 0 : diag_set(s->diag, -ENOMEM, "out of memory");

	for (uint32_t i = 0; i < map->code_count && !error; i++)
		order[i] = i + 1;
	if (!error)
		qsort_r(order, map->code_count, sizeof(*order), by_owner, map->codes);
	for (uint32_t i = 0, n; i < map->code_count && !error; i += n) {
		const struct code *first = &map->codes[order[i]];

		for (n = 1; i + n < map->code_count &&
			    group_of(&map->codes[order[i + n]]) == group_of(first);
		     n++)
			;
		if (progress)
			progress(first->owner & SIGN_BIT_PID
					 ? "JIT code"
					 : map->modules[first->owner & MODULE_MASK].path,
				 i, map->code_count);
		error = resolve_group(s, sym, order + i, n, addresses);
	}
	free(order);
	free(addresses);
	return error;
}

int code_map_write(struct code_map *map, struct recording *rec, struct sym *sym,
		   void (*progress)(const char *what, size_t done, size_t total), struct diag *diag)
{
	struct write_state s = { .map = map, .rec = rec, .diag = diag };

	return resolve_all(&s, sym, progress);
}

size_t code_map_bare_modules(const struct code_map *map)
{
	size_t count = 0;

	for (uint32_t i = 1; i <= map->module_count; i++)
		count += map->modules[i].bare;
	return count;
}

/* -- nodes -------------------------------------------------------------------------------------- */

/* The slot of a node, or the one to put it into. */
static uint32_t *find_node(const struct code_map *map, struct node_key key)
{
	uint64_t at = mix(key.parent, key.location);
	uint32_t *slot;

	for (; *(slot = &map->node_slots[at & map->node_mask]); at++)
		if (map->nodes[*slot].parent == key.parent &&
		    map->nodes[*slot].location == key.location)
			break;
	return slot;
}

static int grow_node_slots(struct code_map *map)
{
	uint32_t mask = 2 * map->node_mask + 1;
	uint32_t *slots = calloc(mask + 1ul, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(map->node_slots);
	map->node_slots = slots;
	map->node_mask = mask;
	for (uint32_t i = 1; i <= map->node_count; i++)
		*find_node(map, map->nodes[i]) = i;
	return 0;
}

static int grow_nodes(struct code_map *map)
{
	struct node_key *nodes;

	if (map->node_count > map->node_mask / 2 && grow_node_slots(map) < 0)
		return -ENOMEM;
	if (map->node_count + 2 <= map->node_room)
		return 0;
	if (map->node_room > UINT32_MAX / 2)
		return -ENOMEM;
	nodes = realloc(map->nodes, 2ul * map->node_room * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	map->nodes = nodes;
	map->node_room *= 2;
	return 0;
}

int code_map_node(struct code_map *map, struct recording *rec, rec_id parent, uint32_t code,
		  rec_id *node, struct diag *diag)
{
	rec_id location = code ? map->codes[code].row : (rec_id){ 0 };
	struct node_key key = { (uint32_t)parent.v, (uint32_t)location.v };
	uint32_t *slot = find_node(map, key);
	int error;

	if (*slot) {
		node->v = *slot;
		return 0;
	}
	error = rec_add_node(rec, parent, location, node, diag);
	if (error)
		return error;
	/* All nodes come this way, so that the recording's rows count as ours do. */
	*slot = ++map->node_count;
	map->nodes[map->node_count] = key;
	return grow_nodes(map) < 0 ? diag_set(diag, -ENOMEM, "out of memory") : 0;
}
