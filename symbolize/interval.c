/* SPDX-License-Identifier: MIT */
/*
 * Address ranges to values.  Sealing sweeps the ranges from low to high with a
 * heap of those open at the current address, ordered by rank; a range that
 * ended below the top of the heap stays there until it comes up, so each is
 * pushed and popped once.
 */
#include "symbolize/interval.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct interval {
	uint64_t low;
	uint64_t high;
	uint64_t rank;
	uint32_t value;
};

/* `value` holds from `start` up to the next step's start. */
struct interval_step {
	uint64_t start;
	uint32_t value;
};

/* A binary heap of intervals, the highest rank at slot 0. */
struct heap {
	const struct interval **slots;
	size_t count;
};

int interval_add(struct interval_set *set, uint64_t low, uint64_t high, uint64_t rank,
		 uint32_t value)
{
	if (low >= high)
		return 0;
	if (set->count == set->capacity) {
		size_t capacity = set->capacity ? set->capacity * 2 : 64;
		struct interval *items = reallocarray(set->items, capacity, sizeof(*items));

		if (!items)
			return -ENOMEM;
		set->items = items;
		set->capacity = capacity;
	}
	set->items[set->count++] = (struct interval){ low, high, rank, value };
	return 0;
}

int interval_add_all(struct interval_set *set, const struct interval_set *sealed, uint64_t rank,
		     uint32_t value)
{
	int error = 0;

	/* The last step is the gap after the last range. */
	for (size_t i = 0; i + 1 < sealed->steps_count && !error; i++) {
		if (sealed->steps[i].value != INTERVAL_NONE)
			error = interval_add(set, sealed->steps[i].start,
					     sealed->steps[i + 1].start, rank, value);
	}
	return error;
}

static int compare_low(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return 0;
}

static void heap_swap(struct heap *heap, size_t a, size_t b)
{
	const struct interval *kept = heap->slots[a];

	heap->slots[a] = heap->slots[b];
	heap->slots[b] = kept;
}

static void heap_push(struct heap *heap, const struct interval *item)
{
	size_t at = heap->count++;

	heap->slots[at] = item;
	while (at > 0 && heap->slots[at]->rank > heap->slots[(at - 1) / 2]->rank) {
		heap_swap(heap, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

static void heap_pop(struct heap *heap)
{
	size_t at = 0;

	heap->slots[0] = heap->slots[--heap->count];
	for (;;) {
		size_t best = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
			if (child < heap->count &&
			    heap->slots[child]->rank > heap->slots[best]->rank)
				best = child;
		}
		if (best == at)
			return;
		heap_swap(heap, at, best);
		at = best;
	}
}

static void step_add(struct interval_set *set, uint64_t start, uint32_t value)
{
	if (set->steps_count > 0 && set->steps[set->steps_count - 1].value == value)
		return;
	set->steps[set->steps_count++] = (struct interval_step){ start, value };
}

static void sweep(struct interval_set *set, struct heap *heap)
{
	size_t next = 0;
	uint64_t at = 0;

	while (next < set->count || heap->count > 0) {
		if (heap->count == 0)
			at = set->items[next].low;
		while (next < set->count && set->items[next].low <= at)
			heap_push(heap, &set->items[next++]);
		while (heap->count > 0 && heap->slots[0]->high <= at)
			heap_pop(heap);
		if (heap->count == 0) {
			step_add(set, at, INTERVAL_NONE);
			continue;
		}
		step_add(set, at, heap->slots[0]->value);
		at = heap->slots[0]->high;
		if (next < set->count && set->items[next].low < at)
			at = set->items[next].low;
	}
}

int interval_seal(struct interval_set *set)
{
	struct heap heap = { NULL, 0 };
	int error = -ENOMEM;

	if (set->count == 0)
		return 0;
	heap.slots = reallocarray(NULL, set->count, sizeof(*heap.slots));
	/* Each turn of the sweep takes up a range or ends one. */
	set->steps = reallocarray(NULL, set->count, 2 * sizeof(*set->steps));
	if (!heap.slots || !set->steps)
		goto out;
	qsort(set->items, set->count, sizeof(*set->items), compare_low);
	sweep(set, &heap);
	error = 0;
out:
	free(heap.slots);
	free(set->items);
	set->items = NULL;
	set->count = set->capacity = 0;
	return error;
}

uint32_t interval_find(const struct interval_set *set, uint64_t address)
{
	size_t low = 0, high = set->steps_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->steps[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? set->steps[low - 1].value : INTERVAL_NONE;
}

void interval_release(struct interval_set *set)
{
	free(set->items);
	free(set->steps);
	memset(set, 0, sizeof(*set));
}
