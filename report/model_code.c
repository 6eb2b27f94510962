/* SPDX-License-Identifier: MIT */
/*
 * Modules, locations, frames and the stack tree of one recording into the
 * model.  When several recordings are summed, what is equal becomes one; a
 * single file's rows are distinct already.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/model_private.h"

#define BUILD_ID_BYTES_MAX 64

static bool interning(const struct loader *loader)
{
	return loader->options->file_count > 1;
}

struct wanted_module {
	const struct model *model;
	struct model_module module;
};

static bool module_equal(const void *context, uint32_t id)
{
	const struct wanted_module *wanted = context;
	const struct model_module *m = &wanted->model->modules[id];
	return m->path == wanted->module.path && m->build_id == wanted->module.build_id &&
	       m->symbols == wanted->module.symbols;
}

static int intern_module(struct loader *loader, struct model_module module, uint32_t *id)
{
	struct model *model = loader->model;
	struct wanted_module wanted = { model, module };
	uint32_t hash =
		hash_mix(hash_mix(hash_mix(1, module.path), module.build_id), module.symbols);
	*id = interning(loader) ? hash_index_find(&model->module_index, hash, module_equal, &wanted)
				: 0;
	if (*id)
		return 0;
	struct model_module *modules = array_grow(model->modules, &model->module_room,
						  model->module_count + 2, sizeof(*modules));
	if (!modules)
		return loader_no_memory(loader);
	model->modules = modules;
	*id = (uint32_t)++model->module_count;
	modules[*id] = module;
	if (interning(loader) && hash_index_add(&model->module_index, hash, *id))
		return loader_no_memory(loader);
	return 0;
}

static int read_build_id(struct rows *rows, int column, uint32_t *id)
{
	static const char hex[] = "0123456789abcdef";
	char text[2 * BUILD_ID_BYTES_MAX];
	const unsigned char *bytes = sqlite3_column_blob(rows->statement, column);
	int size = sqlite3_column_bytes(rows->statement, column);
	*id = 0;
	if (!bytes || !size)
		return 0;
	if (size > BUILD_ID_BYTES_MAX)
		return rows_damaged(rows, "a build-id is too long");
	for (int i = 0; i < size; i++) {
		text[2 * i] = hex[bytes[i] >> 4];
		text[2 * i + 1] = hex[bytes[i] & 15];
	}
	*id = pool_add(&rows->loader->model->strings, text, 2 * (size_t)size);
	return *id ? 0 : loader_no_memory(rows->loader);
}

static int add_module(struct rows *rows)
{
	struct loader *loader = rows->loader;
	struct model_module module;
	uint32_t id;
	int error = id_map_get(rows, &loader->strings, rows->values[1], &module.path);
	if (!error)
		error = read_build_id(rows, 2, &module.build_id);
	if (!error)
		error = id_map_get(rows, &loader->strings, rows->values[3], &module.symbols);
	if (!error)
		error = intern_module(loader, module, &id);
	return error ? error : id_map_add(rows, &loader->modules, rows->values[0], id);
}

/* Runs `add` on every row. */
static int for_each_row(struct loader *loader, const char *table, const char *sql,
			unsigned other_columns, int (*add)(struct rows *))
{
	struct rows rows;
	int error = rows_open(&rows, loader, table, sql);
	if (error)
		return error;
	rows.other_columns = other_columns;
	while ((error = rows_next(&rows)) > 0) {
		error = add(&rows);
		if (error)
			break;
	}
	rows_close(&rows);
	return error;
}

/*
 * Locations first get ids of their own; intern_locations joins equal ones when
 * their frames are known.
 */
static int add_location(struct rows *rows)
{
	struct loader *loader = rows->loader;
	struct model *model = loader->model;
	struct model_location location = { .address = (uint64_t)rows->values[2] };
	int error = id_map_get(rows, &loader->modules, rows->values[1], &location.module);
	if (error)
		return error;
	struct model_location *locations =
		array_grow(model->locations, &model->location_room, model->location_count + 2,
			   sizeof(*locations));
	if (!locations)
		return loader_no_memory(loader);
	model->locations = locations;
	locations[++model->location_count] = location;
	return id_map_add(rows, &loader->locations, rows->values[0],
			  (uint32_t)model->location_count);
}

static int append_frame(struct loader *loader, struct model_frame frame)
{
	struct model *model = loader->model;
	struct model_frame *frames = array_grow(model->frames, &model->frame_room,
						model->frame_count + 1, sizeof(*frames));
	if (!frames || model->frame_count >= UINT32_MAX)
		return loader_no_memory(loader);
	model->frames = frames;
	frames[model->frame_count++] = frame;
	return 0;
}

/* Rows come by (location, seq); both must count up without a gap in seq. */
static int add_frame(struct rows *rows)
{
	struct loader *loader = rows->loader;
	struct model *model = loader->model;
	const int64_t *v = rows->values;
	struct model_frame frame = { .line = (uint32_t)v[4], .inlined = v[5] != 0 };
	uint32_t id;
	int error = id_map_get(rows, &loader->locations, v[0], &id);
	if (!error)
		error = id_map_get(rows, &loader->strings, v[2], &frame.function);
	if (!error)
		error = id_map_get(rows, &loader->strings, v[3], &frame.file);
	if (error)
		return error;
	if (v[4] < 0 || v[4] > UINT32_MAX)
		return rows_damaged(rows, "a line number is out of range");
	struct model_location *location = &model->locations[id];
	if (location->frame_count == 0)
		location->first_frame = (uint32_t)model->frame_count;
	if (id == 0 || v[1] != location->frame_count ||
	    location->first_frame + location->frame_count != model->frame_count)
		return rows_damaged(rows, "frames are out of order");
	location->frame_count++;
	return append_frame(loader, frame);
}

static int mark_interrupted(struct rows *rows)
{
	uint32_t id;
	int error = id_map_get(rows, &rows->loader->locations, rows->values[0], &id);
	if (!error)
		rows->loader->model->locations[id].interrupted = true;
	return error;
}

struct wanted_location {
	const struct model *model;
	const struct model_location *location;
};

static bool frame_equal(const struct model_frame *a, const struct model_frame *b)
{
	return a->function == b->function && a->file == b->file && a->line == b->line &&
	       a->inlined == b->inlined;
}

static bool location_equal(const void *context, uint32_t id)
{
	const struct wanted_location *wanted = context;
	const struct model_location *a = wanted->location, *b = &wanted->model->locations[id];
	if (a->address != b->address || a->module != b->module || a->frame_count != b->frame_count)
		return false;
	const struct model_frame *frames = wanted->model->frames;
	for (uint32_t i = 0; i < a->frame_count; i++) {
		if (!frame_equal(&frames[a->first_frame + i], &frames[b->first_frame + i]))
			return false;
	}
	return true;
}

static int intern_locations(struct loader *loader)
{
	struct model *model = loader->model;
	for (size_t row = 1; interning(loader) && row <= loader->locations.count; row++) {
		uint32_t id = loader->locations.ids[row];
		const struct model_location *location = &model->locations[id];
		struct wanted_location wanted = { model, location };
		uint32_t hash = hash_mix(hash_mix(2, location->module), location->address);
		uint32_t known =
			hash_index_find(&model->location_index, hash, location_equal, &wanted);
		if (known)
			loader->locations.ids[row] = known;
		else if (hash_index_add(&model->location_index, hash, id))
			return loader_no_memory(loader);
	}
	return 0;
}

struct wanted_node {
	const struct model *model;
	struct model_node node;
};

static bool node_equal(const void *context, uint32_t id)
{
	const struct wanted_node *wanted = context;
	const struct model_node *node = &wanted->model->nodes[id];
	return node->parent == wanted->node.parent && node->location == wanted->node.location;
}

static int intern_node(struct loader *loader, struct model_node node, uint32_t *id)
{
	struct model *model = loader->model;
	struct wanted_node wanted = { model, node };
	uint32_t hash = interning(loader) ? hash_mix(hash_mix(3, node.parent), node.location) : 0;
	*id = interning(loader) ? hash_index_find(&model->node_index, hash, node_equal, &wanted)
				: 0;
	if (*id)
		return 0;
	struct model_node *nodes =
		array_grow(model->nodes, &model->node_room, model->node_count + 2, sizeof(*nodes));
	if (!nodes)
		return loader_no_memory(loader);
	model->nodes = nodes;
	*id = (uint32_t)++model->node_count;
	nodes[*id] = node;
	if (interning(loader) && hash_index_add(&model->node_index, hash, *id))
		return loader_no_memory(loader);
	return 0;
}

static int add_node(struct rows *rows)
{
	struct loader *loader = rows->loader;
	struct model_node node;
	uint32_t id;
	/*
	 * Only earlier rows can be named, so a child's id is always the larger
	 * one.
	 */
	int error = id_map_get(rows, &loader->nodes, rows->values[1], &node.parent);
	if (!error)
		error = id_map_get(rows, &loader->locations, rows->values[2], &node.location);
	if (!error)
		error = intern_node(loader, node, &id);
	return error ? error : id_map_add(rows, &loader->nodes, rows->values[0], id);
}

static int check_depth(struct loader *loader)
{
	const struct model *model = loader->model;
	uint16_t *depth = calloc(model->node_count + 1, sizeof(*depth));
	int error = depth ? 0 : loader_no_memory(loader);
	for (size_t id = 1; !error && id <= model->node_count; id++) {
		depth[id] = depth[model->nodes[id].parent] + 1;
		if (depth[id] > MODEL_DEPTH_MAX)
			error = diag_set(
				loader->diag, -EBADMSG,
				"cannot read '%s': the file is damaged: a stack has more than %d frames",
				loader->rec->path, MODEL_DEPTH_MAX);
	}
	free(depth);
	return error;
}

int model_load_code(struct loader *loader)
{
	int error = for_each_row(loader, "module",
				 "SELECT id, path, build_id, symbols FROM module NOT INDEXED",
				 1u << 2, add_module);
	if (!error)
		error = for_each_row(loader, "location",
				     "SELECT id, module, address FROM location NOT INDEXED", 0,
				     add_location);
	if (!error && loader->model->location_count)
		error = for_each_row(
			loader, "location_frame",
			"SELECT location, seq, function, file, line, inlined FROM location_frame",
			0, add_frame);
	if (!error && loader->model->location_count && rows_exist(loader, "interrupted"))
		error = for_each_row(loader, "interrupted",
				     "SELECT location FROM interrupted NOT INDEXED", 0,
				     mark_interrupted);
	if (!error)
		error = intern_locations(loader);
	if (!error)
		error = for_each_row(loader, "node",
				     "SELECT id, parent, location FROM node NOT INDEXED", 0,
				     add_node);
	return error ? error : check_depth(loader);
}
