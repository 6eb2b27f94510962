/* SPDX-License-Identifier: MIT */
/*
 * Where a recording is written to: a temporary file beside the target, and a
 * rename at the end.  Nobody else sees it before, and a writer that dies leaves
 * the target as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "report/recording_private.h"

#define BASE_NAME_MAX 200 /* of the temporary name, so that it fits NAME_MAX */

/*
 * Where the file will really be: a symbolic link stays, what it points to is
 * replaced.
 */
static char *real_target(const char *path)
{
	char *real = realpath(path, NULL);
	if (real || errno == ENOMEM)
		return real;
	/*
	 * A relative name gets "./", so that SQLite takes no name for a URI or
	 * a special word.
	 */
	char *copy = NULL;
	if (asprintf(&copy, "%s%s", path[0] == '/' ? "" : "./", path) < 0)
		return NULL;
	return copy;
}

static bool is_dev_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

/* Refuses targets that a rename would destroy; *discard is set for /dev/null. */
static int check_target(const char *path, bool *discard, struct diag *diag)
{
	struct stat st;
	*discard = false;
	if (path[0] == '\0')
		return diag_set(diag, -ENOENT,
				"cannot write '': the name of the output file is empty");
	if (stat(path, &st))
		return 0;
	if (is_dev_null(&st)) {
		*discard = true;
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return diag_set(diag, -EISDIR, "cannot write '%s': it is a directory", path);
	if (!S_ISREG(st.st_mode)) {
		diag_set(diag, -EINVAL, "cannot write '%s': not a regular file", path);
		diag_hint(diag, "a recording is a database and cannot be streamed; name a file");
		return -EINVAL;
	}
	return 0;
}

int rec_new_target(struct recording **out, const char *path, bool *discard, struct diag *diag)
{
	int error = check_target(path, discard, diag);
	if (error)
		return error;
	struct recording *rec = calloc(1, sizeof(*rec));
	if (rec)
		rec->path = real_target(path);
	if (!rec || !rec->path) {
		rec_free(rec);
		return diag_set(diag, -ENOMEM, "cannot write '%s': out of memory", path);
	}
	*out = rec;
	return 0;
}

static char *temp_name(const char *target, int attempt)
{
	const char *slash = strrchr(target, '/');
	int directory = slash ? (int)(slash + 1 - target) : 0;
	char *name = NULL;
	if (asprintf(&name, "%.*s.%.*s.tmp-%d", directory, target, BASE_NAME_MAX,
		     target + directory, (int)getpid() + attempt) < 0)
		return NULL;
	return name;
}

/*
 * Creates the temporary file, never following or reusing what another process
 * left there.
 */
int rec_create_temp(struct recording *rec, const char *shown, struct diag *diag)
{
	for (int attempt = 0; attempt < 100; attempt++) {
		free(rec->temp_path);
		rec->temp_path = temp_name(rec->path, attempt);
		if (!rec->temp_path)
			return diag_set(diag, -ENOMEM, "cannot write '%s': out of memory", shown);
		int fd = open(rec->temp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0) {
			close(fd);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	int error = errno;
	free(rec->temp_path);
	rec->temp_path = NULL;
	return diag_set(diag, -error, "cannot write '%s': %s", shown, strerror(error));
}

/*
 * Why no more can be written: SQLite often no longer knows the errno, so the
 * same is tried again.
 */
static int write_errno(const struct recording *rec)
{
	char page[REC_PAGE_BYTES] = { 0 };
	int fd = rec->temp_path ? open(rec->temp_path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (fd < 0)
		return errno;
	int error = 0;
	/* A first write may still fill what is left of a page. */
	for (int i = 0; i < 2 && !error; i++) {
		ssize_t written = write(fd, page, sizeof(page));
		error = written < 0 ? errno : 0;
	}
	close(fd);
	return error;
}

int rec_write_error(struct recording *rec, int result, struct diag *diag)
{
	int primary = result & 0xff;
	int cause = primary == SQLITE_FULL || primary == SQLITE_IOERR ? write_errno(rec) : 0;
	return cause ? rec_system_error(rec, "write", cause, diag)
		     : rec_sqlite_error(rec, "write", result, diag);
}

/*
 * The one sync of a recording: the rename must never make a file visible whose
 * bytes are not there.
 */
static int sync_file(struct recording *rec, struct diag *diag)
{
	int fd = open(rec->temp_path, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 || fsync(fd) ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (error && error != EINVAL && error != ENOSYS)
		return diag_set(diag, -error, "cannot write '%s': %s", rec->path, strerror(error));
	return 0;
}

/*
 * A second name rather than another one, where the file system can: there is no moment
 * without a recording at `path`.  Another writer may be at the same: what it moved away
 * first need not be kept by us.
 */
static int keep_as(const char *path, const char *old)
{
	unlink(old);
	if (link(path, old) == 0 || errno == ENOENT || errno == EEXIST)
		return 0;
	return rename(path, old) && errno != ENOENT ? errno : 0;
}

/*
 * An existing file becomes PATH.old.  What is no regular file appeared only
 * now: leave it alone.
 */
static int keep_old(struct recording *rec, struct diag *diag)
{
	struct stat st;
	char *old = NULL;
	if (lstat(rec->path, &st))
		return 0;
	if (S_ISLNK(st.st_mode) && stat(rec->path, &st))
		return 0;
	if (!S_ISREG(st.st_mode))
		return diag_set(diag, -EEXIST,
				"cannot write '%s': something that is no regular file came there",
				rec->path);
	if (asprintf(&old, "%s.old", rec->path) < 0)
		return diag_set(diag, -ENOMEM, "cannot write '%s': out of memory", rec->path);
	int error = keep_as(rec->path, old);
	if (error)
		diag_set(diag, -error, "cannot keep '%s' as '%s': %s", rec->path, old,
			 strerror(error));
	free(old);
	return -error;
}

/*
 * From here on the recording is whole: when its name cannot be had, it stays
 * under the temporary one.
 */
static int take_name(struct recording *rec, bool keep_existing, struct diag *diag)
{
	int error = keep_existing ? keep_old(rec, diag) : 0;
	if (!error && rename(rec->temp_path, rec->path)) {
		error = -errno;
		diag_set(diag, error, "cannot rename '%s' to '%s': %s", rec->temp_path, rec->path,
			 strerror(-error));
	}
	if (error)
		diag_hint(diag, "the recording is complete in '%s'", rec->temp_path);
	free(rec->temp_path);
	rec->temp_path = NULL;
	return error;
}

int rec_publish(struct recording *rec, bool keep_existing, struct diag *diag)
{
	int error = sync_file(rec, diag);
	return error ? error : take_name(rec, keep_existing, diag);
}

void rec_abandon(struct recording *rec)
{
	if (rec && rec->temp_path)
		unlink(rec->temp_path);
	rec_free(rec);
}
