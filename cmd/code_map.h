/* SPDX-License-Identifier: MIT */
/*
 * The code locations and stack nodes of a recording being written, each once over all processes: modules by path and
 * build-id, locations by module and address, nodes by parent and location.
 */
#ifndef MEMTRACK_CMD_CODE_MAP_H
#define MEMTRACK_CMD_CODE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/recording.h"
#include "symbolize/symbolize.h"

struct code_map;

struct code_map *code_map_new(void);
void code_map_free(struct code_map *map);

/* Both give an index from 1; 0: out of memory.  `address` is link-time: a return address, or that of
 * an interrupted instruction. */
uint32_t code_map_module(struct code_map *map, const char *path, const uint8_t *build_id,
			 uint32_t build_id_size);
uint32_t code_map_enter(struct code_map *map, uint32_t module, uint64_t address, bool interrupted);
/* A runtime address in no file; names come from the perf map of `pid`, if there is one. */
uint32_t code_map_enter_jit(struct code_map *map, int32_t pid, uint64_t address);

/* Resolves all names and writes modules and locations. */
int code_map_write(struct code_map *map, struct recording *rec, struct sym *sym,
		   void (*progress)(const char *what, size_t done, size_t total), struct diag *diag)
	__attribute__((warn_unused_result));
/* Modules of which code was met, but no debug information found. */
size_t code_map_bare_modules(const struct code_map *map);
/* The node for `code` (an index of code_map_enter; 0: the mark of a cut) called from `parent`; written when new. */
int code_map_node(struct code_map *map, struct recording *rec, rec_id parent, uint32_t code,
		  rec_id *node, struct diag *diag) __attribute__((warn_unused_result));

#endif
