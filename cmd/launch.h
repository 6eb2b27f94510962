/* SPDX-License-Identifier: MIT */
/*
 * Starting the target and waiting for it and all its descendants, while watching their segments.  The target keeps the
 * terminal, the signals, the descriptors and the working directory that memtrack was started with.
 */
#ifndef MEMTRACK_CMD_LAUNCH_H
#define MEMTRACK_CMD_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "cmd/error_watch.h"
#include "cmd/session.h"
#include "cmd/watch.h"

struct launch {
	pid_t pid;
	int exec_error;	   /* errno of exec; 0: it ran */
	int status;	   /* of the target, as from waitpid */
	bool left_running; /* we were told to stop waiting for descendants */
};

/* Starts `argv` as a target of the session.  `path`: the file to execute, as it is; NULL: found as execvp does, which also
 * lets a shell run a script that does not name one.  0, or -errno when there is no process to start. */
int launch_start(struct launch *launch, const struct session *session, const char *path,
		 char *const *argv) __attribute__((warn_unused_result));
/* Returns when the target and its descendants have ended; shows `errors` meanwhile.  `quiet`: do not say what is being
 * waited for. */
void launch_wait(struct launch *launch, const struct session *session, struct watch *watch,
		 struct error_watch *errors, bool quiet);

#endif
