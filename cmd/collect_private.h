/* SPDX-License-Identifier: MIT */
/* What the files share that make rows of images. */
#ifndef MEMTRACK_CMD_COLLECT_PRIVATE_H
#define MEMTRACK_CMD_COLLECT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/image.h"
#include "cmd/watch.h"
#include "report/recording.h"

/* One image on its way into the recording. */
struct item {
	const struct watched *watched;
	struct image image;
	uint32_t *codes; /* per node: its place in the code map, 0 none */
	rec_id *rows; /* per node: the recording's node; of a node that is left out, its parent's */
	uint8_t *ends; /* per node: enum stack_end */
	rec_id process;
	bool exec_ended;
};

/* What a stack cost the process. */
struct row {
	int64_t node;
	uint8_t end;
	struct costs costs;
};

/* Compares two rows by stack, as qsort(3) takes it. */
int collect_compare(const void *a, const void *b);
/* The moments of a process whose stacks are `rows`, in order. */
int collect_moments(struct recording *rec, const struct item *item, const struct row *rows,
		    size_t count, struct diag *diag) __attribute__((warn_unused_result));

#endif
