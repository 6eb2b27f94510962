/* SPDX-License-Identifier: MIT */
/* What is known of a block, and what was found wrong with one. */
#ifndef MEMTRACK_ALLOCATORS_STOMP_FINDING_H
#define MEMTRACK_ALLOCATORS_STOMP_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "allocators/stomp/layout.h"

struct stomp_block {
	uintptr_t address; /* 0: no block is known */
	uint64_t size;
	bool was_freed;
	uint32_t allocated, freed;	 /* stack nodes; 0: unknown */
	uint32_t allocated_by, freed_by; /* threads; 0: unknown */
};

struct stomp_finding {
	enum stomp_kind kind;
	enum stomp_access access;
	uintptr_t address;
	struct stomp_block block;
	uint64_t corrupt_bytes;
	bool by_realloc;
	bool goes_on; /* the program does */
};

/* The byte with which what belongs to no block is filled. */
enum { STOMP_PATTERN = 0xfb };

/* Looks for bytes that are not the pattern any more; counts them, and tells the first. */
static inline uint64_t stomp_smashed(const unsigned char *from, const unsigned char *to,
				     uintptr_t *first)
{
	uint64_t count = 0, word;

	for (; from < to; from++) {
		/* As it should be, eight at a time. */
		for (; to - from >= 8; from += 8) {
			__builtin_memcpy(&word, from, 8);
			if (word != 0x0101010101010101ull * STOMP_PATTERN)
				break;
		}
		if (from < to && *from != STOMP_PATTERN) {
			if (!count)
				*first = (uintptr_t)from;
			count++;
		}
	}
	return count;
}

#endif
