/* SPDX-License-Identifier: MIT */
/*
 * From a module's path and build-id to the files that describe it: the module
 * itself, its separate debug file, and the supplementary file several debug
 * files share (dwz).
 */
#ifndef MEMTRACK_SYMBOLIZE_LOCATE_H
#define MEMTRACK_SYMBOLIZE_LOCATE_H

#include <stddef.h>

#include "symbolize/elf_file.h"

struct debuginfod;

/* Where to look; the strings belong to the caller. */
struct locate_places {
	const char *sysroot; /* "" for none */
	char *const *debug_paths;
	size_t debug_paths_count;
	struct debuginfod *debuginfod; /* NULL: never ask */
};

enum locate_result {
	LOCATE_FOUND,
	LOCATE_MISSING,
	LOCATE_REPLACED,
	LOCATE_UNREADABLE,
};

/* What was found; owned by the caller. */
struct located {
	enum locate_result module_result; /* what became of the module's own file */
	struct elf_file *module;	  /* set when LOCATE_FOUND */
	struct elf_file *debug;		  /* separate debug information, or NULL */
	struct elf_file *supplement;	  /* of the file that has the DWARF, or NULL */
	struct build_id build_id;	  /* as given, or else the file's own */
};

/* Never fails: what cannot be found or opened is left out. */
void locate_module(const struct locate_places *places, const char *path,
		   const struct build_id *build_id, struct located *located);
void located_release(struct located *located);

#endif
