/* SPDX-License-Identifier: MIT */
/* See recording_sites.h.  Used by recording_write.c. */
#include "report/recording_sites.h"

#include <errno.h>
#include <stdlib.h>

void rec_sites_init(struct rec_sites *s, const struct pool *texts)
{
	s->finder.texts = texts;
	s->finder.plumbing = &s->plumbing;
}

void rec_sites_release(struct rec_sites *s)
{
	finder_release(&s->finder);
	hash_index_release(&s->index);
	free(s->sites);
	free(s->of_location);
	*s = (struct rec_sites){ 0 };
}

int rec_sites_add_location(struct rec_sites *s, uint32_t module, uint64_t address)
{
	s->current = (struct rec_site){ .module = module, .address = address };
	return finder_add_location(&s->finder, module);
}

/* The frame that a stack is known by there: the innermost, unless it is plumbing and another is not. */
int rec_sites_add_frame(struct rec_sites *s, uint32_t function, uint32_t file, uint32_t line)
{
	const struct finder_location *location;
	int error = finder_add_frame(&s->finder, function, file);
	if (error)
		return error;
	location = &s->finder.locations[s->finder.location_count];
	if (location->frame_count == 1 ||
	    (location->found && location->frame == location->frame_count - 1)) {
		s->current.function = function;
		s->current.file = file;
		s->current.line = line;
	}
	return 0;
}

struct wanted {
	const struct rec_site *sites, *site;
};

static bool is_same(const void *context, uint32_t index)
{
	const struct wanted *wanted = context;
	const struct rec_site *a = &wanted->sites[index], *b = wanted->site;
	return a->function == b->function && a->file == b->file && a->line == b->line &&
	       a->module == b->module && a->address == b->address;
}

static uint32_t hash_of(const struct rec_site *site)
{
	uint32_t hash = hash_mix(6, (uint64_t)site->function << 32 | site->file);
	hash = hash_mix(hash, (uint64_t)site->module << 32 | site->line);
	return hash_mix(hash, site->address);
}

/* The index of the site at hand, added when it is new; 0 when out of memory. */
static uint32_t intern_current(struct rec_sites *s)
{
	struct wanted wanted = { s->sites, &s->current };
	uint32_t hash = hash_of(&s->current);
	uint32_t index = hash_index_find(&s->index, hash, is_same, &wanted);
	if (index)
		return index;
	struct rec_site *sites = array_grow(s->sites, &s->room, s->count + 2, sizeof(*sites));
	if (!sites)
		return 0;
	s->sites = sites;
	index = (uint32_t)++s->count;
	sites[index] = s->current;
	return hash_index_add(&s->index, hash, index) ? 0 : index;
}

int rec_sites_end_location(struct rec_sites *s)
{
	size_t location = s->finder.location_count;
	uint32_t *of_location =
		array_grow(s->of_location, &s->location_room, location + 1, sizeof(*of_location));
	if (!of_location)
		return -ENOMEM;
	s->of_location = of_location;
	/* A function is one wherever it is called from; nameless code is told apart by its address. */
	if (s->current.function)
		s->current.address = 0;
	of_location[location] = intern_current(s);
	return of_location[location] ? 0 : -ENOMEM;
}

int rec_sites_add_node(struct rec_sites *s, uint32_t parent, uint32_t location)
{
	return finder_add_node(&s->finder, parent, location);
}

struct rec_site *rec_sites_of_node(struct rec_sites *s, uint32_t node)
{
	uint32_t location = finder_place(&s->finder, node).location;
	return location ? &s->sites[s->of_location[location]] : NULL;
}
