/* SPDX-License-Identifier: MIT */
/* Outside view of the recorded processes; see watch.h. */
#include "cmd/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cycles.h"
#include "cmd/image.h"

enum {
	MOST_SAMPLES = 512, /* of one process; then every other one goes and the rate halves */
	FIRST_INTERVAL_NS = 5 * 1000 * 1000,
	MOST_OPEN = 256, /* descriptors kept for reading */
};

uint64_t watch_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of some attempts the one that took least: between the two, another process may have run. */
static struct clock_pair read_clocks(void)
{
	struct clock_pair best = { 0, 0 };
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = cycles_now(), monotonic_ns = watch_now_ns(),
			 took = cycles_now() - before;

		if (took < shortest) {
			shortest = took;
			best = (struct clock_pair){ before + took / 2, monotonic_ns };
		}
	}
	return best;
}

int watch_init(struct watch *watch, const char *directory)
{
	memset(watch, 0, sizeof(*watch));
	watch->directory = strdup(directory);
	watch->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch->changes >= 0)
		inotify_add_watch(watch->changes, directory, IN_MOVED_TO | IN_CREATE);
	watch->started = read_clocks();
	return watch->directory ? 0 : -ENOMEM;
}

/* The names in the tree are parts of the images' paths. */
static void forget_name(void *name)
{
	(void)name;
}

void watch_release(struct watch *watch)
{
	for (size_t i = 0; i < watch->count; i++) {
		free(watch->images[i].path);
		free(watch->images[i].samples);
		thread_names_release(&watch->images[i].thread_names);
		moments_release(&watch->images[i].moments);
		if (watch->images[i].fd >= 0)
			close(watch->images[i].fd);
	}
	if (watch->changes >= 0)
		close(watch->changes);
	tdestroy(watch->names, forget_name);
	free(watch->images);
	free(watch->reaped);
	free(watch->directory);
	memset(watch, 0, sizeof(*watch));
}

/* Of images older than the watch (recover) times are extrapolated, so the rate must be known well. */
static bool is_older(const struct watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->images[i].ready &&
		    watch->images[i].header.start_monotonic_ns < watch->started.monotonic_ns)
			return true;
	return false;
}

double watch_cycles_per_ns(const struct watch *watch)
{
	struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	struct clock_pair now;

	if (is_older(watch) &&
	    watch_now_ns() - watch->started.monotonic_ns < (uint64_t)pause.tv_nsec)
		nanosleep(&pause, NULL);
	now = read_clocks();
	return now.monotonic_ns > watch->started.monotonic_ns
		       ? (double)(now.tsc - watch->started.tsc) /
				 (double)(now.monotonic_ns - watch->started.monotonic_ns)
		       : 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Index of the new image, or -1. */
static ssize_t add_image(struct watch *watch, const char *name, uint64_t base)
{
	struct watched *w;

	if (watch->count == watch->room) {
		size_t room = watch->room ? 2 * watch->room : 16;

		w = realloc(watch->images, room * sizeof(*w));
		if (!w)
			return -1;
		watch->images = w;
		watch->room = room;
	}
	w = &watch->images[watch->count];
	*w = (struct watched){
		.fd = -1, .base = base, .file = watch->count, .sample_every_ns = FIRST_INTERVAL_NS
	};
	if (asprintf(&w->path, "%s/%s", watch->directory, name) < 0)
		return -1;
	return (ssize_t)watch->count++;
}

/* A file of the directory: an image if it is claimed and new. */
static void consider(struct watch *watch, const char *name)
{
	ssize_t index;

	if (strncmp(name, SEG_IMAGE_PREFIX, strlen(SEG_IMAGE_PREFIX)) != 0 ||
	    tfind(name, &watch->names, compare_names))
		return;
	index = add_image(watch, name, 0);
	if (index >= 0)
		tsearch(strrchr(watch->images[index].path, '/') + 1, &watch->names, compare_names);
}

static void read_directory(struct watch *watch)
{
	DIR *directory = opendir(watch->directory);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		consider(watch, entry->d_name);
	if (directory)
		closedir(directory);
}

/* What has come since the last look; the whole directory when events were lost. */
static void find_images(struct watch *watch, bool thorough)
{
	_Alignas(struct inotify_event) char events[8192];
	ssize_t size;

	while (watch->changes >= 0 && (size = read(watch->changes, events, sizeof(events))) > 0)
		for (char *at = events; at < events + size; at += sizeof(struct inotify_event)) {
			const struct inotify_event *event = (const void *)at;

			thorough |= (event->mask & IN_Q_OVERFLOW) != 0;
			if (event->len)
				consider(watch, event->name);
			at += event->len;
		}
	if (thorough || watch->changes < 0)
		read_directory(watch);
}

static int open_file(const struct watched *w)
{
	return w->fd >= 0 ? w->fd : open(w->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* Keeps a descriptor while there are few. */
static void leave_open(struct watched *w, int fd)
{
	w->fd = fd < MOST_OPEN && !w->ended ? fd : -1;
	if (w->fd < 0)
		close(fd);
}

static bool make_ready(struct watched *w)
{
	struct diag diag;
	int fd = open_file(w);

	if (fd < 0)
		return false;
	w->ready = image_read_header((struct image_source){ fd, w->base }, &w->header, &diag) == 0;
	leave_open(w, fd);
	return w->ready;
}

/* The regions that forked children have taken of a file since. */
static void find_regions(struct watch *watch, size_t file)
{
	struct watched *w = &watch->images[file];
	struct seg_header header;
	int fd = open_file(w);
	uint32_t taken = 0;

	if (fd < 0)
		return;
	if (image_read_header((struct image_source){ fd, 0 }, &header, NULL) == 0)
		taken = header.regions_taken < SEG_REGIONS ? header.regions_taken : SEG_REGIONS;
	leave_open(w, fd);
	for (uint32_t r = w->regions_seen ? w->regions_seen : 1; r < taken; r++) {
		const char *name = strrchr(watch->images[file].path, '/') + 1;
		ssize_t index = add_image(watch, name, r * SEG_REGION_SIZE);

		if (index >= 0)
			watch->images[index].file = file;
	}
	if (taken)
		watch->images[file].regions_seen = taken;
}

static void find_all_regions(struct watch *watch, bool thorough)
{
	size_t count = watch->count;

	for (size_t i = 0; i < count; i++)
		watch->images[i].file_living = false;
	for (size_t i = 0; i < count; i++)
		if (!watch->images[i].ended)
			watch->images[watch->images[i].file].file_living = true;
	for (size_t i = 0; i < count; i++)
		if (watch->images[i].file == i && (thorough || watch->images[i].file_living))
			find_regions(watch, i);
}

/* Resident bytes from /proc; -1 when the process is gone or a zombie. */
static int64_t read_rss(pid_t pid)
{
	char path[64], text[128];
	unsigned long size, resident;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -1;
	text[n] = 0;
	if (sscanf(text, "%lu %lu", &size, &resident) != 2 || size == 0)
		return -1;
	return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

static void thin_out(struct watched *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->sample_count; i += 2)
		w->samples[kept++] = w->samples[i];
	w->sample_count = kept;
	w->sample_every_ns *= 2;
}

static void add_sample(struct watched *w, const struct rec_sample *sample)
{
	if (w->sample_count == MOST_SAMPLES)
		thin_out(w);
	if (w->sample_count == w->sample_room) {
		size_t room = w->sample_room ? 2 * w->sample_room : 16;
		struct rec_sample *samples = realloc(w->samples, room * sizeof(*samples));

		if (!samples)
			return;
		w->samples = samples;
		w->sample_room = room;
	}
	w->samples[w->sample_count++] = *sample;
}

static void end_image(struct watched *w, uint64_t now)
{
	w->ended = true;
	w->end_monotonic_ns = now;
	moments_stop(&w->moments);
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

/* A point of the timeline, with the heap as the segment has it now. */
static bool sample_heap(struct watched *w, int fd, uint64_t now, int64_t rss,
			struct image_totals *totals)
{
	struct image_source source = { fd, w->base };

	if (fd < 0 || image_read_header(source, &w->header, NULL) < 0)
		return false;
	*totals = image_read_totals(source, &w->header);
	add_sample(w, &(struct rec_sample){
			      .t_ns = (int64_t)(now - w->header.start_monotonic_ns),
			      .heap_bytes = totals->bytes,
			      .blocks = totals->blocks,
			      .rss_bytes = rss,
		      });
	return true;
}

static void take_sample(const struct watch *watch, struct watched *w, uint64_t now)
{
	int64_t rss = read_rss(w->header.pid);
	struct image_totals totals;

	if (rss < 0) {
		if (kill(w->header.pid, 0) < 0 && errno == ESRCH)
			end_image(w, w->seen_alive ? now : 0);
		return;
	}
	w->seen_alive = true;
	if (rss > w->peak_rss_bytes)
		w->peak_rss_bytes = rss;
	if (sample_heap(w, w->fd, now, rss, &totals))
		moments_look(&w->moments, (struct image_source){ w->fd, w->base }, &w->header,
			     &totals,
			     &(struct moments_share){ .image = (size_t)(w - watch->images),
						      .living = watch->living });
	if (w->fd >= 0)
		thread_names_look(&w->thread_names, (struct image_source){ w->fd, w->base },
				  &w->header, now);
}

/* A later image of the same pid: this one has ended by exec. */
static void end_replaced(struct watch *watch, const struct watched *newer)
{
	for (size_t i = 0; i < watch->count; i++) {
		struct watched *w = &watch->images[i];

		if (w != newer && w->ready && !w->ended && w->header.pid == newer->header.pid &&
		    w->header.start_monotonic_ns < newer->header.start_monotonic_ns)
			end_image(w, newer->header.start_monotonic_ns);
	}
}

/* How the process left its heap: even one too short for the clock has this point of its timeline. */
static void add_last_sample(struct watched *w, uint64_t now)
{
	int64_t rss =
		w->sample_count ? w->samples[w->sample_count - 1].rss_bytes : w->peak_rss_bytes;
	struct image_totals totals;
	int fd = open_file(w);

	sample_heap(w, fd, now, rss, &totals);
	if (fd >= 0)
		leave_open(w, fd);
}

static void apply_status(struct watched *w, const struct reaped *r)
{
	w->status_known = true;
	w->status = r->status;
	if (r->peak_rss_bytes > w->peak_rss_bytes)
		w->peak_rss_bytes = r->peak_rss_bytes;
	/* Also of one that was seen to be gone, but not when it went. */
	if (!w->ended || !w->end_monotonic_ns) {
		add_last_sample(w, r->monotonic_ns);
		end_image(w, r->monotonic_ns);
	}
}

/* An image that was found after its process had ended. */
static void apply_past(const struct watch *watch, struct watched *w)
{
	for (size_t i = watch->reaped_count; i-- > 0;)
		if (watch->reaped[i].pid == w->header.pid &&
		    watch->reaped[i].monotonic_ns > w->header.start_monotonic_ns) {
			apply_status(w, &watch->reaped[i]);
			return;
		}
}

static void look_at_image(struct watch *watch, struct watched *w, uint64_t now, bool thorough)
{
	if (!w->ready) {
		if (!make_ready(w))
			return;
		end_replaced(watch, w);
		apply_past(watch, w);
	}
	/* A process may have ended since its last sample without another one being due. */
	if (w->ended || (!thorough && now < w->header.start_monotonic_ns + w->next_sample_ns))
		return;
	take_sample(watch, w, now);
	w->next_sample_ns = now - w->header.start_monotonic_ns + w->sample_every_ns;
}

void watch_look(struct watch *watch, bool thorough)
{
	uint64_t now = watch_now_ns();

	find_images(watch, thorough);
	find_all_regions(watch, thorough);
	watch->living = 0;
	for (size_t i = 0; i < watch->count; i++)
		watch->living += !watch->images[i].ended;
	for (size_t i = 0; i < watch->count; i++)
		if (!watch->images[i].ended)
			look_at_image(watch, &watch->images[i], now, thorough);
}

static void remember_reaped(struct watch *watch, const struct reaped *r)
{
	if (watch->reaped_count == watch->reaped_room) {
		size_t room = watch->reaped_room ? 2 * watch->reaped_room : 16;
		struct reaped *reaped = realloc(watch->reaped, room * sizeof(*reaped));

		if (!reaped)
			return;
		watch->reaped = reaped;
		watch->reaped_room = room;
	}
	watch->reaped[watch->reaped_count++] = *r;
}

void watch_reaped(struct watch *watch, pid_t pid, int status, int64_t peak_rss_bytes)
{
	struct reaped r = { pid, status, watch_now_ns(), peak_rss_bytes };
	struct watched *last = NULL;

	/* Remembered first: an image that is found only now gets its status from there. */
	remember_reaped(watch, &r);
	watch_look(watch, false);
	for (size_t i = 0; i < watch->count; i++) {
		struct watched *w = &watch->images[i];

		if (w->ready && w->header.pid == pid &&
		    (!last || w->header.start_monotonic_ns > last->header.start_monotonic_ns))
			last = w;
	}
	if (last && !last->status_known)
		apply_status(last, &r);
}

size_t watch_running(const struct watch *watch)
{
	size_t running = 0;

	for (size_t i = 0; i < watch->count; i++)
		running += watch->images[i].ready && !watch->images[i].ended &&
			   read_rss(watch->images[i].header.pid) >= 0;
	return running;
}
