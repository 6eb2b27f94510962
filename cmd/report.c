/* SPDX-License-Identifier: MIT */
/* `memtrack report`: options and terminal; report/report.h does the work. */
#include "report/report.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/msg.h"
#include "cmd/symbols.h"
#include "cmd/terminal.h"
#include "report/units.h"

static const char default_file[] = "memtrack.dat";

/* Of --frames: not given. */
enum { FRAMES_DEFAULT = -1 };

struct options {
	int sort, by, tree, format, color;
	int64_t top, process, pid, frames;
	bool all, full_paths, full_names;
	struct run_time at;
	struct opt_list filters, excludes, focus, ignore, plumbing, suppressions;
};

/* "1m30s", or "50%" of the run. */
static int take_time(const struct opt *opt, void *values, const char *value, struct diag *diag)
{
	struct run_time *at = &((struct options *)values)->at;
	int error;

	(void)opt;
	*at = (struct run_time){ .kind = RUN_TIME_SHARE };
	if (units_parse_percent(value, &at->value) == 0)
		return 0;
	at->kind = RUN_TIME_NS;
	error = units_parse_time(value, &at->value);
	if (error)
		diag_set(diag, error, "'%s' is %s", value,
			 error == -ERANGE ? "too long a time"
					  : "no time, such as 0.2, 150ms, 1m30s or 50%");
	return error;
}

/* clang-format off */
static const struct opt report_opts[] = {
	OPT_INT('n', "top", "N", struct options, top, 0, INT_MAX, "rows to show; 0: all (10)"),
	OPT_CHOICE(0, "sort", "KEY", struct options, sort, report_sort_names, "order of the rows"),
	OPT_CHOICE(0, "by", "WHAT", struct options, by, report_by_names,
		   "what a row stands for"),
	OPT_CALLBACK(0, "at", "TIME", take_time,
		     "costs at a time of the run, 0.2, 150ms, 1m30s or 50%, instead of the peak"),
	OPT_OPTIONAL_CHOICE(0, "tree", "DIRECTION", struct options, tree, report_tree_names,
			    "callers", "a tree instead of the table"),
	OPT_REPEAT(0, "filter", "EXPR", struct options, filters,
		   "keep stacks with a frame matching {function,file,module,tag}~REGEX"),
	OPT_REPEAT(0, "exclude", "EXPR", struct options, excludes, "drop stacks with such a frame"),
	OPT_REPEAT(0, "focus", "REGEX", struct options, focus, "keep stacks through a function"),
	OPT_REPEAT(0, "ignore", "REGEX", struct options, ignore, "drop stacks through a function"),
	OPT_REPEAT(0, "plumbing", "REGEX", struct options, plumbing,
		   "more functions that are never a site themselves, such as your own xmalloc"),
	OPT_REPEAT(0, "suppressions", "FILE", struct options, suppressions,
		   "leave out leaks as FILE says, in LeakSanitizer's syntax"),
	OPT_INT(0, "process", "N", struct options, process, 1, INT_MAX,
		"the Nth process image of the recording (the first)"),
	OPT_INT(0, "pid", "PID", struct options, pid, 1, INT_MAX, "the process images of PID"),
	OPT_FLAG(0, "all", struct options, all, "all process images together"),
	OPT_INT(0, "frames", "N", struct options, frames, 0, INT_MAX,
		"frames to show of each stack, levels of a tree; 0: all (8)"),
	OPT_FLAG(0, "full-paths", struct options, full_paths, "whole paths of files and modules"),
	OPT_FLAG(0, "full-names", struct options, full_names,
		 "functions with their template arguments and parameters"),
	OPT_CHOICE(0, "color", "WHEN", struct options, color, color_names, "colour the text"),
	OPT_CHOICE(0, "format", "FORMAT", struct options, format, report_format_names,
		   "form of the output"),
	OPT_END,
};
/* clang-format on */

static struct report_list borrow(const struct opt_list *list)
{
	return (struct report_list){ list->items, list->count };
}

/*
 * A tree of callees goes inward to its sites, all of it; what is for programs is not
 * cut unless they ask.
 */
static int frames(const struct report_options *r, int64_t given)
{
	bool whole = r->tree == REPORT_TREE_CALLEES ||
		     (r->tree == REPORT_TREE_CALLERS && r->format != REPORT_FORMAT_TEXT);

	if (given != FRAMES_DEFAULT)
		return (int)given;
	return whole ? 0 : r->frames;
}

/* What the command line said, for the layer below. */
static void fill_options(struct report_options *r, const struct options *o)
{
	r->sort = (enum report_sort)o->sort;
	r->by = (enum report_by)o->by;
	r->at = o->at;
	r->tree = (enum report_tree)(o->tree + 1);
	r->format = (enum report_format)o->format;
	/* A histogram of all sizes has no more than 32 rows. */
	if (o->top >= 0)
		r->top = (int)o->top;
	else if (o->by == REPORT_BY_SIZE)
		r->top = 0;
	r->filters = borrow(&o->filters);
	r->excludes = borrow(&o->excludes);
	r->focus = borrow(&o->focus);
	r->ignore = borrow(&o->ignore);
	r->plumbing = borrow(&o->plumbing);
	r->suppressions = borrow(&o->suppressions);
	/* A list of processes is one of them all, unless some were chosen. */
	r->all = o->all || (o->by == REPORT_BY_PROCESS && !o->process && !o->pid);
	r->process = (int)o->process;
	r->pid = (int)o->pid;
	r->frames = frames(r, o->frames);
	r->full_paths = o->full_paths;
	r->full_names = o->full_names;
	r->downloads = symbols_downloads_possible();
	r->width = terminal_width(STDOUT_FILENO);
	r->utf8 = terminal_utf8();
	r->color = color_wanted((enum color)o->color, STDOUT_FILENO);
}

static int run(void *options, struct diag *diag)
{
	return report_run(options, diag);
}

static int exit_status(int err, const struct diag *diag)
{
	if (err == 0 || err == -EPIPE)
		return STATUS_GOOD;
	msg_diag(diag);
	return err == -EINVAL ? STATUS_USAGE : STATUS_BAD_INPUT;
}

/* --tree takes its value after an equals sign only: after a blank it is a FILE. */
static void hint_tree(const struct report_options *r, struct diag *diag)
{
	for (size_t i = 0; i < r->files.count; i++) {
		const char *file = r->files.items[i];
		if (access(file, F_OK) == 0)
			continue;
		if (report_name_find(report_tree_names, file) >= 0)
			diag_hint(diag, "did you mean --tree=%s?", file);
		return;
	}
}

static int report_files(struct report_options *r, const struct options *o, int count, char **files)
{
	static const char *const here[] = { default_file };
	struct diag diag = { 0 };
	int err;

	if (o->all + !!o->process + !!o->pid > 1)
		return cmd_usage_error(&report_command,
				       "--process, --pid and --all exclude each other");
	r->files = (struct report_list){ (const char *const *)files, (size_t)count };
	if (count == 0) {
		if (access(default_file, F_OK) < 0 && errno == ENOENT) {
			msg_error("no recording here ('%s' not found)", default_file);
			msg_hint("make one with 'memtrack run -- PROGRAM', or name a FILE");
			return STATUS_BAD_INPUT;
		}
		r->files = (struct report_list){ here, 1 };
	}
	fill_options(r, o);
	err = pager_print(&r->out, run, r, &diag);
	if (err == -ENOENT)
		hint_tree(r, &diag);
	return exit_status(err, &diag);
}

static int cmd_report(int argc, char **argv)
{
	struct report_options r;
	struct options o;
	int status;

	report_options_init(&r);
	o = (struct options){
		.sort = r.sort,
		.by = r.by,
		.format = r.format,
		.top = -1, /* not given */
		.tree = REPORT_TREE_NONE - 1,
		.frames = FRAMES_DEFAULT,
	};
	if (cmd_parse(&report_command, &argc, &argv, &o, &status))
		status = report_files(&r, &o, argc, argv);
	opt_release(report_opts, &o);
	return status;
}

const struct command report_command = {
	.name = "report",
	.summary = "show what used the memory",
	.usage = "[OPTION]... [FILE]...",
	.operand = "FILE.dat",
	.fn = cmd_report,
	.opts = report_opts,
};
