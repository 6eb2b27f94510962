/* SPDX-License-Identifier: MIT */
/* Where names come from: the options of all commands that look them up, and what is shown meanwhile. */
#ifndef MEMTRACK_CMD_SYMBOLS_H
#define MEMTRACK_CMD_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/opt.h"
#include "symbolize/symbolize.h"

struct symbol_options {
	const char *sysroot;
	struct opt_list debug_paths;
	bool debuginfod;
};

/* Their rows in the table of a command that has them in `field` of its struct `s`. */
/* clang-format off */
#define SYMBOL_OPTIONS(s, field) \
	OPT_FLAG(0, "debuginfod", s, field.debuginfod, \
		 "allow downloads of debug information through DEBUGINFOD_URLS"), \
	OPT_STRING(0, "sysroot", "DIR", s, field.sysroot, \
		   "look for programs and libraries below DIR"), \
	OPT_REPEAT(0, "debug-path", "DIR", s, field.debug_paths, \
		   "look for separate debug information in DIR too")
/* clang-format on */

/* What symbolize/ takes; `visible`: with progress on the terminal. */
struct sym_options symbols_from(const struct symbol_options *options, bool visible);
/* One line on stderr, over the last one. */
void symbols_progress(const char *what, size_t done, size_t total);
void symbols_clear_progress(void);
/* DEBUGINFOD_URLS names a server. */
bool symbols_downloads_possible(void);
/*
 * Says that debug information for `modules` could be downloaded, when that is so and was not allowed: downloads that
 * nobody expected are a nuisance; so is not to know that there could be some.
 */
void symbols_mention_downloads(const struct symbol_options *options, size_t modules);

#endif
