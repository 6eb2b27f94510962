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
#define SAMPLES_MIN	  3  /* of fewer, most of the curve would be a guess */
#define KNOWN_POINTS	  3  /* at most so many join the samples */

struct curve {
	struct rec_sample *points; /* malloc'ed; in order of time */
	size_t count;
	int64_t end_ns;
};

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

static void insert_point(struct curve *c, int64_t t_ns, int64_t heap_bytes)
{
	size_t at = c->count++;
	for (; at && c->points[at - 1].t_ns > t_ns; at--)
		c->points[at] = c->points[at - 1];
	c->points[at] = (struct rec_sample){ t_ns, heap_bytes, 0, 0 };
}

/*
 * What the samples have missed, but is known exactly: nothing at the start, and
 * of a single process the peak and what was left at the end.
 */
static void add_known_points(const struct model *model, struct curve *c)
{
	const struct model_process *single = report_single_process(model);
	memmove(c->points + 1, c->points, c->count++ * sizeof(*c->points));
	c->points[0] = (struct rec_sample){ 0 };
	c->end_ns = c->points[c->count - 1].t_ns;
	if (!single)
		return;
	insert_point(c, single->rec.peak_time_ns, single->rec.peak_bytes);
	c->end_ns = later(c->end_ns, later(single->rec.duration_ns, single->rec.peak_time_ns));
	insert_point(c, c->end_ns, single->costs.leaked_bytes);
}

static int build_curve(const struct model *model, struct curve *c)
{
	if (timeline_build(model, &c->points, &c->count))
		return -ENOMEM;
	struct rec_sample *room =
		reallocarray(c->points, c->count + KNOWN_POINTS, sizeof(*c->points));
	if (!room) {
		free(c->points);
		return -ENOMEM;
	}
	c->points = room;
	add_known_points(model, c);
	return 0;
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

static void put_curve(struct text *t, const struct curve *c)
{
	char span[UNITS_TEXT + 8], duration[UNITS_TEXT];
	snprintf(span, sizeof(span), "  0 to %s", units_duration(duration, c->end_ns));
	size_t count = count_columns(t, span);
	if (count < COLUMNS_MIN)
		return;
	int64_t *columns = calloc(count, sizeof(*columns));
	char *drawn = NULL;
	if (columns) {
		sparkline_columns(columns, count, c->end_ns, c->points, c->count);
		drawn = sparkline_draw(columns, count, t->utf8);
	}
	if (!drawn)
		t->error = -ENOMEM;
	else if (!is_flat(columns, count))
		put_line(t, drawn, span);
	free(columns);
	free(drawn);
}

void text_heap(struct text *t)
{
	struct curve curve;
	if (t->model->sample_count < SAMPLES_MIN)
		return;
	if (build_curve(t->model, &curve)) {
		t->error = -ENOMEM;
		return;
	}
	put_curve(t, &curve);
	free(curve.points);
}
