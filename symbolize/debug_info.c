/* SPDX-License-Identifier: MIT */
/*
 * A module's units and the way from an address to one of them.  The ranges
 * units give themselves are used, not .debug_aranges, which clang and rustc do
 * not write; units that give none are looked into when an address is in no
 * other.
 */
#include "symbolize/debug_info.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbolize/elf_file.h"
#include "symbolize/function.h"
#include "symbolize/names.h"
#include "symbolize/unit.h"

/* When the units kept open have more nodes than this the others are closed:
 * some 200 MB. */
#define NODES_MAX 4000000

/* Rows of line tables that libdw keeps: some 400 MB. */
#define ROWS_MAX 8000000

struct debug_info {
	struct elf_file *file; /* loaded copies of what was given */
	struct elf_file *supplement_file;
	Dwarf *dwarf;
	Dwarf *supplement;
	struct names *names;
	struct functions *functions;
	struct text_span text;
	struct unit *units;
	size_t units_count;
	size_t units_capacity;
	struct interval_set ranges; /* value: index into units */
	struct interval_set others; /* the same for units without ranges of their own */
	bool others_sealed;
	size_t nodes_count; /* in open units */
	size_t rows_count;  /* in line tables read */
	size_t budget;	    /* of units' ranges */
};

/* An ELF file with next to no DWARF in it. */
struct empty_image {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[24];
	uint32_t info;
};

/*
 * Without a supplementary file libdw would look for one itself, at whatever
 * place the file names; so it is given an empty one.
 */
static int make_no_supplement(struct debug_info *info)
{
	struct empty_image *image = calloc(1, sizeof(*image));
	static const char names[] = "\0.shstrtab\0.debug_info";
	int error;

	if (!image)
		return -ENOMEM;
	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_ident[EI_VERSION] = EV_CURRENT;
	image->header.e_type = ET_REL;
	image->header.e_version = EV_CURRENT;
	image->header.e_ehsize = sizeof(image->header);
	image->header.e_shentsize = sizeof(image->sections[0]);
	image->header.e_shoff = offsetof(struct empty_image, sections);
	image->header.e_shnum = 3;
	image->header.e_shstrndx = 1;
	image->sections[1] = (Elf64_Shdr){ .sh_name = 1,
					   .sh_type = SHT_STRTAB,
					   .sh_offset = offsetof(struct empty_image, names),
					   .sh_size = sizeof(names),
					   .sh_addralign = 1 };
	image->sections[2] = (Elf64_Shdr){ .sh_name = 11,
					   .sh_type = SHT_PROGBITS,
					   .sh_offset = offsetof(struct empty_image, info),
					   .sh_size = sizeof(image->info),
					   .sh_addralign = 1 };
	memcpy(image->names, names, sizeof(names));
	error = elf_file_from_memory(image, sizeof(*image), &info->supplement_file);
	if (error)
		return error;
	info->supplement = dwarf_begin_elf(info->supplement_file->elf, DWARF_C_READ, NULL);
	return info->supplement ? 0 : -ENOEXEC;
}

static int set_supplement(struct debug_info *info, const struct elf_file *supplement)
{
	GElf_Shdr header;
	int error = 0;

	if (supplement && elf_file_load(supplement, &info->supplement_file) == 0) {
		info->supplement = dwarf_begin_elf(info->supplement_file->elf, DWARF_C_READ, NULL);
		if (!info->supplement) {
			elf_file_close(info->supplement_file);
			info->supplement_file = NULL;
		}
	}
	if (!info->supplement && elf_file_section(info->file, ".gnu_debugaltlink", &header))
		error = make_no_supplement(info);
	if (info->supplement)
		dwarf_setalt(info->dwarf, info->supplement);
	return error;
}

static int add_unit(struct debug_info *info, Dwarf_Die *die)
{
	size_t at = info->units_count;

	if (at >= INTERVAL_NONE)
		return 0;
	if (info->units_count == info->units_capacity) {
		size_t capacity = info->units_capacity ? info->units_capacity * 2 : 64;
		struct unit *units = reallocarray(info->units, capacity, sizeof(*units));

		if (!units)
			return -ENOMEM;
		info->units = units;
		info->units_capacity = capacity;
	}
	info->units[info->units_count++] = (struct unit){ .die = *die, .tree = *die };
	/* Where two units claim an address it is a function both had and the
	 * linker kept once: the first one's. */
	return unit_add_ranges(die, &info->text, &info->ranges, UINT32_MAX - at, (uint32_t)at,
			       &info->budget);
}

static int list_units(struct debug_info *info)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;
	int error = 0;

	while (!error && dwarf_get_units(info->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			error = add_unit(info, &die);
	}
	return error ? error : interval_seal(&info->ranges);
}

int debug_info_open(const struct elf_file *file, const struct elf_file *supplement,
		    struct names *names, symbol_finder *find, void *find_context,
		    struct debug_info **result)
{
	struct debug_info *info = calloc(1, sizeof(*info));
	int error = -ENOMEM;

	*result = NULL;
	if (!info)
		return -ENOMEM;
	info->names = names;
	info->budget = RANGES_MAX;
	info->text = (struct text_span){ file->text.low, file->text.high };
	info->functions = functions_new(names, find, find_context);
	if (!info->functions)
		goto out;
	error = elf_file_load(file, &info->file);
	if (error)
		goto out;
	error = -ENOEXEC;
	info->dwarf = dwarf_begin_elf(info->file->elf, DWARF_C_READ, NULL);
	if (!info->dwarf)
		goto out;
	error = set_supplement(info, supplement);
	if (!error)
		error = list_units(info);
	if (!error && info->units_count == 0)
		error = -ENOEXEC;
out:
	if (error)
		debug_info_close(info);
	else
		*result = info;
	return error;
}

void debug_info_close(struct debug_info *info)
{
	if (!info)
		return;
	for (size_t i = 0; i < info->units_count; i++) {
		unit_close(&info->units[i]);
		free(info->units[i].file_names);
	}
	free(info->units);
	interval_release(&info->ranges);
	interval_release(&info->others);
	functions_free(info->functions);
	dwarf_end(info->dwarf);
	dwarf_end(info->supplement);
	elf_file_close(info->supplement_file);
	elf_file_close(info->file);
	free(info);
}

bool debug_info_is_large(const struct debug_info *info)
{
	return info->rows_count > ROWS_MAX;
}

/* Whether opening a path would open a file, and not wait for the other end of a
 * pipe. */
static bool is_harmless(const char *folder, const char *name)
{
	char path[PATH_MAX];
	struct stat status;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return false;
	return stat(path, &status) || S_ISREG(status.st_mode);
}

/* libdw opens the files of split DWARF itself: the places it looks at. */
static bool may_open_split(const struct debug_info *info, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *folder = dwarf_formstring(dwarf_attr(die, DW_AT_comp_dir, &attribute));
	const char *name = dwarf_formstring(dwarf_attr(die, DW_AT_dwo_name, &attribute));
	char *real, *slash;
	bool good;

	if (!name)
		name = dwarf_formstring(dwarf_attr(die, DW_AT_GNU_dwo_name, &attribute));
	if (!name)
		return false;
	if (name[0] == '/')
		return is_harmless("", name);
	real = info->file->path ? realpath(info->file->path, NULL) : NULL;
	slash = real ? strrchr(real, '/') : NULL;
	if (!slash) {
		free(real);
		return false;
	}
	*slash = '\0';
	good = is_harmless(real, name);
	if (good && folder && folder[0] == '/')
		good = is_harmless(folder, name);
	else if (folder && folder[0] != '/')
		good = false;
	free(real);
	return good;
}

static void find_tree(const struct debug_info *info, struct unit *unit)
{
	Dwarf_Die split = { 0 };
	uint8_t type;

	if (dwarf_cu_info(unit->die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
	    type != DW_UT_skeleton || !may_open_split(info, &unit->die))
		return;
	if (dwarf_cu_info(unit->die.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 &&
	    split.cu)
		unit->tree = split;
}

static int open_unit(struct debug_info *info, struct unit *unit)
{
	int error;

	if (unit->opened)
		return 0;
	if (info->nodes_count > NODES_MAX) {
		for (size_t i = 0; i < info->units_count; i++)
			unit_close(&info->units[i]);
		info->nodes_count = 0;
	}
	if (unit->tree.addr == unit->die.addr)
		find_tree(info, unit);
	error = unit_open(unit, &info->text);
	if (!error)
		info->nodes_count += unit->nodes_count;
	return error;
}

/* Units that do not say where their code is: take the ranges of what is in
 * them. */
static int open_others(struct debug_info *info)
{
	int error = 0;

	for (size_t i = 0; i < info->units_count && !error; i++) {
		struct unit *unit = &info->units[i];
		Dwarf_Addr base, low, high;

		if (dwarf_ranges(&unit->die, 0, &base, &low, &high) > 0)
			continue;
		error = open_unit(info, unit);
		if (!error)
			error = interval_add_all(&info->others, &unit->ranges, UINT32_MAX - i,
						 (uint32_t)i);
	}
	if (!error)
		error = interval_seal(&info->others);
	info->others_sealed = !error;
	return error;
}

static int find_unit(struct debug_info *info, uint64_t address, struct unit **unit)
{
	uint32_t at = interval_find(&info->ranges, address);
	int error;

	*unit = NULL;
	if (at == INTERVAL_NONE && !info->others_sealed) {
		error = open_others(info);
		if (error)
			return error;
	}
	if (at == INTERVAL_NONE)
		at = interval_find(&info->others, address);
	if (at == INTERVAL_NONE)
		return 0;
	*unit = &info->units[at];
	return open_unit(info, *unit);
}

static size_t fill_frames(struct debug_info *info, struct unit *unit, uint32_t at,
			  struct sym_frame *frames)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->tree.cu);
	size_t count = 0;

	while (at != NODE_NONE && count < DEBUG_FRAMES_MAX) {
		const struct node *node = &unit->nodes[at];
		struct sym_frame *frame = &frames[count++];
		Dwarf_Die die;

		frame->inlined = node->parent != NODE_NONE;
		if (dwarf_die_addr_die(dwarf, node->die, &die)) {
			struct function_name name = functions_name(info->functions, unit, &die);

			frame->function = name.readable;
			frame->linkage = name.linkage;
		}
		if (frame->inlined && count < DEBUG_FRAMES_MAX) {
			frame[1] = (struct sym_frame){ 0 };
			frame[1].file = unit_call_file(unit, info->names, node->call_file);
			frame[1].line = node->call_line;
		}
		at = node->parent;
	}
	return count;
}

int debug_info_frames(struct debug_info *info, uint64_t address, struct sym_frame *frames,
		      size_t *count)
{
	struct unit *unit;
	int error = find_unit(info, address, &unit);
	bool has_line, had_lines;
	uint32_t at;

	*count = 0;
	if (error || !unit)
		return error;
	frames[0] = (struct sym_frame){ 0 };
	had_lines = unit->lines_opened;
	has_line = unit_find_line(unit, info->names, address, &frames[0].file, &frames[0].line);
	if (!had_lines)
		info->rows_count += unit->lines_count;
	at = unit_find(unit, address);
	*count = fill_frames(info, unit, at, frames);
	if (*count == 0 && has_line)
		*count = 1;
	return 0;
}
