/* SPDX-License-Identifier: MIT */
/*
 * Classes of block sizes: 0, 1 to 8, 9 to 16, 17 to 32 and so on up to 4 GiB, and all beyond.  A class is named by its
 * smallest size.
 */
#ifndef MEMTRACK_REPORT_SIZE_CLASS_H
#define MEMTRACK_REPORT_SIZE_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#define SIZE_CLASS_LAST ((1ull << 32) + 1)

static inline bool size_class_exists(uint64_t least)
{
	uint64_t below = least - 1;
	return least < 2 || (below >= 8 && least <= SIZE_CLASS_LAST && !(below & (below - 1)));
}

/* The largest size of a class; UINT64_MAX: there is none. */
static inline uint64_t size_class_most(uint64_t least)
{
	if (least < 2)
		return 8 * least;
	return least == SIZE_CLASS_LAST ? UINT64_MAX : 2 * (least - 1);
}

#endif
