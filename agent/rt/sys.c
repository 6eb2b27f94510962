/* SPDX-License-Identifier: MIT */
/* The few system calls of the steady path; see sys.h. */
#include "agent/rt/sys.h"

#include <linux/futex.h>
#include <sys/mman.h>

#ifndef MAP_STACK
# define MAP_STACK 0x20000
#endif

static long map(void *address, size_t size, int fixed)
{
	return rt_syscall6(SYS_mmap, (long)address, (long)size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | fixed, -1, 0);
}

void *rt_map(size_t size)
{
	long p = map(NULL, size, 0);

	return rt_failed(p) ? NULL : (void *)p;
}

void *rt_map_sparse(size_t size)
{
	void *p = rt_map(size);

	if (p)
		rt_syscall3(SYS_madvise, (long)p, (long)size, MADV_DONTDUMP);
	return p;
}

void *rt_reserve(size_t size)
{
	long p = rt_syscall6(SYS_mmap, 0, (long)size, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	return rt_failed(p) ? NULL : (void *)p;
}

bool rt_use(void *address, size_t size)
{
	return !rt_failed(
		rt_syscall3(SYS_mprotect, (long)address, (long)size, PROT_READ | PROT_WRITE));
}

void rt_map_over(void *address, size_t size)
{
	map(address, size, MAP_FIXED);
}

void rt_unmap(void *address, size_t size)
{
	rt_syscall3(SYS_munmap, (long)address, (long)size, 0);
}

/* Compares *address with a word and, when equal, moves 0 waiters.  Reading is all it does.  0: equal; -EAGAIN: not. */
static long compare(uintptr_t address, uint32_t word)
{
	static uint32_t elsewhere;

	return rt_syscall6(SYS_futex, (long)(address & ~3ul),
			   FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0, 0, (long)&elsewhere, word);
}

int rt_readable(uintptr_t address)
{
	long r = compare(address, 0);

	return r == 0 || r == -11 /* EAGAIN: another value */;
}

int rt_holds(uintptr_t address, uint32_t word)
{
	return compare(address, word) == 0;
}

int rt_touch(uintptr_t address)
{
	/* "*address |= 0" by the kernel, then wake 0 waiters: a write fault that is reported, not signalled. */
	static uint32_t elsewhere;
	long r = rt_syscall6(SYS_futex, (long)&elsewhere, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0,
			     (long)(address & ~3ul), FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0));

	return !rt_failed(r);
}
