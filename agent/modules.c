/* SPDX-License-Identifier: MIT */
/* The load map; see modules.h.  ELF structures: System V gABI, chapters 4 and 5; notes: the Linux build-id. */
#include "agent/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "agent/growth.h"
#include "agent/layout.h"
#include "agent/real.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "agent/segment.h"

uint32_t module_generation;
uint32_t modules_closing;

/* Private pointers to the segment's chunks. */
static struct seg_module *chunks[SEG_MODULE_CHUNKS];
/* Where each module's path bytes are mapped; a forked child copies them from there. */
static const char **paths[SEG_MODULE_CHUNKS];
static uint32_t last_hit;

/* The program itself, in one piece; end 0: unknown. */
static struct {
	uintptr_t start, end, entry;
} program;

void modules_start(const unsigned long *auxiliary)
{
	const Elf64_Phdr *headers = NULL;
	uintptr_t count = 0, bias = 0, low = UINTPTR_MAX, high = 0;

	for (; auxiliary && auxiliary[0] != AT_NULL; auxiliary += 2) {
		if (auxiliary[0] == AT_PHDR)
			headers = (const void *)auxiliary[1];
		else if (auxiliary[0] == AT_PHNUM)
			count = auxiliary[1];
		else if (auxiliary[0] == AT_ENTRY)
			program.entry = auxiliary[1];
	}
	for (uintptr_t i = 0; headers && i < count; i++)
		if (headers[i].p_type == PT_PHDR)
			bias = (uintptr_t)headers - headers[i].p_vaddr;
	for (uintptr_t i = 0; headers && i < count; i++) {
		if (headers[i].p_type != PT_LOAD)
			continue;
		if (headers[i].p_vaddr < low)
			low = headers[i].p_vaddr;
		if (headers[i].p_vaddr + headers[i].p_memsz > high)
			high = headers[i].p_vaddr + headers[i].p_memsz;
	}
	if (low < high) {
		program.start = bias + (low & ~(RT_PAGE - 1));
		program.end = bias + high;
	}
}

static struct seg_module *module_at(uint32_t index)
{
	struct seg_place place = seg_chunk_of(index, SEG_MODULE_FIRST);

	return &chunks[place.chunk][place.position];
}

bool object_find(uintptr_t address, struct object *object)
{
	struct dl_find_object found;
	const struct link_map *map;

	if (!real.find_object || real.find_object((void *)address, &found) != 0)
		return false;
	map = found.dlfo_link_map;
	object->start = (uintptr_t)found.dlfo_map_start;
	object->end = (uintptr_t)found.dlfo_map_end;
	object->bias = map ? map->l_addr : 0;
	object->name = map && map->l_name ? map->l_name : "";
	object->eh_frame_hdr = found.dlfo_eh_frame;
	if (object->start >= program.start && object->end <= program.end) {
		object->start = program.start;
		object->end = program.end;
	}
	return true;
}

/* The ELF header lies at the start of the first mapped page in all but odd files. */
static const Elf64_Ehdr *elf_header(const struct object *object)
{
	const Elf64_Ehdr *header = (const void *)object->start;

	return rt_readable(object->start) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 ? header
											   : NULL;
}

uintptr_t object_entry(const struct object *object)
{
	const Elf64_Ehdr *header = elf_header(object);

	if (object->start == program.start)
		return program.entry;
	return header && header->e_entry ? object->bias + header->e_entry : 0;
}

/* Copies the build-id out of one note segment; 0 when there is none. */
static uint32_t find_build_id(const uint8_t *note, const uint8_t *end, uint8_t id[32])
{
	while (end - note > (ptrdiff_t)sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *header = (const void *)note;
		size_t name_size = (header->n_namesz + 3ul) & ~3ul;
		size_t size = (header->n_descsz + 3ul) & ~3ul;
		const uint8_t *name = note + sizeof(*header);

		if (name_size > (size_t)(end - name) || size > (size_t)(end - name) - name_size)
			return 0;
		if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
		    memcmp(name, "GNU", 4) == 0 && header->n_descsz <= 32) {
			memcpy(id, name + name_size, header->n_descsz);
			return header->n_descsz;
		}
		note = name + name_size + size;
	}
	return 0;
}

static uint32_t read_build_id(const struct object *object, uint8_t id[32])
{
	const Elf64_Ehdr *header = elf_header(object);
	const Elf64_Phdr *segments;
	uint32_t size = 0;

	if (!header || header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff > RT_PAGE ||
	    header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr) > RT_PAGE)
		return 0;
	segments = (const void *)(object->start + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum && !size; i++) {
		uintptr_t at = object->bias + segments[i].p_vaddr;

		if (segments[i].p_type != PT_NOTE || at < object->start || at >= object->end ||
		    segments[i].p_memsz > object->end - at || segments[i].p_memsz > RT_PAGE ||
		    !rt_readable(at) || !rt_readable(at + segments[i].p_memsz - 1))
			continue;
		size = find_build_id((const uint8_t *)at, (const uint8_t *)at + segments[i].p_memsz,
				     id);
	}
	return size;
}

/* Under the growth lock.  A path that finds no room is left out: the launcher may know it. */
static void store_path(struct seg_module *module, uint32_t index, const char *path, uint32_t size)
{
	struct seg_place place = seg_chunk_of(index, SEG_MODULE_FIRST);
	char *to = size ? segment_alloc(size, size, &module->path) : NULL;

	module->path_size = to ? size : 0;
	paths[place.chunk][place.position] = to;
	if (to)
		memcpy(to, path, size);
}

/* Is the record still about the object that is there now? */
static bool is_same(const struct seg_module *module, const struct object *object)
{
	uint8_t id[32];
	uint32_t size;

	if (module->start != object->start || module->end != object->end ||
	    module->bias != object->bias)
		return false;
	size = read_build_id(object, id);
	return size == module->build_id_size && memcmp(id, module->build_id, size) == 0;
}

static uint32_t find_entered(uintptr_t address)
{
	uint32_t count = __atomic_load_n(&segment->module_count, __ATOMIC_ACQUIRE);
	uint32_t hit = __atomic_load_n(&last_hit, __ATOMIC_RELAXED);

	if (hit && hit < count &&
	    address - module_at(hit)->start < module_at(hit)->end - module_at(hit)->start &&
	    !module_at(hit)->unloaded)
		return hit;
	for (uint32_t i = count; i-- > 1;) {
		const struct seg_module *m = module_at(i);

		if (!m->unloaded && address - m->start < m->end - m->start) {
			__atomic_store_n(&last_hit, i, __ATOMIC_RELAXED);
			return i;
		}
	}
	return 0;
}

/* The record for index `count`, made writable.  Under the growth lock. */
static struct seg_module *new_record(uint32_t count)
{
	struct seg_place place = seg_chunk_of(count, SEG_MODULE_FIRST);
	size_t size = ((size_t)SEG_MODULE_FIRST << place.chunk) * sizeof(struct seg_module);

	if (place.chunk >= SEG_MODULE_CHUNKS)
		return NULL;
	if (!paths[place.chunk]) {
		paths[place.chunk] =
			rt_map(((size_t)SEG_MODULE_FIRST << place.chunk) * sizeof(char *));
		if (!paths[place.chunk])
			return NULL;
	}
	if (!chunks[place.chunk]) {
		chunks[place.chunk] =
			segment_alloc(size, size, &segment->module_chunks[place.chunk]);
		if (!chunks[place.chunk])
			return NULL;
	}
	return &chunks[place.chunk][place.position];
}

static uint32_t enter(const struct object *object)
{
	uint32_t index = segment->module_count;
	struct seg_module *m = new_record(index);

	if (!m)
		return 0;
	m->bias = object->bias;
	m->start = object->start;
	m->end = object->end;
	store_path(m, index, object->name, (uint32_t)rt_length(object->name));
	m->build_id_size = read_build_id(object, m->build_id);
	__atomic_store_n(&segment->module_count, index + 1, __ATOMIC_RELEASE);
	return index;
}

uint32_t module_of(uintptr_t address)
{
	struct object object;
	uint32_t index = find_entered(address);

	if (index && !__atomic_load_n(&modules_closing, __ATOMIC_ACQUIRE))
		return index;
	if (!object_find(address, &object))
		return 0;
	if (index && is_same(module_at(index), &object))
		return index;
	if (!rt_lock_try(&growth_lock))
		return 0;
	index = find_entered(address);
	if (index && !is_same(module_at(index), &object)) {
		module_at(index)->unloaded = module_generation + 1;
		index = 0;
	}
	if (!index)
		index = enter(&object);
	rt_unlock(&growth_lock);
	return index;
}

bool module_unloaded(uint32_t module)
{
	return module && module_at(module)->unloaded != 0;
}

bool modules_mark_unloaded(void)
{
	uint32_t count = __atomic_load_n(&segment->module_count, __ATOMIC_ACQUIRE);
	bool gone = false;

	for (uint32_t i = 1; i < count; i++) {
		struct seg_module *m = module_at(i);
		struct object object;

		if (m->unloaded || (object_find(m->start, &object) && is_same(m, &object)))
			continue;
		m->unloaded = module_generation + 1;
		gone = true;
	}
	return gone;
}

bool modules_inherit(uint32_t count)
{
	struct seg_module *old[SEG_MODULE_CHUNKS];

	memcpy(old, chunks, sizeof(old));
	memset(chunks, 0, sizeof(chunks));
	for (uint32_t i = 1; i < count; i++) {
		struct seg_place place = seg_chunk_of(i, SEG_MODULE_FIRST);
		const struct seg_module *from = &old[place.chunk][place.position];
		const char *path = paths[place.chunk][place.position];
		struct seg_module *to = new_record(i);

		if (!to)
			return false;
		*to = *from;
		store_path(to, i, path, path ? from->path_size : 0);
		segment->module_count = i + 1;
	}
	return true;
}
