/* SPDX-License-Identifier: MIT */
/* Errors to rows; see collect_errors.h. */
#include "cmd/collect_errors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, "out of memory");
}

/* -- reading ------------------------------------------------------------------------------------ */

size_t errors_image_at(const struct error_image *images, size_t count, int32_t pid,
		       uint64_t monotonic_ns)
{
	size_t found = 0, earliest = 0;
	uint64_t latest = 0, first = UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		uint64_t start = images[i].image->header.start_monotonic_ns;

		if (images[i].image->header.pid != pid)
			continue;
		if (start <= monotonic_ns && (!found || start >= latest)) {
			latest = start;
			found = i + 1;
		}
		if (start < first) {
			first = start;
			earliest = i + 1;
		}
	}
	return found ? found : earliest;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The image in which the library started: of its pid the one that started at about the same time.  Index + 1. */
static size_t image_near(const struct error_image *images, size_t count,
			 const struct stomp_process *p)
{
	size_t found = 0;
	uint64_t nearest = 0;

	for (size_t i = 0; i < count; i++) {
		const struct seg_header *h = &images[i].image->header;
		uint64_t d = distance(h->start_monotonic_ns, p->start_monotonic_ns);

		if (h->pid == p->pid && (!found || d < nearest)) {
			nearest = d;
			found = i + 1;
		}
	}
	return found;
}

static int grow(struct error_set *set)
{
	size_t room = set->room ? 2 * set->room : 16;
	struct found_error *errors = realloc(set->errors, room * sizeof(*errors));

	if (!errors)
		return -ENOMEM;
	set->errors = errors;
	set->room = room;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct found_error *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int read_errors(struct error_set *set)
{
	int result = 0;

	do {
		if (set->count == set->room && grow(set) < 0)
			return -ENOMEM;
		result = stomp_file_next(&set->file, &set->errors[set->count]);
		if (result > 0)
			set->count++;
	} while (result > 0);
	qsort(set->errors, set->count, sizeof(*set->errors), by_number);
	return result;
}

static void add_up(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

static void add_guard(struct rec_guard *guard, const struct stomp_process *p, uint64_t kept)
{
	guard->method = p->guard < GUARD_METHODS ? (enum guard_method)p->guard : GUARD_NONE;
	for (unsigned i = 0; i < GUARD_METHODS; i++)
		add_up(&guard->blocks[i], p->blocks[i]);
	guard->budget = p->budget;
	add_up(&guard->refused, p->refused);
	add_up(&guard->errors, p->errors);
	if (p->errors > kept)
		add_up(&guard->errors_lost, p->errors - kept);
}

static int find_guards(struct error_set *set, const struct error_image *images, size_t count)
{
	uint64_t *kept = calloc(STOMP_PROCESSES + 1ul, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++)
		add_up(&kept[set->errors[i].process], set->errors[i].rec.count);
	for (uint32_t i = 0; i < set->state.process_count; i++) {
		const struct stomp_process *p = &set->state.processes[i];
		size_t image = p->pid > 0 ? image_near(images, count, p) : 0;

		if (!image)
			continue;
		set->guarded[image - 1] = true;
		add_guard(&set->guards[image - 1], p, kept[i]);
	}
	free(kept);
	return 0;
}

int errors_load(struct error_set *set, const char *directory, const struct error_image *images,
		size_t image_count, struct diag *diag)
{
	int error;

	memset(set, 0, sizeof(*set));
	stomp_file_open(&set->file, directory);
	set->guards = calloc(image_count + 1, sizeof(*set->guards));
	set->guarded = calloc(image_count + 1, sizeof(*set->guarded));
	error = set->guards && set->guarded ? read_errors(set) : -ENOMEM;
	if (!error)
		error = stomp_file_state(&set->file, &set->state);
	if (!error)
		error = find_guards(set, images, image_count);
	set->images = calloc(set->count + 1, sizeof(*set->images));
	set->codes = calloc(set->count + 1, sizeof(*set->codes));
	if (error || !set->images || !set->codes)
		return out_of_memory(diag);
	for (size_t i = 0; i < set->count; i++)
		set->images[i] = errors_image_at(images, image_count, set->errors[i].rec.pid,
						 set->errors[i].monotonic_ns);
	return 0;
}

/* -- code --------------------------------------------------------------------------------------- */

/* Which modules of the map the error's are; malloc'ed; NULL: out of memory. */
static uint32_t *enter_modules(const struct found_error *e, const struct image *image,
			       struct code_map *map)
{
	uint32_t *modules = calloc(e->module_count + 1ul, sizeof(*modules));

	for (uint32_t i = 0; modules && i < e->module_count; i++) {
		const struct found_module *m = &e->modules[i];
		char *path = image ? image_path(image, m->path) : strdup(*m->path ? m->path : "?");

		if (path)
			modules[i] = code_map_module(map, path, m->build_id, m->build_id_size);
		free(path);
		if (!modules[i]) {
			free(modules);
			return NULL;
		}
	}
	return modules;
}

static uint32_t enter_frame(const struct found_error *e, const struct found_frame *f,
			    const uint32_t *modules, struct code_map *map)
{
	if (!f->module)
		return code_map_enter_jit(map, e->rec.pid, f->address + f->interrupted);
	return code_map_enter(map, modules[f->module - 1],
			      f->address - e->modules[f->module - 1].bias, f->interrupted);
}

static size_t frame_count(const struct found_error *e)
{
	size_t count = 0;

	for (unsigned s = 0; s < ERROR_STACKS; s++)
		count += e->stacks[s].count;
	return count;
}

/* Only modules that code comes from are looked up, and listed. */
static int enter_error(struct error_set *set, size_t index, const struct image *image,
		       struct code_map *map)
{
	const struct found_error *e = &set->errors[index];
	uint32_t *modules, *code;
	int error = 0;

	if (!frame_count(e))
		return 0;
	modules = enter_modules(e, image, map);
	code = set->codes[index] = calloc(frame_count(e), sizeof(*code));
	if (!modules || !code)
		error = -ENOMEM;
	for (unsigned s = 0; s < ERROR_STACKS && !error; s++)
		for (uint32_t i = 0; i < e->stacks[s].count && !error; i++) {
			*code = enter_frame(e, &e->stacks[s].frames[i], modules, map);
			error = *code++ ? 0 : -ENOMEM;
		}
	free(modules);
	return error;
}

int errors_enter(struct error_set *set, const struct error_image *images, struct code_map *map,
		 struct diag *diag)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct image *image =
			set->images[i] ? images[set->images[i] - 1].image : NULL;

		if (enter_error(set, i, image, map) < 0)
			return out_of_memory(diag);
	}
	return 0;
}

/* -- rows --------------------------------------------------------------------------------------- */

/* From the outermost frame inward. */
static int write_stack(const struct found_stack *stack, const uint32_t *codes, struct code_map *map,
		       struct recording *rec, rec_id *node, struct diag *diag)
{
	rec_id parent = { 0 };

	for (uint32_t i = stack->count; i-- > 0;) {
		int error = code_map_node(map, rec, parent, codes[i], node, diag);

		if (error)
			return error;
		parent = *node;
	}
	return 0;
}

static int write_error(struct error_set *set, size_t index, const struct error_image *image,
		       struct code_map *map, struct recording *rec, struct diag *diag)
{
	struct found_error *e = &set->errors[index];
	const uint32_t *codes = set->codes[index];

	if (image) {
		uint64_t start = image->image->header.start_monotonic_ns;

		e->rec.process = image->process;
		if (e->monotonic_ns >= start && e->monotonic_ns - start <= INT64_MAX)
			e->rec.t_ns = (int64_t)(e->monotonic_ns - start);
	}
	for (unsigned s = 0; s < ERROR_STACKS; s++) {
		int error =
			write_stack(&e->stacks[s], codes, map, rec, &e->rec.stacks[s].node, diag);

		if (error)
			return error;
		if (codes)
			codes += e->stacks[s].count;
	}
	return rec_add_error(rec, &e->rec, diag);
}

int errors_write(struct error_set *set, const struct error_image *images, size_t image_count,
		 struct code_map *map, struct recording *rec, struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < set->count && !error; i++)
		error = write_error(set, i, set->images[i] ? &images[set->images[i] - 1] : NULL,
				    map, rec, diag);
	for (size_t i = 0; i < image_count && !error; i++)
		if (set->guarded[i])
			error = rec_add_guard(rec, images[i].process, &set->guards[i], diag);
	return error;
}

void errors_release(struct error_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		found_error_release(&set->errors[i]);
		if (set->codes)
			free(set->codes[i]);
	}
	stomp_file_close(&set->file);
	free(set->state.processes);
	free(set->errors);
	free(set->codes);
	free(set->images);
	free(set->guards);
	free(set->guarded);
	memset(set, 0, sizeof(*set));
	set->file.fd = -1;
}
