/* SPDX-License-Identifier: MIT */
/*
 * A malloc library, to be put under programs: blocks of powers of two from one large mapping, kept in lists when free; one lock.
 * realloc(p, 0) gives a block of no bytes, as mimalloc's does.
 *   RPMALLOC   it has the symbol by which rpmalloc is known
 *   OPERATORS  it has operators new and delete of its own, which do not go through its malloc
 *   HALF       it has no realloc
 *   MUTE       it has no malloc_usable_size
 * With MALLIB_SAY in the environment it says "mallib: N" at the end, N the allocations it served.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROOM (1ul << 34)

struct header {
	size_t size; /* of the block, a power of two, and what was asked for */
	void *next;
};

static char *room;
static size_t used;
static void *spare[64];
static atomic_flag lock = ATOMIC_FLAG_INIT;
static atomic_ulong served;

static struct header *header_of(void *p)
{
	return (struct header *)p - 1;
}

static void *take(size_t size, size_t alignment)
{
	size_t order = 4;
	char *p;

	if (size > ROOM / 4 || alignment > ROOM / 4) {
		errno = ENOMEM;
		return NULL;
	}
	while ((1ul << order) < size)
		order++;
	while (atomic_flag_test_and_set(&lock))
		;
	if (!room)
		room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	p = alignment <= 16 ? spare[order] : NULL;
	if (p) {
		spare[order] = header_of(p)->next;
	} else {
		uintptr_t at = (uintptr_t)room + used + sizeof(struct header);

		at = (at + alignment - 1) & ~(alignment - 1);
		p = (char *)at;
		used = at - (uintptr_t)room + (1ul << order);
		header_of(p)->size = order;
	}
	atomic_flag_clear(&lock);
	served++;
	return p;
}

static void give(void *p)
{
	if (!p)
		return;
	while (atomic_flag_test_and_set(&lock))
		;
	header_of(p)->next = spare[header_of(p)->size];
	spare[header_of(p)->size] = p;
	atomic_flag_clear(&lock);
}

void *malloc(size_t size)
{
	return take(size, 16);
}

void free(void *p)
{
	give(p);
}

void *calloc(size_t count, size_t size)
{
	size_t total;
	void *p;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	p = take(total, 16);
	if (p)
		memset(p, 0, total);
	return p;
}

#ifndef HALF
void *realloc(void *old, size_t size)
{
	size_t held = old ? 1ul << header_of(old)->size : 0;
	void *p;

	if (held >= size && old)
		return old;
	p = take(size, 16);
	if (p && old)
		memcpy(p, old, held);
	if (p)
		give(old);
	return p;
}
#endif

int posix_memalign(void **p, size_t alignment, size_t size)
{
	*p = take(size, alignment);
	return *p ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return take(size, alignment);
}

void *memalign(size_t alignment, size_t size)
{
	return take(size, alignment);
}

#ifndef MUTE
size_t malloc_usable_size(void *p)
{
	return p ? 1ul << header_of(p)->size : 0;
}
#endif

#ifdef RPMALLOC
void *rpmalloc(size_t size)
{
	return take(size, 16);
}
#endif

#ifdef OPERATORS
void *_Znwm(size_t size)
{
	return take(size, 16);
}
void *_Znam(size_t size)
{
	return take(size, 16);
}
void _ZdlPv(void *p)
{
	give(p);
}
void _ZdaPv(void *p)
{
	give(p);
}
void _ZdlPvm(void *p, size_t size)
{
	(void)size;
	give(p);
}
void _ZdaPvm(void *p, size_t size)
{
	(void)size;
	give(p);
}
#endif

__attribute__((destructor)) static void say_served(void)
{
	char text[32] = "mallib: ", digits[24];
	unsigned long n = served;
	int count = 0, length = 8;

	if (!getenv("MALLIB_SAY"))
		return;
	do
		digits[count++] = (char)('0' + n % 10);
	while (n /= 10);
	while (count)
		text[length++] = digits[--count];
	text[length++] = '\n';
	if (write(2, text, (size_t)length) < 0)
		_exit(99);
}
