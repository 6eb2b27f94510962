/* SPDX-License-Identifier: MIT */
/*
 * What can stand where a shell completes: the hidden `memtrack COMMAND --list-values OPTION TEXT`, which the scripts in
 * completions/ ask.
 *
 * What an option takes comes from its table: the choices of a CHOICE; `values`; or `arg` when that is FILE or DIR.  What
 * an operand is comes from the command.  Both are alternatives separated by '|':
 *
 *	word            itself
 *	word,           itself, also as a part of a comma list
 *	word:part       "part" after "word:", where parts are separated by commas
 *	FILE, FILE.dat  a file, one with that ending
 *	DIR, PROGRAM, COMMAND (of memtrack), PID (of a process of the user)
 *
 * A word that ends in '=' has a value of its own.
 */
#ifndef MEMTRACK_CMD_COMPLETE_H
#define MEMTRACK_CMD_COMPLETE_H

#include <stdio.h>

#include "cmd/cmd.h"

/*
 * One a line: what can stand in place of `text` (the word so far), tab, a few words on it.  In a list, each begins with
 * what `text` has already; what is in it is not offered again.  Whether the rest fits `text` is left to the shell, which
 * knows its user's ways.  A line without a first field names what the shell can list itself: FILE, FILE.dat, DIR or
 * PROGRAM.  `option` as typed, with its dashes; "": the operands.
 */
void complete_values(FILE *out, const struct command *command, const char *option,
		     const char *text);

/* The alternatives as lists of options show them: without parts, and without the commas of lists. */
void complete_plain(const char *values, char *text, size_t size);

#endif
