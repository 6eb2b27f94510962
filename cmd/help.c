/* SPDX-License-Identifier: MIT */
/*
 * Help: the usage, the short help made from the option tables, manuals, --version, and
 * the lists that the completion scripts read.  Also the `help` command.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/channels.h"
#include "cmd/cmd.h"
#include "cmd/complete.h"
#include "cmd/malloc.h"
#include "cmd/msg.h"
#include "report/version.h"

/* Libraries and options of this build, separated by ';': set by the Makefile. */
#ifndef MEMTRACK_BUILT_WITH
# define MEMTRACK_BUILT_WITH ""
#endif

enum { HELP_COLUMN = 28, HELP_WIDTH = 80 };

void help_usage(FILE *out)
{
	fputs("usage: memtrack run [OPTION]... [--] PROGRAM [ARG]...\n"
	      "       memtrack COMMAND [OPTION]... [ARG]...\n"
	      "       memtrack --help | --version\n",
	      out);
}

void help_general(FILE *out)
{
	fputs("memtrack records what a program does with its heap and reports where it went.\n\n",
	      out);
	help_usage(out);
	fputs("\nCommands:\n", out);
	for (const struct command *const *c = commands; *c; c++)
		fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
	fputs("\n'memtrack PROGRAM ...' is short for 'memtrack run PROGRAM ...'.\n"
	      "'memtrack COMMAND -h' lists the options of a command, 'memtrack help COMMAND'\n"
	      "opens its manual.\n",
	      out);
}

/* Words of `text` from column `column` on, continued below HELP_COLUMN; ends the line. */
static void put_wrapped(FILE *out, const char *text, size_t column)
{
	bool first = true;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (!first && column + 1 + length > HELP_WIDTH) {
			fprintf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
			first = true;
		}
		fprintf(out, "%s%.*s", first ? "" : " ", (int)length, text);
		column += length + !first;
		first = false;
		text += length;
		text += *text == ' ';
	}
	putc('\n', out);
}

/* Appends to a bounded string. */
static void append(char *text, size_t size, const char *more)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s", more);
}

static void option_help(char *text, size_t size, const struct opt *opt)
{
	char choices[256];

	text[0] = '\0';
	if (opt->type == OPT_TYPE_ALIAS) {
		append(text, size, "same as --");
		append(text, size, opt->alias);
		return;
	}
	append(text, size, opt->help);
	if (opt->type == OPT_TYPE_CHOICE) {
		append(text, size, ": ");
		append(text, size, opt_list_choices(opt, choices, sizeof(choices), ", ", ", "));
	}
}

static void put_option(FILE *out, const struct opt *table, const struct opt *opt)
{
	const struct opt *real = opt_resolve(table, opt);
	char left[128], help[512];
	int width;

	if (opt->short_name)
		snprintf(left, sizeof(left), "  -%c, --%s", opt->short_name, opt->name);
	else
		snprintf(left, sizeof(left), "      --%s", opt->name);
	if (real->arg) {
		append(left, sizeof(left), real->optional ? "[=" : "=");
		append(left, sizeof(left), real->arg);
		append(left, sizeof(left), real->optional ? "]" : "");
	}
	option_help(help, sizeof(help), opt);
	width = fprintf(out, "%-*s", HELP_COLUMN - 1, left);
	if (width >= HELP_COLUMN)
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	else
		putc(' ', out);
	put_wrapped(out, help, HELP_COLUMN);
}

void help_short(FILE *out, const struct command *command)
{
	static const struct opt help_option[] = {
		{ .short_name = 'h',
		  .name = "help",
		  .help = "show this help; --help opens the manual",
		  .type = OPT_TYPE_FLAG },
	};

	fprintf(out, "usage: memtrack %s %s\n\n%s\n\n", command->name, command->usage,
		command->summary);
	for (const struct opt *o = command->opts; o->type != OPT_TYPE_END; o++) {
		if (!(o->flags & OPT_HIDDEN))
			put_option(out, command->opts, o);
	}
	put_option(out, help_option, help_option);
	if (command->options_variable)
		fprintf(out, "\nOptions in %s are applied first.\n", command->options_variable);
}

/*
 * The page's file: in the source tree beside the binary or above its directory, or where
 * the binary was installed.  False when there is none.
 */
static bool find_manual(const char *command, int section, char *path, size_t size)
{
	static const char *const places[] = { "man", "../man", "../share/man/man1",
					      "../share/man/man7" };
	static const char *const endings[] = { "", ".gz" };
	char directory[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", directory, sizeof(directory) - 1);

	if (length <= 0)
		return false;
	directory[length] = '\0';
	*strrchr(directory, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		for (size_t j = 0; j < sizeof(endings) / sizeof(*endings); j++) {
			int n = snprintf(path, size, "%s/%s/memtrack%s%s.%d%s", directory,
					 places[i], command ? "-" : "", command ? command : "",
					 section, endings[j]);

			if (n > 0 && (size_t)n < size && access(path, R_OK) == 0)
				return true;
		}
	}
	return false;
}

/* On a terminal, and where there is man(1) and the page; else returns. */
static void open_manual(const char *name, int section)
{
	char path[PATH_MAX + 64];

	if (isatty(STDOUT_FILENO) && find_manual(name, section, path, sizeof(path))) {
		fflush(stdout);
		execlp("man", "man", path, (char *)NULL);
	}
}

int help_manual(const struct command *command)
{
	open_manual(command ? command->name : NULL, 1);
	if (command)
		help_short(stdout, command);
	else
		help_general(stdout);
	return cmd_flush_stdout() ? STATUS_GOOD : STATUS_BAD_INPUT;
}

int help_version(void)
{
	const char *rest = MEMTRACK_BUILT_WITH;

	puts("memtrack " MEMTRACK_VERSION);
	while (*rest) {
		size_t length = strcspn(rest, ";");

		printf("  %.*s\n", (int)length, rest);
		rest += length;
		rest += *rest == ';';
	}
	return cmd_flush_stdout() ? STATUS_GOOD : STATUS_BAD_INPUT;
}

static void list_option(FILE *out, const char *dashes, const char *name, const struct opt *table,
			const struct opt *opt)
{
	const struct opt *real = opt_resolve(table, opt);
	char kind[256] = "", help[512];

	if (real->type == OPT_TYPE_CHOICE)
		opt_list_choices(real, kind, sizeof(kind), "|", "|");
	else if (real->values)
		complete_plain(real->values, kind, sizeof(kind));
	else if (real->arg)
		append(kind, sizeof(kind), real->arg);
	option_help(help, sizeof(help), opt);
	fprintf(out, "%s%s\t%s%s%s\t%s\n", dashes, name, real->optional ? "[" : "", kind,
		real->optional ? "]" : "", help);
}

/*
 * A spelling a line: name, tab, what it takes (empty: nothing; a|b|c: one of these; FILE,
 * DIR ...; in brackets when optional), tab, help.  What can stand there: cmd/complete.h.
 */
void help_list_options(FILE *out, const struct command *command)
{
	for (const struct opt *o = command->opts; o->type != OPT_TYPE_END; o++) {
		if (o->flags & OPT_HIDDEN)
			continue;
		if (o->short_name)
			list_option(out, "-", (char[2]){ o->short_name }, command->opts, o);
		list_option(out, "--", o->name, command->opts, o);
	}
	fputs("-h\t\tshow a short help\n--help\t\topen the manual\n", out);
}

/* A command a line: name, tab, what its operands are, tab, summary. */
void help_list_commands(FILE *out)
{
	for (const struct command *const *c = commands; *c; c++)
		fprintf(out, "%s\t%s\t%s\n", (*c)->name, (*c)->operand ? (*c)->operand : "",
			(*c)->summary);
}

static void show_stomp(FILE *out)
{
	open_manual("stomp", 7);
	malloc_list_stomp(out);
}

const struct help_topic help_topics[] = {
	{ "allocators", "what run --malloc can put under a program here", malloc_list },
	{ "channels", "what run --trace can record", channels_list },
	{ "stomp", "the guard-page allocator", show_stomp },
	{ NULL, NULL, NULL },
};

static bool show_topic(const char *name)
{
	for (const struct help_topic *t = help_topics; t->name; t++) {
		if (strcmp(t->name, name) == 0) {
			t->show(stdout);
			return true;
		}
	}
	return false;
}

static int cmd_help(int argc, char **argv)
{
	const struct command *command = NULL;
	char none; /* no options, no values */
	int status;

	if (!cmd_parse(&help_command, &argc, &argv, &none, &status))
		return status;
	if (argc > 1)
		return cmd_usage_error(&help_command, "one COMMAND at most");
	if (argc == 1 && show_topic(argv[0]))
		return cmd_flush_stdout() ? STATUS_GOOD : STATUS_BAD_INPUT;
	if (argc == 1) {
		command = cmd_find(argv[0]);
		if (!command)
			return cmd_unknown(argv[0], false);
		return help_manual(command);
	}
	help_general(stdout);
	return cmd_flush_stdout() ? STATUS_GOOD : STATUS_BAD_INPUT;
}

static const struct opt help_opts[] = {
	OPT_END,
};

const struct command help_command = {
	.name = "help",
	.summary = "show a manual, or 'help allocators', 'help channels', 'help stomp'",
	.usage = "[COMMAND | allocators | channels | stomp]",
	.operand = "COMMAND",
	.fn = cmd_help,
	.opts = help_opts,
};
