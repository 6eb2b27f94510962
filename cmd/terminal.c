/* SPDX-License-Identifier: MIT */
/* What the terminal can show, and the pager.  See terminal.h. */
#include "cmd/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/msg.h"

const struct report_name color_names[] = {
	[COLOR_AUTO] = { "auto", "on a terminal, unless NO_COLOR is set" },
	[COLOR_ALWAYS] = { "always", "also into a file or pipe" },
	[COLOR_NEVER] = { "never", "not at all" },
	{ NULL, NULL },
};

bool color_wanted(enum color color, int fd)
{
	return color == COLOR_ALWAYS || (color == COLOR_AUTO && terminal_color(fd));
}

bool terminal_color(int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return !(no_color && *no_color) && term && strcmp(term, "dumb") != 0 && isatty(fd);
}

int terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (columns) {
		char *end;
		long width = strtol(columns, &end, 10);

		if (end != columns && !*end && width >= 20 && width <= 10000)
			return (int)width;
	}
	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return 80;
}

bool terminal_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

const char *pager_command(void)
{
	const char *command;

	if (!isatty(STDOUT_FILENO))
		return NULL;
	command = getenv("MEMTRACK_PAGER");
	if (!command)
		command = getenv("PAGER");
	if (!command)
		return cmd_program_exists("less") ? "less -FRX" : NULL;
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

bool pager_show(const char *command, const char *text, size_t size)
{
	FILE *pipe;
	int status;

	/* what `less` under another name or options needs for colours and short texts */
	setenv("LESS", "FRX", 0);
	fflush(stdout);
	pipe = popen(command, "we");
	if (!pipe) {
		msg_warn("cannot run the pager '%s': %s", command, strerror(errno));
		return false;
	}
	signal(SIGPIPE, SIG_IGN); /* a pager may end early */
	signal(SIGINT, SIG_IGN);
	fwrite(text, 1, size, pipe);
	status = pclose(pipe);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	if (status >= 0 && WIFEXITED(status) &&
	    (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)) {
		msg_warn("cannot run the pager '%s'", command);
		msg_hint("set MEMTRACK_PAGER to another program, or to nothing");
		return false;
	}
	return true;
}

/* What there is of a result that failed is shown, too: statements before the wrong one have an answer. */
int pager_print(FILE **out, int (*run)(void *what, struct diag *diag), void *what,
		struct diag *diag)
{
	const char *pager = pager_command();
	char *text = NULL;
	size_t size = 0;
	int error;

	*out = pager ? open_memstream(&text, &size) : stdout;
	if (!*out)
		return diag_set(diag, -ENOMEM, "out of memory");
	error = run(what, diag);
	if (pager) {
		if (fclose(*out) != 0 && !error)
			error = diag_set(diag, -ENOMEM, "out of memory");
		if (size && !pager_show(pager, text, size))
			fwrite(text, 1, size, stdout); /* better than nothing */
		free(text);
	}
	return error;
}
