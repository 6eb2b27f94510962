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

void sparkline_columns(int64_t *columns, size_t count, int64_t end_ns,
		       const struct rec_sample *points, size_t point_count)
{
	size_t filled = 0; /* columns up to here have their value */
	int64_t last = 0;
	for (size_t i = 0; i < point_count; i++) {
		size_t column = sparkline_column(count, end_ns, points[i].t_ns);
		while (filled < column)
			columns[filled++] = last;
		last = points[i].heap_bytes;
		if (filled == column)
			columns[filled++] = last;
		else if (columns[column] < last)
			columns[column] = last;
	}
	while (filled < count)
		columns[filled++] = last;
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
