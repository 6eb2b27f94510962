/* SPDX-License-Identifier: MIT */
/*
 * Recordings made to order, for the tests of report/.  Everything fails the
 * running test on error.
 */
#ifndef MEMTRACK_TEST_UNIT_REPORT_FIXTURE_H
#define MEMTRACK_TEST_UNIT_REPORT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/recording.h"
#include "report/report.h"

/*
 * A directory of the test's own; path() names a file in it (a static buffer,
 * four at a time).
 */
void fixture_enter(void);
void fixture_leave(void);
const char *fixture_path(const char *name);

struct fixture {
	struct recording *rec;
	rec_id process;
	rec_id prog, libc, stripped; /* modules: /abs/prog, /lib/libc.so.6, /abs/libstripped.so */
};

void fixture_create(struct fixture *f, const char *path);
/* Another module, beside the three that every recording has. */
rec_id fixture_module(struct fixture *f, const char *path, const char *symbols);
/* Another process image; it becomes f->process. */
void fixture_process(struct fixture *f, const struct rec_process *process);
/* One process with pid 4242 and the command "./prog -x". */
struct rec_process fixture_prog(void);
void fixture_finish(struct fixture *f);

/* A location with one frame in /abs/prog, "/src/FILE"; each call makes another. */
rec_id fixture_location(struct fixture *f, const char *function, const char *file, uint32_t line);
rec_id fixture_location_of(struct fixture *f, rec_id module, uint64_t address,
			   const struct rec_frame *frames, size_t count);
rec_id fixture_node(struct fixture *f, rec_id parent, rec_id location);
/* What the slack of costs is where it was not recorded, and their variances before it where they are exact. */
#define NO_SLACK       \
 (struct cost_slack)   \
 {                     \
  .allocated_bytes = 0 \
 }
#define EXACT (struct cost_variances){ .allocations = 0 }, NO_SLACK

void fixture_stack(struct fixture *f, rec_id node, enum stack_end end, const struct costs *costs);

/* Of f->process, unless it says otherwise with a negative id. */
void fixture_error(struct fixture *f, struct rec_error error);
void fixture_thread(struct fixture *f, const struct rec_thread *thread);
void fixture_part(struct fixture *f, enum part_kind kind, uint64_t key, const struct costs *costs);
void fixture_guard(struct fixture *f, const struct rec_guard *guard);

/*
 * Runs a report into a string (malloc'ed; NULL on failure, with *error and
 * *diag set).
 */
char *fixture_report(struct report_options *options, const char *path, int *error,
		     struct diag *diag);
/* The same, and it must succeed. */
char *fixture_report_ok(struct report_options *options, const char *path);

#endif
