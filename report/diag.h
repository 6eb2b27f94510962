/* SPDX-License-Identifier: MIT */
/* What went wrong, for a person: filled by the layers below cmd/, which never print. */
#ifndef MEMTRACK_REPORT_DIAG_H
#define MEMTRACK_REPORT_DIAG_H

/* Both are one line without a final dot or newline; hint may be empty. */
struct diag {
	char text
		[768]; /* what failed, where, and why: "cannot read 'x.dat': not a memtrack recording" */
	char hint[256]; /* what to do about it */
};

/* Formats into d->text / d->hint (d may be NULL) and returns `error` (a negative errno) unchanged. */
int diag_set(struct diag *d, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void diag_hint(struct diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
