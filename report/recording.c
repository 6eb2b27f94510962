/* SPDX-License-Identifier: MIT */
/*
 * What the writer and the reader of recordings share: life cycle and the
 * wording of SQLite's errors.
 */
#include "report/recording.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/recording_private.h"

/*
 * SQLite makes paths absolute and takes no more than 512 bytes of that, but
 * recordings lie where people work, however deep.  So a connection goes through
 * a copy of the default VFS that takes paths as they are.
 */
static int keep_path(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
	(void)vfs;
	if (strlen(path) >= (size_t)size)
		return SQLITE_CANTOPEN;
	strcpy(out, path);
	return SQLITE_OK;
}

int rec_open_database(struct recording *rec, const char *path, int flags)
{
	const sqlite3_vfs *base = sqlite3_vfs_find(NULL);
	if (!base)
		return SQLITE_CANTOPEN;
	/* SQLite knows a VFS by its name: one for each connection, gone with it. */
	snprintf(rec->vfs_name, sizeof(rec->vfs_name), "memtrack-%p", (void *)rec);
	rec->vfs = *base;
	rec->vfs.zName = rec->vfs_name;
	rec->vfs.mxPathname = PATH_MAX;
	rec->vfs.xFullPathname = keep_path;
	int result = sqlite3_vfs_register(&rec->vfs, 0);
	if (result != SQLITE_OK) {
		rec->vfs.zName = NULL;
		return result;
	}
	return sqlite3_open_v2(path, &rec->db, flags, rec->vfs_name);
}

int rec_close_database(struct recording *rec)
{
	int result = sqlite3_close(rec->db);
	rec->db = NULL;
	if (rec->vfs.zName)
		sqlite3_vfs_unregister(&rec->vfs);
	rec->vfs.zName = NULL;
	return result;
}

void rec_free(struct recording *rec)
{
	if (!rec)
		return;
	for (size_t i = 0; i < REC_STATEMENTS; i++)
		sqlite3_finalize(rec->statements[i]);
	rec_close_database(rec);
	pool_release(&rec->strings);
	free(rec->kinds);
	free(rec->module_paths);
	rec_sites_release(&rec->sites);
	free(rec->temp_path);
	free(rec->path);
	free(rec);
}

int rec_system_error(struct recording *rec, const char *verb, int error, struct diag *diag)
{
	diag_set(diag, -error, "cannot %s '%s': %s", verb, rec->path, strerror(error));
	if (error == ENOSPC || error == EDQUOT)
		diag_hint(diag, "free some space, or choose another place with --output");
	return -error;
}

int rec_sqlite_error(struct recording *rec, const char *verb, int result, struct diag *diag)
{
	int error = rec->db ? sqlite3_system_errno(rec->db) : 0;
	switch (result & 0xff) {
	case SQLITE_NOMEM:
		return diag_set(diag, -ENOMEM, "cannot %s '%s': out of memory", verb, rec->path);
	case SQLITE_FULL:
		return rec_system_error(rec, verb, error ? error : ENOSPC, diag);
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		if (result == SQLITE_IOERR_SHORT_READ)
			break;
		return rec_system_error(rec, verb, error ? error : EIO, diag);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		break;
	default:
		/*
		 * A table or column that is missing, a value too large: not
		 * what the writer wrote.
		 */
		return diag_set(diag, -EBADMSG, "cannot %s '%s': damaged: %s", verb, rec->path,
				rec->db ? sqlite3_errmsg(rec->db) : sqlite3_errstr(result));
	}
	return diag_set(diag, -EBADMSG, "cannot %s '%s': the file is damaged", verb, rec->path);
}

struct sqlite3 *rec_database(struct recording *rec)
{
	return rec->db;
}

const char *rec_symbols_reason(const char *symbols)
{
	static const struct {
		const char *symbols, *reason;
	} reasons[] = {
		{ "none", "stripped" },
		{ "missing", "file missing" },
		{ "replaced", "file replaced by another build" },
		{ "unreadable", "file unreadable" },
	};
	for (size_t i = 0; symbols && i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (strcmp(symbols, reasons[i].symbols) == 0)
			return reasons[i].reason;
	}
	return NULL;
}
