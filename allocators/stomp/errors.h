/* SPDX-License-Identifier: MIT */
/* Putting down what was found: a record in the session's stomp file, or, without a session, text on stderr. */
#ifndef MEMTRACK_ALLOCATORS_STOMP_ERRORS_H
#define MEMTRACK_ALLOCATORS_STOMP_ERRORS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "allocators/stomp/finding.h"
#include "allocators/stomp/heap.h"

/* Maps the file of the session in `directory`, NULL: there is none.  A process image's own place in it is
 * errors_process, which is never NULL. */
void errors_start(const char *directory);
/* In a forked child: a place of its own. */
void errors_restart(void);
extern struct stomp_process *errors_process;
/* The functions whose blocks are to be guarded, and the executable they are of; false: all. */
bool errors_chosen(const struct stomp_range **ranges, uint32_t *count, const char **program,
		   uint32_t *program_size);

/*
 * Records a finding once for each place in the code, when the program goes on.  The stack: that of `context`, or, when
 * this is NULL, of `caller`.  Async-signal-safe.
 */
void errors_report(const struct stomp_finding *finding, const ucontext_t *context,
		   struct stomp_caller caller);

#endif
