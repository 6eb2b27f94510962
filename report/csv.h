/* SPDX-License-Identifier: MIT */
/* Fields of comma-separated values (RFC 4180). */
#ifndef MEMTRACK_REPORT_CSV_H
#define MEMTRACK_REPORT_CSV_H

#include <stdio.h>

/* Writes one field, in quotes where it takes them; nothing for NULL.  `flags`: enum utf8_flags.  0 or -ENOMEM. */
int csv_put(FILE *out, const char *text, unsigned flags) __attribute__((warn_unused_result));

#endif
