/* SPDX-License-Identifier: MIT */
/* `memtrack sql`: operands, standard input and terminal; report/sql.h does the work. */
#include "report/sql.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/msg.h"
#include "cmd/terminal.h"

#define STATEMENTS_BYTES_MAX (16u << 20)

struct options {
	int format;
};

/* clang-format off */
static const struct opt sql_opts[] = {
	OPT_CHOICE(0, "format", "FORMAT", struct options, format, sql_format_names, "form of the output"),
	OPT_END,
};
/* clang-format on */

/* A word of file names' characters with a dot or slash in it, as no statement is one. */
static bool looks_like_file(const char *operand)
{
	static const char characters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./%@:+";
	return strpbrk(operand, "./") && operand[strspn(operand, characters)] == '\0';
}

/* Which operand is the file, which the statements; NULL for what was not given. */
static void sort_operands(int argc, char **argv, const char **file, const char **statements)
{
	*file = *statements = NULL;
	if (argc == 2)
		*statements = argv[1];
	if (argc == 2 || (argc == 1 && (access(argv[0], F_OK) == 0 || looks_like_file(argv[0]))))
		*file = argv[0];
	else if (argc == 1)
		*statements = argv[0];
}

/* All of standard input; malloc'ed, NULL with an error printed. */
static char *read_statements(void)
{
	char *text = malloc(STATEMENTS_BYTES_MAX + 1);
	size_t size = 0, got = 1;

	if (!text) {
		msg_error("out of memory");
		return NULL;
	}
	while (got && size < STATEMENTS_BYTES_MAX) {
		got = fread(text + size, 1, STATEMENTS_BYTES_MAX - size, stdin);
		size += got;
	}
	text[size] = '\0';
	if (!ferror(stdin) && size < STATEMENTS_BYTES_MAX && strlen(text) == size)
		return text;
	if (ferror(stdin))
		msg_error("cannot read standard input: %s", strerror(errno));
	else if (size == STATEMENTS_BYTES_MAX)
		msg_error("standard input is too long for statements: more than 16 MiB");
	else
		msg_error("standard input holds no statements: there is a zero byte in it");
	free(text);
	return NULL;
}

static int run(void *options, struct diag *diag)
{
	return sql_run(options, diag);
}

static int run_statements(const char *file, const char *statements, enum sql_format format)
{
	struct diag diag = { 0 };
	struct sql_options o = {
		.file = file ? file : "memtrack.dat",
		.statements = statements,
		.format = format,
		.terminal = isatty(STDOUT_FILENO),
		.utf8 = terminal_utf8(),
		.width = terminal_width(STDOUT_FILENO),
	};
	int err = pager_print(&o.out, run, &o, &diag);

	if (err == 0 || err == -EPIPE)
		return STATUS_GOOD;
	msg_diag(&diag);
	return err == -EINVAL ? STATUS_USAGE : STATUS_BAD_INPUT;
}

static int cmd_sql(int argc, char **argv)
{
	struct options o = { .format = SQL_FORMAT_TABLE };
	const char *file, *statements;
	char *input = NULL;
	int status;

	if (!cmd_parse(&sql_command, &argc, &argv, &o, &status))
		return status;
	if (argc > 2)
		return cmd_usage_error(&sql_command,
				       "one FILE and one STATEMENT at most; put quotes around it");
	sort_operands(argc, argv, &file, &statements);
	if (!statements && isatty(STDIN_FILENO))
		return cmd_usage_error(&sql_command,
				       "a statement is needed, such as 'SELECT * FROM totals'");
	if (!statements)
		statements = input = read_statements();
	status = statements ? run_statements(file, statements, (enum sql_format)o.format)
			    : STATUS_BAD_INPUT;
	free(input);
	return status;
}

const struct command sql_command = {
	.name = "sql",
	.summary = "query a recording",
	.usage = "[OPTION]... [FILE] [STATEMENT]",
	.operand = "FILE.dat",
	.fn = cmd_sql,
	.opts = sql_opts,
};
