/* SPDX-License-Identifier: MIT */
/* The columns of CSV output that tables and trees have in common. */
#ifndef MEMTRACK_REPORT_CSV_COSTS_H
#define MEMTRACK_REPORT_CSV_COSTS_H

#include <stdio.h>

struct cost_variances;
struct costs;
struct model;
struct site;

/* "function,file,line,module,address": headings, and what they are; 0 or -ENOMEM. */
void csv_place_titles(FILE *out);
int csv_place(FILE *out, const struct model *model, const struct site *site)
	__attribute__((warn_unused_result));

/* ",allocations" and so on, each with something before and behind it. */
void csv_cost_titles(FILE *out, const char *before, const char *behind);
void csv_costs(FILE *out, const struct costs *costs);
/* Of the same figures, in the same order. */
void csv_standard_errors(FILE *out, const struct cost_variances *variances);

#endif
