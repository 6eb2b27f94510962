/* SPDX-License-Identifier: MIT */
/* See view_options.h. */
#include "cmd/view_options.h"

#include <errno.h>
#include <unistd.h>

#include "cmd/msg.h"

void view_options_init(struct view_options *o)
{
	struct report_options r;

	report_options_init(&r);
	*o = (struct view_options){
		.sort = r.sort,
		.by = r.by,
		.format = r.format,
		.top = r.top,
		.frames = r.frames,
	};
}

static struct report_list borrow(const struct opt_list *list)
{
	return (struct report_list){ list->items, list->count };
}

bool view_options_fill(struct report_options *r, const struct view_options *o, int fd,
		       const struct command *command, int *status)
{
	if (o->all + !!o->process + !!o->pid > 1) {
		*status = cmd_usage_error(command, "--process, --pid and --all exclude each other");
		return false;
	}
	r->sort = (enum report_sort)o->sort;
	r->by = (enum report_by)o->by;
	r->format = (enum report_format)o->format;
	r->top = (int)o->top;
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
	r->frames = (int)o->frames;
	r->full_paths = o->full_paths;
	r->full_names = o->full_names;
	r->width = terminal_width(fd);
	r->utf8 = terminal_utf8();
	r->color = color_wanted((enum color)o->color, fd);
	return true;
}

int view_exit_status(int error, const struct diag *diag)
{
	if (error == 0 || error == -EPIPE)
		return STATUS_GOOD;
	msg_diag(diag);
	return error == -EINVAL ? STATUS_USAGE : STATUS_BAD_INPUT;
}
