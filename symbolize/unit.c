/* SPDX-License-Identifier: MIT */
/*
 * Reading one unit's DIE tree into a table of functions and inlined calls, each
 * with its ranges.
 */
#include "symbolize/unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/die_walk.h"

/* What a walk needs of a function's or inlined call's attributes, read in one
 * go. */
struct attributes {
	bool has_code;
	uint32_t call_file;
	uint32_t call_line;
};

/* What encloses a DIE's children. */
struct around {
	uint32_t node; /* NODE_NONE: no code */
	uint32_t root; /* number of the function: earlier ones outrank later ones */
};

struct walk_state {
	struct die_walk walk;
	struct around around[DIE_DEPTH_MAX + 1]; /* by depth */
	uint32_t roots;				 /* functions so far */
	size_t budget;				 /* of ranges */
};

static uint32_t udata(Dwarf_Attribute *attribute)
{
	Dwarf_Word value;

	if (dwarf_formudata(attribute, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static int take_attribute(Dwarf_Attribute *attribute, void *context)
{
	struct attributes *attributes = context;

	switch (dwarf_whatattr(attribute)) {
	case DW_AT_high_pc:
	case DW_AT_ranges:
		attributes->has_code = true;
		break;
	case DW_AT_call_file:
		attributes->call_file = udata(attribute);
		break;
	case DW_AT_call_line:
		attributes->call_line = udata(attribute);
		break;
	default:
		break;
	}
	return DWARF_CB_OK;
}

int unit_add_ranges(Dwarf_Die *die, const struct text_span *text, struct interval_set *set,
		    uint64_t rank, uint32_t value, size_t *budget)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	while (*budget > 0) {
		int error;

		--*budget;
		offset = dwarf_ranges(die, offset, &base, &low, &high);
		if (offset <= 0)
			break;
		if (text->high && (low < text->low || high > text->high))
			continue;
		error = interval_add(set, low, high, rank, value);
		if (error)
			return error;
	}
	return 0;
}

static int node_add(struct unit *unit, const struct node *node)
{
	if (unit->nodes_count == unit->nodes_capacity) {
		size_t capacity = unit->nodes_capacity ? unit->nodes_capacity * 2 : 256;
		struct node *nodes = reallocarray(unit->nodes, capacity, sizeof(*nodes));

		if (!nodes)
			return -ENOMEM;
		unit->nodes = nodes;
		unit->nodes_capacity = capacity;
	}
	unit->nodes[unit->nodes_count++] = *node;
	return 0;
}

/*
 * Among the functions at an address the first wins (the linker may fold equal
 * ones), and in it the deepest inlined call, which comes last in the tree.
 */
static int add_code(struct unit *unit, struct walk_state *state, const struct text_span *text,
		    struct around parent)
{
	Dwarf_Die *die = die_walk_current(&state->walk);
	struct attributes attributes = { false, 0, 0 };
	uint32_t at = (uint32_t)unit->nodes_count;
	size_t before = unit->ranges.count;
	int error;

	dwarf_getattrs(die, take_attribute, &attributes, 0);
	state->around[state->walk.depth] = parent;
	if (!attributes.has_code || at == NODE_NONE)
		return 0;
	if (parent.node == NODE_NONE)
		parent.root = state->roots++;
	error = unit_add_ranges(die, text, &unit->ranges,
				((uint64_t)(UINT32_MAX - parent.root) << 32) | at, at,
				&state->budget);
	if (error || unit->ranges.count == before)
		return error;
	state->around[state->walk.depth] = (struct around){ at, parent.root };
	return node_add(unit, &(struct node){ die->addr, parent.node, attributes.call_file,
					      attributes.call_line });
}

/* Takes the current DIE up; *descend tells whether there may be code in it. */
static int visit(struct unit *unit, struct walk_state *state, const struct text_span *text,
		 bool *descend)
{
	unsigned int depth = state->walk.depth;
	const struct around nothing = { NODE_NONE, 0 };
	struct around parent = depth > 0 ? state->around[depth - 1] : nothing;

	*descend = true;
	state->around[depth] = parent;
	switch (dwarf_tag(die_walk_current(&state->walk))) {
	case DW_TAG_subprogram:
		return add_code(unit, state, text, nothing);
	case DW_TAG_inlined_subroutine:
		return parent.node == NODE_NONE ? 0 : add_code(unit, state, text, parent);
	case DW_TAG_compile_unit:
	case DW_TAG_skeleton_unit:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_common_block:
		return 0;
	default:
		*descend = false;
		return 0;
	}
}

static int read_tree(struct unit *unit, const struct text_span *text)
{
	struct walk_state *state = malloc(sizeof(*state));
	int error = 0;
	bool descend;

	if (!state)
		return -ENOMEM;
	state->roots = 0;
	state->budget = RANGES_MAX;
	if (die_walk_start(&state->walk, &unit->tree)) {
		do
			error = visit(unit, state, text, &descend);
		while (!error && die_walk_next(&state->walk, descend));
	}
	free(state);
	return error ? error : interval_seal(&unit->ranges);
}

int unit_open(struct unit *unit, const struct text_span *text)
{
	int error;

	if (unit->opened)
		return 0;
	error = read_tree(unit, text);
	if (error)
		unit_close(unit);
	else
		unit->opened = true;
	return error;
}

void unit_close(struct unit *unit)
{
	interval_release(&unit->ranges);
	free(unit->nodes);
	free(unit->bodies);
	unit->nodes = NULL;
	unit->bodies = NULL;
	unit->bodies_count = 0;
	unit->bodies_listed = false;
	unit->nodes_count = unit->nodes_capacity = 0;
	unit->opened = false;
}

uint32_t unit_find(const struct unit *unit, uint64_t address)
{
	return interval_find(&unit->ranges, address);
}
