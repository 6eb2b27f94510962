/* SPDX-License-Identifier: MIT */
/* The session directory and what agents are told; see session.h. */
#include "cmd/session.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/layout.h"
#include "allocators/allocators.h"
#include "allocators/stomp/layout.h"
#include "cmd/stomp_functions.h"

#define UNREADY_PREFIX "unready."

enum { ROOM_WANTED = 256 << 20 /* bytes free where the session goes */ };

/* LD_PRELOAD separates names by blanks and colons and knows no quoting. */
static bool can_preload(const char *path)
{
	return !strpbrk(path, " :\t\n");
}

char *session_find_library(const char *name, const char *variable, struct diag *diag)
{
	static const char *const places[] = { "", "/build", "/../lib/memtrack" };
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *other = variable ? getenv(variable) : NULL;
	char *slash;

	if (other && *other)
		return realpath(other, NULL);
	self[n > 0 ? n : 0] = 0;
	slash = strrchr(self, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s%s/%s", self, places[i], name);
		if (access(path, R_OK) == 0)
			return realpath(path, NULL);
	}
	diag_set(diag, -ENOENT, "cannot find %s in '%s' or '%s/../lib/memtrack'", name, self, self);
	return NULL;
}

/* MEMTRACK_AGENT names another build of it: tests use that (make truth). */
char *session_find_agent(struct diag *diag)
{
	return session_find_library(SESSION_AGENT, "MEMTRACK_AGENT", diag);
}

static bool has_room(const char *directory)
{
	struct statvfs fs;

	return access(directory, W_OK | X_OK) == 0 && statvfs(directory, &fs) == 0 &&
	       (uint64_t)fs.f_bavail * fs.f_frsize >= ROOM_WANTED;
}

static const char *choose_base(const struct session_options *options)
{
	const char *temporary = getenv("TMPDIR");

	if (options->base)
		return options->base;
	if (has_room("/dev/shm"))
		return "/dev/shm";
	if (!temporary || !*temporary)
		temporary = "/tmp";
	return has_room(temporary) ? temporary : options->beside;
}

/* A library by a name that LD_PRELOAD can say: a link in the session directory when its own cannot be.  Takes `found`. */
static int name_library(const struct session *session, char *found, const char *link_name,
			char **name, struct diag *diag)
{
	if (!found)
		return -ENOENT;
	if (can_preload(found)) {
		*name = found;
		return 0;
	}
	if (asprintf(name, "%s/%s", session->directory, link_name) < 0 ||
	    symlink(found, *name) < 0) {
		free(found);
		return diag_set(diag, -errno, "cannot make a link in '%s': %s", session->directory,
				strerror(errno));
	}
	free(found);
	return 0;
}

bool session_has_agent(const struct session_options *options)
{
	return options->trace || (options->allocator && options->allocator->stomp_options);
}

static int name_libraries(struct session *session, struct diag *diag)
{
	const struct session_options *o = &session->options;
	const struct allocator_choice *allocator = o->allocator;
	int error = 0;

	if (session_has_agent(o))
		error = name_library(session, session_find_agent(diag), SESSION_AGENT,
				     &session->agent, diag);
	if (!error && o->trace && allocator && allocator->operators)
		error = name_library(session, session_find_library(SESSION_OPERATORS, NULL, diag),
				     SESSION_OPERATORS, &session->operators, diag);
	if (!error && allocator && allocator->path)
		error = name_library(session, strdup(allocator->path),
				     allocator->stomp_options ? SESSION_STOMP : SESSION_ALLOCATOR,
				     &session->allocator, diag);
	return error;
}

static int make_directory(struct session *session, const struct session_options *options,
			  struct diag *diag)
{
	const char *base = choose_base(options);
	char full[PATH_MAX];

	if (!realpath(base, full))
		return diag_set(diag, -errno, "cannot use session directory '%s': %s", base,
				strerror(errno));
	if (!can_preload(full))
		return diag_set(diag, -EINVAL,
				"session directory '%s' has blanks or colons in its name", full);
	if (asprintf(&session->directory, "%s/" SESSION_PREFIX "%d-XXXXXX", full, (int)getpid()) <
	    0)
		return diag_set(diag, -ENOMEM, "out of memory");
	if (!mkdtemp(session->directory))
		return diag_set(diag, -errno, "cannot make a session directory in '%s': %s", full,
				strerror(errno));
	return 0;
}

/* A sparse file; a file size limit of our own (ulimit -f) makes it smaller. */
static int make_file(const char *path, uint64_t size)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), error = 0;

	if (fd < 0)
		return -errno;
	getrlimit(RLIMIT_FSIZE, &limit);
	if (limit.rlim_cur < size)
		size = limit.rlim_cur & ~(uint64_t)4095;
	if (ftruncate(fd, (off_t)size) < 0)
		error = -errno;
	close(fd);
	if (error)
		unlink(path);
	return error;
}

/* Sparse, of full size from the start: the agent never changes the size.  It gets its name only when it is ready, since
 * an agent may take it the moment it has one. */
static int make_spare(const struct session *session, unsigned index)
{
	char unready[PATH_MAX], spare[PATH_MAX];
	int error;

	snprintf(spare, sizeof(spare), "%s/%s%u", session->directory, SEG_SPARE_PREFIX, index);
	if (access(spare, F_OK) == 0)
		return 0;
	snprintf(unready, sizeof(unready), "%s/" UNREADY_PREFIX "%u", session->directory, index);
	error = make_file(unready, SEG_FILE_SIZE);
	if (!error && link(unready, spare) < 0 && errno != EEXIST)
		error = rename(unready, spare) < 0 ? -errno : 0;
	unlink(unready);
	return error;
}

/* Where the processes of the session put what stomp finds: see allocators/stomp/layout.h. */
static int make_stomp_file(const struct session *session)
{
	const struct stomp_functions *f = session->options.functions;
	const size_t ranges_size = f ? f->count * sizeof(*f->ranges) : 0;
	const size_t program_size = f ? strlen(f->program) : 0;
	struct stomp_header *header = calloc(1, sizeof(*header) + ranges_size + program_size);
	char path[PATH_MAX];
	size_t size;
	int fd, error;

	if (!header)
		return -ENOMEM;
	*header = (struct stomp_header){
		.magic = STOMP_MAGIC,
		.layout_version = STOMP_LAYOUT_VERSION,
		.header_size = sizeof(*header),
		.used = (sizeof(*header) + ranges_size + program_size + 63) & ~63ull,
		.chosen = f != NULL,
		.range_count = f ? (uint32_t)f->count : 0,
		.ranges = sizeof(*header),
		.program_size = (uint32_t)program_size,
	};
	if (f) {
		memcpy(header + 1, f->ranges, ranges_size);
		memcpy((char *)(header + 1) + ranges_size, f->program, program_size);
	}
	snprintf(path, sizeof(path), "%s/" STOMP_FILE, session->directory);
	error = make_file(path, STOMP_FILE_SIZE);
	fd = error ? -1 : open(path, O_WRONLY | O_CLOEXEC);
	size = sizeof(*header) + ranges_size + program_size;
	if (!error && (fd < 0 || pwrite(fd, header, size, 0) != (ssize_t)size))
		error = -errno;
	if (fd >= 0)
		close(fd);
	free(header);
	return error;
}

static int make_files(const struct session *session)
{
	const struct session_options *o = &session->options;
	int error = session_has_agent(o) ? make_spare(session, 0) : 0;

	if (!error && o->allocator && o->allocator->stomp_options)
		error = make_stomp_file(session);
	return error;
}

void session_refill(const struct session *session)
{
	if (!session->agent)
		return;
	for (unsigned i = 0; i < SEG_SPARES; i++)
		if (make_spare(session, i) < 0)
			return;
}

/* A limit on file sizes holds for the segments too.  Ours may be raised; the target keeps what it was given. */
static int check_size_limit(struct diag *diag)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= SEG_FILE_SIZE)
		return 0;
	limit.rlim_cur = limit.rlim_max =
		limit.rlim_max >= SEG_FILE_SIZE ? limit.rlim_max : RLIM_INFINITY;
	if (setrlimit(RLIMIT_FSIZE, &limit) == 0 || getrlimit(RLIMIT_FSIZE, &limit) < 0 ||
	    limit.rlim_max >= SEG_SMALLEST)
		return 0;
	diag_set(diag, -EFBIG, "cannot record under a file size limit of %llu bytes (ulimit -f)",
		 (unsigned long long)limit.rlim_max);
	diag_hint(diag, "raise it to at least %u KiB", (unsigned)(SEG_SMALLEST >> 10));
	return -EFBIG;
}

int session_create(struct session *session, const struct session_options *options,
		   struct diag *diag)
{
	int error;

	memset(session, 0, sizeof(*session));
	session->options = *options;
	getrlimit(RLIMIT_FSIZE, &session->size_limit);
	error = session_has_agent(options) ? check_size_limit(diag) : 0;
	if (error)
		return error;
	error = make_directory(session, options, diag);
	if (!error)
		error = name_libraries(session, diag);
	if (!error) {
		error = make_files(session);
		if (error)
			diag_set(diag, error, "cannot make a file in '%s': %s", session->directory,
				 strerror(-error));
	}
	if (error && session->directory)
		session_remove(session->directory);
	if (error)
		session_release(session);
	else
		session_refill(session);
	return error;
}

static bool is_variable(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

void session_environment_for(struct session_environment *e, const struct session *session,
			     pid_t target)
{
	const struct session_options *o = &session->options;

	snprintf(e->word, e->word_size,
		 SEG_SESSION_VARIABLE "=depth=%u,buckets=%u,follow=%d,only=%d,sample=%" PRIu64
				      ",slack=%d,trace=%d,stacks=%d:%s",
		 o->depth, o->buckets, o->follow, o->follow ? 0 : (int)target, o->sample, o->slack,
		 o->trace, o->stacks, session->directory);
}

/* LD_PRELOAD: the agent, the operators, the allocator, and what the user has put there. */
static char *make_preload(const struct session *session)
{
	const char *const parts[] = { session->agent, session->operators, session->allocator,
				      getenv("LD_PRELOAD") };
	char *text = NULL;
	size_t size, count = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("LD_PRELOAD=", out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i] && *parts[i])
			fprintf(out, "%s%s", count++ ? ":" : "", parts[i]);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The variables that we set ourselves. */
static bool is_replaced(const struct session_environment *e, const char *entry)
{
	return is_variable(entry, "LD_PRELOAD") || is_variable(entry, SEG_SESSION_VARIABLE) ||
	       (e->is_stomp && is_variable(entry, STOMP_OPTIONS_VARIABLE));
}

/* What the allocator should be told, unless the user has told it something himself; NULL: nothing. */
static const char *setting_of(const struct session *session)
{
	const struct allocator_choice *choice = session->options.allocator;
	const char *setting = choice && choice->allocator ? choice->allocator->setting : NULL;
	char name[128];

	if (setting)
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(setting, "="), setting);
	return setting && !getenv(name) ? setting : NULL;
}

int session_environment_init(struct session_environment *e, const struct session *session)
{
	const struct allocator_choice *choice = session->options.allocator;
	const char *setting = setting_of(session);
	size_t count = 0, kept = 0;
	int error = 0;

	memset(e, 0, sizeof(*e));
	while (environ[count])
		count++;
	e->is_stomp = choice && choice->stomp_options;
	e->word_size = strlen(session->directory) + 200;
	e->word = malloc(e->word_size);
	e->variables = calloc(count + 5, sizeof(*e->variables));
	e->preload = make_preload(session);
	/* Not an empty one: programs that look at their environment should not see a difference. */
	if (choice && choice->stomp_options && *choice->stomp_options &&
	    asprintf(&e->stomp, STOMP_OPTIONS_VARIABLE "=%s", choice->stomp_options) < 0) {
		e->stomp = NULL;
		error = -ENOMEM;
	}
	if (error || !e->word || !e->variables || !e->preload) {
		session_environment_release(e);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		if (!is_replaced(e, environ[i]))
			e->variables[kept++] = environ[i];
	if (e->preload[strlen("LD_PRELOAD=")])
		e->variables[kept++] = e->preload;
	if (session->agent)
		e->variables[kept++] = e->word;
	if (e->stomp)
		e->variables[kept++] = e->stomp;
	if (setting)
		e->variables[kept++] = (char *)setting;
	session_environment_for(e, session, 0);
	return 0;
}

void session_environment_release(struct session_environment *e)
{
	free(e->variables);
	free(e->preload);
	free(e->word);
	free(e->stomp);
	memset(e, 0, sizeof(*e));
}

static bool is_ours(const char *name)
{
	return strncmp(name, SEG_SPARE_PREFIX, strlen(SEG_SPARE_PREFIX)) == 0 ||
	       strncmp(name, UNREADY_PREFIX, strlen(UNREADY_PREFIX)) == 0 ||
	       strncmp(name, SEG_IMAGE_PREFIX, strlen(SEG_IMAGE_PREFIX)) == 0 ||
	       strcmp(name, STOMP_FILE) == 0 || strcmp(name, SESSION_AGENT) == 0 ||
	       strcmp(name, SESSION_OPERATORS) == 0 || strcmp(name, SESSION_ALLOCATOR) == 0 ||
	       strcmp(name, SESSION_STOMP) == 0;
}

void session_remove(const char *directory)
{
	DIR *d = opendir(directory);
	const struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (is_ours(entry->d_name))
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
	rmdir(directory);
}

void session_release(struct session *session)
{
	free(session->directory);
	free(session->agent);
	free(session->operators);
	free(session->allocator);
	memset(session, 0, sizeof(*session));
}
