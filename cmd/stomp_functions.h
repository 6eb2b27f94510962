/* SPDX-License-Identifier: MIT */
/* stomp:function: where the code of the functions lies whose blocks are to be guarded. */
#ifndef MEMTRACK_CMD_STOMP_FUNCTIONS_H
#define MEMTRACK_CMD_STOMP_FUNCTIONS_H

#include <stddef.h>

#include "allocators/stomp/layout.h"
#include "report/diag.h"

struct stomp_functions {
	struct stomp_range *ranges; /* ascending, disjoint */
	size_t count, room;
	char *program; /* absolute path of the file */
};

/* The functions of an ELF file whose names, plain or demangled, match an extended regular expression.  0, or -errno with
 * *diag filled, -ENOENT when there is none. */
int stomp_functions_find(struct stomp_functions *functions, const char *path, const char *pattern,
			 struct diag *diag) __attribute__((warn_unused_result));
void stomp_functions_release(struct stomp_functions *functions);

#endif
