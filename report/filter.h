/* SPDX-License-Identifier: MIT */
/*
 * --filter, --exclude, --focus and --ignore: which stacks a report is about.  A
 * stack passes when every filter matches one of its frames and no exclude does.
 */
#ifndef MEMTRACK_REPORT_FILTER_H
#define MEMTRACK_REPORT_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/diag.h"

struct model;

#define FILTERS_MAX 64 /* their matches are bits of one word */

enum filter_kind {
	FILTER_FUNCTION,
	FILTER_FILE,
	FILTER_MODULE,
	FILTER_TAG,
};

struct filter {
	enum filter_kind kind;
	regex_t regex;
	uint8_t *known; /* by text id: 0 not tried yet, 1 no match, 2 match */
};

struct filter_set {
	struct filter filters[FILTERS_MAX];
	size_t count;
	uint64_t keep, drop; /* which bits must, and must not, be set */
	uint64_t *node_bits; /* by node: what its frames and all its callers' match */
};

/*
 * All zero is the set that passes everything.  `expression` is "function~RE",
 * "file~RE", "module~RE" or "tag~RE".
 */
int filter_add(struct filter_set *set, const char *expression, bool exclude, struct diag *diag)
	__attribute__((warn_unused_result));
/* The same with a plain regex on function names. */
int filter_add_function(struct filter_set *set, const char *regex, bool exclude, struct diag *diag)
	__attribute__((warn_unused_result));
/*
 * Matches all nodes of a model; to be called once, before filter_passes.  0 or
 * -ENOMEM.
 */
int filter_match(struct filter_set *set, const struct model *model)
	__attribute__((warn_unused_result));
bool filter_passes(const struct filter_set *set, uint32_t node);
void filter_release(struct filter_set *set);

#endif
