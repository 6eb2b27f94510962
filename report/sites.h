/* SPDX-License-Identifier: MIT */
/*
 * Sites: stacks grouped by what a report is by.  A site proper is the innermost
 * frame of a stack that is not plumbing (function, file, line, module; without
 * a name: module and address).  When all frames are plumbing it is the
 * innermost one.  Inlined frames count as frames.
 */
#ifndef MEMTRACK_REPORT_SITES_H
#define MEMTRACK_REPORT_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/recording.h"
#include "report/report.h"
#include "report/site_finder.h"

struct filter_set;
struct model;
struct plumbing;

/* A group of stacks.  What it was not grouped by is 0, as is what is unknown. */
struct site {
	uint32_t function, file, module; /* text ids; module: its path */
	uint32_t line;
	uint64_t address;  /* set only when the function is not known */
	uint32_t process;  /* index + 1; by process only, then module is the executable */
	uint32_t stack_id; /* index + 1; by stack only */
	uint32_t part;	   /* index + 1, of the first of several; by thread and by size only */
	uint32_t first_stack, stack_count; /* into site_table.stacks */
	struct costs costs;
};

struct site_table {
	struct site *
		sites; /* in the order of the sort key; ties in a fixed one; see site_options.top */
	size_t count;
	uint32_t *stacks; /* indices into model->stacks; each site's are together */
	size_t stack_count;
	struct site_finder finder; /* fed with the model: the sites of all its nodes */
	struct costs costs;	   /* Σ over the sites: what the filters let pass */
};

struct site_options {
	enum report_by by;
	enum report_sort sort;
	size_t top; /* so many sites need be in order, the others may come in any; 0: all */
};

int sites_build(struct site_table *table, const struct model *model,
		const struct site_options *options, const struct plumbing *plumbing,
		const struct filter_set *filters, struct diag *diag)
	__attribute__((warn_unused_result));
void sites_release(struct site_table *table);
/* Puts the sites that need be so in order of cost. */
void sites_sort(struct site_table *table, const struct model *model,
		const struct site_options *options);
/* Puts the first of a site's stacks in order of cost; done only for sites that are shown. */
void sites_sort_stacks(struct site_table *table, const struct site *site, const struct model *model,
		       enum report_sort sort, size_t first);
/*
 * The order of a table: < 0 when `a` comes first.  Only equal sites are equal.
 */
int sites_compare(const struct site *a, const struct site *b, const struct model *model,
		  enum report_sort sort);
/* The number the sort key names. */
int64_t sites_cost(const struct costs *costs, enum report_sort sort);

#endif
