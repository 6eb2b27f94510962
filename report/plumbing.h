/* SPDX-License-Identifier: MIT */
/*
 * The plumbing rule: which frames only pass memory on (malloc wrappers,
 * operator new, containers, the runtime's own code) and so are not the site of
 * an allocation.  What is named here is skipped from the innermost frame
 * outward until a frame of the program itself.
 */
#ifndef MEMTRACK_REPORT_PLUMBING_H
#define MEMTRACK_REPORT_PLUMBING_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "report/diag.h"

struct plumbing {
	regex_t *extra; /* from --plumbing */
	size_t extra_count;
};

int plumbing_init(struct plumbing *plumbing, const char *const *regexes, size_t count,
		  struct diag *diag) __attribute__((warn_unused_result));
void plumbing_release(struct plumbing *plumbing);

/*
 * By function name as symbolize/ makes it: demangled, with or without
 * parameters and return type.
 */
bool plumbing_function(const struct plumbing *plumbing, const char *function);
/* The C library's caller of main: what calls it is the program's entry point. */
bool plumbing_entry(const char *function);
/* By module: the C and C++ runtime, the loader, allocators. */
bool plumbing_module(const char *path);
/* By source file: the headers of the C++ library, the sources of Rust's. */
bool plumbing_file(const char *path);

#endif
