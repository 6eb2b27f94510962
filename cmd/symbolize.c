/* SPDX-License-Identifier: MIT */
/* `memtrack symbolize`: looks the names of a recording up again; report/resolve.h does the work. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/msg.h"
#include "cmd/output.h"
#include "cmd/symbols.h"
#include "report/resolve.h"
#include "report/units.h"

#define NAMELESS_LISTED 8

struct options {
	const char *output;
	struct symbol_options symbols;
	bool quiet;
};

/* clang-format off */
static const struct opt symbolize_opts[] = {
	OPT_STRING('o', "output", "FILE", struct options, output,
		   "write the recording to FILE, and leave the other as it is"),
	SYMBOL_OPTIONS(struct options, symbols),
	OPT_FLAG('q', "quiet", struct options, quiet, "no summary"),
	OPT_END,
};
/* clang-format on */

/* Before the long part: can the result be written at all? */
static int check_writable(const char *file, const char *output, struct diag *diag)
{
	int error = output_check(output ? output : file, diag);

	if (!error && !output && access(file, F_OK) == 0 && access(file, W_OK) < 0)
		error = diag_set(diag, -errno, "cannot write '%s': %s", file, strerror(errno));
	if (error && !output)
		diag_hint(diag, "name another file with --output");
	return error;
}

static void print_nameless(const struct resolution *resolution)
{
	struct resolve_nameless module;
	size_t position = 0, count = 0, size = 0;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	while (resolve_next_nameless(resolution, &position, &module)) {
		const char *base = module.path ? strrchr(module.path, '/') : NULL;

		if (count++ < NAMELESS_LISTED)
			fprintf(stream, "%s%s (%s)", count > 1 ? ", " : "",
				base	      ? base + 1
				: module.path ? module.path
					      : "?",
				module.reason ? module.reason : "?");
	}
	if (count > NAMELESS_LISTED)
		fprintf(stream, " and %zu more", count - NAMELESS_LISTED);
	if (fclose(stream) == 0 && count)
		msg_info("still without names: %s", text);
	free(text);
}

static void print_summary(const struct resolution *resolution, const struct resolve_summary *s,
			  const struct symbol_options *symbols)
{
	char named[UNITS_TEXT], places[UNITS_TEXT], more_named[UNITS_TEXT], lined[UNITS_TEXT],
		more_lined[UNITS_TEXT];

	msg_info("names for %s of %s place%s, %s more than before; lines for %s, %s more",
		 units_count(named, s->named), units_count(places, s->places),
		 s->places == 1 ? "" : "s", units_count(more_named, s->named - s->named_before),
		 units_count(lined, s->lined), units_count(more_lined, s->lined - s->lined_before));
	print_nameless(resolution);
	symbols_mention_downloads(symbols, s->bare_modules);
}

/* A signal in these few moments would leave a temporary file behind. */
static int write_undisturbed(struct resolution *resolution, const char *output, struct diag *diag)
{
	sigset_t ends, before;
	int error;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	error = resolve_write(resolution, output, diag);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

static int symbolize(const char *file, const struct options *o, struct diag *diag)
{
	bool visible = !o->quiet && isatty(STDERR_FILENO);
	struct sym_options symbols = symbols_from(&o->symbols, visible);
	struct resolve_summary summary;
	struct resolution *resolution;
	int error = resolve_open(&resolution, file, diag);

	if (error)
		return error;
	error = check_writable(file, o->output, diag);
	if (!error)
		error = resolve_names(resolution, &symbols, &summary, diag);
	symbols_clear_progress();
	if (!error && (summary.changed || o->output))
		error = write_undisturbed(resolution, o->output, diag);
	if (!error && !o->quiet)
		print_summary(resolution, &summary, &o->symbols);
	resolve_close(resolution);
	return error;
}

static int cmd_symbolize(int argc, char **argv)
{
	struct options o = { 0 };
	struct diag diag = { 0 };
	int status;

	if (!cmd_parse(&symbolize_command, &argc, &argv, &o, &status))
		return status;
	if (argc != 1) {
		status = cmd_usage_error(&symbolize_command, "one recording is needed");
	} else if (symbolize(argv[0], &o, &diag)) {
		msg_diag(&diag);
		status = STATUS_BAD_INPUT;
	} else {
		status = STATUS_GOOD;
	}
	opt_release(symbolize_opts, &o);
	return status;
}

const struct command symbolize_command = {
	.name = "symbolize",
	.summary = "resolve names again, with the debug information now at hand",
	.usage = "[OPTION]... FILE",
	.fn = cmd_symbolize,
	.opts = symbolize_opts,
	.operand = "FILE.dat",
};
