/* SPDX-License-Identifier: MIT */
/* The cycle counter that agents stamp times with. */
#ifndef MEMTRACK_CMD_CYCLES_H
#define MEMTRACK_CMD_CYCLES_H

#include <stdint.h>

static inline uint64_t cycles_now(void)
{
	return __builtin_ia32_rdtsc();
}

#endif
