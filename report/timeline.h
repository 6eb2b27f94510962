/* SPDX-License-Identifier: MIT */
/* Heap over time: the samples of the selected processes as one curve. */
#ifndef MEMTRACK_REPORT_TIMELINE_H
#define MEMTRACK_REPORT_TIMELINE_H

#include <stddef.h>

#include "report/recording.h"

struct model;

/*
 * One process: its samples in order of time.  Several: at each sample of any,
 * the sum of all that live at that moment; time counts from the first start in
 * each recording.  *points is malloc'ed.  0 or -ENOMEM.
 */
int timeline_build(const struct model *model, struct rec_sample **points, size_t *count)
	__attribute__((warn_unused_result));

#endif
