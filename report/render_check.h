/* SPDX-License-Identifier: MIT */
/* The forms of `memtrack check`: one result, as text and as JSON. */
#ifndef MEMTRACK_REPORT_RENDER_CHECK_H
#define MEMTRACK_REPORT_RENDER_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "report/check.h"

struct model_error;
struct site;
struct view;

struct check_finding {
	enum check_budget budget;
	int64_t actual, old;	 /* old: of a growth */
	const struct site *site; /* most to blame; NULL: there is none */
	int64_t of_site;	 /* its part of `actual`, or of the growth */
	const char *remark; /* on the site, when it is known not to be the program's; or NULL */
	const struct model_error *error; /* the first */
};

struct check {
	const struct check_options *options;
	struct view *view; /* of the new recordings */
	struct check_finding findings[CHECK_BUDGETS];
	size_t count;
};

/* 0 or -ENOMEM, as renderers of reports (report/render.h). */
int render_check_text(const struct check *check);
int render_check_json(const struct check *check);

enum check_unit { CHECK_BYTES, CHECK_BLOCKS, CHECK_ALLOCATIONS, CHECK_PERCENT, CHECK_ERRORS };

/* What a finding's limit and actual figure are in. */
enum check_unit check_unit(const struct check_finding *finding,
			   const struct check_options *options);
/* A figure of a finding in per cent; infinite for growth from nothing. */
double check_percentage(const struct check_finding *finding, int64_t allocations);

static inline bool check_is_growth(enum check_budget budget)
{
	return budget >= CHECK_MAX_PEAK_GROWTH;
}

#endif
