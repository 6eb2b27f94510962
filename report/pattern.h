/* SPDX-License-Identifier: MIT */
/*
 * POSIX extended regular expressions from users, with a diagnostic for those
 * that are none.
 */
#ifndef MEMTRACK_REPORT_PATTERN_H
#define MEMTRACK_REPORT_PATTERN_H

#include <regex.h>

#include "report/diag.h"

/* -EINVAL with "bad expression 'X': why". */
int pattern_compile(regex_t *regex, const char *text, struct diag *diag)
	__attribute__((warn_unused_result));

#endif
