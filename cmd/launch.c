/* SPDX-License-Identifier: MIT */
/* Spawn, signals, wait; see launch.h. */
#include "cmd/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/msg.h"

enum {
	TICK_MS = 10,	      /* between looks at the segments */
	SLOW_TICK_MS = 100,   /* once the run is a minute old */
	SLOW_AFTER = 6000,    /* ticks */
	SAY_AFTER_TICKS = 50, /* waiting for descendants: say so after half a second */
};

static const int handled[] = { SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP };

static sigset_t handled_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(handled) / sizeof(*handled); i++)
		sigaddset(&set, handled[i]);
	return set;
}

struct child {
	const struct session *session;
	const char *path;
	char *const *argv;
	struct session_environment environment;
	sigset_t mask;
	struct rlimit size_limit; /* ours may have been raised */
	volatile int error;	  /* errno of exec */
};

/* In the child, which until exec lives in our memory. */
static _Noreturn void become_target(struct child *child)
{
	session_environment_for(&child->environment, child->session, getpid());
	sigprocmask(SIG_SETMASK, &child->mask, NULL);
	setrlimit(RLIMIT_FSIZE, &child->size_limit);
	if (child->path)
		execve(child->path, child->argv, child->environment.variables);
	else
		execvpe(child->argv[0], child->argv, child->environment.variables);
	child->error = errno;
	_exit(127);
}

int launch_start(struct launch *launch, const struct session *session, const char *path,
		 char *const *argv)
{
	struct child child = { .session = session, .path = path, .argv = argv };
	sigset_t set = handled_set();
	int error;

	memset(launch, 0, sizeof(*launch));
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	error = session_environment_init(&child.environment, session);
	if (error)
		return error;
	sigprocmask(SIG_BLOCK, &set, &child.mask);
	child.size_limit = session->size_limit;
	/* A copy of our memory, with all its libraries, takes longer than the start of a small program. */
	launch->pid = vfork();
	if (launch->pid == 0)
		become_target(&child);
	error = launch->pid < 0 ? -errno : 0;
	launch->exec_error = child.error;
	session_environment_release(&child.environment);
	return error;
}

struct waiting {
	struct launch *launch;
	const struct session *session;
	struct watch *watch;
	struct error_watch *errors;
	int signals; /* signalfd */
	bool target_ended, stop;
};

/* False when no child is left. */
static bool reap(struct waiting *w)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		if (!WIFEXITED(status) && !WIFSIGNALED(status))
			continue;
		watch_reaped(w->watch, pid, status, usage.ru_maxrss * 1024l);
		if (pid == w->launch->pid) {
			w->launch->status = status;
			w->target_ended = true;
		}
	}
	return pid == 0 || errno != ECHILD;
}

/* A signal from the terminal has reached the target already; one sent to us alone is passed on.  When the target has
 * ended, any of them ends the waiting for its descendants. */
static void take_signals(struct waiting *w)
{
	struct signalfd_siginfo info;

	while (read(w->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (w->target_ended)
			w->stop = true;
		else if (info.ssi_code <= 0) /* SI_USER, SI_QUEUE, SI_TKILL */
			kill(w->launch->pid, (int)info.ssi_signo);
	}
}

static void say_waiting(const struct waiting *w)
{
	size_t running = watch_running(w->watch);

	if (running)
		msg_info(
			"the program has ended; waiting for %zu recorded process%s it started (Ctrl-C to stop waiting)",
			running, running == 1 ? "" : "es");
}

static void wait_loop(struct waiting *w, bool quiet)
{
	struct pollfd fds[2] = { { .fd = w->signals, .events = POLLIN },
				 { .fd = w->watch->changes, .events = POLLIN } };
	unsigned ticks = 0, ticks_after = 0;

	while (!w->stop && reap(w)) {
		int ready = poll(fds, 2, ticks < SLOW_AFTER ? TICK_MS : SLOW_TICK_MS);

		if (ready > 0 && fds[0].revents)
			take_signals(w);
		if (ready > 0 && fds[1].revents)
			session_refill(w->session);
		watch_look(w->watch, false);
		if (error_watch_pending(w->errors)) {
			/* Looking up names takes a while, and a process may be about to end of the error. */
			poll(fds, 1, TICK_MS);
			reap(w);
			error_watch_look(w->errors);
		}
		ticks++;
		if (w->target_ended && ++ticks_after == SAY_AFTER_TICKS && !quiet)
			say_waiting(w);
	}
}

void launch_wait(struct launch *launch, const struct session *session, struct watch *watch,
		 struct error_watch *errors, bool quiet)
{
	sigset_t set = handled_set();
	struct waiting w = {
		.launch = launch, .session = session, .watch = watch, .errors = errors
	};

	w.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	wait_loop(&w, quiet);
	watch_look(watch, true);
	error_watch_look(errors);
	launch->left_running = w.stop;
	if (w.signals >= 0)
		close(w.signals);
}
