/* SPDX-License-Identifier: MIT */
/*
 * What the terminal can show, and the pager.  Used by commands that print reports; main()
 * has set LC_CTYPE. One thread.
 */
#ifndef MEMTRACK_CMD_TERMINAL_H
#define MEMTRACK_CMD_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/report.h"

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* What --color takes, indexed by the enum; ended by a NULL name. */
extern const struct report_name color_names[];

/* Is text on `fd` coloured, by what --color said? */
bool color_wanted(enum color color, int fd);

/* `fd` is a terminal that shows colour, and NO_COLOR is unset or empty. */
bool terminal_color(int fd);

/*
 * Columns: COLUMNS when set, else what the terminal says, else 80; 0 (no limit) when
 * `fd` is no terminal.
 */
int terminal_width(int fd);

/* The locale's characters are UTF-8. */
bool terminal_utf8(void);

/*
 * The pager for what goes to stdout: MEMTRACK_PAGER, else PAGER, else `less -FRX`.  NULL, no pager,
 * when stdout is no terminal, or the value is empty or "cat".
 */
const char *pager_command(void);

/*
 * Shows a finished text in a pager and waits for that to end; SIGINT is the pager's meanwhile.
 * False, with an error printed, when it could not be run.
 */
bool pager_show(const char *command, const char *text, size_t size);

/*
 * Sets *out to stdout, or to what is shown by the pager in the end, and has run(what) write there.
 * Returns its result.
 */
int pager_print(FILE **out, int (*run)(void *what, struct diag *diag), void *what,
		struct diag *diag) __attribute__((warn_unused_result));

#endif
