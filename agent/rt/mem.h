/* SPDX-License-Identifier: MIT */
/* Byte copying of our own: the target may have replaced libc's.  Hidden, so that the calls which the compiler
 * makes by itself bind here as well. */
#ifndef MEMTRACK_AGENT_RT_MEM_H
#define MEMTRACK_AGENT_RT_MEM_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
int bcmp(const void *a, const void *b, size_t size); /* what clang makes of some memcmp */
size_t rt_length(const char *text);

#endif
