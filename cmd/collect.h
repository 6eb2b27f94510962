/* SPDX-License-Identifier: MIT */
/*
 * From segments to a recording: reads every process image of a session, resolves addresses to names once, merges equal
 * stacks, and writes the .dat.  The only place that translates the segment's layout into rows.
 */
#ifndef MEMTRACK_CMD_COLLECT_H
#define MEMTRACK_CMD_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/watch.h"
#include "report/diag.h"
#include "symbolize/symbolize.h"

struct collect_options {
	const char *output;  /* path of the recording */
	const char *options; /* how it was made, for the record */
	const char *agent;   /* path of our own library: its frames are left out */
	const char
		*allocator; /* library that was put under the program; NULL: none, or not known */
	bool operators;	    /* with our C++ operators before it */
	struct sym *sym; /* that was used before, and may know much already; NULL: there was none */
	struct sym_options symbols; /* for a new one */
	/* May be NULL.  `what` is a module's name, `done` of `total` addresses are resolved. */
	void (*progress)(const char *what, size_t done, size_t total);
};

/* What `run` says at the end. */
struct collect_summary {
	size_t processes;
	size_t largest; /* number of the process image with the highest peak, from 1 */
	int64_t largest_peak;
	double largest_peak_variance;
	char largest_name[64];
	struct costs costs; /* of the first process image */
	int64_t peak_time_ns;
	int64_t sample_mean; /* 0: these figures are exact */
	uint64_t dropped, unattributed, lost_children;
	size_t errors[ERROR_KINDS]; /* of the target, by kind */
	uint64_t errors_lost;	    /* found, but neither stored nor counted there */
	size_t bare_modules;	    /* without debug information */
};

/* `watched` says what is known of each image from outside.  0 or -errno with *diag filled; -ENOENT when no image holds
 * anything. */
int collect_session(const struct watch *watched, const struct collect_options *options,
		    struct collect_summary *summary, struct diag *diag)
	__attribute__((warn_unused_result));

#endif
