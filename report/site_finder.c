/* SPDX-License-Identifier: MIT */
/* See site_finder.h.  A node's site is in its own location, or it is its parent's. */
#include "report/site_finder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/hash_index.h"
#include "report/plumbing.h"
#include "report/pool.h"

/* What can be asked of a text; bits of known[]: two for each, asked and yes. */
enum question { IS_FUNCTION, IS_FILE, IS_MODULE, IS_ENTRY };

static bool ask(const struct site_finder *f, enum question question, const char *text)
{
	switch (question) {
	case IS_FUNCTION:
		return plumbing_function(f->plumbing, text);
	case IS_FILE:
		return plumbing_file(text);
	case IS_MODULE:
		return plumbing_module(text);
	case IS_ENTRY:
		break;
	}
	return plumbing_entry(text);
}

/* Names are few and frames many.  An unknown name is no plumbing. */
static bool answer(struct site_finder *f, enum question question, uint32_t text)
{
	uint8_t asked = (uint8_t)(1 << 2 * question), yes = (uint8_t)(2 << 2 * question);
	if (!text)
		return false;
	if (!(f->known[text] & asked))
		f->known[text] |= asked | (ask(f, question, pool_text(f->texts, text)) ? yes : 0);
	return f->known[text] & yes;
}

/* Room for the answers about all texts that there are by now. */
static int reserve_known(struct site_finder *f)
{
	size_t before = f->known_room;
	if (f->texts->count < before)
		return 0;
	uint8_t *known = array_grow(f->known, &f->known_room, f->texts->count + 1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	f->known = known;
	memset(known + before, 0, f->known_room - before);
	return 0;
}

void finder_release(struct site_finder *f)
{
	free(f->known);
	free(f->locations);
	free(f->nodes);
	*f = (struct site_finder){ 0 };
}

int finder_add_location(struct site_finder *f, uint32_t module)
{
	struct finder_location *locations = array_grow(f->locations, &f->location_room,
						       f->location_count + 2, sizeof(*locations));
	if (!locations || reserve_known(f))
		return -ENOMEM;
	f->locations = locations;
	locations[0] = (struct finder_location){ .runtime = true };
	locations[++f->location_count] =
		(struct finder_location){ .runtime = answer(f, IS_MODULE, module) };
	return 0;
}

int finder_add_frame(struct site_finder *f, uint32_t function, uint32_t file)
{
	struct finder_location *location = &f->locations[f->location_count];
	if (reserve_known(f))
		return -ENOMEM;
	if (!location->found && !answer(f, IS_FUNCTION, function) && !answer(f, IS_FILE, file)) {
		location->found = true;
		location->frame = location->frame_count;
	}
	location->frame_count++;
	location->entry = answer(f, IS_ENTRY, function);
	return 0;
}

static bool has_site(const struct finder_location *location)
{
	return !location->runtime && (location->found || !location->frame_count);
}

int finder_add_node(struct site_finder *f, uint32_t parent, uint32_t location)
{
	struct finder_node *nodes =
		array_grow(f->nodes, &f->node_room, f->node_count + 2, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	f->nodes = nodes;
	nodes[0] = (struct finder_node){ 0 };
	struct finder_node node = { .location = location, .outermost = !parent };
	node.found = location && has_site(&f->locations[location]);
	/*
	 * The caller of the C library's start of main is the program's _start,
	 * which without symbols has no name to tell it by: no site either.
	 */
	bool entry = location && parent && nodes[parent].outermost && f->locations[location].entry;
	if (!node.found && !entry && (nodes[parent].found || !location)) {
		node.found = nodes[parent].found;
		node.location = nodes[parent].location;
	}
	nodes[++f->node_count] = node;
	return 0;
}

struct frame_ref finder_place(const struct site_finder *f, uint32_t node)
{
	uint32_t location = node ? f->nodes[node].location : 0;
	if (!location)
		return (struct frame_ref){ 0 };
	bool found = f->nodes[node].found;
	return (struct frame_ref){ location, found ? f->locations[location].frame : 0 };
}

struct frame_ref finder_site(const struct site_finder *f, uint32_t node)
{
	return node && f->nodes[node].found ? finder_place(f, node) : (struct frame_ref){ 0 };
}
