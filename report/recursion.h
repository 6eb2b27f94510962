/* SPDX-License-Identifier: MIT */
/* Recursion in a stack: frames that come again and again. */
#ifndef MEMTRACK_REPORT_RECURSION_H
#define MEMTRACK_REPORT_RECURSION_H

#include <stddef.h>

struct shown_frame;

/*
 * How many of the first frames come at least three times in a row, up to 4 of
 * them, and how often; the smallest number when there are several, 0 when the
 * frames do not begin with a repetition.  Frames that look the same are the
 * same.
 */
size_t recursion_period(const struct shown_frame *frames, size_t count, size_t *times);

#endif
