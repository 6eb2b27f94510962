/* SPDX-License-Identifier: MIT */
/* Formatting of struct diag.  Called from every layer below cmd/; keeps no state. */
#include "report/diag.h"

#include <stdarg.h>
#include <stdio.h>

/* Texts go to a terminal: control characters from file names must not reach it. */
static void make_one_line(char *text)
{
	for (char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
}

int diag_set(struct diag *d, int error, const char *format, ...)
{
	if (!d)
		return error;
	va_list args;
	va_start(args, format);
	vsnprintf(d->text, sizeof(d->text), format, args);
	va_end(args);
	make_one_line(d->text);
	d->hint[0] = '\0';
	return error;
}

void diag_hint(struct diag *d, const char *format, ...)
{
	if (!d)
		return;
	va_list args;
	va_start(args, format);
	vsnprintf(d->hint, sizeof(d->hint), format, args);
	va_end(args);
	make_one_line(d->hint);
}
