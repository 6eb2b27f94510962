/* SPDX-License-Identifier: MIT */
/*
 * An independent witness of stacks: a library to preload that walks every stack in full with libgcc's unwinder and counts by
 * stack.  Slow and simple; for programs that do not fork and end by exit.  Writes $WITNESS_DIR/PID when the program ends,
 * a line for each stack: ALLOCATIONS BYTES LEAKED_BLOCKS LEAKED_BYTES FILE+0xOFFSET FILE+0xOFFSET ...  innermost frame first,
 * the offsets being those of return addresses from the file's load address.
 */
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unwind.h>

#include "prog.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);

#define MOST_FRAMES 4000
#define STACKS	    (1u << 21)
#define WORDS	    (1u << 28)
#define BUCKETS	    (1u << 22)
#define NODES	    (1u << 24)

struct stack {
	uint64_t hash, allocations, bytes, leaked_blocks, leaked_bytes;
	uint64_t first;
	uint32_t count;
};

struct node {
	uintptr_t address;
	size_t size;
	struct stack *stack;
	uint32_t next;
};

static struct stack *stacks;
static uintptr_t *words;
static uint64_t words_used;
static struct node *nodes;
static uint32_t *buckets;
static uint32_t used = 1, spare;
static int closed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside __attribute__((tls_model("initial-exec")));
static __thread uintptr_t *frames __attribute__((tls_model("initial-exec")));
static __thread unsigned frame_count __attribute__((tls_model("initial-exec")));

static void *reserve(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
}

static void set_up(void)
{
	if (stacks)
		return;
	words = reserve(WORDS * sizeof(*words));
	nodes = reserve(NODES * sizeof(*nodes));
	buckets = reserve(BUCKETS * sizeof(*buckets));
	stacks = reserve(STACKS * sizeof(*stacks));
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *skip)
{
	uintptr_t pc = _Unwind_GetIP(context);
	if (*(int *)skip > 0) {
		--*(int *)skip;
		return _URC_NO_REASON;
	}
	if (pc && frame_count < MOST_FRAMES)
		frames[frame_count++] = pc;
	return _URC_NO_REASON;
}

static struct stack *find_stack(void)
{
	uint64_t hash = 1469598103934665603u;
	for (unsigned i = 0; i < frame_count; i++)
		hash = (hash ^ frames[i]) * 1099511628211u + (hash >> 29);
	for (uint64_t at = hash % STACKS;; at = (at + 1) % STACKS) {
		struct stack *s = &stacks[at];
		if (!s->hash) {
			s->hash = hash;
			s->first = words_used;
			s->count = frame_count;
			memcpy(words + words_used, frames, frame_count * sizeof(*frames));
			words_used += frame_count;
			return s;
		}
		if (s->hash == hash && s->count == frame_count &&
		    memcmp(words + s->first, frames, frame_count * sizeof(*frames)) == 0)
			return s;
	}
}

static uint32_t *bucket_of(void *p)
{
	return &buckets[((uintptr_t)p >> 4) * 2654435761u % BUCKETS];
}

/* Frames of this library are the first ones: the hook and what it calls. */
__attribute__((noinline)) static void came(void *p, size_t size)
{
	int saved = errno;
	if (!p || inside || closed)
		return;
	inside = 1;
	if (!frames)
		frames = reserve(MOST_FRAMES * sizeof(*frames));
	frame_count = 0;
	int skip = 2;
	_Unwind_Backtrace(visit, &skip);
	pthread_mutex_lock(&lock);
	set_up();
	struct stack *s = find_stack();
	s->allocations++;
	s->bytes += size;
	s->leaked_blocks++;
	s->leaked_bytes += size;
	uint32_t index = spare ? spare : used++;
	if (index == spare)
		spare = nodes[index].next;
	uint32_t *bucket = bucket_of(p);
	nodes[index] = (struct node){ (uintptr_t)p, size, s, *bucket };
	*bucket = index;
	pthread_mutex_unlock(&lock);
	inside = 0;
	errno = saved;
}

/* Leaves what is needed to put it back. */
static int went(void *p, struct node *was)
{
	int found = 0;
	if (!p || inside || closed || !stacks)
		return 0;
	inside = 1;
	pthread_mutex_lock(&lock);
	for (uint32_t *at = bucket_of(p); *at; at = &nodes[*at].next) {
		uint32_t index = *at;
		if (nodes[index].address != (uintptr_t)p)
			continue;
		*was = nodes[index];
		*at = was->next;
		was->stack->leaked_blocks--;
		was->stack->leaked_bytes -= was->size;
		nodes[index].next = spare;
		spare = index;
		found = 1;
		break;
	}
	pthread_mutex_unlock(&lock);
	inside = 0;
	return found;
}

#define HOOK __attribute__((noinline, visibility("default")))

HOOK void *malloc(size_t size)
{
	void *p = __libc_malloc(size);
	came(p, size);
	BARRIER();
	return p;
}

HOOK void *calloc(size_t count, size_t size)
{
	void *p = __libc_calloc(count, size);
	came(p, count * size);
	BARRIER();
	return p;
}

HOOK void *memalign(size_t alignment, size_t size)
{
	void *p = __libc_memalign(alignment, size);
	came(p, size);
	BARRIER();
	return p;
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
	void *p = __libc_memalign(alignment, size);
	came(p, size);
	BARRIER();
	return p;
}

HOOK int posix_memalign(void **out, size_t alignment, size_t size)
{
	if (alignment % sizeof(void *) || (alignment & (alignment - 1)) || !alignment)
		return EINVAL;
	void *p = __libc_memalign(alignment, size);
	if (!p)
		return ENOMEM;
	came(p, size);
	BARRIER();
	*out = p;
	return 0;
}

HOOK void free(void *p)
{
	struct node was;
	int saved = errno;
	went(p, &was);
	__libc_free(p);
	errno = saved;
}

HOOK void *realloc(void *old, size_t size)
{
	struct node was = { 0 };
	went(old, &was);
	void *p = __libc_realloc(old, size);
	if (p)
		came(p, size);
	BARRIER();
	return p;
}

HOOK void *reallocarray(void *old, size_t count, size_t size)
{
	struct node was = { 0 };
	size_t total;
	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	went(old, &was);
	void *p = __libc_realloc(old, total);
	if (p)
		came(p, total);
	BARRIER();
	return p;
}

struct place {
	uintptr_t pc, base;
	const char *file;
};

static int find_place(struct dl_phdr_info *info, size_t size, void *at)
{
	struct place *place = at;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		if (segment->p_type == PT_LOAD && place->pc >= start &&
		    place->pc < start + segment->p_memsz) {
			place->base = info->dlpi_addr;
			place->file =
				info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "main";
			return 1;
		}
	}
	return 0;
}

static char text[1 << 16];
static size_t length;
static int out = -1;

static void flush_to(size_t room)
{
	if (length + room < sizeof(text))
		return;
	for (size_t done = 0; done < length;) {
		ssize_t n = write(out, text + done, length - done);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	length = 0;
}

__attribute__((destructor)) static void write_all(void)
{
	const char *folder = getenv("WITNESS_DIR");
	char file[4200];
	if (!folder || !stacks)
		return;
	snprintf(file, sizeof(file), "%s/%d", folder, (int)getpid());
	inside = 1;
	closed = 1;
	out = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	for (uint32_t i = 0; i < STACKS; i++) {
		struct stack *s = &stacks[i];
		if (!s->hash)
			continue;
		flush_to(200);
		length += (size_t)snprintf(text + length, 200, "%lu %lu %lu %lu", s->allocations,
					   s->bytes, s->leaked_blocks, s->leaked_bytes);
		for (uint32_t k = 0; k < s->count; k++) {
			struct place place = { words[s->first + k], 0, "?" };
			dl_iterate_phdr(find_place, &place);
			const char *name = strrchr(place.file, '/');
			flush_to(300);
			length += (size_t)snprintf(text + length, 300, " %s+0x%lx",
						   name ? name + 1 : place.file,
						   place.pc - place.base);
		}
		text[length++] = '\n';
	}
	flush_to(sizeof(text));
	close(out);
}
