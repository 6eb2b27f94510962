/* SPDX-License-Identifier: MIT */
/* See sparkline.h. */
#include "report/sparkline.h"

#include <stdlib.h>
#include <string.h>

#define LEVELS 8

size_t sparkline_column(size_t count, int64_t end_ns, int64_t t_ns)
{
	if (t_ns <= 0 || end_ns <= 0)
		return 0;
	if (t_ns >= end_ns)
		return count - 1;
	return (size_t)((unsigned __int128)t_ns * count / (uint64_t)end_ns);
}

static void raise_column(int64_t *columns, size_t column, int64_t value)
{
	if (columns[column] < value)
		columns[column] = value;
}

static int64_t clamp_time(int64_t t_ns, int64_t end_ns)
{
	if (t_ns < 0 || end_ns <= 0)
		return 0;
	return t_ns < end_ns ? t_ns : end_ns;
}

/* On the straight line between two points of different times. */
static int64_t interpolate(const struct rec_sample *from, const struct rec_sample *to, int64_t t_ns)
{
	__int128 rise = (__int128)to->heap_bytes - from->heap_bytes;
	return (int64_t)(from->heap_bytes + rise * (t_ns - from->t_ns) / (to->t_ns - from->t_ns));
}

/* A line is highest at one of its ends, in each column too: where it crosses into the next. */
static void add_line(int64_t *columns, size_t count, int64_t end_ns, const struct rec_sample *from,
		     const struct rec_sample *to)
{
	size_t last = sparkline_column(count, end_ns, to->t_ns);
	for (size_t i = sparkline_column(count, end_ns, from->t_ns); i < last; i++) {
		int64_t border = (int64_t)((unsigned __int128)end_ns * (i + 1) / count);
		int64_t value = interpolate(from, to, border);
		raise_column(columns, i, value);
		raise_column(columns, i + 1, value);
	}
}

void sparkline_columns(int64_t *columns, size_t count, int64_t end_ns,
		       const struct rec_sample *points, size_t point_count)
{
	struct rec_sample before = { 0 };
	memset(columns, 0, count * sizeof(*columns));
	for (size_t i = 0; i < point_count; i++) {
		struct rec_sample point = { clamp_time(points[i].t_ns, end_ns),
					    points[i].heap_bytes, 0, 0 };
		raise_column(columns, sparkline_column(count, end_ns, point.t_ns),
			     point.heap_bytes);
		if (i && before.t_ns < point.t_ns)
			add_line(columns, count, end_ns, &before, &point);
		before = point;
	}
}

/* Any heap at all is above the lowest level's bottom; only the largest reaches the top. */
static int level(int64_t value, int64_t largest)
{
	if (value <= 0)
		return 0;
	return (int)(((__int128)value * LEVELS + largest - 1) / largest) - 1;
}

char *sparkline_draw(const int64_t *columns, size_t count, bool utf8)
{
	static const char *const blocks[LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[LEVELS] = { "_", ".", ":", "-", "=", "+", "*", "#" };
	int64_t largest = 0;
	char *text = malloc(count * strlen(blocks[0]) + 1), *out = text;
	if (!text)
		return NULL;
	for (size_t i = 0; i < count; i++)
		largest = columns[i] > largest ? columns[i] : largest;
	for (size_t i = 0; i < count; i++)
		out = stpcpy(out, (utf8 ? blocks : ascii)[level(columns[i], largest)]);
	*out = '\0';
	return text;
}
