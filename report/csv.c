/* SPDX-License-Identifier: MIT */
/* See csv.h. */
#include "report/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/utf8.h"

int csv_put(FILE *out, const char *text, unsigned flags)
{
	if (!text)
		return 0;
	char *clean = utf8_clean(text, flags);
	if (!clean)
		return -ENOMEM;
	if (!strpbrk(clean, ",\"\r\n")) {
		fputs(clean, out);
	} else {
		fputc('"', out);
		for (const char *p = clean; *p; p++) {
			if (*p == '"')
				fputc('"', out);
			fputc(*p, out);
		}
		fputc('"', out);
	}
	free(clean);
	return 0;
}
