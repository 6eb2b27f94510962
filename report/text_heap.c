/* SPDX-License-Identifier: MIT */
/* The heap over time, as one line of the head of a text report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model.h"
#include "report/render.h"
#include "report/sparkline.h"
#include "report/text.h"
#include "report/timeline.h"
#include "report/units.h"

#define COLUMNS_MIN	  8
#define COLUMNS_UNLIMITED 40 /* where the output has no width of its own */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static size_t count_columns(const struct text *t, const char *span)
{
	size_t taken = TEXT_LABEL_WIDTH + strlen(span);
	if (t->width == SIZE_MAX)
		return COLUMNS_UNLIMITED;
	size_t room = t->width > taken ? t->width - taken : 0;
	return room < t->width / 2 ? room : t->width / 2;
}

/* The samples may have missed the peak, whose figures are exact. */
static void add_peak(const struct text *t, int64_t *columns, size_t count, int64_t end_ns)
{
	const struct model_totals *totals = &t->model->totals;
	size_t column = sparkline_column(count, end_ns, totals->peak_time_ns);
	const struct model_process *single = report_single_process(t->model);
	if (single)
		columns[column] = later(columns[column], single->rec.peak_bytes);
}

static bool is_flat(const int64_t *columns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (columns[i] > 0)
			return false;
	}
	return true;
}

static void put_line(struct text *t, const char *curve, const char *span)
{
	text_put(t, TEXT_BOLD, "Heap");
	text_spaces(t, TEXT_LABEL_WIDTH - strlen("Heap"));
	fprintf(t->out, "%s%s\n", curve, span);
}

static void put_curve(struct text *t, const struct rec_sample *points, size_t point_count)
{
	const struct model_process *single = report_single_process(t->model);
	char span[UNITS_TEXT + 8], duration[UNITS_TEXT];
	int64_t end_ns = points[point_count - 1].t_ns;
	if (single)
		end_ns = later(end_ns, later(single->rec.duration_ns, single->rec.peak_time_ns));
	snprintf(span, sizeof(span), "  0 to %s", units_duration(duration, end_ns));
	size_t count = count_columns(t, span);
	if (count < COLUMNS_MIN)
		return;
	int64_t *columns = calloc(count, sizeof(*columns));
	char *curve = NULL;
	if (columns) {
		sparkline_columns(columns, count, end_ns, points, point_count);
		add_peak(t, columns, count, end_ns);
		curve = sparkline_draw(columns, count, t->utf8);
	}
	if (!curve)
		t->error = -ENOMEM;
	else if (!is_flat(columns, count))
		put_line(t, curve, span);
	free(columns);
	free(curve);
}

void text_heap(struct text *t)
{
	struct rec_sample *points;
	size_t count;
	if (timeline_build(t->model, &points, &count)) {
		t->error = -ENOMEM;
		return;
	}
	if (count >= 2)
		put_curve(t, points, count);
	free(points);
}
