/* SPDX-License-Identifier: MIT */
/* See recursion.h. */
#include "report/recursion.h"

#include <stdbool.h>

#include "report/render.h"

#define PERIOD_MAX 4
#define TIMES_MIN  3 /* two times are shown in no more lines than the remark takes */

/* Equal texts of a recording are the same text, at the same place. */
static bool looks_same(const struct shown_frame *a, const struct shown_frame *b)
{
	return a->function == b->function && a->file == b->file && a->line == b->line &&
	       a->module == b->module && a->inlined == b->inlined &&
	       (a->function || a->address == b->address);
}

size_t recursion_period(const struct shown_frame *frames, size_t count, size_t *times)
{
	for (size_t period = 1; period <= PERIOD_MAX; period++) {
		size_t length = period;
		while (length < count && looks_same(&frames[length], &frames[length - period]))
			length++;
		*times = length / period;
		if (*times >= TIMES_MIN)
			return period;
	}
	*times = 1;
	return 0;
}
