/* SPDX-License-Identifier: MIT */
/*
 * Who a thread is: its number and its name, as the kernel has them, without asking the kernel.  The number lies in glibc's
 * control block of the thread; the name is known when the thread was given it through one of the hooks.
 */
#ifndef MEMTRACK_AGENT_THREAD_NAMES_H
#define MEMTRACK_AGENT_THREAD_NAMES_H

#include <stdint.h>

struct thread;
struct shard;

/* Once there is a segment, in the first thread of the process. */
void thread_names_start(void);
/* The same in a forked child. */
void thread_names_restart(void);
/* The calling thread took the shard. */
void thread_names_note(struct thread *t, struct shard *shard);
/* The calling thread has this name now. */
void thread_names_set_own(const char *name);
/* So has the thread that glibc calls `thread`, a pthread_t: it must live. */
void thread_names_set(uintptr_t thread, const char *name);

#endif
