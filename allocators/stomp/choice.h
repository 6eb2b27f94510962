/* SPDX-License-Identifier: MIT */
/* Which blocks are guarded, when not all are to be: by size, by turn, by the functions on their stack. */
#ifndef MEMTRACK_ALLOCATORS_STOMP_CHOICE_H
#define MEMTRACK_ALLOCATORS_STOMP_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* After errors_start. */
void choice_start(void);
/* `node`: the stack that allocates. */
bool choice_is_guarded(size_t size, uint32_t node);

#endif
