/* SPDX-License-Identifier: MIT */
/*
 * Opening recordings: called by every command that reads one.  A file may come
 * from anywhere, so each kind of wrong file is told apart by its header before
 * SQLite sees it, and the connection allows nothing but reading.
 */
#include "report/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/recording_private.h"
#include "report/version.h"

/* Of SQLite's file header (https://www.sqlite.org/fileformat.html). */
#define HEADER_SIZE	      100
#define HEADER_PAGE_SIZE      16
#define HEADER_CHANGE_COUNTER 24
#define HEADER_PAGE_COUNT     28
#define HEADER_USER_VERSION   60
#define HEADER_APPLICATION_ID 68
#define HEADER_VALID_FOR      92

#define VALUE_BYTES_MAX	      (64 << 20) /* the largest string or blob a recording may hold */

static uint32_t get32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int refuse_open(const char *path, int error, struct diag *diag)
{
	if (error == ENOENT) {
		diag_set(diag, -error, "cannot read '%s': no such file", path);
		/* Who names another file has one in mind. */
		if (strcmp(path, "memtrack.dat") == 0)
			diag_hint(diag, "record a program first: memtrack run PROGRAM");
		return -error;
	}
	return diag_set(diag, -error, "cannot read '%s': %s", path, strerror(error));
}

static int check_kind(const char *path, const struct stat *st, struct diag *diag)
{
	if (S_ISDIR(st->st_mode)) {
		diag_set(diag, -EISDIR, "cannot read '%s': it is a directory, not a recording",
			 path);
		diag_hint(
			diag,
			"name a file, or turn a session directory into one: memtrack recover DIR");
		return -EISDIR;
	}
	if (!S_ISREG(st->st_mode))
		return diag_set(diag, -EBADMSG, "cannot read '%s': not a regular file", path);
	if (st->st_size == 0)
		return diag_set(diag, -EBADMSG, "cannot read '%s': the file is empty", path);
	return 0;
}

static int check_size(const char *path, const unsigned char *header, int64_t size,
		      struct diag *diag)
{
	int64_t page_size = header[HEADER_PAGE_SIZE] << 8 | header[HEADER_PAGE_SIZE + 1];
	if (page_size == 1)
		page_size = 65536;
	int64_t expected = page_size * get32(header + HEADER_PAGE_COUNT);
	/* The page count holds only when the last writer knew that field. */
	if (get32(header + HEADER_CHANGE_COUNTER) != get32(header + HEADER_VALID_FOR))
		return 0;
	if (size >= expected)
		return 0;
	return diag_set(diag, -EBADMSG,
			"cannot read '%s': the file is truncated: %lld of %lld bytes are there",
			path, (long long)size, (long long)expected);
}

static int check_header(const char *path, const unsigned char *header, ssize_t got, int64_t size,
			struct diag *diag)
{
	static const char magic[16] = "SQLite format 3";
	if (got < (ssize_t)sizeof(magic) || memcmp(header, magic, sizeof(magic)) != 0)
		return diag_set(diag, -EBADMSG, "cannot read '%s': not a memtrack recording", path);
	if (got < HEADER_SIZE)
		return diag_set(diag, -EBADMSG,
				"cannot read '%s': the file is truncated in its header", path);
	if (get32(header + HEADER_APPLICATION_ID) != REC_APPLICATION_ID)
		return diag_set(
			diag, -EBADMSG,
			"cannot read '%s': an SQLite database, but not a memtrack recording", path);
	return check_size(path, header, size, diag);
}

/* Looks at the file without SQLite.  *version: what the file says of itself. */
static int examine(const char *path, int64_t *size, uint32_t *version, struct diag *diag)
{
	/* Without O_NONBLOCK, opening a FIFO would wait for a writer. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return refuse_open(path, errno, diag);
	struct stat st;
	unsigned char header[HEADER_SIZE] = { 0 };
	int error = fstat(fd, &st) ? refuse_open(path, errno, diag) : check_kind(path, &st, diag);
	if (!error) {
		ssize_t got = pread(fd, header, sizeof(header), 0);
		error = got < 0 ? refuse_open(path, errno, diag)
				: check_header(path, header, got, st.st_size, diag);
		*size = st.st_size;
		*version = get32(header + HEADER_USER_VERSION);
	}
	close(fd);
	return error;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-' || c == '/';
}

/*
 * A URI is the only way to say "immutable" (no locks, no look for a journal:
 * recordings lie on read-only and network file systems).  Every byte with a
 * meaning in URIs is escaped.
 */
static char *immutable_uri(const char *path)
{
	static const char hex[] = "0123456789ABCDEF";
	char *absolute = realpath(path, NULL);
	char *uri = absolute ? malloc(strlen(absolute) * 3 + sizeof("file:?immutable=1")) : NULL;
	if (!uri) {
		free(absolute);
		return NULL;
	}
	char *p = stpcpy(uri, "file:");
	for (const char *s = absolute; *s; s++) {
		if (is_plain(*s)) {
			*p++ = *s;
			continue;
		}
		*p++ = '%';
		*p++ = hex[(unsigned char)*s >> 4];
		*p++ = hex[*s & 15];
	}
	strcpy(p, "?immutable=1");
	free(absolute);
	return uri;
}

static void restrict_connection(struct recording *rec)
{
	int64_t longest = rec->file_size < VALUE_BYTES_MAX ? rec->file_size : VALUE_BYTES_MAX;
	sqlite3_extended_result_codes(rec->db, 1);
	sqlite3_db_config(rec->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(rec->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(rec->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_limit(rec->db, SQLITE_LIMIT_LENGTH, longest > 1000000 ? (int)longest : 1000000);
	sqlite3_limit(rec->db, SQLITE_LIMIT_ATTACHED, 0);
}

static int open_read_only(struct recording *rec, struct diag *diag)
{
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
		    SQLITE_OPEN_PRIVATECACHE;
	char *uri = immutable_uri(rec->path);
	if (!uri)
		return refuse_open(rec->path, errno, diag);
	int result = rec_open_database(rec, uri, flags);
	free(uri);
	if (result == SQLITE_OK) {
		restrict_connection(rec);
		result = sqlite3_exec(rec->db,
				      "PRAGMA cell_size_check = ON; PRAGMA query_only = ON;"
				      "PRAGMA cache_size = -2048",
				      NULL, NULL, NULL);
	}
	return result == SQLITE_OK ? 0 : rec_sqlite_error(rec, "read", result, diag);
}

/* The value of a meta row as text, malloc'ed; NULL when there is none. */
static char *meta_text(struct recording *rec, const char *key)
{
	sqlite3_stmt *statement = NULL;
	char *text = NULL;
	if (sqlite3_prepare_v2(rec->db, "SELECT value FROM meta WHERE key = ?", -1, &statement,
			       NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) == SQLITE_ROW &&
	    sqlite3_column_type(statement, 0) != SQLITE_NULL) {
		const char *value = (const char *)sqlite3_column_text(statement, 0);
		text = value ? strdup(value) : NULL;
	}
	sqlite3_finalize(statement);
	return text;
}

static int check_version(struct recording *rec, uint32_t version, struct diag *diag)
{
	if (version == 0)
		return diag_set(diag, -EBADMSG,
				"cannot read '%s': the recording does not say its version",
				rec->path);
	char *oldest = meta_text(rec, "min_readable_version");
	int least = oldest ? atoi(oldest) : (int)version;
	bool readable = least >= 1 && least <= REC_VERSION;
	if (least > 0 && (uint32_t)least > version)
		version = (uint32_t)least;
	free(oldest);
	if (readable)
		return 0;
	char *writer = meta_text(rec, "memtrack_version");
	diag_set(
		diag, -EPROTONOSUPPORT,
		"cannot read '%s': written by memtrack %.40s in format %u; this memtrack " MEMTRACK_VERSION
		" reads formats up to %d",
		rec->path, writer ? writer : "(unknown)", version, REC_VERSION);
	diag_hint(diag, "upgrade memtrack to %.40s or later",
		  writer ? writer : "the version that wrote it");
	free(writer);
	return -EPROTONOSUPPORT;
}

int rec_open(struct recording **out, const char *path, struct diag *diag)
{
	int64_t size = 0;
	uint32_t version = 0;
	*out = NULL;
	int error = examine(path, &size, &version, diag);
	if (error)
		return error;
	struct recording *rec = calloc(1, sizeof(*rec));
	if (rec)
		rec->path = strdup(path);
	if (!rec || !rec->path) {
		rec_free(rec);
		return diag_set(diag, -ENOMEM, "cannot read '%s': out of memory", path);
	}
	rec->file_size = size;
	error = open_read_only(rec, diag);
	if (!error)
		error = check_version(rec, version, diag);
	if (error) {
		rec_free(rec);
		return error;
	}
	*out = rec;
	return 0;
}

void rec_close(struct recording *rec)
{
	rec_free(rec);
}
