/* SPDX-License-Identifier: MIT */
/*
 * Numbers for people: sizes in powers of 1024, thousands grouped, percentages
 * to one digit, durations.
 */
#ifndef MEMTRACK_REPORT_UNITS_H
#define MEMTRACK_REPORT_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define UNITS_TEXT 32 /* room for any text made here */

/*
 * "4096", "64K", "1.5M", "2G", "1T", with an optional "B" or "iB" after the
 * letter, in either case. 0, -EINVAL for anything else, -ERANGE when it does
 * not fit.  *bytes is set only on success; a fraction of a byte is cut off.
 */
int units_parse_size(const char *text, uint64_t *bytes) __attribute__((warn_unused_result));

/*
 * "0.2" (seconds), "0.2s", "150ms", "1m30s", "2h", "10us": numbers with one of
 * the units h, m or min, s, ms, us and ns, from the largest to the smallest.
 * The results are those of units_parse_size.
 */
int units_parse_time(const char *text, int64_t *t_ns) __attribute__((warn_unused_result));
/* "50%", "12.5%", up to 100, in millionths; else -EINVAL. */
int units_parse_percent(const char *text, int64_t *millionths) __attribute__((warn_unused_result));

/* Each writes at most UNITS_TEXT bytes to `text` and returns it. */
char *units_size(char *text, int64_t bytes);		      /* "17 B", "512.3 MiB", "-1.0 KiB" */
char *units_count(char *text, uint64_t count);		      /* "1,234,567" */
char *units_signed_count(char *text, int64_t count);	      /* "-1,234" */
char *units_percent(char *text, int64_t part, int64_t whole); /* "12.3%"; "-" of nothing */
/* The standard error of an estimate beside it: "±4.2%", "±12%", "±>100%"; "+-" where there is no UTF-8. */
char *units_error(char *text, double value, double variance, bool utf8);
char *
units_duration(char *text,
	       int64_t duration_ns); /* "0.12 ms", "350 ms", "1.25 s", "2 min 05 s", "3 h 07 min" */

#endif
