/* SPDX-License-Identifier: MIT */
/* See symbols.h. */
#include "cmd/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/msg.h"

static bool progress_shown;

void symbols_progress(const char *what, size_t done, size_t total)
{
	const char *base = strrchr(what, '/');
	char name[64];

	msg_escape(name, sizeof(name), base ? base + 1 : what);
	fprintf(stderr, "\r\033[Kmemtrack: looking up symbols: %zu of %zu (%.60s)", done, total,
		name);
	fflush(stderr);
	progress_shown = true;
}

static void show_progress(void *context, const char *what, size_t done, size_t total)
{
	(void)context;
	symbols_progress(what, done, total);
}

void symbols_clear_progress(void)
{
	if (progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = false;
}

bool symbols_downloads_possible(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls;
}

void symbols_mention_downloads(const struct symbol_options *options, size_t modules)
{
	if (modules && !options->debuginfod && symbols_downloads_possible())
		msg_info("no debug information for %zu file%s: --debuginfod allows to download it",
			 modules, modules == 1 ? "" : "s");
}

struct sym_options symbols_from(const struct symbol_options *options, bool visible)
{
	return (struct sym_options){
		.sysroot = options->sysroot,
		.debug_paths = options->debug_paths.items,
		.debug_paths_count = options->debug_paths.count,
		.debuginfod = options->debuginfod,
		.progress = visible ? show_progress : NULL,
	};
}
