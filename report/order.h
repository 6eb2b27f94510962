/* SPDX-License-Identifier: MIT */
/*
 * The first few of very many in order.  A report shows twenty of a hundred
 * thousand sites, and three of a site's stacks: to sort them all would take
 * longer than to read the recording.
 */
#ifndef MEMTRACK_REPORT_ORDER_H
#define MEMTRACK_REPORT_ORDER_H

#include <stddef.h>

#define ORDER_SIZE_MAX 256 /* bytes of an item */

typedef int order_compare(const void *a, const void *b, void *context);

/*
 * Brings the `first` items of the order to the front and sorts them; the others
 * follow in any order.  More than there are: sorts all.  The comparison must
 * not find two items equal, so that the result does not depend on how the items
 * lay.
 */
void order_first(void *items, size_t count, size_t size, size_t first, order_compare *compare,
		 void *context);

#endif
