/* SPDX-License-Identifier: MIT */
/* Where the recording goes: the pattern of --output. */
#ifndef MEMTRACK_CMD_OUTPUT_H
#define MEMTRACK_CMD_OUTPUT_H

#include <sys/types.h>

#include "report/diag.h"

/* %p pid, %e base name of the program, %h host, %t time (20260131-235959), %% a percent sign.  malloc'ed; NULL: out of
 * memory, or an unknown letter (*diag says so). */
char *output_expand(const char *pattern, pid_t pid, const char *program, struct diag *diag);
/* Can a file be made in the folder of `path`, and is `path` itself no folder? */
int output_check(const char *path, struct diag *diag) __attribute__((warn_unused_result));
/* The folder of a path; malloc'ed. */
char *output_folder(const char *path);

#endif
