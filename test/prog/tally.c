/* SPDX-License-Identifier: MIT */
/*
 * An independent count, to compare recordings of real programs with: a library to preload that counts by the rules of memtrack's
 * manual and by the simplest means (one lock, one hash table, libc's own names behind it).  It writes
 * $TALLY_DIR/PID: ten 64-bit integers in the order of struct tally, kept in shared memory so that the end of the process
 * does not matter.  Forked children start anew (without what they inherited); so do programs after exec.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "prog.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);

struct tally {
	uint64_t allocations, bytes, frees, freed_bytes, reallocations;
	uint64_t live_blocks, live_bytes, peak_bytes, peak_blocks, unknown_frees;
};

struct node {
	uintptr_t address;
	size_t size;
	uint32_t next;
};

#define BUCKETS (1u << 22)
#define NODES	(1u << 25)

static struct tally nowhere, *tally;
static struct node *nodes;
static uint32_t *buckets;
static uint32_t used, spare;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void *reserve(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
}

static void open_tally(void)
{
	const char *folder = getenv("TALLY_DIR");
	char name[4200];
	tally = &nowhere;
	if (!folder)
		return;
	snprintf(name, sizeof(name), "%s/%d", folder, (int)getpid());
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (ftruncate(fd, sizeof(*tally)) == 0) {
		void *at = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at != MAP_FAILED)
			tally = at;
	}
	close(fd);
}

static void take(void)
{
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		sched_yield();
	if (!nodes) {
		nodes = reserve(NODES * sizeof(*nodes));
		buckets = reserve(BUCKETS * sizeof(*buckets));
		used = 1;
		open_tally();
	}
}

static void give(void)
{
	atomic_flag_clear_explicit(&lock, memory_order_release);
}

static void child(void)
{
	atomic_flag_clear(&lock);
	nodes = NULL;
	spare = 0;
}

__attribute__((constructor)) static void at_start(void)
{
	pthread_atfork(NULL, NULL, child);
}

static uint32_t *bucket_of(uintptr_t address)
{
	return &buckets[(address >> 4) * 2654435761u % BUCKETS];
}

static void insert(void *p, size_t size)
{
	uint32_t index = spare ? spare : used++;
	if (index == spare)
		spare = nodes[index].next;
	uint32_t *bucket = bucket_of((uintptr_t)p);
	nodes[index] = (struct node){ (uintptr_t)p, size, *bucket };
	*bucket = index;
	tally->live_blocks++;
	tally->live_bytes += size;
	if (tally->live_bytes > tally->peak_bytes) {
		tally->peak_bytes = tally->live_bytes;
		tally->peak_blocks = tally->live_blocks;
	}
}

static int take_out(void *p, size_t *size)
{
	for (uint32_t *at = bucket_of((uintptr_t)p); *at; at = &nodes[*at].next) {
		uint32_t index = *at;
		if (nodes[index].address != (uintptr_t)p)
			continue;
		*at = nodes[index].next;
		*size = nodes[index].size;
		nodes[index].next = spare;
		spare = index;
		tally->live_blocks--;
		tally->live_bytes -= *size;
		return 1;
	}
	return 0;
}

static void *count(void *p, size_t size)
{
	int saved = errno;
	if (!p)
		return NULL;
	take();
	tally->allocations++;
	tally->bytes += size;
	insert(p, size);
	give();
	errno = saved;
	return p;
}

void *malloc(size_t size)
{
	return count(__libc_malloc(size), size);
}

void *calloc(size_t number, size_t size)
{
	return count(__libc_calloc(number, size), number * size);
}

void *memalign(size_t alignment, size_t size)
{
	return count(__libc_memalign(alignment, size), size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return count(__libc_memalign(alignment, size), size);
}

void *valloc(size_t size)
{
	return count(__libc_memalign(4096, size), size);
}

void *pvalloc(size_t size)
{
	return count(__libc_memalign(4096, (size + 4095) & ~(size_t)4095), size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	if (alignment % sizeof(void *) || (alignment & (alignment - 1)) || !alignment)
		return EINVAL;
	int saved = errno;
	void *p = count(__libc_memalign(alignment, size), size);
	errno = saved;
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

void free(void *p)
{
	int saved = errno;
	size_t size;
	if (p) {
		take();
		if (take_out(p, &size)) {
			tally->frees++;
			tally->freed_bytes += size;
		} else {
			tally->unknown_frees++;
		}
		give();
	}
	__libc_free(p);
	errno = saved;
}

void *realloc(void *old, size_t size)
{
	size_t before = 0;
	int known = 0;
	if (!old)
		return malloc(size);
	if (size == 0) {
		free(old);
		return NULL;
	}
	take();
	known = take_out(old, &before);
	give();
	void *p = __libc_realloc(old, size);
	int saved = errno;
	take();
	if (p) {
		if (known) {
			tally->frees++;
			tally->freed_bytes += before;
			tally->reallocations++;
		}
		tally->allocations++;
		tally->bytes += size;
		insert(p, size);
	} else if (known) {
		insert(old, before);
	}
	give();
	errno = saved;
	return p;
}

void *reallocarray(void *old, size_t number, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(number, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, total);
}
