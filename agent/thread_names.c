/* SPDX-License-Identifier: MIT */
/* Numbers and names of threads; see thread_names.h. */
#include "agent/thread_names.h"

#include <linux/prctl.h>
#include <stdbool.h>

#include "agent/arch.h"
#include "agent/layout.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "agent/segment.h"
#include "agent/threads.h"

static bool numbers_known;     /* the control block has the number where we look for it */
static uintptr_t first_thread; /* it started us; 0 once its shard has its name */
static uint64_t first_name[SEG_NAME_SIZE / 8];

void thread_names_start(void)
{
	if (rt_failed(rt_syscall3(SYS_prctl, PR_GET_NAME, (long)first_name, 0)))
		memset(first_name, 0, sizeof(first_name));
	thread_names_restart();
}

void thread_names_restart(void)
{
	first_thread = arch_thread_pointer();
	/* The first thread of a process has its number. */
	numbers_known = rt_holds(first_thread + ARCH_TID_AT, (uint32_t)segment->pid);
}

/* A reader may look at any time. */
static void store(uint64_t *to, const uint64_t *name)
{
	for (unsigned i = 0; i < SEG_NAME_SIZE / 8; i++)
		__atomic_store_n(&to[i], name[i], __ATOMIC_RELAXED);
}

void thread_names_note(struct thread *t, struct shard *shard)
{
	uintptr_t self = arch_thread_pointer();
	struct seg_shard *counts = shard->counts;

	if (self == first_thread) {
		first_thread = 0;
		if (!t->name[0])
			store(t->name, first_name);
	}
	store(counts->name, t->name);
	__atomic_store_n(&counts->tid, numbers_known ? *(const uint32_t *)(self + ARCH_TID_AT) : 0,
			 __ATOMIC_RELAXED);
	/* Last: it tells a reader that there is somebody else. */
	__atomic_store_n(&counts->holders, counts->holders + 1, __ATOMIC_RELEASE);
}

/* As the kernel cuts it. */
static void copy_name(uint64_t to[SEG_NAME_SIZE / 8], const char *name)
{
	char text[SEG_NAME_SIZE] = { 0 };

	for (unsigned i = 0; i < SEG_NAME_SIZE - 1 && name[i]; i++)
		text[i] = name[i];
	memcpy(to, text, SEG_NAME_SIZE);
}

static void set_name(struct thread *t, const char *name)
{
	struct shard *shard = __atomic_load_n(&t->shard, __ATOMIC_RELAXED);
	uint64_t words[SEG_NAME_SIZE / 8];

	copy_name(words, name);
	store(t->name, words);
	/* In a forked child the shard is still the parent's, before its first event. */
	if (shard && t->image == thread_image)
		store(shard->counts->name, words);
}

void thread_names_set_own(const char *name)
{
	if (arch_thread_pointer() == first_thread)
		copy_name(first_name, name);
	set_name(&thread_self, name);
}

/* Thread-local storage lies at the same distance from the control block in each thread. */
void thread_names_set(uintptr_t thread, const char *name)
{
	if (thread == arch_thread_pointer())
		thread_names_set_own(name);
	else
		set_name((struct thread *)((uintptr_t)&thread_self +
					   (thread - arch_thread_pointer())),
			 name);
}
