/* SPDX-License-Identifier: MIT */
/* Turning the slots of deeply bound libraries; see deepbind.h.  Dynamic section: System V gABI, chapter 5. */
#include "agent/deepbind.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "agent/lifecycle.h"
#include "agent/real.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "agent/segment.h"

enum { MOST_OBJECTS = 4096 };

/* Where the objects lie that were there before. */
struct known {
	uintptr_t addresses[MOST_OBJECTS];
	unsigned count;
};

struct slots {
	const ElfW(Rela) * entries;
	size_t size;
};

struct dynamic {
	const ElfW(Sym) * symbols;
	const char *names;
	struct slots calls, data;
};

static int note_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct known *known = context;

	(void)size;
	if (known->count < MOST_OBJECTS)
		known->addresses[known->count++] = info->dlpi_addr;
	return 0;
}

static bool is_known(const struct known *known, uintptr_t address)
{
	for (unsigned i = 0; i < known->count; i++)
		if (known->addresses[i] == address)
			return true;
	return known->count == MOST_OBJECTS;
}

/* The loader relocates most of these addresses in place. */
static const void *resolve(uintptr_t base, ElfW(Addr) value)
{
	return (const void *)(value < base ? base + value : value);
}

static void read_dynamic(uintptr_t base, const ElfW(Dyn) * d, struct dynamic *dynamic)
{
	for (; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB:
			dynamic->symbols = resolve(base, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			dynamic->names = resolve(base, d->d_un.d_ptr);
			break;
		case DT_JMPREL:
			dynamic->calls.entries = resolve(base, d->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			dynamic->calls.size = d->d_un.d_val;
			break;
		case DT_RELA:
			dynamic->data.entries = resolve(base, d->d_un.d_ptr);
			break;
		case DT_RELASZ:
			dynamic->data.size = d->d_un.d_val;
			break;
		}
	}
}

/* Writes a slot, which may lie in memory that the loader has made read-only. */
static void write_slot(uintptr_t *slot, uintptr_t value, uintptr_t relro_start, uintptr_t relro_end)
{
	uintptr_t page = (uintptr_t)slot & ~(RT_PAGE - 1);
	bool sealed = (uintptr_t)slot >= relro_start && (uintptr_t)slot < relro_end;

	if (sealed &&
	    rt_failed(rt_syscall3(SYS_mprotect, (long)page, RT_PAGE, PROT_READ | PROT_WRITE)))
		return;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (sealed)
		rt_syscall3(SYS_mprotect, (long)page, RT_PAGE, PROT_READ);
}

static void turn_slots(const struct dl_phdr_info *info, const struct dynamic *dynamic,
		       const struct slots *slots)
{
	uintptr_t relro_start = 0, relro_end = 0;

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
			relro_start =
				(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) & ~(RT_PAGE - 1);
			relro_end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
				    info->dlpi_phdr[i].p_memsz;
		}
	for (size_t i = 0; slots->entries && i < slots->size / sizeof(*slots->entries); i++) {
		const ElfW(Rela) *r = &slots->entries[i];
		const ElfW(Sym) *symbol = &dynamic->symbols[ELF64_R_SYM(r->r_info)];
		uintptr_t *slot = (uintptr_t *)(info->dlpi_addr + r->r_offset);
		const struct real_hook *hook;

		if (!ELF64_R_SYM(r->r_info) || symbol->st_shndx != SHN_UNDEF)
			continue;
		hook = real_hook_of(dynamic->names + symbol->st_name);
		if (!hook || *slot == hook->hook || r->r_addend)
			continue;
		/* A call slot may not be bound yet; other words are turned only if they hold the function. */
		if (ELF64_R_TYPE(r->r_info) == R_X86_64_JUMP_SLOT || *slot == hook->real)
			write_slot(slot, hook->hook, relro_start, relro_end);
	}
}

static int turn_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct dynamic dynamic = { 0 };

	(void)size;
	if (is_known(context, info->dlpi_addr))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			read_dynamic(
				info->dlpi_addr,
				(const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
				&dynamic);
	if (!dynamic.symbols || !dynamic.names)
		return 0;
	turn_slots(info, &dynamic, &dynamic.calls);
	turn_slots(info, &dynamic, &dynamic.data);
	return 0;
}

static bool is_path(const char *file)
{
	bool slash = false;

	for (; *file; file++) {
		if (*file == '$')
			return false;
		slash |= *file == '/';
	}
	return slash;
}

void *deepbind_open(const char *file, int flags)
{
	struct known *known;
	void *handle;

	if (!file || !agent_is_on() || !real_dlopen || !real.iterate)
		return NULL;
	if (!is_path(file) || !(known = rt_map(sizeof(*known)))) {
		segment_drop(SEG_DEEPBOUND, 1);
		return NULL;
	}
	/* dlopen takes the loader's lock anyway, so it may be taken here. */
	real.iterate(note_object, known);
	handle = real_dlopen(file, flags);
	if (handle)
		real.iterate(turn_object, known);
	rt_unmap(known, sizeof(*known));
	return handle;
}
