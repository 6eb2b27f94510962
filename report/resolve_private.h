/* SPDX-License-Identifier: MIT */
/* What resolve.c finds and resolve_write.c writes. */
#ifndef MEMTRACK_REPORT_RESOLVE_PRIVATE_H
#define MEMTRACK_REPORT_RESOLVE_PRIVATE_H

#include <stdbool.h>

#include "report/model.h"
#include "report/resolve.h"

/* Ids of the model's modules, locations, nodes and processes' rows are those of the file. */
struct resolution {
	char *path;
	struct model model;			 /* with what was found in it */
	bool *location_changed, *module_changed; /* by id */
	size_t locations_changed;
};

#endif
