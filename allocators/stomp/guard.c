/* SPDX-License-Identifier: MIT */
/* Guard pages; see guard.h.  madvise(2), MADV_GUARD_INSTALL; proc(5), /proc/sys/vm/max_map_count. */
#include "allocators/stomp/guard.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "agent/rt/sys.h"

#ifndef MADV_POPULATE_WRITE
# define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_GUARD_INSTALL
# define MADV_GUARD_INSTALL 102
# define MADV_GUARD_REMOVE  103
#endif

enum {
	USUAL_MAPPINGS = 65530, /* where /proc does not tell */
	SPARED = 2048,		/* mappings that the program may still want to make */
	POPULATE_MOST = 8192,	/* both of its pages have pattern */
};

static enum stomp_guard method;
static uint64_t budget;
static uint64_t open_ranges;

static bool advise(char *pages, size_t size, int advice)
{
	return !rt_failed(rt_syscall3(SYS_madvise, (long)pages, (long)size, advice));
}

static bool protect(char *pages, size_t size, int protection)
{
	return !rt_failed(rt_syscall3(SYS_mprotect, (long)pages, (long)size, protection));
}

/* Calls `take` with each byte of a file. */
static void read_file(const char *path, void (*take)(char c, uint64_t *sum), uint64_t *sum)
{
	static char buffer[4096];
	long fd = rt_syscall3(SYS_open, (long)path, O_RDONLY | O_CLOEXEC, 0), n;

	if (rt_failed(fd))
		return;
	while ((n = rt_syscall3(SYS_read, fd, (long)buffer, sizeof(buffer))) > 0)
		for (long i = 0; i < n; i++)
			take(buffer[i], sum);
	rt_syscall3(SYS_close, fd, 0, 0);
}

static void take_digit(char c, uint64_t *sum)
{
	if (c >= '0' && c <= '9')
		*sum = 10 * *sum + (uint64_t)(c - '0');
}

static void take_line(char c, uint64_t *sum)
{
	*sum += c == '\n';
}

/* Two mappings for each open range: itself, and what is closed after it. */
static uint64_t find_budget(void)
{
	uint64_t most = 0, used = 0;

	read_file("/proc/sys/vm/max_map_count", take_digit, &most);
	read_file("/proc/self/maps", take_line, &used);
	if (!most)
		most = USUAL_MAPPINGS;
	if (most < used + SPARED + 64)
		return 32;
	return (most - used - SPARED) / 2;
}

static bool has_guards(char *reserved)
{
	return protect(reserved, RT_PAGE, PROT_READ | PROT_WRITE) &&
	       advise(reserved, RT_PAGE, MADV_GUARD_INSTALL);
}

void guard_start(enum stomp_guard wanted, char *reserved)
{
	method = wanted;
	if (wanted == STOMP_GUARD_NONE || wanted == STOMP_GUARD_MADVISE)
		method = has_guards(reserved) ? STOMP_GUARD_MADVISE : STOMP_GUARD_MPROTECT;
	if (method == STOMP_GUARD_MPROTECT)
		budget = find_budget();
}

enum stomp_guard guard_method(void)
{
	return method;
}

uint64_t guard_budget(void)
{
	return budget;
}

/*
 * The kernel joins neighbouring mappings only when their pages belong to one anon_vma, which a mapping gets at its first page
 * fault and its parts inherit.  Without this, what is closed again would stay in pieces, and the mappings run out.
 */
static bool prepare_merging(char *pages, size_t size)
{
	if (!protect(pages, size, PROT_READ | PROT_WRITE))
		return false;
	*(volatile char *)pages = 0;
	advise(pages, RT_PAGE, MADV_DONTNEED);
	return protect(pages, size, PROT_NONE);
}

bool guard_prepare(enum stomp_guard how, char *pages, size_t size)
{
	if (how == STOMP_GUARD_MPROTECT)
		return prepare_merging(pages, size);
	return protect(pages, size, PROT_READ | PROT_WRITE) &&
	       advise(pages, size, MADV_GUARD_INSTALL);
}

static void leave_range(void)
{
	__atomic_sub_fetch(&open_ranges, 1, __ATOMIC_RELAXED);
}

/* Pages that are written to at once need not be faulted in one by one: where page faults are dear, in virtual machines,
 * this takes a tenth of the time. */
static void populate(char *pages, size_t size)
{
	if (size <= POPULATE_MOST)
		advise(pages, size, MADV_POPULATE_WRITE);
}

static bool open_range(char *pages, size_t size)
{
	if ((__atomic_add_fetch(&open_ranges, 1, __ATOMIC_RELAXED) <= budget || !budget) &&
	    protect(pages, size, PROT_READ | PROT_WRITE))
		return true;
	leave_range();
	return false;
}

bool guard_open(enum stomp_guard how, char *pages, size_t size)
{
	bool opened = how == STOMP_GUARD_MADVISE ? advise(pages, size, MADV_GUARD_REMOVE)
						 : open_range(pages, size);

	if (opened)
		populate(pages, size);
	return opened;
}

bool guard_close(enum stomp_guard how, char *pages, size_t size)
{
	bool closed = how == STOMP_GUARD_MADVISE ? advise(pages, size, MADV_GUARD_INSTALL)
						 : protect(pages, size, PROT_NONE);

	if (closed && how == STOMP_GUARD_MPROTECT)
		leave_range();
	if (!closed || how == STOMP_GUARD_MPROTECT)
		advise(pages, size, MADV_DONTNEED);
	return closed;
}
