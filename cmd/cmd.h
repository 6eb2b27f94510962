/* SPDX-License-Identifier: MIT */
/*
 * The commands of memtrack.  To add one:
 *
 *  1. cmd/NAME.c: the options struct, its table, its function (parse, call the layers, map the
 *     status; under 60 lines) and `const struct command NAME_command`.
 *  2. Declare NAME_command below, add it to commands[] in cmd/main.c and the file to the Makefile.
 *  3. man/memtrack-NAME.1 with every option and an EXAMPLES section, named in man/memtrack.1 and in the Makefile.
 *  4. Completions need nothing: they ask the binary.
 *  5. An end-to-end test in test/e2e/.  test/lint/options.sh catches what was forgotten in 1 to 3.
 *
 * A command looks like this:
 *
 *	struct recover_options {
 *		const char *output;
 *		bool quiet;
 *	};
 *
 *	static const struct opt recover_opts[] = {
 *		OPT_STRING('o', "output", "FILE", struct recover_options, output, "write FILE"),
 *		OPT_FLAG('q', "quiet", struct recover_options, quiet, "no summary"),
 *		OPT_END,
 *	};
 *
 *	static int cmd_recover(int argc, char **argv)
 *	{
 *		struct recover_options o = { .output = "memtrack.dat" };
 *		int status;
 *
 *		if (!cmd_parse(&recover_command, &argc, &argv, &o, &status))
 *			return status;
 *		if (argc != 1)
 *			return cmd_usage_error(&recover_command, "one DIR is needed");
 *		... argv[0] is the first operand, argv[argc] is NULL ...
 *		opt_release(recover_opts, &o);
 *		return STATUS_GOOD;
 *	}
 *
 *	const struct command recover_command = {
 *		.name = "recover",
 *		.summary = "make a recording of a session whose memtrack was killed",
 *		.usage = "[OPTION]... DIR",
 *		.fn = cmd_recover,
 *		.opts = recover_opts,
 *	};
 */
#ifndef MEMTRACK_CMD_CMD_H
#define MEMTRACK_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cmd/opt.h"

/*
 * Exit statuses of every command but `run`, which returns its target's and uses the
 * RUN_ ones itself.
 */
enum status {
	STATUS_GOOD = 0,
	STATUS_FINDING = 1,
	STATUS_USAGE = 2,
	STATUS_BAD_INPUT = 3,	 /* input that cannot be read, output that cannot be written */
	STATUS_RUN_FAILED = 125, /* memtrack itself failed, wrong usage included */
	STATUS_RUN_NOT_EXECUTABLE = 126,
	STATUS_RUN_NOT_FOUND = 127,
};

enum command_flags {
	CMD_TARGET = 1 << 0, /* operands are another program's: options end at the first */
};

struct command {
	const char *name;
	const char *summary; /* a few words, lower case, no final dot */
	const char *usage;   /* what follows "memtrack NAME " */
	/* argv[0] is the command's name; returns the exit status */
	int (*fn)(int argc, char **argv);
	const struct opt *opts;
	unsigned int flags;	      /* enum command_flags */
	int usage_status;	      /* exit status of wrong usage; 0: STATUS_USAGE */
	const char *options_variable; /* an environment variable's options come first; or NULL */
	const char *
		operand; /* for completion, as in cmd/complete.h: PROGRAM, FILE.dat, DIR, PID or COMMAND; or NULL */
};

extern const struct command run_command;
extern const struct command report_command;
extern const struct command diff_command;
extern const struct command check_command;
extern const struct command sql_command;
extern const struct command symbolize_command;
extern const struct command recover_command;
extern const struct command help_command;

/* All commands, in the order of the help; ends with NULL. */
extern const struct command *const commands[];

/* NULL when there is no such command. */
const struct command *cmd_find(const char *name);

/*
 * Parses the command's options, those of its variable first, into `values` (the struct
 * its table binds to); *argc and *argv become the operands.  False: the work is done
 * (help was shown, or an error printed) and *status is what the command function returns.
 */
bool cmd_parse(const struct command *command, int *argc, char ***argv, void *values, int *status)
	__attribute__((warn_unused_result));

/*
 * Prints "COMMAND: text" as an error with a hint to its help; returns the command's
 * status for wrong usage.
 */
int cmd_usage_error(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints that there is no such command (or program), with the nearest; returns STATUS_USAGE. */
int cmd_unknown(const char *name, bool may_be_program);

/* `name` is a file (when it has a slash), or a program that PATH leads to. */
bool cmd_program_exists(const char *name);

/*
 * Flushes stdout; false, with an error printed, when what was written did not arrive
 * (a full disk).
 */
bool cmd_flush_stdout(void);

/* cmd/help.c */
void help_usage(FILE *out);				   /* memtrack's own, a few lines */
void help_general(FILE *out);				   /* memtrack --help */
void help_short(FILE *out, const struct command *command); /* memtrack COMMAND -h */
/*
 * memtrack COMMAND --help (NULL: memtrack --help): the manual on a terminal, else the
 * short help.
 */
int help_manual(const struct command *command);
int help_version(void);
/* What `memtrack help NAME` shows besides commands; ends with a NULL name. */
struct help_topic {
	const char *name;
	const char *summary;
	void (*show)(FILE *out);
};
extern const struct help_topic help_topics[];
/* Hidden, for the completion scripts: one a line, fields separated by tabs. */
void help_list_options(FILE *out, const struct command *command);
void help_list_commands(FILE *out);

#endif
