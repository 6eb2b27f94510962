/* SPDX-License-Identifier: MIT */
/* Errors out of the stomp file; see stomp_file.h. */
#include "cmd/stomp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/image.h"

enum { LARGEST_RECORD = 1 << 20 };

static_assert((int)ERROR_BUFFER_OVERFLOW == STOMP_BUFFER_OVERFLOW &&
		      (int)ERROR_BUFFER_UNDERFLOW == STOMP_BUFFER_UNDERFLOW &&
		      (int)ERROR_USE_AFTER_FREE == STOMP_USE_AFTER_FREE &&
		      (int)ERROR_DOUBLE_FREE == STOMP_DOUBLE_FREE &&
		      (int)ERROR_INVALID_FREE == STOMP_INVALID_FREE &&
		      (int)ERROR_CORRUPTION == STOMP_CORRUPTION,
	      "kinds are the same on both sides");
static_assert((int)ERROR_READ == STOMP_READ && (int)ERROR_WRITE == STOMP_WRITE, "accesses too");

void stomp_file_open(struct stomp_file *file, const char *directory)
{
	char path[PATH_MAX];

	memset(file, 0, sizeof(*file));
	file->fd = -1;
	if (snprintf(path, sizeof(path), "%s/" STOMP_FILE, directory) < (int)sizeof(path))
		file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

void stomp_file_close(struct stomp_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/* Bytes past the end of the file read as zeros. */
static bool read_at(const struct stomp_file *file, uint64_t offset, void *to, size_t size)
{
	char *p = to;

	memset(to, 0, size);
	if (offset > STOMP_FILE_SIZE || size > STOMP_FILE_SIZE - offset)
		return false;
	while (size) {
		ssize_t n = pread(file->fd, p, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		p += n;
		offset += (size_t)n;
		size -= (size_t)n;
	}
	return true;
}

/* Counts and the like, without the tables.  False when it is no such file, or of another version. */
static bool read_header(const struct stomp_file *file, struct stomp_header *header)
{
	return file->fd >= 0 &&
	       read_at(file, 0, header, offsetof(struct stomp_header, processes)) &&
	       header->magic == STOMP_MAGIC && header->layout_version == STOMP_LAYOUT_VERSION &&
	       header->header_size == sizeof(*header);
}

/* -- one record --------------------------------------------------------------------------------- */

struct record {
	const uint8_t *bytes;
	uint32_t size;
	struct stomp_error error;
};

static bool lies_within(const struct record *r, uint64_t offset, uint64_t size)
{
	return offset <= r->size && size <= r->size - offset;
}

static bool is_ours(const char *path)
{
	static const char *const names[] = { "libmemtrack.so", "libmemtrack-stomp.so",
					     "libmemtrack-operators.so" };
	const char *base = strrchr(path, '/');

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(base ? base + 1 : path, names[i]) == 0)
			return true;
	return false;
}

static char *copy_path(const struct record *r, const struct stomp_module *m)
{
	if (m->path_size >= PATH_MAX || !lies_within(r, m->path, m->path_size))
		return strdup("?");
	return strndup((const char *)r->bytes + m->path, m->path_size);
}

static int take_modules(const struct record *r, struct found_error *error)
{
	uint32_t count = r->error.module_count;

	if (count > STOMP_MODULES ||
	    !lies_within(r, r->error.modules, (uint64_t)count * sizeof(struct stomp_module)))
		count = 0;
	error->modules = calloc(count + 1ul, sizeof(*error->modules));
	if (!error->modules)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct found_module *to = &error->modules[i];
		struct stomp_module m;

		memcpy(&m, r->bytes + r->error.modules + i * sizeof(m), sizeof(m));
		to->path = copy_path(r, &m);
		if (!to->path)
			return -ENOMEM;
		error->module_count = i + 1;
		to->bias = m.bias;
		to->build_id_size = m.build_id_size <= sizeof(to->build_id) ? m.build_id_size : 0;
		memcpy(to->build_id, m.build_id, sizeof(to->build_id));
	}
	return 0;
}

/* What happened inside our own libraries is no part of the story. */
static int take_stack(const struct record *r, const struct stomp_stack *stack,
		      enum error_stack which, struct found_error *error)
{
	struct found_stack *to = &error->stacks[which];
	uint32_t count = stack->count;

	if (count > STOMP_DEPTH ||
	    !lies_within(r, stack->offset, (uint64_t)count * sizeof(struct stomp_frame)))
		count = 0;
	error->rec.stacks[which].end = count ? image_stack_end(stack->end) : STACK_UNATTRIBUTED;
	to->frames = calloc(count + 1ul, sizeof(*to->frames));
	if (!to->frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct stomp_frame f;

		memcpy(&f, r->bytes + stack->offset + i * sizeof(f), sizeof(f));
		if (f.module > error->module_count)
			f.module = 0;
		if (f.module && is_ours(error->modules[f.module - 1].path))
			continue;
		to->frames[to->count++] = (struct found_frame){ .address = f.address,
								.module = f.module,
								.interrupted = f.interrupted != 0 };
	}
	return 0;
}

static bool has_sense(const struct stomp_error *e)
{
	return e->kind >= STOMP_BUFFER_OVERFLOW && e->kind <= STOMP_CORRUPTION && e->pid > 0;
}

static void take_facts(const struct stomp_error *e, struct found_error *error)
{
	bool has_block = (e->flags & STOMP_HAS_BLOCK) != 0;

	error->monotonic_ns = e->monotonic_ns;
	error->process = e->process < STOMP_PROCESSES ? e->process : STOMP_PROCESSES;
	error->rec = (struct rec_error){
		.pid = e->pid,
		.source = ERROR_FROM_STOMP,
		.kind = (enum error_kind)e->kind,
		.access =
			e->access < ERROR_ACCESSES ? (enum error_access)e->access : ERROR_NO_ACCESS,
		.address = e->address,
		.has_block = has_block,
		.block_freed = has_block && (e->flags & STOMP_HAS_FREED),
		.block_address = has_block ? e->block_address : 0,
		.block_size = has_block ? e->block_size : 0,
		.corrupt_bytes = e->kind == STOMP_CORRUPTION ? e->corrupt_bytes : 0,
		.thread = e->thread,
		.allocated_thread = e->allocated_thread,
		.freed_thread = e->freed_thread,
		.tid = e->tid > 0 ? e->tid : 0,
		.t_ns = -1,
		.count = e->count ? e->count : 1,
		.continued = (e->flags & STOMP_CONTINUED) != 0,
		.by_realloc = (e->flags & STOMP_BY_REALLOC) != 0,
	};
}

static int take_error(const struct record *r, struct found_error *error)
{
	int result;

	take_facts(&r->error, error);
	result = take_modules(r, error);
	if (!result)
		result = take_stack(r, &r->error.stack, ERROR_STACK, error);
	if (!result)
		result = take_stack(r, &r->error.allocated, ERROR_ALLOCATED, error);
	if (!result)
		result = take_stack(r, &r->error.freed, ERROR_FREED, error);
	return result;
}

/* 1; 0 when there is no such thing; -ENOMEM. */
static int read_error(struct stomp_file *file, uint64_t offset, struct found_error *error)
{
	struct record r = { 0 };
	uint8_t *bytes;
	uint32_t size;
	int result = 0;

	if (offset < sizeof(struct stomp_header) || !read_at(file, offset, &size, sizeof(size)) ||
	    size < sizeof(r.error) || size > LARGEST_RECORD || size > STOMP_FILE_SIZE - file->bytes)
		return 0;
	file->bytes += size;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	if (read_at(file, offset, bytes, size)) {
		memcpy(&r.error, bytes, sizeof(r.error));
		r.bytes = bytes;
		r.size = size;
		result = has_sense(&r.error) ? 1 : 0;
	}
	if (result) {
		int taken = take_error(&r, error);

		result = taken ? taken : 1;
	}
	free(bytes);
	return result;
}

/* -- the file ----------------------------------------------------------------------------------- */

/* Has `count` entries: looks at those that were not complete. */
static int next_of(struct stomp_file *file, uint32_t count, struct found_error *error)
{
	uint64_t offsets[64];

	for (uint32_t i = file->pending; i < count; i++) {
		uint32_t at = i % 64;
		int result;

		if (at == 0 || i == file->pending)
			read_at(file,
				offsetof(struct stomp_header, errors) + (i - at) * sizeof(*offsets),
				offsets, sizeof(offsets));
		if (file->taken[i] || !offsets[at])
			continue;
		file->taken[i] = true;
		memset(error, 0, sizeof(*error));
		error->number = i;
		result = read_error(file, offsets[at], error);
		if (result == 1)
			return 1;
		found_error_release(error);
		if (result < 0)
			return result;
		file->damaged++;
	}
	return 0;
}

bool stomp_file_has_more(const struct stomp_file *file)
{
	struct stomp_header header;

	return read_header(file, &header) && header.error_count > file->pending &&
	       file->pending < STOMP_ERRORS;
}

int stomp_file_next(struct stomp_file *file, struct found_error *error)
{
	struct stomp_header header;
	uint32_t count;

	memset(error, 0, sizeof(*error));
	if (!read_header(file, &header))
		return 0;
	count = header.error_count < STOMP_ERRORS ? header.error_count : STOMP_ERRORS;
	while (file->pending < count && file->taken[file->pending])
		file->pending++;
	return next_of(file, count, error);
}

int stomp_file_state(const struct stomp_file *file, struct stomp_state *state)
{
	struct stomp_header header;
	uint32_t count;

	memset(state, 0, sizeof(*state));
	if (!read_header(file, &header))
		return 0;
	count = header.process_count < STOMP_PROCESSES ? header.process_count : STOMP_PROCESSES;
	state->processes = calloc(count + 1ul, sizeof(*state->processes));
	if (!state->processes)
		return -ENOMEM;
	read_at(file, offsetof(struct stomp_header, processes), state->processes,
		count * sizeof(*state->processes));
	state->process_count = count;
	state->lost = header.lost;
	if (__builtin_add_overflow(state->lost, file->damaged, &state->lost))
		state->lost = UINT64_MAX;
	return 0;
}

void found_error_release(struct found_error *error)
{
	for (uint32_t i = 0; error->modules && i < error->module_count; i++)
		free(error->modules[i].path);
	free(error->modules);
	for (size_t i = 0; i < ERROR_STACKS; i++)
		free(error->stacks[i].frames);
	memset(error, 0, sizeof(*error));
}
