/* SPDX-License-Identifier: MIT */
/* What recording.c, recording_write.c and recording_read.c share. */
#ifndef MEMTRACK_REPORT_RECORDING_PRIVATE_H
#define MEMTRACK_REPORT_RECORDING_PRIVATE_H

#include <sqlite3.h>

#include "report/pool.h"
#include "report/recording.h"
#include "report/recording_sites.h"

#define REC_APPLICATION_ID 0x6d74726b
#define REC_VERSION	   1

enum rec_statement {
	REC_INSERT_STRING,
	REC_INSERT_PROCESS,
	REC_INSERT_ARGV,
	REC_INSERT_MODULE,
	REC_INSERT_LOCATION,
	REC_INSERT_FRAME,
	REC_INSERT_NODE,
	REC_INSERT_STACK,
	REC_INSERT_SAMPLE,
	REC_INSERT_SAMPLING,
	REC_INSERT_VARIANCE,
	REC_INSERT_SLACK,
	REC_INSERT_ERROR,
	REC_INSERT_GUARD,
	REC_INSERT_SITE,
	REC_INSERT_INTERRUPTED,
	REC_INSERT_THREAD,
	REC_INSERT_PART,
	REC_INSERT_PART_VARIANCE,
	REC_INSERT_MOMENT,
	REC_INSERT_MOMENT_STACK,
	REC_STATEMENTS,
};

/*
 * A reader has only the connection, path and file_size.  A writer whose target is /dev/null
 * has no db: it hands out ids and stores nothing.
 */
struct recording {
	sqlite3 *db;
	sqlite3_vfs vfs; /* the connection's own; registered while zName is set */
	char vfs_name[32];
	char *path;
	int64_t file_size;

	char *temp_path; /* where the writer writes; NULL once it is renamed or gone */
	sqlite3_stmt *statements[REC_STATEMENTS];
	struct pool strings;
	int64_t strings_written; /* pool ids up to here are rows */
	int64_t processes, modules, locations, nodes, errors, moments; /* ids given out */
	struct rec_kind {
		bool sampled, slack;
	} * kinds; /* by process id: what its stacks have besides costs */
	size_t kinds_room;
	uint32_t *module_paths; /* by module id */
	size_t module_room;
	struct rec_sites sites;
	int failed; /* the first error: no later call may hide it */
	struct diag failure;
};

/* Closes and frees everything; the temporary file is left alone. */
void rec_free(struct recording *rec);
/* "cannot VERB 'PATH': why", from an errno; returns -errno. */
int rec_system_error(struct recording *rec, const char *verb, int error, struct diag *diag);
/* The same from the database's last error.  Returns the -errno that fits. */
int rec_sqlite_error(struct recording *rec, const char *verb, int result, struct diag *diag);

/* The bytes of a page; what a test of writing writes. */
#define REC_PAGE_BYTES 8192

/* A recording with nothing but a path, where it will really be.  Refuses targets that a rename would destroy;
 * *discard is set for /dev/null. */
int rec_new_target(struct recording **rec, const char *path, bool *discard, struct diag *diag)
	__attribute__((warn_unused_result));
/* Creates the temporary file; errors call the target `shown`. */
int rec_create_temp(struct recording *rec, const char *shown, struct diag *diag)
	__attribute__((warn_unused_result));
/* As rec_sqlite_error, of writing to the temporary file. */
int rec_write_error(struct recording *rec, int result, struct diag *diag);
/* Gives the closed temporary file its name; an existing file is kept as PATH.old, or replaced. */
int rec_publish(struct recording *rec, bool keep_existing, struct diag *diag)
	__attribute__((warn_unused_result));

/* Set or clear rec->db; both return SQLite's result. */
int rec_open_database(struct recording *rec, const char *path, int flags);
int rec_close_database(struct recording *rec);

#endif
