/* SPDX-License-Identifier: MIT */
/* `memtrack diff`: options and terminal; report/diff.h does the work. */
#include "report/diff.h"

#include <errno.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/terminal.h"
#include "cmd/view_options.h"

struct options {
	struct view_options view;
	int match;
};

/* clang-format off */
static const struct opt diff_opts[] = {
	VIEW_ROW_OPTS(struct options, view),
	OPT_CHOICE(0, "match", "WHAT", struct options, match, diff_match_names,
		   "what places of both recordings must have in common"),
	VIEW_FILTER_OPTS(struct options, view),
	VIEW_SITE_OPTS(struct options, view),
	VIEW_PROCESS_OPTS(struct options, view),
	VIEW_SHAPE_OPTS(struct options, view),
	OPT_CHOICE(0, "format", "FORMAT", struct options, view.format, report_format_names,
		   "form of the output"),
	OPT_END,
};
/* clang-format on */

static int run(void *options, struct diag *diag)
{
	return diff_run(options, diag);
}

static int diff_files(struct diff_options *d, const struct options *o, int count, char **files)
{
	struct diag diag = { 0 };
	int status;

	if (count != SIDES)
		return cmd_usage_error(&diff_command,
				       count < SIDES ? "two recordings are needed"
						     : "only two recordings can be compared");
	report_options_init(&d->report);
	if (!view_options_fill(&d->report, &o->view, STDOUT_FILENO, &diff_command, &status))
		return status;
	d->report.files = (struct report_list){ (const char *const *)files, (size_t)count };
	d->match = (enum diff_match)o->match;
	return view_exit_status(pager_print(&d->report.out, run, d, &diag), &diag);
}

static int cmd_diff(int argc, char **argv)
{
	struct options o = { .match = DIFF_MATCH_NAME };
	struct diff_options d;
	int status;

	view_options_init(&o.view);
	if (cmd_parse(&diff_command, &argc, &argv, &o, &status))
		status = diff_files(&d, &o, argc, argv);
	opt_release(diff_opts, &o);
	return status;
}

const struct command diff_command = {
	.name = "diff",
	.summary = "show what changed between two recordings",
	.usage = "[OPTION]... OLD NEW",
	.operand = "FILE.dat",
	.fn = cmd_diff,
	.opts = diff_opts,
};
