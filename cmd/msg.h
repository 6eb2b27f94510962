/* SPDX-License-Identifier: MIT */
/*
 * Messages for the person at the terminal: one line each on stderr, "memtrack: error:
 * ...".  Used by cmd/ only; the layers below fill a struct diag instead (report/diag.h).
 *
 * Control characters and bytes that are no UTF-8 are shown escaped (\n, \x1b), so a file
 * name cannot break the line or reach the terminal.  Colour only when stderr is a
 * terminal and NO_COLOR is not set. stdout is never touched.  Not for signal handlers.
 *
 *	if (rec_open(&rec, path, &diag) < 0) {
 *		msg_diag(&diag);
 *		return STATUS_BAD_INPUT;
 *	}
 *	msg_warn("%d processes were still running", left);
 */
#ifndef MEMTRACK_CMD_MSG_H
#define MEMTRACK_CMD_MSG_H

#include <stddef.h>

#include "report/diag.h"

/* One line without a final dot or newline. */
void msg_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void msg_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void msg_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "memtrack: ..." without a severity: the summary of a run, progress. */
void msg_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* diag->text as an error, then diag->hint, if any, as a hint. */
void msg_diag(const struct diag *diag);
/* The same as a warning. */
void msg_warn_diag(const struct diag *diag);

/* msg_error, then exit(status). */
void die(int status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/*
 * Writes `text` to out[size] as the messages above show it, always NUL-terminated;
 * returns the length the whole result has, as snprintf does.
 */
size_t msg_escape(char *out, size_t size, const char *text);

#endif
