/* SPDX-License-Identifier: MIT */
/*
 * Libraries opened with RTLD_DEEPBIND look names up in themselves and their dependencies first, so their calls of malloc
 * go to the C library directly and past the hooks.  The flag keeps its meaning; only the slots through which such
 * a library calls the allocation functions are turned to the hooks once it is loaded.
 *
 * dlopen(3) looks at its caller (run path, $ORIGIN, namespace).  So the hook jumps on to the real one and leaves no
 * trace, unless the flag is given together with a path, for which the caller does not matter.
 */
#ifndef MEMTRACK_AGENT_DEEPBIND_H
#define MEMTRACK_AGENT_DEEPBIND_H

/* What the hook (hooks.c) calls when the flag is given.  Returns the handle; NULL: the hook is to jump on. */
void *deepbind_open(const char *file, int flags);

#endif
