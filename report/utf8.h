/* SPDX-License-Identifier: MIT */
/*
 * Texts from targets (names, paths, commands: any bytes) made fit for JSON and
 * for terminals.
 */
#ifndef MEMTRACK_REPORT_UTF8_H
#define MEMTRACK_REPORT_UTF8_H

#include <stddef.h>

enum utf8_flags {
	UTF8_ASCII = 1 << 0, /* what is not ASCII becomes '?' */
	UTF8_VISIBLE =
		1 << 1, /* what would move the cursor, recolour or reorder text becomes '?' */
};

/*
 * A valid UTF-8 copy, each wrong byte as U+FFFD; malloc'ed, NULL when out of
 * memory.
 */
char *utf8_clean(const char *text, unsigned flags);
/*
 * The same where what would change the text's look can be told from '?': \n, \t,
 * \x1b and so on, as are bytes that are no UTF-8.  `length` bytes, which may hold
 * NUL; one follows them.
 */
char *utf8_escape(const char *text, size_t length, unsigned flags);
/* Columns on a terminal; `text` must be valid. */
size_t utf8_width(const char *text);
/* How many bytes of `text` fill at most `columns`. */
size_t utf8_prefix(const char *text, size_t columns);
/* Where the last `columns` of `text` begin, in bytes. */
size_t utf8_suffix(const char *text, size_t columns);

#endif
