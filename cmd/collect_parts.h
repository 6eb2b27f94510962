/* SPDX-License-Identifier: MIT */
/* From the sums over a segment to rows of the recording: costs, and those by thread and by size. */
#ifndef MEMTRACK_CMD_COLLECT_PARTS_H
#define MEMTRACK_CMD_COLLECT_PARTS_H

#include "cmd/image.h"
#include "cmd/thread_names.h"
#include "report/recording.h"

/* variances: NULL where every allocation was recorded. */
struct costs collect_costs(const struct image_cost *cost, const struct image_variances *variances);
/* Threads, and costs by thread and by size.  names: of threads that the agent has none for. */
int collect_parts(struct recording *rec, rec_id process, const struct image *image,
		  const struct thread_names *names, struct diag *diag)
	__attribute__((warn_unused_result));

#endif
