/* SPDX-License-Identifier: MIT */
/*
 * What model.c, model_code.c and rows.c share: reading one recording's tables
 * into the model.
 */
#ifndef MEMTRACK_REPORT_MODEL_PRIVATE_H
#define MEMTRACK_REPORT_MODEL_PRIVATE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "report/model.h"
#include "report/recording_private.h"

#define ROW_COLUMNS_MAX 26

/* From row ids of one file to ids of the model; both count from 1. */
struct id_map {
	uint32_t *ids;
	size_t count, room;
};

struct loader {
	struct model *model;
	const struct model_options *options;
	struct recording *rec;
	struct diag *diag;
	uint32_t file;
	size_t first_process; /* of this file in model->processes */
	int64_t text_bytes;   /* read so far; can never exceed the file's size */
	struct id_map strings, modules, locations, nodes;
	struct id_map processes; /* to index + 1 in model->processes */
	bool nodes_follow;	 /* stacks are read before the nodes are known */
	uint32_t last_node;	 /* then: the largest that a stack names */
};

/*
 * Rows of integers.  Tables are read in the order of their keys, without ORDER
 * BY: a sort would first read all that a damaged tree claims to hold, while a
 * key out of order is seen at once.
 */
struct rows {
	struct loader *loader;
	sqlite3_stmt *statement;
	const char *table;
	int column_count;
	int64_t row_count; /* never more than the file has bytes */
	int64_t values
		[ROW_COLUMNS_MAX]; /* 0 for a column that is no integer and is allowed not to be */
	unsigned other_columns;	   /* mask of columns that may be text or blob */
};

int rows_open(struct rows *rows, struct loader *loader, const char *table, const char *sql)
	__attribute__((warn_unused_result));
/* 1 a row, 0 the end, or an error. */
int rows_next(struct rows *rows) __attribute__((warn_unused_result));
void rows_close(struct rows *rows);
/* "cannot read 'x.dat': damaged: TABLE WHAT". */
int rows_damaged(const struct rows *rows, const char *what);

/* Is there anything of that name?  Tables that came later than the first recordings may be missing. */
bool rows_exist(struct loader *loader, const char *table);

/* The costs in columns 3 to 12 of the row at hand; and their variances, from the next row of `variances`, whose columns 0 to 2
 * must be the same.  NULL: there are none. */
int costs_read(struct rows *rows, struct rows *variances, struct costs *costs)
	__attribute__((warn_unused_result));

int loader_no_memory(struct loader *loader);
/* Maps the next row id; *error is set when `row` is not dense or memory ends. */
int id_map_add(struct rows *rows, struct id_map *map, int64_t row, uint32_t id)
	__attribute__((warn_unused_result));
/* A reference to another table's row; 0 = none. */
int id_map_get(const struct rows *rows, const struct id_map *map, int64_t row, uint32_t *id)
	__attribute__((warn_unused_result));

/*
 * The rows of slack, read in step with those of the stacks: a process has them for all of its stacks, or for none.
 */
struct slack_rows {
	struct rows rows;
	bool more; /* there is a row that is not taken yet */
};
int slack_open(struct slack_rows *slack, struct loader *loader) __attribute__((warn_unused_result));
/* The row of the stack with this key (process, node, end), if its process has any. */
int slack_take(struct slack_rows *slack, const int64_t *key, struct model_process *owner,
	       struct cost_slack *costs) __attribute__((warn_unused_result));
/* After the last stack there must be none. */
int slack_end(const struct slack_rows *slack) __attribute__((warn_unused_result));

int model_load_strings(struct loader *loader) __attribute__((warn_unused_result));
/* Modules, locations, frames, nodes. */
int model_load_code(struct loader *loader) __attribute__((warn_unused_result));
/* Reading the stacks, in a thread of its own where that pays. */
struct stacks_job {
	struct loader *beside; /* who started it */
	struct loader loader;
	struct diag diag;
	pthread_t thread;
	bool running;
	int error;
};
/* The processes must be known.  stacks_finish must follow. */
void stacks_start(struct stacks_job *job, struct loader *loader);
/* After model_load_code, whose error is passed on. */
int stacks_finish(struct stacks_job *job, int error) __attribute__((warn_unused_result));
/* The index + 1 of a stack in the model, for which model_options.at must be given; 0: there is none. */
uint32_t stacks_find(const struct loader *loader, uint32_t process, uint32_t node,
		     enum stack_end end);
/* With model_options.at: what was live then becomes the peak figures.  After the stacks. */
int model_load_moments(struct loader *loader) __attribute__((warn_unused_result));
/* The same of the totals, once all recordings are loaded. */
void model_sum_moments(struct model *model);
/* What was found wrong, and how it was looked for.  After all else. */
int model_load_errors(struct loader *loader) __attribute__((warn_unused_result));
/* Threads, and costs by thread and by size. */
int model_load_parts(struct loader *loader) __attribute__((warn_unused_result));
/* Processes and their arguments. */
int model_load_processes(struct loader *loader) __attribute__((warn_unused_result));

#endif
