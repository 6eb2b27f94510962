/* SPDX-License-Identifier: MIT */
/* `memtrack run`: records a program and its children. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/layout.h"
#include "cmd/channels.h"
#include "cmd/check.h"
#include "cmd/cmd.h"
#include "cmd/error_watch.h"
#include "cmd/finish.h"
#include "cmd/launch.h"
#include "cmd/malloc.h"
#include "cmd/msg.h"
#include "cmd/output.h"
#include "cmd/program.h"
#include "cmd/session.h"
#include "cmd/stomp_functions.h"
#include "cmd/terminal.h"
#include "cmd/watch.h"

struct run_options {
	const char *output, *session_dir, *malloc, *trace, *check;
	int64_t depth, buckets;
	uint64_t sample;
	bool follow, slack;
	struct finish_options finish;
};

/* clang-format off */
static const struct opt run_opts[] = {
	OPT_STRING('o', "output", "FILE", struct run_options, output,
		   "the recording; %p pid, %e program, %h host, %t time (memtrack.dat)"),
	OPT_STRING_OF(0, "malloc", "NAME", ALLOCATOR_NAMES "|" ALLOCATOR_STOMP_NAMES "|help|FILE", struct run_options, malloc,
		      "put another allocator under the program: mimalloc, rpmalloc, jemalloc, tcmalloc, stomp "
		      "(guard pages), or a path; 'help' lists those that are here (ansi: its own)"),
	OPT_STRING_OF(0, "trace", "CHANNELS", CHANNEL_NAMES "|help", struct run_options, trace,
		      "what to record: callstack, memtag, memalloc, or memory, memory_light (no stacks), none; "
		      "'help' explains (callstack,memtag)"),
	OPT_INT(0, "depth", "N", struct run_options, depth, 1, 4096, "most frames of a stack (256)"),
	OPT_SIZE(0, "sample", "BYTES", struct run_options, sample, 1, SEG_SAMPLE_MOST,
		 "record one allocation per BYTES on average: less cost, figures are estimates"),
	OPT_FLAG(0, "slack", struct run_options, slack,
		 "record what is lost to the allocator's rounding up of sizes as well"),
	OPT_CLEAR(0, "no-follow", struct run_options, follow, "ignore child processes"),
	OPT_FLAG(0, "follow-fork", struct run_options, follow, "record child processes (the default)"),
	OPT_ALIAS("trace-children", "follow-fork"),
	OPT_STRING(0, "session-dir", "DIR", struct run_options, session_dir,
		   "where the data lies while the program runs (/dev/shm)"),
	OPT_INT(0, "buckets", "N", struct run_options, buckets, 64, 1048576,
		"initial size of the stack table; it grows (16384)"),
	SYMBOL_OPTIONS(struct run_options, finish.symbols),
	OPT_STRING(0, "check", "OPTIONS", struct run_options, check,
		   "then compare the recording with budgets: options of check, in one word"),
	OPT_FLAG('q', "quiet", struct run_options, finish.quiet, "no summary"),
	OPT_END,
};
/* clang-format on */

static uint32_t power_of_two(int64_t n)
{
	uint32_t p = 64;

	while (p < n)
		p *= 2;
	return p;
}

static int report_missing(const char *name, int error, const struct program_facts *f)
{
	if (error == ENOENT || error == ENOTDIR) {
		msg_error("cannot find program '%s'", name);
		return STATUS_RUN_NOT_FOUND;
	}
	if (error == ENOEXEC && f->foreign)
		msg_error("cannot execute '%s': it is for %s", name, f->architecture);
	else
		msg_error("cannot execute '%s': %s", name,
			  error == EISDIR ? "it is a directory" : strerror(error));
	return STATUS_RUN_NOT_EXECUTABLE;
}

/* The status that the shell would show for the target. */
static int status_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

struct run {
	struct run_options options;
	struct session session;
	struct watch watch;
	struct launch launch;
	struct program_facts facts;
	struct allocator_choice allocator;
	struct stomp_functions functions; /* whose blocks stomp guards; none: all */
	unsigned channels;
	struct check_plan *check; /* NULL: none was asked for */
	char *output;		  /* its name in full, once it is known */
};

/* What comes of it that nothing can be preloaded; NULL: nothing that was asked for. */
static const char *missed(const struct run *run)
{
	bool swap = run->allocator.path;

	if (run->channels)
		return swap ? "nothing will be recorded, and its allocator cannot be swapped"
			    : "nothing will be recorded";
	return swap ? "its allocator cannot be swapped" : NULL;
}

/* Says at once what cannot be done, and why.  Of a foreign program only once the kernel has taken it. */
static void warn_of_no_preload(const struct run *run, const char *name)
{
	const struct program_facts *f = &run->facts;

	if (!missed(run))
		return;
	if (f->foreign)
		msg_warn("'%s' is for %s: memtrack records x86-64 programs only, so %s", name,
			 f->architecture, missed(run));
	else if (f->is_static)
		msg_warn(
			"'%s' is statically linked: the loader cannot add memtrack's library, so %s",
			name, missed(run));
	else
		msg_warn(
			"'%s' runs with other privileges (set-user-id or capabilities): the loader ignores LD_PRELOAD, so "
			"%s",
			name, missed(run));
}

static bool cannot_record(const struct program_facts *f)
{
	return f->foreign || f->is_static || f->privileged;
}

static void warn_of_limits(const struct run *run, const char *name)
{
	const struct program_facts *f = &run->facts;
	const char *swap = run->allocator.path ? ", and --malloc does not replace it" : "";

	if (cannot_record(f))
		warn_of_no_preload(run, name);
	else if (!run->channels && !*swap)
		return;
	else if (f->own_malloc && *f->allocator)
		msg_warn(
			"'%s' carries its own malloc (%s): allocations it serves by itself are not seen%s",
			name, f->allocator, swap);
	else if (f->own_malloc)
		msg_warn(
			"'%s' defines its own malloc: allocations it serves by itself are not seen%s",
			name, swap);
	else if (*f->allocator)
		msg_warn("'%s' carries %s: allocations through its own functions are not seen%s",
			 name, f->allocator, swap);
}

static int start(struct run *run, char **argv, struct diag *diag)
{
	char *folder = output_folder(run->options.output);
	struct session_options so = {
		.base = run->options.session_dir,
		.beside = folder,
		.depth = (uint32_t)run->options.depth,
		.buckets = power_of_two(run->options.buckets),
		.follow = run->options.follow,
		.sample = run->options.sample,
		.slack = run->options.slack,
		.trace = run->channels != CHANNELS_NONE,
		.stacks = run->channels & CHANNEL_CALLSTACK,
		.allocator = &run->allocator,
		.functions = run->functions.count ? &run->functions : NULL,
	};
	int error = folder ? session_create(&run->session, &so, diag)
			   : diag_set(diag, -ENOMEM, "out of memory");

	if (!error) {
		if (watch_init(&run->watch, run->session.directory) < 0)
			error = diag_set(diag, -ENOMEM, "out of memory");
		if (!error) {
			/* An ELF file goes to the kernel as it is: no shell should try one of another machine. */
			error = launch_start(&run->launch, &run->session,
					     run->facts.is_elf ? run->facts.path : NULL, argv);
			if (error)
				diag_set(diag, error, "cannot start a process: %s",
					 strerror(-error));
		}
		if (error)
			session_remove(run->session.directory);
	}
	free(folder);
	return error;
}

/* Nothing was recorded: says why, unless it was said at the start.  Returns the status of run. */
static int explain_nothing(const struct run *run, const char *name)
{
	if (cannot_record(&run->facts))
		return status_of(run->launch.status);
	if (run->watch.count) {
		msg_error("nothing was recorded: no room in session directory '%s'",
			  run->session.directory);
		msg_hint("--session-dir DIR names another place");
		return STATUS_RUN_FAILED;
	}
	msg_warn("nothing was recorded: memtrack's library did not start in '%s'", name);
	msg_hint(
		"programs that are static, set-user-id, or kept from the session directory cannot be recorded");
	return status_of(run->launch.status);
}

/* How it was recorded, for the record; malloc'ed. */
static char *describe_options(const struct run_options *o)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "depth=%d follow=%d", (int)o->depth, o->follow);
	if (o->sample)
		fprintf(out, " sample=%" PRIu64, o->sample);
	if (o->slack)
		fputs(" slack=1", out);
	if (o->malloc)
		fprintf(out, " malloc=%s", o->malloc);
	if (o->trace)
		fprintf(out, " trace=%s", o->trace);
	return fclose(out) ? NULL : text;
}

static enum finished write_recording(struct run *run, char **argv)
{
	struct diag diag = { 0 };
	char *text = describe_options(&run->options);
	enum finished finished = FINISHED_FAILED;

	run->output = output_expand(run->options.output, run->launch.pid, argv[0], &diag);
	run->options.finish.output = run->output;
	run->options.finish.allocator = run->allocator.path;
	run->options.finish.not_recorded = run->channels == CHANNELS_NONE;
	run->options.finish.operators = run->session.operators;
	if (WIFSIGNALED(run->launch.status))
		run->options.finish.signal = WTERMSIG(run->launch.status);
	if (run->output && !(run->check && check_plan_output(run->check, run->output, &diag)))
		finished = finish_session(&run->watch, &run->options.finish, text ? text : "");
	else
		msg_diag(&diag);
	free(text);
	return finished;
}

/* What the program did goes before what it used.  Returns the status of run. */
static int judge(const struct run *run)
{
	int status = status_of(run->launch.status);
	int verdict = run->check
			      ? check_plan_run(run->check, run->output, run->options.finish.quiet)
			      : STATUS_GOOD;

	if (status || verdict == STATUS_GOOD || verdict == STATUS_FINDING)
		return status ? status : verdict;
	return STATUS_RUN_FAILED;
}

/* A check of nothing is not kept. */
static int judge_nothing(const struct run *run, int status)
{
	if (!run->check)
		return status;
	msg_error("nothing was recorded, so there is nothing to check");
	return status ? status : STATUS_RUN_FAILED;
}

/* --trace=none: there is no recording to write. */
static int finish_unrecorded(const struct run *run)
{
	bool swapped = run->allocator.path && !cannot_record(&run->facts) && !run->facts.own_malloc;

	session_remove(run->session.directory);
	if (!run->options.finish.quiet)
		msg_info("nothing was recorded (--trace=none); the program ran on %s",
			 swapped ? run->allocator.path : "its own malloc");
	return status_of(run->launch.status);
}

/* Writes the recording and returns the status of run. */
static int finish(struct run *run, char **argv)
{
	enum finished finished = write_recording(run, argv);

	if (finished == FINISHED_FAILED) {
		msg_hint("nothing is lost: 'memtrack recover %s' writes the recording",
			 run->session.directory);
		return STATUS_RUN_FAILED;
	}
	session_remove(run->session.directory);
	if (finished == FINISHED_WRITTEN)
		return judge(run);
	if (access(run->options.output, F_OK) == 0)
		msg_hint("'%s' is left as it was: of an earlier run", run->options.output);
	return judge_nothing(run, explain_nothing(run, argv[0]));
}

/* Errors are shown also with --quiet: they are what the guard-page allocator was asked for. */
static void wait_for_target(struct run *run)
{
	struct sym_options symbols = symbols_from(&run->options.finish.symbols, false);
	struct error_watch errors;

	error_watch_init(&errors, &run->watch, &symbols, stderr, terminal_color(STDERR_FILENO),
			 terminal_utf8());
	launch_wait(&run->launch, &run->session, &run->watch, &errors, run->options.finish.quiet);
	run->options.finish.sym = error_watch_end(&errors);
	/* What was to be shown at once was not looked for where that takes long. */
	if (symbols.debuginfod) {
		sym_free(run->options.finish.sym);
		run->options.finish.sym = NULL;
	}
}

static int run_target(struct run *run, char **argv)
{
	struct diag diag = { 0 };

	if (start(run, argv, &diag)) {
		msg_diag(&diag);
		return STATUS_RUN_FAILED;
	}
	if (run->facts.foreign && !run->launch.exec_error)
		warn_of_limits(run, argv[0]);
	/* A size limit is an error to report.  After the start, so that the target has its own. */
	signal(SIGXFSZ, SIG_IGN);
	wait_for_target(run);
	if (run->launch.exec_error) {
		session_remove(run->session.directory);
		return report_missing(argv[0], run->launch.exec_error, &run->facts);
	}
	return session_has_agent(&run->session.options) ? finish(run, argv)
							: finish_unrecorded(run);
}

/* `--malloc help`, `--trace help`. */
static bool is_for_help(const struct run_options *o)
{
	bool allocators_asked = o->malloc && strcmp(o->malloc, "help") == 0;
	bool channels_asked = o->trace && strcmp(o->trace, "help") == 0;

	if (allocators_asked)
		malloc_list(stdout);
	if (channels_asked)
		channels_list(stdout);
	return allocators_asked || channels_asked;
}

/* What goes under the program, what is recorded, and where that goes.  False: an error was printed. */
static bool check_options(struct run *run, const char *name)
{
	struct diag diag = { 0 };
	char *output = NULL;
	bool good;

	run->channels = CHANNELS_DEFAULT;
	good = !(run->options.trace && channels_parse(run->options.trace, &run->channels, &diag)) &&
	       !(run->options.malloc && malloc_choose(run->options.malloc, &run->allocator, &diag));
	if (good && (run->channels || run->allocator.stomp_options)) {
		output = output_expand(run->options.output, getpid(), name, &diag);
		good = output && !output_check(output, &diag);
	}
	free(output);
	if (!good)
		msg_diag(&diag);
	return good;
}

/* What is wrong with it is said before anything is started.  False: an error was printed. */
static bool plan_check(struct run *run)
{
	struct diag diag = { 0 };

	if (!run->options.check)
		return true;
	if (check_plan_make(&run->check, run->options.check, &diag)) {
		msg_error("option '--check': %s", diag.text);
		if (diag.hint[0])
			msg_hint("%s", diag.hint);
		return false;
	}
	if (run->channels || (run->allocator.stomp_options && check_plan_is_of_errors(run->check)))
		return true;
	msg_error("option '--check': with --trace=none nothing is recorded that could be checked");
	return false;
}

/* False: an error was printed. */
static bool find_functions(struct run *run)
{
	struct diag diag = { 0 };

	if (!run->allocator.stomp_function ||
	    stomp_functions_find(&run->functions, run->facts.path, run->allocator.stomp_function,
				 &diag) == 0)
		return true;
	msg_diag(&diag);
	return false;
}

static int cmd_run(int argc, char **argv)
{
	struct run run = { .options = { .output = "memtrack.dat",
					.depth = 256,
					.buckets = 16384,
					.follow = true } };
	int status;

	if (!cmd_parse(&run_command, &argc, &argv, &run.options, &status))
		return status;
	if (is_for_help(&run.options))
		return cmd_flush_stdout() ? STATUS_GOOD : STATUS_RUN_FAILED;
	if (argc < 1)
		return cmd_usage_error(&run_command, "no program given");
	if (run.options.slack && run.options.sample)
		return cmd_usage_error(
			&run_command,
			"--slack and --sample exclude each other: slack has no standard error");
	if (!check_options(&run, argv[0]) || !plan_check(&run))
		return STATUS_RUN_FAILED;
	program_examine(argv[0], &run.facts);
	if (!run.facts.path)
		return report_missing(argv[0], run.facts.error, &run.facts);
	if (!find_functions(&run))
		return STATUS_RUN_FAILED;
	if (!run.facts.foreign)
		warn_of_limits(&run, argv[0]);
	status = run_target(&run, argv);
	sym_free(run.options.finish.sym);
	watch_release(&run.watch);
	session_release(&run.session);
	program_release(&run.facts);
	allocator_release(&run.allocator);
	stomp_functions_release(&run.functions);
	check_plan_free(run.check);
	free(run.output);
	opt_release(run_opts, &run.options);
	return status;
}

const struct command run_command = {
	.name = "run",
	.summary = "record a program and its children",
	.usage = "[OPTION]... [--] PROGRAM [ARG]...",
	.fn = cmd_run,
	.opts = run_opts,
	.flags = CMD_TARGET,
	.usage_status = STATUS_RUN_FAILED,
	.options_variable = "MEMTRACK_OPTIONS",
	.operand = "PROGRAM",
};
