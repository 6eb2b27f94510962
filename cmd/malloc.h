/* SPDX-License-Identifier: MIT */
/* `run --malloc`: the choice of an allocator, and the list of those there are. */
#ifndef MEMTRACK_CMD_MALLOC_H
#define MEMTRACK_CMD_MALLOC_H

#include <stdio.h>

#include "allocators/allocators.h"

/* As allocator_choose; knows where our own library lies. */
int malloc_choose(const char *argument, struct allocator_choice *choice, struct diag *diag)
	__attribute__((warn_unused_result));
/* Each name with the library that would be used here, or what to do to have it. */
void malloc_list(FILE *out);
/* The options of stomp. */
void malloc_list_stomp(FILE *out);

#endif
