/* SPDX-License-Identifier: MIT */
/*
 * Address ranges to values: ranges may nest and overlap, the highest rank wins
 * where they do.  Filled once, sealed once (n log n whatever the input), then
 * searched.  Used for units, functions, ELF symbols and perf maps.
 */
#ifndef MEMTRACK_SYMBOLIZE_INTERVAL_H
#define MEMTRACK_SYMBOLIZE_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

#define INTERVAL_NONE UINT32_MAX

struct interval;
struct interval_step;

/* All zero is an empty set.  `items` until sealed, `steps` (disjoint,
 * ascending) afterwards. */
struct interval_set {
	struct interval *items;
	size_t count;
	size_t capacity;
	struct interval_step *steps;
	size_t steps_count;
};

/* Adds [low, high); an empty range is passed over.  0 or -ENOMEM. */
int interval_add(struct interval_set *set, uint64_t low, uint64_t high, uint64_t rank,
		 uint32_t value) __attribute__((warn_unused_result));
/* Adds everything a sealed set covers, under one rank and value.  0 or
 * -ENOMEM. */
int interval_add_all(struct interval_set *set, const struct interval_set *sealed, uint64_t rank,
		     uint32_t value) __attribute__((warn_unused_result));
/* Makes the set searchable; nothing may be added afterwards.  0 or -ENOMEM. */
int interval_seal(struct interval_set *set) __attribute__((warn_unused_result));
/* The value at an address, or INTERVAL_NONE. */
uint32_t interval_find(const struct interval_set *set, uint64_t address);
void interval_release(struct interval_set *set);

#endif
