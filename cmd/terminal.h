/* SPDX-License-Identifier: MIT */
/*
 * What the terminal can show, and the pager.  Used by commands that print reports; main()
 * has set LC_CTYPE. One thread.
 */
#ifndef MEMTRACK_CMD_TERMINAL_H
#define MEMTRACK_CMD_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
