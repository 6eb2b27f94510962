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

uint64_t modules_state;

/* Private pointers to the segment's chunks. */
static struct seg_module *chunks[SEG_MODULE_CHUNKS];

enum { MARK_WORDS = 8 };
/* What else is known of a module, in private memory. */
struct module_extra {
	const char *path; /* where its bytes are mapped; a forked child copies them from there */
	const void *map;
	/* Words of it by which it is known again: its build-id, or the head of its unwind table. */
	uintptr_t mark_at;
	uint32_t mark[MARK_WORDS];
	uint32_t mark_count;
};
static struct module_extra *extras[SEG_MODULE_CHUNKS];
static uint32_t last_hit;
static uint32_t entered =
	1; /* as module_count; private, so that a forked child has it as of the fork */

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
	object->map = map;
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

/* The build-id in one note segment; NULL when there is none. */
static const uint8_t *find_build_id(const uint8_t *note, const uint8_t *end, uint32_t *id_size)
{
	while (end - note > (ptrdiff_t)sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *header = (const void *)note;
		size_t name_size = (header->n_namesz + 3ul) & ~3ul;
		size_t size = (header->n_descsz + 3ul) & ~3ul;
		const uint8_t *name = note + sizeof(*header);

		if (name_size > (size_t)(end - name) || size > (size_t)(end - name) - name_size)
			return NULL;
		if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
		    memcmp(name, "GNU", 4) == 0 && header->n_descsz <= 32) {
			*id_size = header->n_descsz;
			return name + name_size;
		}
		note = name + name_size + size;
	}
	return NULL;
}

static const uint8_t *read_build_id(const struct object *object, uint32_t *id_size)
{
	const Elf64_Ehdr *header = elf_header(object);
	const Elf64_Phdr *segments;
	const uint8_t *id = NULL;

	*id_size = 0;
	if (!header || header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff > RT_PAGE ||
	    header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr) > RT_PAGE)
		return NULL;
	segments = (const void *)(object->start + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum && !id; i++) {
		uintptr_t at = object->bias + segments[i].p_vaddr;

		if (segments[i].p_type != PT_NOTE || at < object->start || at >= object->end ||
		    segments[i].p_memsz > object->end - at || segments[i].p_memsz > RT_PAGE ||
		    !rt_readable(at) || !rt_readable(at + segments[i].p_memsz - 1))
			continue;
		id = find_build_id((const uint8_t *)at, (const uint8_t *)at + segments[i].p_memsz,
				   id_size);
	}
	return id;
}

static struct module_extra *extra_of(uint32_t index)
{
	struct seg_place place = seg_chunk_of(index, SEG_MODULE_FIRST);

	return &extras[place.chunk][place.position];
}

static void set_mark(struct module_extra *extra, const struct object *object,
		     const uint8_t *build_id, uint32_t id_size)
{
	const uint8_t *at = id_size >= 4 ? build_id : object->eh_frame_hdr;
	uint32_t words = id_size >= 4 ? id_size / 4 : MARK_WORDS;

	extra->map = object->map;
	extra->mark_count = 0;
	if (!at || (uintptr_t)at & 3)
		return;
	extra->mark_at = (uintptr_t)at;
	extra->mark_count = words < MARK_WORDS ? words : MARK_WORDS;
	memcpy(extra->mark, at, extra->mark_count * 4);
}

/* Is the object that was entered still there?  Another thread may be unloading it at this moment, so nothing of it is
 * read directly, nor what the loader says of it. */
static bool is_there(uint32_t index)
{
	const struct seg_module *m = module_at(index);
	const struct module_extra *extra = extra_of(index);
	struct dl_find_object found;

	if (real.find_object((void *)m->start, &found) != 0 || found.dlfo_link_map != extra->map)
		return false;
	for (uint32_t i = 0; i < extra->mark_count; i++)
		if (!rt_holds(extra->mark_at + 4ul * i, extra->mark[i]))
			return false;
	return true;
}

/* Under the growth lock.  A path that finds no room is left out: the launcher may know it. */
static void store_path(struct seg_module *module, uint32_t index, const char *path, uint32_t size)
{
	char *to = size ? segment_alloc(size, size, &module->path) : NULL;

	module->path_size = to ? size : 0;
	extra_of(index)->path = to;
	if (to)
		memcpy(to, path, size);
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
	if (!extras[place.chunk]) {
		extras[place.chunk] = rt_map(((size_t)SEG_MODULE_FIRST << place.chunk) *
					     sizeof(struct module_extra));
		if (!extras[place.chunk])
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
	const uint8_t *id;
	uint32_t id_size;

	if (!m)
		return 0;
	m->bias = object->bias;
	m->start = object->start;
	m->end = object->end;
	store_path(m, index, object->name, (uint32_t)rt_length(object->name));
	id = read_build_id(object, &id_size);
	m->build_id_size = id && id_size <= sizeof(m->build_id) ? id_size : 0;
	if (m->build_id_size)
		memcpy(m->build_id, id, id_size);
	set_mark(extra_of(index), object, id, m->build_id_size);
	entered = index + 1;
	__atomic_store_n(&segment->module_count, index + 1, __ATOMIC_RELEASE);
	return index;
}

uint32_t module_of(uintptr_t address)
{
	struct object object;
	uint32_t index = find_entered(address);

	if (index && !modules_closing(modules_now()))
		return index;
	if (!object_find(address, &object))
		return 0;
	if (index && is_there(index))
		return index;
	if (!rt_lock_try(&growth_lock))
		return 0;
	index = find_entered(address);
	if (index && !is_there(index)) {
		module_at(index)->unloaded = (uint32_t)modules_now() + 1;
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

const struct seg_module *module_record(uint32_t module, const char **path)
{
	*path = extra_of(module)->path;
	return module_at(module);
}

bool modules_mark_unloaded(void)
{
	uint32_t count = __atomic_load_n(&segment->module_count, __ATOMIC_ACQUIRE);
	bool gone = false;

	for (uint32_t i = 1; i < count; i++) {
		struct seg_module *m = module_at(i);

		if (m->unloaded || is_there(i))
			continue;
		m->unloaded = (uint32_t)modules_now() + 1;
		gone = true;
	}
	return gone;
}

bool modules_inherit(void)
{
	struct seg_module *old[SEG_MODULE_CHUNKS];

	memcpy(old, chunks, sizeof(old));
	memset(chunks, 0, sizeof(chunks));
	for (uint32_t i = 1; i < entered; i++) {
		struct seg_place place = seg_chunk_of(i, SEG_MODULE_FIRST);
		const struct seg_module *from = &old[place.chunk][place.position];
		const char *path = extra_of(i)->path;
		struct seg_module *to = new_record(i);

		if (!to)
			return false;
		*to = *from;
		store_path(to, i, path, path ? from->path_size : 0);
		segment->module_count = i + 1;
	}
	return true;
}
