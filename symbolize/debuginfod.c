/* SPDX-License-Identifier: MIT */
/*
 * A thin client over libdebuginfod.  Its prototypes are repeated here (they are
 * its stable interface) as its header is in a package of its own that a build
 * should not need.
 */
#include "symbolize/debuginfod.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "symbolize/elf_file.h"

#define LIBRARY "libdebuginfod.so.1"

/* One file may take this long; after that no server is asked again. */
#define FETCH_SECONDS 90

struct debuginfod_client;
typedef int progress_fn(struct debuginfod_client *client, long done, long total);

struct debuginfod {
	void *library;
	struct debuginfod_client *client;
	void (*end)(struct debuginfod_client *client);
	int (*find_debuginfo)(struct debuginfod_client *client, const unsigned char *build_id,
			      int size, char **path);
	debuginfod_progress *progress;
	void *context;
	time_t deadline; /* monotonic seconds */
	bool tried;	 /* to load the library */
	bool gave_up;
};

/* The one whose fetch runs in this thread: the library's call-back is not told
 * (0.178 had no user data), and it comes only from within that fetch. */
static _Thread_local struct debuginfod *fetching;

static time_t monotonic_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Called by the library while it waits; nonzero makes it stop. */
static int on_progress(struct debuginfod_client *client, long done, long total)
{
	struct debuginfod *debuginfod = fetching;

	(void)client;
	if (!debuginfod)
		return 1;
	if (debuginfod->progress)
		debuginfod->progress(debuginfod->context, "debuginfod", done > 0 ? (size_t)done : 0,
				     total > 0 ? (size_t)total : 0);
	if (monotonic_seconds() < debuginfod->deadline)
		return 0;
	debuginfod->gave_up = true;
	return 1;
}

struct debuginfod *debuginfod_new(debuginfod_progress *progress, void *context)
{
	struct debuginfod *debuginfod = calloc(1, sizeof(*debuginfod));

	if (debuginfod) {
		debuginfod->progress = progress;
		debuginfod->context = context;
	}
	return debuginfod;
}

static void load(struct debuginfod *debuginfod)
{
	struct debuginfod_client *(*begin)(void);
	void (*set_progressfn)(struct debuginfod_client * client, progress_fn * progress);

	debuginfod->tried = true;
	debuginfod->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!debuginfod->library)
		return;
	*(void **)&begin = dlsym(debuginfod->library, "debuginfod_begin");
	*(void **)&set_progressfn = dlsym(debuginfod->library, "debuginfod_set_progressfn");
	*(void **)&debuginfod->end = dlsym(debuginfod->library, "debuginfod_end");
	*(void **)&debuginfod->find_debuginfo =
		dlsym(debuginfod->library, "debuginfod_find_debuginfo");
	if (!begin || !set_progressfn || !debuginfod->end || !debuginfod->find_debuginfo)
		return;
	debuginfod->client = begin();
	if (debuginfod->client)
		set_progressfn(debuginfod->client, on_progress);
}

char *debuginfod_fetch(struct debuginfod *debuginfod, const struct build_id *build_id)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	char *path = NULL;
	int fd;

	if (!servers || !servers[0] || debuginfod->gave_up)
		return NULL;
	if (!debuginfod->tried)
		load(debuginfod);
	if (!debuginfod->client)
		return NULL;
	debuginfod->deadline = monotonic_seconds() + FETCH_SECONDS;
	fetching = debuginfod;
	fd = debuginfod->find_debuginfo(debuginfod->client, build_id->bytes, (int)build_id->size,
					&path);
	fetching = NULL;
	if (fd < 0)
		return NULL;
	close(fd); /* opened again by path: it checks what it opens */
	return path;
}

void debuginfod_free(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->end(debuginfod->client);
	/* The library stays loaded: it registers destructors with libcurl. */
	free(debuginfod);
}
