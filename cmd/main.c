/* SPDX-License-Identifier: MIT */
/* The table of commands, dispatch, and what the commands share.  See cmd.h. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/complete.h"
#include "cmd/msg.h"
#include "report/recording.h"
#include "report/sentence.h"

const struct command *const commands[] = {
	&run_command,	    &report_command,  &diff_command, &check_command, &sql_command,
	&symbolize_command, &recover_command, &help_command, NULL,
};

const struct command *cmd_find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++) {
		if (strcmp((*c)->name, name) == 0)
			return *c;
	}
	return NULL;
}

static int usage_status(const struct command *command)
{
	return command->usage_status ? command->usage_status : STATUS_USAGE;
}

int cmd_usage_error(const struct command *command, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	msg_error("%s: %s", command->name, text);
	msg_hint("usage: memtrack %s %s; 'memtrack %s -h' lists the options", command->name,
		 command->usage, command->name);
	return usage_status(command);
}

int cmd_unknown(const char *name, bool may_be_program)
{
	const char *names[64];
	const char *near;
	size_t count = 0;

	for (const struct command *const *c = commands; *c && count < 64; c++)
		names[count++] = (*c)->name;
	near = opt_nearest(name, names, count);
	if (near)
		msg_error("unknown command '%s'; did you mean %s?", name, near);
	else if (!may_be_program)
		msg_error("unknown command '%s'", name);
	else if (strchr(name, '/'))
		msg_error("'%s' is neither a command nor an existing program", name);
	else
		msg_error("unknown command '%s', and no program of that name was found", name);
	return STATUS_USAGE;
}

bool cmd_flush_stdout(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	if (errno != EPIPE)
		msg_error("cannot write to standard output: %s", strerror(errno));
	return false;
}

/* A recording in place of a command. */
static bool is_recording(const char *path)
{
	struct recording *rec;
	struct diag diag;

	if (access(path, X_OK) == 0 || rec_open(&rec, path, &diag))
		return false;
	rec_close(rec);
	return true;
}

static int refuse_recording(const char *path)
{
	char *quoted = sentence_quote(path);

	msg_error("'%s' is a recording, not a command", path);
	msg_hint("memtrack report %s", quoted ? quoted : path);
	free(quoted);
	return STATUS_USAGE;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool cmd_program_exists(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];

	if (strchr(name, '/'))
		return access(name, F_OK) == 0;
	for (path = path ? path : "/usr/bin:/bin"; *name && path; path = strchr(path, ':')) {
		size_t length;
		int n;

		path += *path == ':';
		length = strcspn(path, ":");
		n = snprintf(file, sizeof(file), "%.*s%s%s", (int)length, path, length ? "/" : "./",
			     name);
		if (n > 0 && (size_t)n < sizeof(file) && is_program(file))
			return true;
	}
	return false;
}

/* The words of a variable; option values point into them, so they live as long as the process. */
static char **variable_words;

static enum opt_result parse_variable(const struct command *command, void *values,
				      struct diag *diag)
{
	const char *text = command->options_variable ? getenv(command->options_variable) : NULL;
	enum opt_result result;
	int count, first;

	if (!text)
		return OPT_OK;
	free(variable_words);
	variable_words = NULL;
	if (opt_split_words(command->name, text, &variable_words, &count, diag) < 0)
		return OPT_ERROR;
	result = opt_parse(command->opts, OPT_INTERMIXED, count, variable_words, values, &first,
			   diag);
	if (result == OPT_OK && first < count)
		diag_set(diag, -EINVAL, "'%s' is not an option", variable_words[first]);
	else if (result == OPT_HELP_SHORT || result == OPT_HELP_LONG)
		diag_set(diag, -EINVAL, "-h and --help have no place here");
	else
		return result;
	return OPT_ERROR;
}

bool cmd_parse(const struct command *command, int *argc, char ***argv, void *values, int *status)
{
	enum opt_mode mode = command->flags & CMD_TARGET ? OPT_STOP_AT_OPERAND : OPT_INTERMIXED;
	struct diag diag = { 0 };
	int first = 0;

	if (parse_variable(command, values, &diag) != OPT_OK) {
		msg_error("%s: %s", command->options_variable, diag.text);
		*status = usage_status(command);
		return false;
	}
	switch (opt_parse(command->opts, mode, *argc, *argv, values, &first, &diag)) {
	case OPT_OK:
		*argc -= first;
		*argv += first;
		return true;
	case OPT_HELP_SHORT:
		help_short(stdout, command);
		*status = cmd_flush_stdout() ? STATUS_GOOD : STATUS_BAD_INPUT;
		return false;
	case OPT_HELP_LONG:
		*status = help_manual(command);
		return false;
	case OPT_ERROR:
		break;
	}
	msg_error("%s: %s", command->name, diag.text);
	*status = usage_status(command);
	return false;
}

/* An option of `run` that was typed before the command. */
static bool is_run_option(const char *option)
{
	bool is_long = strncmp(option, "--", 2) == 0;
	size_t length = strcspn(option + 2 * is_long, "=");

	for (const struct opt *o = run_command.opts; o->type != OPT_TYPE_END; o++) {
		if (is_long ? strlen(o->name) == length && strncmp(option + 2, o->name, length) == 0
			    : option[1] && option[1] == o->short_name)
			return true;
	}
	return false;
}

static int unknown_option(const char *option)
{
	static const char *const names[] = { "help", "version" };
	const char *near = strncmp(option, "--", 2) == 0 ? opt_nearest(option + 2, names, 2) : NULL;

	if (is_run_option(option))
		msg_error("option '%s' goes after the command: memtrack run %s ...", option,
			  option);
	else if (near)
		msg_error("unknown option '%s'; did you mean --%s?", option, near);
	else
		msg_error("unknown option '%s'", option);
	return STATUS_USAGE;
}

/* An option before any command. */
static int global_option(const char *option)
{
	if (strcmp(option, "--version") == 0 || strcmp(option, "-V") == 0)
		return help_version();
	if (strcmp(option, "--help") == 0)
		return help_manual(NULL);
	if (strcmp(option, "-h") == 0)
		help_general(stdout);
	else if (strcmp(option, "--list-commands") == 0)
		help_list_commands(stdout);
	else
		return unknown_option(option);
	return cmd_flush_stdout() ? STATUS_GOOD : STATUS_BAD_INPUT;
}

/*
 * A standard descriptor that is closed would be taken by the next file opened, and
 * messages would be written into that.  Put something there that fails the way a closed
 * one does; the target of `run` gets it closed again.
 */
static void hold_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			return;
	}
}

/* What completion scripts ask of a command; false: they do not. */
static bool list(const struct command *command, int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[2], "--list-options") == 0)
		help_list_options(stdout, command);
	else if (argc == 5 && strcmp(argv[2], "--list-values") == 0)
		complete_values(stdout, command, argv[3], argv[4]);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	const struct command *command;

	hold_standard_descriptors();
	setlocale(LC_CTYPE, "");
	if (argc < 2) {
		help_usage(stderr);
		return STATUS_USAGE;
	}
	if (strcmp(argv[1], "--") == 0)
		return run_command.fn(argc, argv);
	if (argv[1][0] == '-')
		return global_option(argv[1]);
	command = cmd_find(argv[1]);
	if (!command) {
		if (is_recording(argv[1]))
			return refuse_recording(argv[1]);
		if (cmd_program_exists(argv[1]))
			return run_command.fn(argc, argv);
		return cmd_unknown(argv[1], true);
	}
	if (list(command, argc, argv))
		return cmd_flush_stdout() ? STATUS_GOOD : STATUS_BAD_INPUT;
	return command->fn(argc - 1, argv + 1);
}
