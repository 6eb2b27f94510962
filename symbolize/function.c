/* SPDX-License-Identifier: MIT */
/*
 * Names of functions: the linkage name made readable, or else the plain name
 * with the namespaces and classes around it.  DIEs do not know what is around
 * them, so for the second case the unit is walked once and the scope of each of
 * its functions noted.
 *
 * gcc leaves the linkage name out for functions of internal linkage.  Where
 * such a function has a body of its own the symbol table knows the name, and
 * then calls of it that were inlined get it too: one function must not go by
 * two names.
 */
#include "symbolize/function.h"

#include <dwarf.h>
#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/die_walk.h"
#include "symbolize/names.h"
#include "symbolize/unit.h"

/* A chain of origins longer than this is a circle. */
#define ORIGINS_MAX 16

#define SCOPE_NONE  UINT32_MAX

/* More of a name, or more of them, is not shown. */
#define SCOPE_NAME_MAX 1024
#define SCOPES_MAX     60

/* Languages of DWARF 6 that compilers use already. */
#define DW_LANG_C_plus_plus_17 0x002b
#define DW_LANG_C_plus_plus_20 0x002c

/* A namespace or class. */
struct scope {
	uint32_t parent;
	const char *name; /* in the file's data; NULL for one without */
};

struct member {
	Dwarf_Off offset; /* of a function's DIE */
	uint32_t scope;
};

/* The scopes of one unit.  `members` ascends by offset, as DIEs are met in that
 * order. */
struct scope_table {
	void *unit; /* identity of the unit; key */
	struct scope *scopes;
	size_t scopes_count, scopes_capacity;
	struct member *members;
	size_t members_count, members_capacity;
};

struct function {
	void *die; /* address of the origin's DIE; key */
	struct function_name name;
};

struct functions {
	struct names *names;
	symbol_finder *find;
	void *find_context;
	void *by_die;  /* tsearch tree of struct function */
	void *by_unit; /* tsearch tree of struct scope_table */
};

static int compare_pointers(const void *a, const void *b)
{
	const void *x = *(void *const *)a, *y = *(void *const *)b;

	return x < y ? -1 : x > y;
}

/* Finds the record whose first member is `key`, or makes one, all zero but for
 * the key. */
static void *record_get(void **tree, void *key, size_t size, bool *made)
{
	void ***found = tfind(&key, tree, compare_pointers);
	void **record;

	*made = false;
	if (found)
		return *found;
	record = calloc(1, size);
	if (!record)
		return NULL;
	*record = key;
	if (!tsearch(record, tree, compare_pointers)) {
		free(record);
		return NULL;
	}
	*made = true;
	return record;
}

/* Makes room for one more; false when out of memory. */
static bool reserve(void **items, size_t count, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *larger;

	if (count < *capacity)
		return true;
	larger = reallocarray(*items, wanted, size);
	if (!larger)
		return false;
	*items = larger;
	*capacity = wanted;
	return true;
}

static uint32_t scope_add(struct scope_table *table, uint32_t parent, const char *name)
{
	if (table->scopes_count >= SCOPE_NONE ||
	    !reserve((void **)&table->scopes, table->scopes_count, &table->scopes_capacity,
		     sizeof(*table->scopes)))
		return parent;
	table->scopes[table->scopes_count] = (struct scope){ parent, name };
	return (uint32_t)table->scopes_count++;
}

static void member_add(struct scope_table *table, Dwarf_Off offset, uint32_t scope)
{
	if (scope == SCOPE_NONE || !reserve((void **)&table->members, table->members_count,
					    &table->members_capacity, sizeof(*table->members)))
		return;
	table->members[table->members_count++] = (struct member){ offset, scope };
}

static const char *scope_name(Dwarf_Die *die, int tag)
{
	const char *name = dwarf_diename(die);

	if (!name && tag == DW_TAG_namespace)
		return "(anonymous namespace)";
	return name;
}

/* Notes the current DIE; the scope its children are in. */
static uint32_t scan_die(struct scope_table *table, Dwarf_Die *die, uint32_t scope, bool *descend)
{
	int tag = dwarf_tag(die);

	*descend = true;
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		return scope_add(table, scope, scope_name(die, tag));
	case DW_TAG_subprogram:
		member_add(table, dwarf_dieoffset(die), scope);
		return scope;
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_type_unit:
	case DW_TAG_lexical_block:
		return scope;
	default:
		*descend = false;
		return scope;
	}
}

static void scan_unit(struct scope_table *table, Dwarf_Die *unit_die)
{
	struct die_walk *walk = malloc(sizeof(*walk));
	uint32_t around[DIE_DEPTH_MAX + 1];
	bool descend;

	if (walk && die_walk_start(walk, unit_die)) {
		do {
			uint32_t scope = walk->depth > 0 ? around[walk->depth - 1] : SCOPE_NONE;

			around[walk->depth] =
				scan_die(table, die_walk_current(walk), scope, &descend);
		} while (die_walk_next(walk, descend));
	}
	free(walk);
}

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static const struct scope_table *find_scope(struct functions *functions, Dwarf_Die *die,
					    uint32_t *scope)
{
	struct member key = { dwarf_dieoffset(die), 0 }, *found;
	struct scope_table *table;
	Dwarf_Die unit_die;
	bool made;

	*scope = SCOPE_NONE;
	if (!dwarf_diecu(die, &unit_die, NULL, NULL))
		return NULL;
	table = record_get(&functions->by_unit, die->cu, sizeof(*table), &made);
	if (!table)
		return NULL;
	if (made)
		scan_unit(table, &unit_die);
	if (table->members_count == 0)
		return table;
	found = bsearch(&key, table->members, table->members_count, sizeof(key), compare_members);
	if (found)
		*scope = found->scope;
	return table;
}

/* Writes the names of a scope and those around it, outermost first. */
static void write_scopes(FILE *stream, const struct scope_table *table, uint32_t scope,
			 const char *separator)
{
	const char *chain[SCOPES_MAX];
	size_t count = 0;

	for (; scope != SCOPE_NONE && count < SCOPES_MAX; scope = table->scopes[scope].parent) {
		if (table->scopes[scope].name)
			chain[count++] = table->scopes[scope].name;
	}
	while (count-- > 0)
		fprintf(stream, "%.*s%s", SCOPE_NAME_MAX, chain[count], separator);
}

static const char *scope_separator(Dwarf_Die *die)
{
	Dwarf_Die unit_die;

	if (!dwarf_diecu(die, &unit_die, NULL, NULL))
		return NULL;
	switch (dwarf_srclang(&unit_die)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_C_plus_plus_17:
	case DW_LANG_C_plus_plus_20:
	case DW_LANG_ObjC_plus_plus:
	case DW_LANG_Rust:
		return "::";
	case DW_LANG_D:
	case DW_LANG_Java:
		return ".";
	default:
		return NULL;
	}
}

/* `declaration` is where the function is named, so what stands around it
 * counts. */
static const char *qualified_name(struct functions *functions, Dwarf_Die *declaration,
				  const char *name)
{
	const char *separator = scope_separator(declaration), *result = NULL;
	const struct scope_table *table;
	uint32_t scope;
	char *text = NULL;
	size_t size;
	FILE *stream;

	table = separator ? find_scope(functions, declaration, &scope) : NULL;
	if (!table || scope == SCOPE_NONE)
		return names_intern(functions->names, name);
	stream = open_memstream(&text, &size);
	if (!stream)
		return NULL;
	write_scopes(stream, table, scope, separator);
	fprintf(stream, "%.*s", SCOPE_NAME_MAX, name);
	if (!fclose(stream))
		result = names_intern(functions->names, text);
	free(text);
	return result;
}

/* Goes from a DIE to the one it is an instance of; false at the last. */
static bool go_to_origin(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
	    !dwarf_attr(die, DW_AT_specification, &attribute))
		return false;
	if (!dwarf_formref_die(&attribute, &origin))
		return false;
	*die = origin;
	return true;
}

static const char *string_attribute(Dwarf_Die *die, unsigned int code)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(die, code, &attribute));
}

/* `die` becomes where the function is named. */
static struct function_name make_name(struct functions *functions, Dwarf_Die *die)
{
	const char *linkage = NULL, *name = NULL;
	struct function_name result = { NULL, NULL };

	for (int i = 0; i < ORIGINS_MAX; i++) {
		linkage = string_attribute(die, DW_AT_linkage_name);
		if (!linkage)
			linkage = string_attribute(die, DW_AT_MIPS_linkage_name);
		if (!name)
			name = string_attribute(die, DW_AT_name);
		if (linkage || !go_to_origin(die))
			break;
	}
	if (linkage && linkage[0]) {
		result.linkage = names_intern(functions->names, linkage);
		result.readable = names_readable(functions->names, linkage);
	}
	if (!result.readable && name && name[0])
		result.readable = qualified_name(functions, die, name);
	if (!result.readable)
		result.readable = result.linkage;
	if (result.linkage && result.readable && strcmp(result.linkage, result.readable) == 0)
		result.linkage = NULL;
	return result;
}

/* One step leads inlined calls of the same function, and its body, to one
 * place. */
static Dwarf_Die function_origin(const Dwarf_Die *die)
{
	Dwarf_Die origin = *die;
	Dwarf_Attribute attribute;

	if (dwarf_attr(&origin, DW_AT_abstract_origin, &attribute) &&
	    !dwarf_attr(&origin, DW_AT_linkage_name, &attribute))
		go_to_origin(&origin);
	return origin;
}

static int compare_bodies(const void *a, const void *b)
{
	const struct body *x = a, *y = b;

	if (x->origin != y->origin)
		return x->origin < y->origin ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Lists which functions of a unit have bodies of their own. */
static void list_bodies(struct unit *unit)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->tree.cu);

	unit->bodies_listed = true;
	unit->bodies = reallocarray(NULL, unit->nodes_count + 1, sizeof(*unit->bodies));
	for (size_t i = 0; unit->bodies && i < unit->nodes_count; i++) {
		Dwarf_Die die;

		if (unit->nodes[i].parent != NODE_NONE ||
		    !dwarf_die_addr_die(dwarf, unit->nodes[i].die, &die))
			continue;
		unit->bodies[unit->bodies_count++] =
			(struct body){ function_origin(&die).addr, (uint32_t)i };
	}
	if (unit->bodies_count > 1)
		qsort(unit->bodies, unit->bodies_count, sizeof(*unit->bodies), compare_bodies);
}

/* Where the body of a function starts; false if it has none in this unit. */
static bool find_body(struct unit *unit, const void *origin, uint64_t *address)
{
	size_t low = 0, high;
	Dwarf_Addr base, end;
	Dwarf_Die die;

	if (!unit->bodies_listed)
		list_bodies(unit);
	high = unit->bodies_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->bodies[middle].origin < origin)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == unit->bodies_count || unit->bodies[low].origin != origin)
		return false;
	return dwarf_die_addr_die(dwarf_cu_getdwarf(unit->tree.cu),
				  unit->nodes[unit->bodies[low].node].die, &die) &&
	       dwarf_ranges(&die, 0, &base, address, &end) > 0;
}

/* Whether a demangled name can be that of a function called `name`; spellings
 * of template arguments differ. */
static bool name_fits(const char *readable, const char *name)
{
	size_t size = strcspn(name, "<");

	return memmem(readable, strlen(readable), name, size) != NULL;
}

/* The name of the symbol at a function's body, without what compilers append
 * for clones. */
static void name_by_symbol(struct functions *functions, uint64_t address, const char *name,
			   struct function_name *result)
{
	const char *symbol = functions->find(functions->find_context, address), *readable;
	char *linkage = symbol ? strdup(symbol) : NULL;

	if (!linkage)
		return;
	linkage[strcspn(linkage, ".@")] = '\0';
	readable = names_readable(functions->names, linkage);
	if (readable && name_fits(readable, name)) {
		result->readable = readable;
		result->linkage = names_intern(functions->names, linkage);
	}
	free(linkage);
}

struct functions *functions_new(struct names *names, symbol_finder *find, void *find_context)
{
	struct functions *functions = calloc(1, sizeof(*functions));

	if (functions) {
		functions->names = names;
		functions->find = find;
		functions->find_context = find_context;
	}
	return functions;
}

struct function_name functions_name(struct functions *functions, struct unit *unit, Dwarf_Die *die)
{
	const struct function_name unknown = { NULL, NULL };
	Dwarf_Die origin = function_origin(die), named = origin;
	struct function *function;
	uint64_t address;
	const char *name;
	bool made;

	function = record_get(&functions->by_die, origin.addr, sizeof(*function), &made);
	if (!function)
		return unknown;
	if (!made)
		return function->name;
	function->name = make_name(functions, &named);
	name = function->name.readable ? dwarf_diename(&named) : NULL;
	if (name && !function->name.linkage && scope_separator(&named) &&
	    find_body(unit, origin.addr, &address))
		name_by_symbol(functions, address, name, &function->name);
	return function->name;
}

static void free_scope_table(void *record)
{
	struct scope_table *table = record;

	free(table->scopes);
	free(table->members);
	free(table);
}

void functions_free(struct functions *functions)
{
	if (!functions)
		return;
	tdestroy(functions->by_die, free);
	tdestroy(functions->by_unit, free_scope_table);
	free(functions);
}
