/* SPDX-License-Identifier: MIT */
/* A curve in one line of text, a character a column. */
#ifndef MEMTRACK_REPORT_SPARKLINE_H
#define MEMTRACK_REPORT_SPARKLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/recording.h"

/*
 * The heap from 0 to end_ns in `count` columns: each the largest value, within
 * its span of time, of the straight lines from point to point; 0 where there are
 * none, and where it is less.  Points are in order of time; what lies outside
 * belongs to the nearest column.
 */
void sparkline_columns(int64_t *columns, size_t count, int64_t end_ns,
		       const struct rec_sample *points, size_t point_count);
/* Which of the columns has that moment. */
size_t sparkline_column(size_t count, int64_t end_ns, int64_t t_ns);
/*
 * A character for each column, from nothing to the largest of them.  malloc'ed;
 * NULL when memory ended.
 */
char *sparkline_draw(const int64_t *columns, size_t count, bool utf8);

#endif
