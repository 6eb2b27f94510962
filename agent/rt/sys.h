/* SPDX-License-Identifier: MIT */
/*
 * Raw system calls.  The agent calls nothing by a public name after start-up: the target may define its own
 * write or mmap, libc's may be cancellation points, and all of them touch errno.  These return -errno.
 */
#ifndef MEMTRACK_AGENT_RT_SYS_H
#define MEMTRACK_AGENT_RT_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define RT_PAGE 4096ul

static inline long rt_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline long rt_syscall3(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static inline int rt_failed(long result)
{
	return (unsigned long)result > -4096ul;
}

/* Private zeroed memory, or NULL.  Never backed by huge pages where the kernel lets us say so in the same call
 * (MAP_STACK, Linux 6.7): the tables are sparse, and madvise may be forbidden by a sandbox. */
void *rt_map(size_t size);
/* The same for what is mostly never written to, at start only: it is left out of core files, which it would fill with
 * holes. */
void *rt_map_sparse(size_t size);
/* Address space that cannot be used until rt_use says so; whole pages. */
void *rt_reserve(size_t size);
bool rt_use(void *address, size_t size);
void rt_unmap(void *address, size_t size);
/* Puts fresh zeroed memory in the place of what rt_map gave: for what other threads may be reading still. */
void rt_map_over(void *address, size_t size);

/* True when the 4 bytes at the (4-aligned) address can be read.  Uses futex, the one call that tells without a
 * fault and that every sandbox which allows threads allows. */
int rt_readable(uintptr_t address);
/* True when the 4 bytes at the (4-aligned) address can be read and are `word`.  For memory that another thread may be
 * unmapping right now. */
int rt_holds(uintptr_t address, uint32_t word);
/* Makes the page of a shared file mapping present and writable; false instead of SIGBUS when there is no room.
 * Changes no byte of it. */
int rt_touch(uintptr_t address);

#endif
