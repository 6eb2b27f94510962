/* SPDX-License-Identifier: MIT */
/*
 * Faults.  Our handler of SIGSEGV stands before the program's own: it is what the kernel knows, with the flags and the mask
 * that the program asked for, and it passes every signal on as the program would have got it.
 */
#ifndef MEMTRACK_ALLOCATORS_STOMP_FAULT_H
#define MEMTRACK_ALLOCATORS_STOMP_FAULT_H

#include <signal.h>

#include "allocators/stomp/finding.h"
#include "allocators/stomp/heap.h"

void fault_start(void);
/* In a forked child. */
void fault_restart(void);

/* What hooks of sigaction(2) and signal(3) do. */
int fault_sigaction(int signal, const struct sigaction *action, struct sigaction *old);
/* The next signal(3); not for SIGSEGV. */
__sighandler_t fault_next_signal(int signal, __sighandler_t handler);

/* An error that was found in a call, by `caller`: reports it, and ends the program as abort(3) does, unless it is to go
 * on. */
void fault_in_call(struct stomp_finding *finding, struct stomp_caller caller);

#endif
