/* SPDX-License-Identifier: MIT */
/*
 * Inside debug_info: the names of functions.
 */
#ifndef MEMTRACK_SYMBOLIZE_FUNCTION_H
#define MEMTRACK_SYMBOLIZE_FUNCTION_H

#include <elfutils/libdw.h>
#include <stdint.h>

struct functions;
struct names;
struct unit;

/* The symbol table's name for the function at an address, or NULL. */
typedef const char *symbol_finder(void *context, uint64_t address);

/* Both interned or NULL, as in struct sym_frame. */
struct function_name {
	const char *readable;
	const char *linkage;
};

struct functions *functions_new(struct names *names, symbol_finder *find, void *find_context);
/* The name of a subprogram or inlined call of `unit`, following its origin,
 * also into other units. Worked out once for each origin. */
struct function_name functions_name(struct functions *functions, struct unit *unit, Dwarf_Die *die);
void functions_free(struct functions *functions);

#endif
