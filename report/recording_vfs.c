/* SPDX-License-Identifier: MIT */
/*
 * Opening a database under a path of any length.  SQLite makes paths absolute
 * and takes no more than 512 bytes of that; recordings lie where people work,
 * however deep.  So the connection goes through a copy of the default VFS that
 * takes paths as they are.
 */
#include "report/recording_private.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

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
