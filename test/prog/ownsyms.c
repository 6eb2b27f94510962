/* SPDX-License-Identifier: MIT */
/*
 * A program that defines, and exports (-rdynamic), functions under the names of libc.  They do what their own program wants,
 * so nobody else may call them.  own_work makes 2000 x (1 + i % 700) that are freed and 50 x 20 that stay, partly in a thread:
 *   own_site  2 * 2050 allocations; bytes 2 * (600 * 0 + sum) as worked out below; 100 blocks (2000 bytes) stay
 *   sum of 1 + i % 700 for i < 2000: 2 * (1 + ... + 700) + (1 + ... + 600) = 490700 + 180300 = 671000; so 2 * (671000 + 1000)
 *   = 1344000 bytes.
 * Built twice: with SURPRISE=1 a call after main began ends the program with status 77; with SURPRISE=2 any call does, from
 * the very first instruction of the process on.  It ends by _exit(8).
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "prog.h"

static volatile int armed = SURPRISE == 2;

static long raw(long number, long a, long b, long c)
{
	return syscall(number, a, b, c);
}

static void surprise(const char *name, long length)
{
	if (!armed)
		return;
	raw(SYS_write, 2, (long)"surprise: ", 10);
	raw(SYS_write, 2, (long)name, length);
	raw(SYS_write, 2, (long)"\n", 1);
	raw(SYS_exit_group, 77, 0, 0);
}

/* Their types are the program's own business: all take what registers hold and return 0 or -1. */
#define OWN(name, result)                                           \
 long own_##name(void) __asm__(#name);                              \
 __attribute__((used, visibility("default"))) long own_##name(void) \
 {                                                                  \
  surprise(#name, sizeof(#name) - 1);                               \
  return result;                                                    \
 }

OWN(write, -1)
OWN(read, -1)
OWN(open, -1)
OWN(openat, -1)
OWN(close, -1)
OWN(mmap, -1)
OWN(munmap, -1)
OWN(mremap, -1)
OWN(madvise, -1)
OWN(mprotect, -1)
OWN(ftruncate, -1)
OWN(fallocate, -1)
OWN(posix_fallocate, -1)
OWN(rename, -1)
OWN(unlink, -1)
OWN(fstat, -1)
OWN(stat, -1)
OWN(readlink, -1)
OWN(lseek, -1)
OWN(fcntl, -1)
OWN(getpid, 1)
OWN(gettid, 1)
OWN(sched_yield, 0)
OWN(usleep, 0)
OWN(nanosleep, 0)
OWN(clock_gettime, -1)
OWN(time, 0)
OWN(dl_iterate_phdr, 0)
OWN(pthread_mutex_lock, 0)
OWN(pthread_mutex_unlock, 0)
OWN(pthread_getattr_np, -1)
OWN(pthread_setspecific, 0)
OWN(pthread_getspecific, 0)
OWN(pthread_key_create, -1)
OWN(pthread_once, -1)
OWN(getenv, 0)
OWN(secure_getenv, 0)
OWN(snprintf, 0)
OWN(vsnprintf, 0)
OWN(printf, 0)
OWN(perror, 0)
OWN(memcpy, 0)
OWN(memmove, 0)
OWN(memset, 0)
OWN(memcmp, 0)
OWN(strlen, 0)
OWN(strcmp, 0)
OWN(strncmp, 0)
OWN(strcpy, 0)
OWN(strchr, 0)
OWN(backtrace, 0)
OWN(abort, 0)
OWN(sysconf, 0)
OWN(sigaction, -1)
OWN(sigprocmask, -1)
OWN(unw_step, 0)
OWN(unw_init_local, 0)
OWN(unw_getcontext, 0)
OWN(_Unwind_Backtrace, 0)

SITE static void *own_site(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	return p;
}

SITE static void own_work(void)
{
	for (int i = 0; i < 2000; i++)
		free(own_site(1 + (size_t)i % 700));
	for (int i = 0; i < 50; i++)
		own_site(20);
	BARRIER();
}

static void *body(void *unused)
{
	own_work();
	return unused;
}

int main(void)
{
	armed = 1;
	own_work();
	pthread_t thread;
	if (pthread_create(&thread, NULL, body, NULL) != 0 || pthread_join(thread, NULL) != 0)
		raw(SYS_exit_group, 99, 0, 0);
	raw(SYS_write, 1, (long)"own done\n", 9);
	_exit(8);
}
