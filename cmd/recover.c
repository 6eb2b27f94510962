/* SPDX-License-Identifier: MIT */
/* `memtrack recover`: makes a recording of a session whose memtrack was killed. */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/layout.h"
#include "cmd/cmd.h"
#include "cmd/finish.h"
#include "cmd/msg.h"
#include "cmd/output.h"
#include "cmd/session.h"
#include "cmd/watch.h"

struct recover_options {
	const char *output;
	bool keep;
	struct finish_options finish;
};

/* clang-format off */
static const struct opt recover_opts[] = {
	OPT_STRING('o', "output", "FILE", struct recover_options, output, "the recording (memtrack.dat)"),
	OPT_FLAG(0, "keep", struct recover_options, keep, "leave DIR as it is afterwards"),
	SYMBOL_OPTIONS(struct recover_options, finish.symbols),
	OPT_FLAG('q', "quiet", struct recover_options, finish.quiet, "no summary"),
	OPT_END,
};
/* clang-format on */

static int check_directory(const char *directory)
{
	struct stat st;

	if (stat(directory, &st) < 0) {
		msg_error("cannot read session '%s': %s", directory, strerror(errno));
		return STATUS_BAD_INPUT;
	}
	if (!S_ISDIR(st.st_mode)) {
		msg_error("'%s' is not a session directory", directory);
		return STATUS_BAD_INPUT;
	}
	return STATUS_GOOD;
}

/* The session itself, or the one session in a directory that was given to --session-dir.  malloc'ed; NULL when there
 * is none or more than one (said). */
static char *find_session(const char *directory)
{
	char pattern[PATH_MAX], *found = NULL;
	glob_t sessions;

	snprintf(pattern, sizeof(pattern), "%s/" SEG_IMAGE_PREFIX "*", directory);
	if (glob(pattern, 0, NULL, &sessions) == 0) {
		globfree(&sessions);
		return strdup(directory);
	}
	snprintf(pattern, sizeof(pattern), "%s/" SESSION_PREFIX "*-??????", directory);
	if (glob(pattern, 0, NULL, &sessions) != 0) {
		msg_error("'%s' holds no recorded process", directory);
		return NULL;
	}
	if (sessions.gl_pathc == 1)
		found = strdup(sessions.gl_pathv[0]);
	else
		msg_error("'%s' holds %zu sessions: name one of them, such as '%s'", directory,
			  sessions.gl_pathc, sessions.gl_pathv[0]);
	globfree(&sessions);
	return found;
}

static int recover(const char *directory, struct recover_options *o)
{
	struct watch watch;
	size_t running;
	enum finished finished;

	if (watch_init(&watch, directory) < 0)
		die(STATUS_BAD_INPUT, "out of memory");
	watch_look(&watch, true);
	running = watch_running(&watch);
	if (running)
		msg_warn(
			"%zu recorded process%s still running: the recording shows the state now, and '%s' is kept",
			running, running == 1 ? " is" : "es are", directory);
	finished = finish_session(&watch, &o->finish, "recovered");
	watch_release(&watch);
	if (finished == FINISHED_EMPTY)
		msg_error("'%s' holds no recorded process", directory);
	if (finished == FINISHED_WRITTEN && !running && !o->keep)
		session_remove(directory);
	return finished == FINISHED_WRITTEN ? STATUS_GOOD : STATUS_BAD_INPUT;
}

static int cmd_recover(int argc, char **argv)
{
	struct recover_options o = { .output = "memtrack.dat" };
	struct diag diag = { 0 };
	int status;

	if (!cmd_parse(&recover_command, &argc, &argv, &o, &status))
		return status;
	if (argc != 1)
		return cmd_usage_error(&recover_command, "one session directory is needed");
	o.finish.output = o.output;
	status = check_directory(argv[0]);
	if (status == STATUS_GOOD && output_check(o.output, &diag)) {
		msg_diag(&diag);
		status = STATUS_BAD_INPUT;
	}
	if (status == STATUS_GOOD) {
		char *session = find_session(argv[0]);

		status = session ? recover(session, &o) : STATUS_BAD_INPUT;
		free(session);
	}
	opt_release(recover_opts, &o);
	return status;
}

const struct command recover_command = {
	.name = "recover",
	.summary = "make a recording of a session whose memtrack was killed",
	.usage = "[OPTION]... DIR",
	.fn = cmd_recover,
	.opts = recover_opts,
	.operand = "DIR",
};
