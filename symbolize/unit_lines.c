/* SPDX-License-Identifier: MIT */
/*
 * A unit's line table and file names.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/names.h"
#include "symbolize/unit.h"

static void open_lines(struct unit *unit)
{
	Dwarf_Attribute attribute;

	if (unit->lines_opened)
		return;
	unit->lines_opened = true;
	if (dwarf_getsrclines(&unit->die, &unit->lines, &unit->lines_count))
		unit->lines_count = 0;
	if (dwarf_getsrcfiles(&unit->tree, &unit->files, &unit->files_count))
		unit->files_count = 0;
	unit->folder = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
	if (unit->files_count > 0)
		unit->file_names = calloc(unit->files_count, sizeof(*unit->file_names));
	if (!unit->file_names)
		unit->files_count = 0;
}

/* Takes "//" and "/./" out, in place; ".." stays, as links may lie on the
 * way. */
static void normalize(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		if (from[0] == '/' && from[1] == '/') {
			from++;
		} else if (from[0] == '/' && from[1] == '.' && from[2] == '/') {
			from += 2;
		} else if (to == path && from[0] == '.' && from[1] == '/') {
			from += 2;
			while (*from == '/')
				from++;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* libdw puts the unit's folder in front of some names and not of others, when
 * the folder itself is relative. */
static bool lacks_folder(const struct unit *unit, const char *path)
{
	size_t size = unit->folder ? strlen(unit->folder) : 0;

	if (path[0] == '/' || size == 0)
		return false;
	return unit->folder[0] == '/' || strncmp(path, unit->folder, size) != 0 ||
	       path[size] != '/';
}

static const char *intern_path(const struct unit *unit, struct names *names, const char *path)
{
	size_t size = strlen(path) + 1, folder_size = 0;
	const char *result;
	char *full;

	if (lacks_folder(unit, path))
		folder_size = strlen(unit->folder) + 1;
	full = malloc(folder_size + size);
	if (!full)
		return NULL;
	if (folder_size > 0) {
		memcpy(full, unit->folder, folder_size - 1);
		full[folder_size - 1] = '/';
	}
	memcpy(full + folder_size, path, size);
	normalize(full);
	result = full[0] ? names_intern(names, full) : NULL;
	free(full);
	return result;
}

const char *unit_call_file(struct unit *unit, struct names *names, uint32_t call_file)
{
	const char *path;

	open_lines(unit);
	if (call_file >= unit->files_count)
		return NULL;
	if (!unit->file_names[call_file]) {
		path = dwarf_filesrc(unit->files, call_file, NULL, NULL);
		if (path && strcmp(path, "???") != 0)
			unit->file_names[call_file] = intern_path(unit, names, path);
	}
	return unit->file_names[call_file];
}

/* The last row at or before an address; where several rows have one address the
 * last of them counts, the others cover nothing. */
static Dwarf_Line *find_row(const struct unit *unit, uint64_t address)
{
	size_t low = 0, high = unit->lines_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		Dwarf_Addr at;

		if (dwarf_lineaddr(dwarf_onesrcline(unit->lines, middle), &at))
			return NULL;
		if (at <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? dwarf_onesrcline(unit->lines, low - 1) : NULL;
}

bool unit_find_line(struct unit *unit, struct names *names, uint64_t address, const char **file,
		    uint32_t *line)
{
	const char *path;
	Dwarf_Line *row;
	bool end = true;
	int number;

	open_lines(unit);
	row = find_row(unit, address);
	if (!row || dwarf_lineendsequence(row, &end) || end)
		return false;
	path = dwarf_linesrc(row, NULL, NULL);
	*file = path && strcmp(path, "???") != 0 ? intern_path(unit, names, path) : NULL;
	*line = dwarf_lineno(row, &number) || number < 0 ? 0 : (uint32_t)number;
	return *file || *line;
}
