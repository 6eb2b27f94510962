/* SPDX-License-Identifier: MIT */
/*
 * See order.h.  The front of the array is a heap with the last in the order on
 * top; each further item that comes before that one takes its place.
 */
#include "report/order.h"

#include <stdlib.h>
#include <string.h>

struct heap {
	char *items;
	size_t count, size;
	order_compare *compare;
	void *context;
};

static void swap(const struct heap *heap, size_t a, size_t b)
{
	char kept[ORDER_SIZE_MAX];
	memcpy(kept, heap->items + a * heap->size, heap->size);
	memcpy(heap->items + a * heap->size, heap->items + b * heap->size, heap->size);
	memcpy(heap->items + b * heap->size, kept, heap->size);
}

static int compare(const struct heap *heap, size_t a, size_t b)
{
	return heap->compare(heap->items + a * heap->size, heap->items + b * heap->size,
			     heap->context);
}

static void sift_down(const struct heap *heap, size_t at)
{
	for (;;) {
		size_t last = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count;
		     child++) {
			if (compare(heap, child, last) > 0)
				last = child;
		}
		if (last == at)
			return;
		swap(heap, at, last);
		at = last;
	}
}

static void select_first(const struct heap *heap, size_t all)
{
	for (size_t i = heap->count / 2; i-- > 0;)
		sift_down(heap, i);
	for (size_t i = heap->count; i < all; i++) {
		if (compare(heap, i, 0) < 0) {
			swap(heap, i, 0);
			sift_down(heap, 0);
		}
	}
}

void order_first(void *items, size_t count, size_t size, size_t first, order_compare *compare_items,
		 void *context)
{
	struct heap heap = { items, first, size, compare_items, context };
	if (first < count && size <= ORDER_SIZE_MAX) {
		if (first)
			select_first(&heap, count);
		count = first;
	}
	if (count)
		qsort_r(items, count, size, compare_items, context);
}
