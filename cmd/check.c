/* SPDX-License-Identifier: MIT */
/* `memtrack check`, and `run --check`: options; report/check.h does the work. */
#include "cmd/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/msg.h"
#include "cmd/view_options.h"
#include "report/check.h"
#include "report/recording.h"
#include "report/suppressions.h"

struct options {
	struct view_options view; /* which processes and sites */
	const char *against;
	int format;
	bool quiet;
	struct check_limit limits[CHECK_BUDGETS];
};

struct check_plan {
	struct options options;
	char **words;	/* what the options point into */
	char *kept_old; /* where the old recording will be when the new one is written */
};

/* The value of an option that is named as a budget. */
static int take_limit(const struct opt *opt, void *values, const char *value, struct diag *diag)
{
	struct options *o = values;
	int budget = report_name_find(check_budget_names, opt->name);
	const char *expected;

	if (check_limit_parse(&o->limits[budget], (enum check_budget)budget, value, &expected))
		return diag_set(diag, -EINVAL, "takes %s, not '%s'", expected, value);
	return 0;
}

/* clang-format off */
static const struct opt check_opts[] = {
	OPT_CALLBACK(0, "max-peak", "SIZE", take_limit, "most bytes live at the peak of the heap"),
	OPT_CALLBACK(0, "max-leaked", "SIZE", take_limit, "most bytes still allocated at the end"),
	OPT_CALLBACK(0, "max-leaked-blocks", "N", take_limit, "most blocks still allocated at the end"),
	OPT_CALLBACK(0, "max-allocations", "N", take_limit, "most allocations"),
	OPT_CALLBACK(0, "max-temporary", "PERCENT", take_limit,
		     "most of the allocations that may be temporary"),
	OPT_CALLBACK(0, "max-errors", "N", take_limit, "most errors in the use of the heap"),
	OPT_STRING_OF(0, "against", "OLD", "FILE.dat", struct options, against,
		      "the recording that growth is measured from"),
	OPT_CALLBACK(0, "max-peak-growth", "LIMIT", take_limit, "most that the peak may grow: 5%, 64K"),
	OPT_CALLBACK(0, "max-leaked-growth", "LIMIT", take_limit,
		     "most that the leaked bytes may grow: 5%, 64K"),
	OPT_CALLBACK(0, "max-allocations-growth", "LIMIT", take_limit,
		     "most that the number of allocations may grow: 5%, 100"),
	VIEW_SITE_OPTS(struct options, view),
	VIEW_PROCESS_OPTS(struct options, view),
	OPT_CHOICE(0, "format", "FORMAT", struct options, format, check_format_names,
		   "form of the output"),
	OPT_FLAG('q', "quiet", struct options, quiet, "say nothing when all budgets are kept"),
	OPT_END,
};
/* clang-format on */

static void warn_of_processes(const struct check_doubts *d, const struct options *o)
{
	bool of_errors = o->limits[CHECK_MAX_ERRORS].set;

	if (d->unchecked && !o->view.process && !o->view.pid)
		msg_warn("only the first of %zu process images is checked; --all covers all",
			 d->unchecked + 1);
	if (d->errors_elsewhere && of_errors)
		msg_warn("processes that are not checked made errors in the use of the heap: %zu",
			 d->errors_elsewhere);
}

/* A gate that is kept for want of data is none. */
static void warn_of_doubts(const struct check_doubts *d, const struct options *o, const char *which)
{
	if (d->dropped)
		msg_warn("%s: %" PRIu64 " events were not counted, the figures are too small",
			 which, d->dropped);
	if (d->unattributed)
		msg_warn("%s: %" PRIu64 " allocations have no stack, so others may be to blame",
			 which, d->unattributed);
	if (d->incomplete)
		msg_warn("%s: the end of %zu process image%s was not seen: %snumber %" PRIu32
			 " (%s)",
			 which, d->incomplete, d->incomplete == 1 ? "" : "s",
			 d->incomplete == 1 ? "" : "first ", d->first_incomplete, d->first_program);
	if (d->errors_lost)
		msg_warn("%s: of %" PRIu64 " errors nothing could be kept", which, d->errors_lost);
	if (d->sampled)
		msg_warn("%s was sampled: the figures are estimates%s", which,
			 o->limits[CHECK_MAX_ERRORS].set ? ", and wrong frees cannot be told" : "");
}

/* Patterns outlive the leaks that they were written for. */
static void say_unused(const struct suppressions *set)
{
	for (size_t i = 0; i < set->count; i++) {
		if (!set->items[i].matched)
			msg_info("check: unused suppression: leak:%s matches no leak",
				 set->items[i].pattern);
	}
}

static void fill(struct check_options *c, const struct options *o)
{
	c->against = o->against;
	c->format = (enum check_format)o->format;
	c->quiet = o->quiet;
	memcpy(c->limits, o->limits, sizeof(c->limits));
	c->report.top = 0;
}

static int check_exit_status(int error, const struct check_verdict *verdict,
			     const struct options *o, bool quiet, const struct diag *diag)
{
	int status = view_exit_status(error, diag);

	if (status != STATUS_GOOD)
		return status;
	warn_of_processes(&verdict->doubts[SIDE_NEW], o);
	warn_of_doubts(&verdict->doubts[SIDE_OLD], o, "the old recording");
	warn_of_doubts(&verdict->doubts[SIDE_NEW], o,
		       o->against ? "the new recording" : "the recording");
	if (verdict->broken || !quiet)
		say_unused(&verdict->suppressions);
	return verdict->broken ? STATUS_FINDING : STATUS_GOOD;
}

static int test_recording(const char *file, struct diag *diag)
{
	struct recording *rec;
	int error = rec_open(&rec, file, diag);

	if (!error)
		rec_close(rec);
	return error;
}

/* What cannot be read is the news, whatever it was to be compared with. */
static int test_recordings(const struct report_list *files, struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; !error && i < files->count; i++)
		error = test_recording(files->items[i], diag);
	return error;
}

static int check_files(const struct options *o, int count, char **files)
{
	static const char *const here[] = { "memtrack.dat" };
	struct check_options c = { .against = NULL };
	struct check_verdict verdict;
	struct diag diag = { 0 };
	int status, error;

	report_options_init(&c.report);
	if (!view_options_fill(&c.report, &o->view, STDOUT_FILENO, &check_command, &status))
		return status;
	fill(&c, o);
	c.report.files = (struct report_list){ count ? (const char *const *)files : here,
					       count ? (size_t)count : 1 };
	error = test_recordings(&c.report.files, &diag);
	if (error)
		return view_exit_status(error, &diag);
	if (check_options_test(&c, &diag))
		return cmd_usage_error(&check_command, "%s", diag.text);
	error = check_run(&c, &verdict, &diag);
	status = check_exit_status(error, &verdict, o, c.quiet, &diag);
	check_verdict_release(&verdict);
	return status;
}

static int cmd_check(int argc, char **argv)
{
	struct options o = { .format = CHECK_FORMAT_TEXT };
	int status;

	view_options_init(&o.view);
	if (cmd_parse(&check_command, &argc, &argv, &o, &status))
		status = check_files(&o, argc, argv);
	opt_release(check_opts, &o);
	return status;
}

const struct command check_command = {
	.name = "check",
	.summary = "compare a recording with budgets",
	.usage = "[OPTION]... [FILE]...",
	.operand = "FILE.dat",
	.fn = cmd_check,
	.opts = check_opts,
};

/* Parses; what is no option has no place here. */
static int parse_plan(struct check_plan *plan, const char *text, struct diag *diag)
{
	struct check_options c = { .against = NULL };
	int count, first;
	int error = opt_split_words("check", text, &plan->words, &count, diag);

	if (error)
		return error;
	switch (opt_parse(check_opts, OPT_INTERMIXED, count, plan->words, &plan->options, &first,
			  diag)) {
	case OPT_OK:
		break;
	case OPT_ERROR:
		return -EINVAL;
	default:
		return diag_set(diag, -EINVAL, "-h and --help have no place here");
	}
	if (first < count)
		return diag_set(diag, -EINVAL, "'%s' is not an option of check",
				plan->words[first]);
	if (plan->options.view.all + !!plan->options.view.process + !!plan->options.view.pid > 1)
		return diag_set(diag, -EINVAL, "--process, --pid and --all exclude each other");
	fill(&c, &plan->options);
	return check_options_test(&c, diag);
}

/* Better to hear of a missing file before the program has run for an hour. */
static int test_files(const struct options *o, struct diag *diag)
{
	struct suppressions suppressions = { 0 };
	int error = o->against ? test_recording(o->against, diag) : 0;

	for (size_t i = 0; !error && i < o->view.suppressions.count; i++)
		error = suppressions_load(&suppressions, o->view.suppressions.items[i], diag);
	suppressions_release(&suppressions);
	return error;
}

int check_plan_make(struct check_plan **plan, const char *text, struct diag *diag)
{
	struct check_plan *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return diag_set(diag, -ENOMEM, "out of memory");
	view_options_init(&made->options.view);
	error = parse_plan(made, text, diag);
	if (!error)
		error = test_files(&made->options, diag);
	if (error)
		check_plan_free(made);
	else
		*plan = made;
	return error;
}

bool check_plan_is_of_errors(const struct check_plan *plan)
{
	for (int budget = 0; budget < CHECK_BUDGETS; budget++) {
		if (plan->options.limits[budget].set && budget != CHECK_MAX_ERRORS)
			return false;
	}
	return true;
}

int check_plan_output(struct check_plan *plan, const char *output, struct diag *diag)
{
	struct stat old, new;

	if (!plan->options.against || stat(plan->options.against, &old) < 0 ||
	    stat(output, &new) < 0 || old.st_dev != new.st_dev || old.st_ino != new.st_ino)
		return 0;
	if (asprintf(&plan->kept_old, "%s.old", output) < 0) {
		plan->kept_old = NULL;
		return diag_set(diag, -ENOMEM, "out of memory");
	}
	plan->options.against = plan->kept_old;
	return 0;
}

/* A message for each line. */
static void print_lines(char *text)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		if (*line)
			msg_info("check: %s", line);
	}
}

int check_plan_run(struct check_plan *plan, const char *file, bool quiet)
{
	struct check_options c = { .against = NULL };
	struct check_verdict verdict;
	struct diag diag = { 0 };
	char *text = NULL;
	size_t size = 0;
	int status, error;

	report_options_init(&c.report);
	if (!view_options_fill(&c.report, &plan->options.view, STDERR_FILENO, &check_command,
			       &status))
		return status;
	fill(&c, &plan->options);
	c.quiet |= quiet;
	c.report.files = (struct report_list){ &file, 1 };
	c.report.out = open_memstream(&text, &size);
	if (!c.report.out) {
		msg_error("out of memory");
		return STATUS_BAD_INPUT;
	}
	error = check_run(&c, &verdict, &diag);
	if (fclose(c.report.out) && !error)
		error = diag_set(&diag, -ENOMEM, "out of memory");
	if (!error && c.format == CHECK_FORMAT_JSON)
		fputs(text, stderr);
	else if (!error)
		print_lines(text);
	free(text);
	status = check_exit_status(error, &verdict, &plan->options, c.quiet, &diag);
	check_verdict_release(&verdict);
	return status;
}

void check_plan_free(struct check_plan *plan)
{
	if (!plan)
		return;
	opt_release(check_opts, &plan->options);
	free(plan->words);
	free(plan->kept_old);
	free(plan);
}
