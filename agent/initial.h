/* SPDX-License-Identifier: MIT */
/*
 * What the kernel gave the process at its start: arguments, environment, auxiliary vector, the main thread's stack.  Read
 * from the stack itself: libc may not have looked yet, and the program may have changed its copies.
 */
#ifndef MEMTRACK_AGENT_INITIAL_H
#define MEMTRACK_AGENT_INITIAL_H

/* NULL: unknown. */
const char *const *initial_arguments(long *count);
/* The value of an environment variable; NULL: not set. */
const char *initial_variable(const char *name);
/* Tells the parts that need it where the main stack and the program lie. */
void initial_look(void);

#endif
