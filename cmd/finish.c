/* SPDX-License-Identifier: MIT */
/* Collecting with progress, and the summary; see finish.h. */
#include "cmd/finish.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/collect.h"
#include "cmd/msg.h"
#include "cmd/session.h"
#include "cmd/terminal.h"
#include "report/sentence.h"
#include "report/units.h"

/* " ±4.2%" of an estimate. */
static const char *error_of(char *text, double value, double variance,
			    const struct collect_summary *s)
{
	text[0] = 0;
	if (s->sample_mean && (value != 0 || variance != 0)) {
		text[0] = ' ';
		units_error(text + 1, value, variance, terminal_utf8());
	}
	return text;
}

/* Shells are silent about a signal that memtrack passes on as a status. */
static void print_figures(const struct collect_summary *s, int killed_by)
{
	const struct costs *c = &s->costs;
	const struct cost_variances *v = &c->variances;
	char peak[UNITS_TEXT], leaked[UNITS_TEXT], blocks[UNITS_TEXT], count[UNITS_TEXT],
		when[UNITS_TEXT], mean[UNITS_TEXT], errors[4][UNITS_TEXT + 1];
	char end[64] = "", sampled[96] = "";

	if (killed_by)
		snprintf(end, sizeof(end), "killed by SIG%s; ",
			 sigabbrev_np(killed_by) ? sigabbrev_np(killed_by) : "?");
	if (s->sample_mean)
		snprintf(sampled, sizeof(sampled),
			 "estimated from one sample per %s: ", units_size(mean, s->sample_mean));
	msg_info("%s%speak %s%s after %s; leaked %s%s in %s%s block%s; %s%s allocation%s", end,
		 sampled, units_size(peak, c->peak_bytes),
		 error_of(errors[0], (double)c->peak_bytes, v->peak_bytes, s),
		 units_duration(when, s->peak_time_ns), units_size(leaked, c->leaked_bytes),
		 error_of(errors[1], (double)c->leaked_bytes, v->leaked_bytes, s),
		 units_count(blocks, (uint64_t)(c->leaked_blocks > 0 ? c->leaked_blocks : 0)),
		 error_of(errors[2], (double)c->leaked_blocks, v->leaked_blocks, s),
		 c->leaked_blocks == 1 ? "" : "s", units_count(count, c->allocations),
		 error_of(errors[3], (double)c->allocations, v->allocations, s),
		 c->allocations == 1 ? "" : "s");
}

static void print_processes(const struct collect_summary *s)
{
	char peak[UNITS_TEXT], name[256], error[UNITS_TEXT + 1];

	msg_escape(name, sizeof(name), s->largest_name);
	if (s->processes > 1 && s->largest > 1)
		msg_info(
			"recorded %zu process images; these figures are the first's; the largest is --process %zu (%s, "
			"peak %s%s)",
			s->processes, s->largest, name, units_size(peak, s->largest_peak),
			error_of(error, (double)s->largest_peak, s->largest_peak_variance, s));
	else if (s->processes > 1)
		msg_info("recorded %zu process images; these figures are the first's",
			 s->processes);
}

static void print_errors(const struct collect_summary *s)
{
	char text[512] = "", number[UNITS_TEXT];
	size_t total = 0, length = 0;

	for (int kind = 1; kind < ERROR_KINDS; kind++) {
		if (!s->errors[kind])
			continue;
		length +=
			(size_t)snprintf(text + length, sizeof(text) - length, "%s%s %s",
					 total ? ", " : ": ", units_count(number, s->errors[kind]),
					 error_kind_name((enum error_kind)kind));
		total += s->errors[kind];
	}
	if (s->errors_lost)
		length += (size_t)snprintf(
			text + length, sizeof(text) - length, "%s%s of which nothing could be kept",
			total ? ", " : ": ", units_count(number, s->errors_lost));
	if (length)
		msg_warn("errors in the use of the heap%s (memtrack report%s shows them)", text,
			 s->processes > 1 ? " --all" : "");
}

static void print_next(const struct collect_summary *s, const char *output)
{
	char process[32] = "";
	char *file = strcmp(output, "memtrack.dat") == 0 ? NULL : sentence_quote(output);

	if (s->largest > 1)
		snprintf(process, sizeof(process), " --process %zu", s->largest);
	msg_info("wrote '%s'; next: memtrack report --top 20%s%s%s", output, process,
		 file ? " " : "", file ? file : "");
	free(file);
}

static void print_summary(const struct collect_summary *s, const struct finish_options *options)
{
	if (options->not_recorded) {
		msg_info("only errors were looked for (--trace=none)");
	} else {
		print_figures(s, options->signal);
		print_processes(s);
	}
	if (s->dropped || s->unattributed || s->lost_children)
		msg_warn("not everything could be recorded: %" PRIu64
			 " events not counted, %" PRIu64 " allocations without a stack, %" PRIu64
			 " child processes missed",
			 s->dropped, s->unattributed, s->lost_children);
	print_errors(s);
	print_next(s, options->output);
}

enum finished finish_session(const struct watch *watched, const struct finish_options *options,
			     const char *recorded_options)
{
	bool visible = !options->quiet && isatty(STDERR_FILENO);
	struct diag diag = { 0 };
	struct collect_summary summary;
	struct collect_options collect = {
		.output = options->output,
		.options = recorded_options,
		.agent = session_find_agent(NULL),
		.allocator = options->allocator,
		.operators = options->operators,
		.sym = options->sym,
		.symbols = symbols_from(&options->symbols, visible),
		.progress = visible ? symbols_progress : NULL,
	};
	int error;

	if (!collect.agent)
		collect.agent = "";
	error = collect_session(watched, &collect, &summary, &diag);
	if (*collect.agent)
		free((char *)collect.agent);
	symbols_clear_progress();
	if (error == -ENOENT)
		return FINISHED_EMPTY;
	if (error) {
		msg_diag(&diag);
		return FINISHED_FAILED;
	}
	if (!options->quiet) {
		symbols_mention_downloads(&options->symbols, summary.bare_modules);
		print_summary(&summary, options);
	}
	return FINISHED_WRITTEN;
}
