/* SPDX-License-Identifier: MIT */
/* See match.h. */
#include "report/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/render.h"
#include "report/tails.h"
#include "report/text.h"
#include "report/view.h"

/*
 * The length of a function's name without what compilers add to the name of a part or a
 * specialized copy of it: another build may cut it otherwise.
 */
static size_t function_length(const char *name)
{
	static const char *const marks[] = { ".constprop.", ".isra.", ".part.",	 ".cold",
					     ".lto_priv.",  ".llvm.", " [clone " };
	size_t length = strlen(name);
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *mark = strstr(name + (*name != '\0'), marks[i]);
		if (mark && (size_t)(mark - name) < length)
			length = (size_t)(mark - name);
	}
	return length;
}

static int name_function(struct match *m, enum side side, uint32_t text, uint32_t *name)
{
	uint32_t *known = &m->names_of[side][text];
	if (text && !*known) {
		const char *function = model_text(&m->views[side]->model, text);
		*known = pool_add(&m->names, function, function_length(function));
	}
	*name = *known;
	return text && !*known ? -ENOMEM : 0;
}

static int name_module(struct match *m, enum side side, uint32_t text, uint32_t *name)
{
	uint32_t *known = &m->modules_of[side][text];
	if (text && !*known) {
		const char *base = path_base(model_text(&m->views[side]->model, text));
		*known = pool_add(&m->names, base, strlen(base));
	}
	*name = *known;
	return text && !*known ? -ENOMEM : 0;
}

struct wanted_place {
	const struct match *match;
	const struct place *place;
};

static bool place_equal(const void *context, uint32_t id)
{
	const struct wanted_place *wanted = context;
	const struct place *a = wanted->place, *b = &wanted->match->places[id];
	return a->module == b->module && a->function == b->function && a->file == b->file &&
	       a->side == b->side && a->address == b->address;
}

/* The id of a place, made when it is new; 0 when out of memory. */
static uint32_t place_id(struct match *m, const struct place *place)
{
	struct wanted_place wanted = { m, place };
	uint32_t hash = hash_mix(place->side, (uint64_t)place->module << 32 | place->function);
	hash = hash_mix(hash_mix(hash, place->file), place->address);
	uint32_t id = hash_index_find(&m->place_index, hash, place_equal, &wanted);
	if (id)
		return id;
	struct place *places =
		array_grow(m->places, &m->place_room, m->place_count + 2, sizeof(*places));
	if (!places)
		return 0;
	m->places = places;
	id = (uint32_t)++m->place_count;
	places[id] = *place;
	places[id].same = id;
	return hash_index_add(&m->place_index, hash, id) ? 0 : id;
}

/* Code of no file has an address that says nothing. */
static int add_place(struct match *m, enum side side, const struct site *site, uint32_t *id)
{
	struct place place = { .file = site->address ? 0 : site->file };
	int error = name_module(m, side, site->module, &place.module);
	if (!error)
		error = name_function(m, side, site->function, &place.function);
	if (error)
		return error;
	place.side = place.function || place.file ? side : 0;
	place.address = !place.function && place.module ? site->address : 0;
	*id = place_id(m, &place);
	return *id ? 0 : -ENOMEM;
}

static int add_location(struct match *m, enum side side, uint32_t id)
{
	const struct model *model = &m->views[side]->model;
	const struct model_location *location = &model->locations[id];
	struct site site = { 0 };
	int error = 0;
	if (location->module)
		site.module = model->modules[location->module].path;
	if (location->frame_count == 0) {
		site.address = location->address;
		return add_place(m, side, &site, &m->locations[side][id]);
	}
	for (uint32_t i = 0; !error && i < location->frame_count; i++) {
		uint32_t frame = location->first_frame + i;
		site.function = model->frames[frame].function;
		site.file = model->frames[frame].file;
		site.address = site.function ? 0 : location->address;
		error = add_place(m, side, &site, &m->frames[side][frame]);
	}
	return error;
}

static int add_side(struct match *m, enum side side)
{
	const struct view *view = m->views[side];
	const struct model *model = &view->model;
	m->names_of[side] = calloc(model->strings.count + 1, sizeof(uint32_t));
	m->modules_of[side] = calloc(model->strings.count + 1, sizeof(uint32_t));
	m->frames[side] = calloc(model->frame_count + 1, sizeof(uint32_t));
	m->locations[side] = calloc(model->location_count + 1, sizeof(uint32_t));
	m->sites[side] = calloc(view->table.count + 1, sizeof(uint32_t));
	return m->names_of[side] && m->modules_of[side] && m->frames[side] && m->locations[side] &&
			       m->sites[side]
		       ? 0
		       : -ENOMEM;
}

static int add_places(struct match *m, enum side side)
{
	const struct view *view = m->views[side];
	int error = 0;
	for (uint32_t id = 1; !error && id <= view->model.location_count; id++)
		error = add_location(m, side, id);
	for (size_t i = 0; !error && i < view->table.count; i++)
		error = add_place(m, side, &view->table.sites[i], &m->sites[side][i]);
	return error;
}

/* The text of the only program that a side is about; 0 when there are several. */
static uint32_t only_program(const struct model *model)
{
	uint32_t program = 0;
	for (size_t i = 0; i < model->process_count; i++) {
		uint32_t executable = model->processes[i].executable;
		if (!model->processes[i].selected)
			continue;
		if (program && executable != program)
			return 0;
		program = executable;
	}
	return program;
}

/* The program is the same, whatever its file was called. */
static int name_programs(struct match *m)
{
	uint32_t old = only_program(&m->views[SIDE_OLD]->model);
	uint32_t new = only_program(&m->views[SIDE_NEW]->model);
	uint32_t name;
	if (!old || !new)
		return 0;
	int error = name_module(m, SIDE_OLD, old, &name);
	m->modules_of[SIDE_NEW][new] = name;
	return error;
}

static void pair_places(void *context, uint32_t old_id, uint32_t new_id)
{
	struct match *m = context;
	m->places[new_id].same = old_id;
}

static int compare_names(const void *left, const void *right, void *context)
{
	const struct match *m = context;
	const struct place *a = &m->places[*(const uint32_t *)left];
	const struct place *b = &m->places[*(const uint32_t *)right];
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

/* Groups the places of both sides by module and function. */
static void fill_tails(const struct match *m, const uint32_t *order, size_t count,
		       struct tail *tails)
{
	uint32_t group = 0;
	for (size_t i = 0; i < count; i++) {
		const struct place *place = &m->places[order[i]];
		if (i && compare_names(&order[i - 1], &order[i], (void *)m))
			group++;
		tails[i] = (struct tail){ group, place->side,
					  model_text(&m->views[place->side]->model, place->file),
					  order[i] };
	}
}

static int pair_files(struct match *m)
{
	uint32_t *order = malloc((m->place_count + 1) * sizeof(*order));
	struct tail *tails = malloc((m->place_count + 1) * sizeof(*tails));
	size_t count = 0;
	for (uint32_t id = 1; order && tails && id <= m->place_count; id++) {
		if (m->places[id].function || m->places[id].file)
			order[count++] = id;
	}
	if (order && tails) {
		qsort_r(order, count, sizeof(*order), compare_names, m);
		fill_tails(m, order, count, tails);
		tails_match(tails, count, pair_places, m);
	}
	int error = order && tails ? 0 : -ENOMEM;
	free(order);
	free(tails);
	return error;
}

int match_init(struct match *match, const struct view *const views[SIDES], bool lines)
{
	*match = (struct match){ .views = { views[SIDE_OLD], views[SIDE_NEW] }, .lines = lines };
	int error = add_side(match, SIDE_OLD);
	if (!error)
		error = add_side(match, SIDE_NEW);
	if (!error)
		error = name_programs(match);
	if (!error)
		error = add_places(match, SIDE_OLD);
	if (!error)
		error = add_places(match, SIDE_NEW);
	if (!error)
		error = pair_files(match);
	if (error)
		match_release(match);
	return error;
}

void match_release(struct match *match)
{
	for (int side = 0; side < SIDES; side++) {
		free(match->names_of[side]);
		free(match->modules_of[side]);
		free(match->frames[side]);
		free(match->locations[side]);
		free(match->sites[side]);
	}
	pool_release(&match->names);
	free(match->places);
	free(match->chains);
	hash_index_release(&match->place_index);
	hash_index_release(&match->chain_index);
	*match = (struct match){ 0 };
}

struct wanted_chain {
	const struct match *match;
	struct chain chain;
};

static bool chain_equal(const void *context, uint32_t id)
{
	const struct wanted_chain *wanted = context;
	const struct chain *a = &wanted->chain, *b = &wanted->match->chains[id];
	return a->caller == b->caller && a->place == b->place && a->line == b->line &&
	       a->startup == b->startup;
}

/* The id of a stack, made when it is new; 0 when out of memory. */
static uint32_t chain_id(struct match *m, const struct chain *chain)
{
	struct wanted_chain wanted = { m, *chain };
	uint32_t hash = hash_mix(chain->startup, (uint64_t)chain->caller << 32 | chain->place);
	hash = hash_mix(hash, chain->line);
	uint32_t id = hash_index_find(&m->chain_index, hash, chain_equal, &wanted);
	if (id)
		return id;
	struct chain *chains =
		array_grow(m->chains, &m->chain_room, m->chain_count + 2, sizeof(*chains));
	if (!chains)
		return 0;
	m->chains = chains;
	id = (uint32_t)++m->chain_count;
	chains[id] = *chain;
	return hash_index_add(&m->chain_index, hash, id) ? 0 : id;
}

/* One frame more.  The first that is no startup code forgets what came before. */
static uint32_t call(struct match *m, uint32_t caller, struct chain frame)
{
	bool begins = caller == 0 || m->chains[caller].startup;
	frame.startup = frame.startup && begins;
	frame.caller = begins && !frame.startup ? 0 : caller;
	return chain_id(m, &frame);
}

/* Is this a frame that ran before main?  By module, and by name where it is the program's own. */
static bool is_startup(const struct match *m, enum side side, const struct model_location *location,
		       uint32_t function)
{
	const struct model *model = &m->views[side]->model;
	struct shown_frame frame = { .function = model_text(model, function) };
	if (location->module)
		frame.module = model_text(model, model->modules[location->module].path);
	return text_is_startup(&frame);
}

/* The frames of a location, from the outermost inward. */
static uint32_t call_location(struct match *m, enum side side, uint32_t caller, uint32_t id)
{
	const struct model *model = &m->views[side]->model;
	const struct model_location *location = &model->locations[id];
	bool begins = caller == 0 || m->chains[caller].startup;
	if (location->frame_count == 0)
		return call(
			m, caller,
			(struct chain){ .place = m->places[m->locations[side][id]].same,
					.startup = begins && is_startup(m, side, location, 0) });
	for (uint32_t i = location->frame_count; i > 0; i--) {
		uint32_t index = location->first_frame + i - 1;
		const struct model_frame *frame = &model->frames[index];
		caller = call(m, caller,
			      (struct chain){ .place = m->places[m->frames[side][index]].same,
					      .line = m->lines ? frame->line : 0,
					      .startup = begins && is_startup(m, side, location,
									      frame->function) });
		if (!caller)
			break;
	}
	return caller;
}

int match_stacks(struct match *match, enum side side, uint32_t **stacks)
{
	const struct model *model = &match->views[side]->model;
	uint32_t *ids = calloc(model->node_count + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (size_t node = 1; node <= model->node_count; node++) {
		uint32_t caller = ids[model->nodes[node].parent];
		uint32_t location = model->nodes[node].location;
		ids[node] = location ? call_location(match, side, caller, location)
				     : call(match, caller, (struct chain){ 0 });
		if (!ids[node]) {
			free(ids);
			return -ENOMEM;
		}
	}
	*stacks = ids;
	return 0;
}
