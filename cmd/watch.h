/* SPDX-License-Identifier: MIT */
/*
 * Watching the process images of a session from outside while they run: which segments there are, heap and RSS over
 * time, and how each process ended.  Reads only; the target never waits for it.
 */
#ifndef MEMTRACK_CMD_WATCH_H
#define MEMTRACK_CMD_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/layout.h"
#include "cmd/moments.h"
#include "cmd/thread_names.h"
#include "report/recording.h"

/* A process image, known by its segment file. */
struct watched {
	char *path;	       /* of the segment file */
	uint64_t base;	       /* of the region in it */
	size_t file;	       /* index of the image in region 0 of the same file */
	int fd;		       /* kept open while the process lives; -1 */
	bool ready;	       /* header read */
	uint32_t regions_seen; /* of its file; kept by the image in region 0 */
	bool file_living;      /* a process of the file runs; likewise */
	struct seg_header header;
	bool ended;
	bool status_known;
	int status; /* as from waitpid */
	bool seen_alive;
	uint64_t end_monotonic_ns; /* 0: not known */
	int64_t peak_rss_bytes;
	struct rec_sample *samples;
	size_t sample_count, sample_room;
	uint64_t sample_every_ns, next_sample_ns; /* since its start */
	struct thread_names thread_names;
	struct moments moments; /* taken with some of the samples */
};

/* CLOCK_MONOTONIC. */
uint64_t watch_now_ns(void);

/* How a process ended whose image may not have been found yet. */
struct reaped {
	pid_t pid;
	int status;
	uint64_t monotonic_ns;
	int64_t peak_rss_bytes;
};

/* Both clocks at one time, to convert cycle counts. */
struct clock_pair {
	uint64_t tsc, monotonic_ns;
};

struct watch {
	char *directory;
	int changes; /* inotify on the directory: readable when files come or are claimed; -1 */
	void *names; /* of the files known, for tfind(3) */
	struct watched *images;
	size_t count, room;
	size_t living; /* of the images, at the last look */
	struct reaped *reaped;
	size_t reaped_count, reaped_room;
	struct clock_pair started;
};

int watch_init(struct watch *watch, const char *directory) __attribute__((warn_unused_result));
void watch_release(struct watch *watch);
/* Finds new images, and takes a sample of each that is due.  `thorough` reads the whole directory, and looks also into
 * files none of whose processes runs: a process may have been silent until its parent had ended. */
void watch_look(struct watch *watch, bool thorough);
/* `pid` was reaped. */
void watch_reaped(struct watch *watch, pid_t pid, int status, int64_t peak_rss_bytes);
/* Are recorded processes left that run? */
size_t watch_running(const struct watch *watch);
/* Cycles per nanosecond, by what has passed since watch_init; waits a little when that is too short for the images. 0 unknown. */
double watch_cycles_per_ns(const struct watch *watch);

#endif
