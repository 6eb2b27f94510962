/* SPDX-License-Identifier: MIT */
/*
 * Modules, their status, and resolving many addresses of one.
 *
 * Files stay open (and in memory) from one resolve to the next within limits;
 * beyond them the modules used least recently are closed and found again when
 * needed.  Whatever is handed out is in `names`.
 */
#include "symbolize/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/debug_info.h"
#include "symbolize/debuginfod.h"
#include "symbolize/elf_file.h"
#include "symbolize/elf_symbols.h"
#include "symbolize/locate.h"
#include "symbolize/names.h"

/* Limits on what stays open besides the module at work. */
#define OPEN_COUNT_MAX 32
#define OPEN_BYTES_MAX ((size_t)256 << 20)

/* Addresses between two calls of the progress function. */
#define PROGRESS_STEP 1024

struct sym_module {
	struct sym *sym;
	struct sym_module *next; /* all modules of the symbolizer */
	char *path;
	struct build_id build_id;
	enum sym_status status;
	bool open;
	uint64_t used; /* the symbolizer's clock at the last use */
	struct located files;
	struct debug_info *debug_info; /* NULL: no DWARF */
	struct elf_symbols *symbols;   /* read when first needed */
};

struct sym {
	struct sym_options options; /* strings are copies */
	char **debug_paths;
	struct locate_places places;
	struct names names;
	struct sym_module *modules;
	uint64_t clock;
};

/* The frames of one address: a part of the frames of all. */
struct resolved {
	size_t first;
	size_t count;
};

struct frame_list {
	struct sym_frame *items;
	size_t count;
	size_t capacity;
};

static int copy_debug_paths(struct sym *sym, const struct sym_options *options)
{
	size_t count = options->debug_paths_count;

	sym->debug_paths = calloc(count + 1, sizeof(char *));
	if (!sym->debug_paths)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		sym->debug_paths[i] = strdup(options->debug_paths[i]);
		if (!sym->debug_paths[i])
			return -ENOMEM;
	}
	sym->places.debug_paths = sym->debug_paths;
	sym->places.debug_paths_count = count;
	return 0;
}

static int copy_options(struct sym *sym, const struct sym_options *options)
{
	char *sysroot = strdup(options->sysroot ? options->sysroot : "");
	size_t length = sysroot ? strlen(sysroot) : 0;

	sym->options = *options;
	sym->options.sysroot = sym->places.sysroot = sysroot;
	if (!sysroot)
		return -ENOMEM;
	while (length > 0 && sysroot[length - 1] == '/')
		sysroot[--length] = '\0';
	if (options->debuginfod) {
		sym->places.debuginfod =
			debuginfod_new(options->progress, options->progress_context);
		if (!sym->places.debuginfod)
			return -ENOMEM;
	}
	return copy_debug_paths(sym, options);
}

struct sym *sym_new(const struct sym_options *options)
{
	static const struct sym_options defaults;
	struct sym *sym = calloc(1, sizeof(*sym));

	if (sym && copy_options(sym, options ? options : &defaults)) {
		sym_free(sym);
		return NULL;
	}
	return sym;
}

static void module_close(struct sym_module *module)
{
	elf_symbols_free(module->symbols);
	module->symbols = NULL;
	debug_info_close(module->debug_info);
	module->debug_info = NULL;
	located_release(&module->files);
	module->open = false;
}

static void module_free(struct sym_module *module)
{
	module_close(module);
	free(module->path);
	free(module);
}

void sym_free(struct sym *sym)
{
	if (!sym)
		return;
	while (sym->modules) {
		struct sym_module *next = sym->modules->next;

		module_free(sym->modules);
		sym->modules = next;
	}
	names_release(&sym->names);
	debuginfod_free(sym->places.debuginfod);
	for (size_t i = 0; sym->debug_paths && sym->debug_paths[i]; i++)
		free(sym->debug_paths[i]);
	free(sym->debug_paths);
	free((char *)sym->options.sysroot);
	free(sym);
}

static size_t file_size(const struct elf_file *file)
{
	return file ? file->size : 0;
}

static size_t module_bytes(const struct sym_module *module)
{
	return file_size(module->files.module) + file_size(module->files.debug) +
	       file_size(module->files.supplement);
}

/* Closes modules, the least recently used first, until what is open but `keep`
 * is within limits. */
static void close_unused(struct sym *sym, const struct sym_module *keep)
{
	for (;;) {
		struct sym_module *oldest = NULL;
		size_t count = 0, bytes = 0;

		for (struct sym_module *m = sym->modules; m; m = m->next) {
			if (!m->open || m == keep)
				continue;
			count++;
			bytes += module_bytes(m);
			if (!oldest || m->used < oldest->used)
				oldest = m;
		}
		if (count <= OPEN_COUNT_MAX && bytes <= OPEN_BYTES_MAX)
			return;
		module_close(oldest);
	}
}

static int load_symbols(struct sym_module *module)
{
	struct elf_file *const files[] = { module->files.module, module->files.debug };

	return module->symbols ? 0 : elf_symbols_load(files, 2, &module->symbols);
}

int sym_functions(struct sym_module *module, int (*visit)(void *, const char *, uint64_t, uint64_t),
		  void *context)
{
	int error = load_symbols(module);

	return error ? error : elf_symbols_each(module->symbols, visit, context);
}

static const char *find_symbol(void *context, uint64_t address)
{
	struct sym_module *module = context;

	return load_symbols(module) ? NULL : elf_symbols_find(module->symbols, address);
}

static int open_debug_info(struct sym_module *module)
{
	const struct elf_file *candidates[] = { module->files.module, module->files.debug };

	for (size_t i = 0; i < 2 && !module->debug_info; i++) {
		int error;

		if (!candidates[i] || !elf_file_has_dwarf(candidates[i]))
			continue;
		error = debug_info_open(candidates[i], module->files.supplement,
					&module->sym->names, find_symbol, module,
					&module->debug_info);
		if (error == -ENOMEM)
			return error;
	}
	return 0;
}

static enum sym_status status_without_symbols(enum locate_result result)
{
	switch (result) {
	case LOCATE_FOUND:
		return SYM_NONE;
	case LOCATE_REPLACED:
		return SYM_REPLACED;
	case LOCATE_UNREADABLE:
		return SYM_UNREADABLE;
	case LOCATE_MISSING:
		break;
	}
	return SYM_MISSING;
}

static int module_open(struct sym_module *module)
{
	struct sym *sym = module->sym;
	int error;

	module->used = ++sym->clock;
	if (module->open)
		return 0;
	close_unused(sym, module);
	locate_module(&sym->places, module->path, &module->build_id, &module->files);
	module->open = true;
	error = open_debug_info(module);
	if (!error && !module->debug_info)
		error = load_symbols(module);
	if (error)
		module_close(module);
	else if (module->debug_info)
		module->status = SYM_DWARF;
	else if (elf_symbols_count(module->symbols) > 0)
		module->status = SYM_ELF;
	else
		module->status = status_without_symbols(module->files.module_result);
	return error;
}

static struct sym_module *module_find(const struct sym *sym, const char *path,
				      const struct build_id *build_id)
{
	struct sym_module *module = sym->modules;

	while (module &&
	       (strcmp(module->path, path) != 0 || !build_id_equal(&module->build_id, build_id)))
		module = module->next;
	return module;
}

int sym_module_open(struct sym *sym, const char *path, const uint8_t *build_id,
		    size_t build_id_size, struct sym_module **result)
{
	struct build_id id = { .size = build_id_size };
	struct sym_module *module;
	int error = -ENOMEM;

	*result = NULL;
	if (build_id_size > sizeof(id.bytes))
		return -EINVAL;
	if (build_id_size > 0)
		memcpy(id.bytes, build_id, build_id_size);
	*result = module_find(sym, path, &id);
	if (*result)
		return 0;
	module = calloc(1, sizeof(*module));
	if (!module)
		return -ENOMEM;
	module->sym = sym;
	module->build_id = id;
	module->path = strdup(path);
	if (module->path)
		error = module_open(module);
	if (error) {
		module_free(module);
		return error;
	}
	module->next = sym->modules;
	sym->modules = module;
	*result = module;
	return 0;
}

enum sym_status sym_module_status(const struct sym_module *module)
{
	return module->status;
}

const char *sym_status_name(enum sym_status status)
{
	static const char *const names[SYM_STATUSES] = {
		[SYM_DWARF] = "dwarf",	     [SYM_ELF] = "elf",
		[SYM_NONE] = "none",	     [SYM_MISSING] = "missing",
		[SYM_REPLACED] = "replaced", [SYM_UNREADABLE] = "unreadable",
	};

	return names[status];
}

/* The name of an ELF symbol, without the version that .symtab may have behind
 * it. */
static const char *intern_symbol(struct names *names, const char *name)
{
	const char *at = strchr(name + 1, '@'), *result;
	char *copy;

	if (!at)
		return names_intern(names, name);
	copy = strndup(name, (size_t)(at - name));
	result = copy ? names_intern(names, copy) : NULL;
	free(copy);
	return result;
}

/* Names a frame by the symbol table, if that knows. */
static int name_by_symbol(struct sym_module *module, uint64_t address, struct sym_frame *frame)
{
	struct names *names = &module->sym->names;
	const char *name, *readable;
	int error = load_symbols(module);

	if (error)
		return error;
	name = elf_symbols_find(module->symbols, address);
	if (!name)
		return 0;
	name = intern_symbol(names, name);
	if (!name)
		return -ENOMEM;
	readable = names_readable(names, name);
	frame->function = readable ? readable : name;
	frame->linkage = readable ? name : NULL;
	return 0;
}

static int resolve_one(struct sym_module *module, uint64_t address, struct sym_frame *frames,
		       size_t *count)
{
	int error = 0;

	*count = 0;
	if (module->debug_info && debug_info_is_large(module->debug_info)) {
		debug_info_close(module->debug_info);
		module->debug_info = NULL;
		error = open_debug_info(module);
	}
	if (module->debug_info)
		error = debug_info_frames(module->debug_info, address, frames, count);
	if (error)
		return error;
	if (*count == 0) {
		frames[0] = (struct sym_frame){ 0 };
		*count = 1;
	}
	if (!frames[*count - 1].function)
		error = name_by_symbol(module, address, &frames[*count - 1]);
	/* Between functions there may still be a line. */
	if (*count == 1 && !frames[0].function && !frames[0].file)
		*count = 0;
	return error;
}

static int frame_list_add(struct frame_list *list, const struct sym_frame *frames, size_t count)
{
	if (count == 0)
		return 0;
	if (list->capacity - list->count < count) {
		size_t capacity = (list->count + count) * 2;
		struct sym_frame *items = reallocarray(list->items, capacity, sizeof(*items));

		if (!items)
			return -ENOMEM;
		list->items = items;
		list->capacity = capacity;
	}
	memcpy(list->items + list->count, frames, count * sizeof(*frames));
	list->count += count;
	return 0;
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = *(const uint64_t *const *)a, *y = *(const uint64_t *const *)b;

	return *x < *y ? -1 : *x > *y;
}

static void report_progress(const struct sym_module *module, size_t done, size_t total)
{
	const struct sym_options *options = &module->sym->options;
	const char *slash = strrchr(module->path, '/');

	if (options->progress && done % PROGRESS_STEP == 0 && done > 0)
		options->progress(options->progress_context, slash ? slash + 1 : module->path, done,
				  total);
}

/* In ascending order, so that what belongs together is read together; each
 * address once. */
static int resolve_sorted(struct sym_module *module, const uint64_t *addresses,
			  const uint64_t *const *order, size_t count, struct resolved *resolved,
			  struct frame_list *list)
{
	struct sym_frame frames[DEBUG_FRAMES_MAX];

	for (size_t i = 0; i < count; i++) {
		struct resolved *to = &resolved[order[i] - addresses];
		int error;

		report_progress(module, i, count);
		if (i > 0 && *order[i] == *order[i - 1]) {
			*to = resolved[order[i - 1] - addresses];
			continue;
		}
		to->first = list->count;
		error = resolve_one(module, *order[i], frames, &to->count);
		if (!error)
			error = frame_list_add(list, frames, to->count);
		if (error)
			return error;
	}
	return 0;
}

int sym_resolve(struct sym_module *module, const uint64_t *addresses, size_t count,
		sym_callback *callback, void *context)
{
	const uint64_t **order = reallocarray(NULL, count + 1, sizeof(*order));
	struct resolved *resolved = reallocarray(NULL, count + 1, sizeof(*resolved));
	struct frame_list list = { NULL, 0, 0 };
	int error = order && resolved ? module_open(module) : -ENOMEM;

	if (error)
		goto out;
	for (size_t i = 0; i < count; i++)
		order[i] = &addresses[i];
	qsort(order, count, sizeof(*order), compare_addresses);
	error = resolve_sorted(module, addresses, order, count, resolved, &list);
	if (error)
		goto out;
	for (size_t i = 0; i < count; i++)
		callback(context, i, resolved[i].count > 0 ? list.items + resolved[i].first : NULL,
			 resolved[i].count);
out:
	free(list.items);
	free(resolved);
	free(order);
	return error;
}
