/* SPDX-License-Identifier: MIT */
/* Error records; see errors.h.  Their form: layout.h. */
#include "allocators/stomp/errors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include "agent/layout.h"
#include "agent/modules.h"
#include "agent/rt/lock.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "allocators/stomp/guard.h"
#include "allocators/stomp/options.h"
#include "allocators/stomp/print.h"
#include "allocators/stomp/stacks.h"

enum {
	RECORD = 64 << 10,
	PLACES = 1024, /* in the code, at which errors were found already */
	DIRECTORY_SIZE = 4200,
};

static struct stomp_header *file; /* NULL: none */
static struct stomp_process unfiled;
struct stomp_process *errors_process = &unfiled;
static uint32_t process_index = STOMP_PROCESSES;

/* One record at a time. */
static struct rt_lock lock;
static struct {
	uint64_t key;
	struct stomp_error *record; /* NULL: it found no room */
} places[PLACES];

/* The record being made. */
static struct building {
	char *base;
	uint32_t used;
	uint32_t modules[STOMP_MODULES]; /* of the load map, by the record's index */
	uint32_t module_count;
	struct stomp_frame frames[STOMP_DEPTH];
} building;

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	rt_syscall3(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t, 0);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void map_file(const char *directory)
{
	static char path[DIRECTORY_SIZE + sizeof(STOMP_FILE) + 2];
	size_t n = rt_length(directory);
	struct stomp_header *h;
	long fd, p;

	if (n > DIRECTORY_SIZE)
		return;
	memcpy(path, directory, n);
	path[n] = '/';
	memcpy(path + n + 1, STOMP_FILE, sizeof(STOMP_FILE));
	fd = rt_syscall3(SYS_open, (long)path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	if (rt_failed(fd))
		return;
	p = rt_syscall6(SYS_mmap, 0, STOMP_FILE_SIZE, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_NORESERVE, fd, 0);
	rt_syscall3(SYS_close, fd, 0, 0);
	h = (struct stomp_header *)p;
	if (rt_failed(p) || !rt_touch((uintptr_t)h) || h->magic != STOMP_MAGIC ||
	    h->layout_version != STOMP_LAYOUT_VERSION || h->header_size != sizeof(*h))
		return;
	file = h;
}

/* Makes a range of the file writable without risk. */
static bool touch(const void *from, size_t size)
{
	for (uintptr_t page = (uintptr_t)from & ~(RT_PAGE - 1); page < (uintptr_t)from + size;
	     page += RT_PAGE)
		if (!rt_touch(page))
			return false;
	return true;
}

static void take_process_place(void)
{
	struct stomp_process *p = &unfiled;

	process_index = STOMP_PROCESSES;
	if (file) {
		uint32_t index = __atomic_fetch_add(&file->process_count, 1, __ATOMIC_RELAXED);

		if (index < STOMP_PROCESSES &&
		    touch(&file->processes[index], sizeof(struct stomp_process))) {
			p = &file->processes[index];
			process_index = index;
		}
	}
	*p = (struct stomp_process){
		.start_monotonic_ns = now_ns(),
		.guard = stomp_arena.size ? guard_method() : STOMP_GUARD_CANARY,
		.budget = guard_budget(),
	};
	__atomic_store_n(&p->pid, (int32_t)rt_syscall3(SYS_getpid, 0, 0, 0), __ATOMIC_RELEASE);
	errors_process = p;
}

void errors_start(const char *directory)
{
	if (directory)
		map_file(directory);
	take_process_place();
}

bool errors_chosen(const struct stomp_range **ranges, uint32_t *count, const char **program,
		   uint32_t *program_size)
{
	if (!file || !file->chosen || file->ranges > STOMP_FILE_SIZE / 2 ||
	    file->range_count > STOMP_FILE_SIZE / 4 / sizeof(**ranges) ||
	    file->program_size > DIRECTORY_SIZE)
		return false;
	*ranges = (const struct stomp_range *)((const char *)file + file->ranges);
	*count = file->range_count;
	*program = (const char *)(*ranges + *count);
	*program_size = file->program_size;
	return true;
}

void errors_restart(void)
{
	lock = (struct rt_lock){ 0 };
	memset(places, 0, sizeof(places)); /* its errors are its own */
	take_process_place();
}

/* -- the record --------------------------------------------------------------------------------- */

/* Index + 1 of a module of the load map in the record; 0: none, or no room. */
static uint32_t enter_module(struct building *b, uint32_t module)
{
	if (!module)
		return 0;
	for (uint32_t i = 0; i < b->module_count; i++)
		if (b->modules[i] == module)
			return i + 1;
	if (b->module_count == STOMP_MODULES)
		return 0;
	b->modules[b->module_count++] = module;
	return b->module_count;
}

/* Puts the frames that were gathered into the record. */
static void put_stack(struct building *b, struct stomp_stack *stack, uint32_t count, uint32_t root)
{
	struct stomp_frame *to = (struct stomp_frame *)(b->base + b->used);

	stack->offset = b->used;
	stack->count = count;
	stack->end = root;
	for (uint32_t i = 0; i < count; i++) {
		to[i] = b->frames[i];
		to[i].module = enter_module(b, b->frames[i].module);
	}
	b->used += count * (uint32_t)sizeof(*to);
}

static void put_node(struct building *b, struct stomp_stack *stack, uint32_t node)
{
	uint32_t root = SEG_ROOT_NONE;
	uint32_t count = stacks_of_node(node, b->frames, &root);

	put_stack(b, stack, count, root);
}

/* The executable has no name in the load map. */
static const char *executable(uint32_t *size)
{
	static char path[DIRECTORY_SIZE];
	long n = rt_syscall3(SYS_readlink, (long)"/proc/self/exe", (long)path, sizeof(path));

	*size = n > 0 ? (uint32_t)n : 0;
	return path;
}

static void put_path(struct building *b, struct stomp_module *m, const char *path, uint32_t size)
{
	if (!size)
		path = executable(&size);
	if (!path || b->used + size > RECORD)
		return;
	m->path = b->used;
	m->path_size = size;
	memcpy(b->base + b->used, path, size);
	b->used += size;
}

static void put_modules(struct building *b, struct stomp_error *e)
{
	struct stomp_module *modules = (struct stomp_module *)(b->base + b->used);

	e->modules = b->used;
	e->module_count = b->module_count;
	b->used += b->module_count * (uint32_t)sizeof(*modules);
	for (uint32_t i = 0; i < b->module_count; i++) {
		const char *path;
		const struct seg_module *from = module_record(b->modules[i], &path);

		modules[i] = (struct stomp_module){
			.bias = from->bias,
			.start = from->start,
			.end = from->end,
			.build_id_size = from->build_id_size,
		};
		memcpy(modules[i].build_id, from->build_id, sizeof(modules[i].build_id));
		put_path(b, &modules[i], path, from->path_size);
	}
}

static uint32_t flags_of(const struct stomp_finding *f)
{
	return (f->block.address ? STOMP_HAS_BLOCK : 0) |
	       (f->block.was_freed ? STOMP_HAS_FREED : 0) | (f->by_realloc ? STOMP_BY_REALLOC : 0) |
	       (f->goes_on ? STOMP_CONTINUED : 0);
}

static void fill_record(struct building *b, const struct stomp_finding *f,
			const ucontext_t *context, struct stomp_caller caller)
{
	struct stomp_error *e = (struct stomp_error *)b->base;
	uint32_t root = SEG_ROOT_NONE, count;

	b->used = sizeof(*e);
	b->module_count = 0;
	*e = (struct stomp_error){
		.kind = f->kind,
		.access = f->access,
		.flags = flags_of(f),
		.pid = errors_process->pid,
		.tid = (int32_t)rt_syscall3(SYS_gettid, 0, 0, 0),
		.process = process_index,
		.thread = caller.thread,
		.allocated_thread = f->block.allocated_by,
		.freed_thread = f->block.was_freed ? f->block.freed_by : 0,
		.monotonic_ns = now_ns(),
		.address = f->address,
		.block_address = f->block.address,
		.block_size = f->block.size,
		.corrupt_bytes = f->corrupt_bytes,
		.count = 1,
	};
	if (context) {
		count = stacks_of_context(context, b->frames, &root);
		put_stack(b, &e->stack, count, root);
	} else {
		put_node(b, &e->stack, caller.node);
	}
	if (f->block.address)
		put_node(b, &e->allocated, f->block.allocated);
	if (f->block.was_freed)
		put_node(b, &e->freed, f->block.freed);
	put_modules(b, e);
	e->record_size = b->used;
}

/* Puts a record into the file; NULL: there is no room. */
static struct stomp_error *keep(const struct stomp_error *e)
{
	uint32_t size = (e->record_size + 63) & ~63u;
	uint32_t index = __atomic_fetch_add(&file->error_count, 1, __ATOMIC_RELAXED);
	uint64_t offset = __atomic_fetch_add(&file->used, size, __ATOMIC_RELAXED);
	char *to = (char *)file + offset;

	if (index >= STOMP_ERRORS || offset > STOMP_FILE_SIZE - size ||
	    !touch(&file->errors[index], sizeof(uint64_t)) || !touch(to, size)) {
		__atomic_fetch_add(&file->lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	memcpy(to, e, e->record_size);
	/* Release: the record is complete. */
	__atomic_store_n(&file->errors[index], offset, __ATOMIC_RELEASE);
	return (struct stomp_error *)to;
}

/* Where in the code: for a fault the instruction, else the stack.  Index into places, taken when it is new; PLACES: all are
 * taken. */
static uint32_t find_place(const ucontext_t *context, struct stomp_caller caller, uint32_t kind,
			   bool *is_new)
{
	uint64_t key =
		((context ? (uint64_t)context->uc_mcontext.gregs[REG_RIP] : caller.node) << 4 |
		 kind) *
		0x9e3779b97f4a7c15ull;
	uint32_t i = (uint32_t)(key >> 54);

	for (uint32_t n = 0; n < PLACES; n++, i = (i + 1) % PLACES) {
		*is_new = !places[i].key;
		if (*is_new)
			places[i].key = key;
		if (places[i].key == key)
			return i;
	}
	return PLACES;
}

static void report(const struct stomp_finding *f, const ucontext_t *context,
		   struct stomp_caller caller)
{
	bool is_new;
	uint32_t place = find_place(context, caller, f->kind, &is_new);

	if (place == PLACES)
		return;
	if (!is_new) {
		if (places[place].record)
			__atomic_fetch_add(&places[place].record->count, 1, __ATOMIC_RELAXED);
		return;
	}
	if (!building.base)
		building.base = rt_map(RECORD);
	if (!building.base)
		return;
	fill_record(&building, f, context, caller);
	if (file)
		places[place].record = keep((const struct stomp_error *)building.base);
	else
		print_error((const struct stomp_error *)building.base);
}

void errors_report(const struct stomp_finding *f, const ucontext_t *context,
		   struct stomp_caller caller)
{
	__atomic_fetch_add(&errors_process->errors, 1, __ATOMIC_RELAXED);
	if (!rt_lock_try(&lock))
		return;
	report(f, context, caller);
	rt_unlock(&lock);
}
