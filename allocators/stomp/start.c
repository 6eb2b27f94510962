/* SPDX-License-Identifier: MIT */
/* Start-up and fork; see start.h. */
#include "allocators/stomp/start.h"

#include <sys/mman.h>

#include "agent/initial.h"
#include "agent/layout.h"
#include "agent/real.h"
#include "allocators/stomp/canary.h"
#include "allocators/stomp/choice.h"
#include "allocators/stomp/errors.h"
#include "allocators/stomp/fault.h"
#include "allocators/stomp/heap.h"
#include "allocators/stomp/options.h"
#include "allocators/stomp/print.h"
#include "allocators/stomp/stacks.h"

#ifndef MADV_WIPEONFORK
# define MADV_WIPEONFORK 18
#endif

_Alignas(RT_PAGE) union stomp_live stomp_live;

enum phase { NEW, STARTING, RUNNING };
static uint32_t phase;

/* glibc's name for what pthread_atfork(3) calls. */
extern void *__dso_handle;
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);

/* The order in which one may be waited for while another is held. */
static void before_fork(void)
{
	canary_before_fork();
	heap_before_fork();
	stacks_before_fork();
}

static void after_fork(bool in_child)
{
	stacks_after_fork(in_child);
	heap_after_fork(in_child);
	canary_after_fork(in_child);
}

static void after_fork_in_parent(void)
{
	after_fork(false);
}

static void after_fork_in_child(void)
{
	after_fork(true);
}

/* The directory of the session is what follows the options in the agent's variable. */
static const char *session_directory(void)
{
	const char *at = initial_variable(SEG_SESSION_VARIABLE);

	while (at && *at && *at != ':')
		at++;
	return at && *at && at[1] == '/' ? at + 1 : NULL;
}

static void start(void)
{
	const char *bad;

	real_resolve();
	bad = stomp_options_read(initial_variable(STOMP_OPTIONS_VARIABLE));
	initial_look();
	stacks_start();
	heap_start();
	errors_start(session_directory());
	choice_start();
	if (bad)
		print_warning("option not understood, ignored", bad);
	fault_start();
	__register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, &__dso_handle);
}

static void go(void)
{
	__atomic_store_n(&phase, RUNNING, __ATOMIC_RELEASE);
	__atomic_store_n(&stomp_live.active, 1, __ATOMIC_RELEASE);
}

bool stomp_wake(void)
{
	uint32_t seen;

	if (!real_relocated())
		return false;
	seen = __atomic_load_n(&phase, __ATOMIC_ACQUIRE);
	if (seen == STARTING || !__atomic_compare_exchange_n(&phase, &seen, STARTING, false,
							     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	if (seen == NEW) {
		start();
		rt_syscall3(SYS_madvise, (long)&stomp_live, sizeof(stomp_live), MADV_WIPEONFORK);
	} else {		  /* the first event in a forked child */
		after_fork(true); /* again, unless it was forked by the bare system call */
		errors_restart();
		fault_restart();
	}
	go();
	return true;
}

/* A program that never allocates can be wrong, too. */
__attribute__((constructor)) static void at_load(void)
{
	stomp_is_on();
}
