/* SPDX-License-Identifier: MIT */
/* See resolve.h.  Names are changed in the model here; resolve_write.c writes them. */
#include "report/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/resolve_private.h"

static int no_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, "out of memory");
}

int resolve_open(struct resolution **out, const char *path, struct diag *diag)
{
	struct model_options options = {
		.files = &path, .file_count = 1, .all = true, .keep_processes_apart = true
	};
	struct resolution *r = calloc(1, sizeof(*r));
	*out = NULL;
	if (!r)
		return no_memory(diag);
	int error = model_load(&r->model, &options, diag);
	if (error) {
		free(r);
		return error;
	}
	r->path = strdup(path);
	r->location_changed = calloc(r->model.location_count + 1, sizeof(bool));
	r->module_changed = calloc(r->model.module_count + 1, sizeof(bool));
	if (!r->path || !r->location_changed || !r->module_changed) {
		resolve_close(r);
		return no_memory(diag);
	}
	*out = r;
	return 0;
}

void resolve_close(struct resolution *r)
{
	if (!r)
		return;
	model_release(&r->model);
	free(r->location_changed);
	free(r->module_changed);
	free(r->path);
	free(r);
}

/* -- one place ---------------------------------------------------------------------------------- */

struct known {
	size_t functions, files;
};

static struct known known_before(const struct model *model, const struct model_location *location)
{
	struct known known = { 0 };
	for (uint32_t i = 0; i < location->frame_count; i++) {
		const struct model_frame *frame = &model->frames[location->first_frame + i];
		known.functions += frame->function != 0;
		known.files += frame->file != 0;
	}
	return known;
}

static struct known known_now(const struct sym_frame *frames, size_t count)
{
	struct known known = { 0 };
	for (size_t i = 0; i < count; i++) {
		known.functions += frames[i].function != NULL;
		known.files += frames[i].file != NULL;
	}
	return known;
}

/* More in one respect, and less in none. */
static bool is_better(struct known now, struct known before)
{
	return now.functions >= before.functions && now.files >= before.files &&
	       now.functions + now.files > before.functions + before.files;
}

/* The id of a text of the model; 0 for NULL.  False when out of memory. */
static bool intern(struct model *model, const char *text, uint32_t *id)
{
	*id = text ? pool_add(&model->strings, text, strlen(text)) : 0;
	return !text || *id;
}

static int replace_frames(struct model *model, struct model_location *location,
			  const struct sym_frame *frames, size_t count)
{
	struct model_frame *grown = array_grow(model->frames, &model->frame_room,
					       model->frame_count + count, sizeof(*grown));
	if (!grown || model->frame_count > UINT32_MAX - count)
		return -ENOMEM;
	model->frames = grown;
	for (size_t i = 0; i < count; i++) {
		struct model_frame *frame = &grown[model->frame_count + i];
		*frame = (struct model_frame){ .line = frames[i].line,
					       .inlined = frames[i].inlined };
		if (!intern(model, frames[i].function, &frame->function) ||
		    !intern(model, frames[i].file, &frame->file))
			return -ENOMEM;
	}
	location->first_frame = (uint32_t)model->frame_count;
	location->frame_count = (uint32_t)count;
	model->frame_count += count;
	return 0;
}

/* -- a module ----------------------------------------------------------------------------------- */

struct lookup {
	struct resolution *resolution;
	const uint32_t *order; /* the locations that are asked for */
	int error;
};

static void take_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
	struct lookup *l = context;
	struct resolution *r = l->resolution;
	uint32_t id = l->order[index];
	struct model_location *location = &r->model.locations[id];
	if (count > SYM_FRAMES_MAX)
		count = SYM_FRAMES_MAX;
	if (l->error || !is_better(known_now(frames, count), known_before(&r->model, location)))
		return;
	l->error = replace_frames(&r->model, location, frames, count);
	r->location_changed[id] = true;
	r->locations_changed++;
}

/* How much the names of a module are worth by its status; what there is none of comes last. */
static int worth(const char *symbols)
{
	if (symbols && strcmp(symbols, sym_status_name(SYM_DWARF)) == 0)
		return 3;
	if (symbols && strcmp(symbols, sym_status_name(SYM_ELF)) == 0)
		return 2;
	return symbols && strcmp(symbols, sym_status_name(SYM_NONE)) == 0;
}

static int note_status(struct resolution *r, uint32_t id, enum sym_status status)
{
	struct model_module *module = &r->model.modules[id];
	const char *name = sym_status_name(status);
	if (worth(name) <= worth(model_text(&r->model, module->symbols)))
		return 0;
	r->module_changed[id] = true;
	return intern(&r->model, name, &module->symbols) ? 0 : -ENOMEM;
}

static int digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* The model has build-ids as hexadecimal digits, which it made itself. */
static size_t build_id_bytes(const char *hex, uint8_t bytes[SYM_BUILD_ID_MAX])
{
	size_t size = strlen(hex) / 2;
	if (size > SYM_BUILD_ID_MAX)
		return 0;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	return size;
}

/* Without a build-id any file could stand at the path by now: what the recording says stays. */
static int resolve_module(struct lookup *l, struct sym *sym, uint32_t id, size_t count,
			  uint64_t *addresses)
{
	struct model *model = &l->resolution->model;
	const char *path = model_text(model, model->modules[id].path);
	const char *hex = model_text(model, model->modules[id].build_id);
	uint8_t build_id[SYM_BUILD_ID_MAX];
	size_t size = hex ? build_id_bytes(hex, build_id) : 0;
	struct sym_module *module;
	if (!path || !size)
		return 0;
	for (size_t i = 0; i < count; i++) {
		const struct model_location *location = &model->locations[l->order[i]];
		/* Inside the call that a return address follows. */
		addresses[i] = location->address - !location->interrupted;
	}
	int error = sym_module_open(sym, path, build_id, size, &module);
	if (!error)
		error = note_status(l->resolution, id, sym_module_status(module));
	if (!error)
		error = sym_resolve(module, addresses, count, take_answer, l);
	return error ? error : l->error;
}

/* -- all ---------------------------------------------------------------------------------------- */

static int by_module(const void *a, const void *b, void *locations)
{
	const struct model_location *x =
		(const struct model_location *)locations + *(const uint32_t *)a;
	const struct model_location *y =
		(const struct model_location *)locations + *(const uint32_t *)b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void show_progress(const struct sym_options *symbols, const char *path, size_t done,
			  size_t total)
{
	if (symbols->progress)
		symbols->progress(symbols->progress_context, path ? path : "", done, total);
}

static int resolve_all(struct resolution *r, struct sym *sym, const struct sym_options *symbols,
		       uint32_t *order, uint64_t *addresses)
{
	const struct model *model = &r->model;
	const struct model_location *locations = model->locations;
	size_t total = model->location_count, count;
	int error = 0;
	for (size_t i = 0; i < total; i++)
		order[i] = (uint32_t)i + 1;
	qsort_r(order, total, sizeof(*order), by_module, model->locations);
	for (size_t at = 0; at < total && !error; at += count) {
		uint32_t module = locations[order[at]].module;
		for (count = 1; at + count < total; count++) {
			if (locations[order[at + count]].module != module)
				break;
		}
		struct lookup lookup = { .resolution = r, .order = order + at };
		/* Code of no file has the names that its compiler left, if any. */
		if (!module)
			continue;
		show_progress(symbols, model_text(model, model->modules[module].path), at, total);
		error = resolve_module(&lookup, sym, module, count, addresses);
	}
	return error;
}

static void count_known(const struct model *model, size_t *named, size_t *lined)
{
	*named = *lined = 0;
	for (size_t id = 1; id <= model->location_count; id++) {
		struct known known = known_before(model, &model->locations[id]);
		*named += known.functions > 0;
		*lined += known.files > 0;
	}
}

static size_t count_bare(const struct model *model)
{
	bool *counted = calloc(model->module_count + 1, sizeof(*counted));
	size_t count = 0;
	for (size_t id = 1; counted && id <= model->location_count; id++) {
		uint32_t module = model->locations[id].module;
		if (!module || counted[module])
			continue;
		counted[module] = true;
		count += worth(model_text(model, model->modules[module].symbols)) <
			 worth(sym_status_name(SYM_DWARF));
	}
	free(counted);
	return count;
}

int resolve_names(struct resolution *r, const struct sym_options *symbols,
		  struct resolve_summary *summary, struct diag *diag)
{
	const struct model *model = &r->model;
	struct sym *sym = sym_new(symbols);
	uint32_t *order = calloc(model->location_count + 1, sizeof(*order));
	uint64_t *addresses = calloc(model->location_count + 1, sizeof(*addresses));
	*summary = (struct resolve_summary){ .places = model->location_count };
	count_known(model, &summary->named_before, &summary->lined_before);
	int error = sym && order && addresses ? resolve_all(r, sym, symbols, order, addresses)
					      : -ENOMEM;
	count_known(model, &summary->named, &summary->lined);
	summary->bare_modules = count_bare(model);
	summary->changed = r->locations_changed > 0;
	for (size_t id = 1; id <= model->module_count; id++)
		summary->changed |= r->module_changed[id];
	free(order);
	free(addresses);
	sym_free(sym);
	if (error)
		diag_set(diag, error, "cannot look up the symbols of '%s': %s", r->path,
			 strerror(-error));
	return error;
}

static bool is_nameless(const struct model *model, size_t module)
{
	for (size_t id = 1; id <= model->location_count; id++) {
		const struct model_location *location = &model->locations[id];
		if (location->module == module && !known_before(model, location).functions)
			return true;
	}
	return false;
}

bool resolve_next_nameless(const struct resolution *r, size_t *position,
			   struct resolve_nameless *nameless)
{
	const struct model *model = &r->model;
	while (++*position <= model->module_count) {
		const struct model_module *module = &model->modules[*position];
		const char *symbols = model_text(model, module->symbols);
		if (worth(symbols) >= worth(sym_status_name(SYM_ELF)) ||
		    !is_nameless(model, *position))
			continue;
		*nameless = (struct resolve_nameless){
			.path = model_text(model, module->path),
			.reason = module->build_id ? rec_symbols_reason(symbols) : "no build-id",
		};
		return true;
	}
	return false;
}
