/* SPDX-License-Identifier: MIT */
/*
 * The writer of recordings: called by cmd/collect.c when a run ends.  All goes
 * to a temporary file (recording_file.c) without journal or syncs.
 */
#include "report/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/recording_private.h"
#include "report/schema.h"
#include "report/size_class.h"
#include "report/version.h"

static const char *const statement_sql[REC_STATEMENTS] = {
	[REC_INSERT_STRING] = "INSERT INTO string VALUES (?, ?)",
	[REC_INSERT_PROCESS] =
		"INSERT INTO process VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[REC_INSERT_ARGV] = "INSERT INTO process_argv VALUES (?,?,?)",
	[REC_INSERT_MODULE] = "INSERT INTO module VALUES (?,?,?,?)",
	[REC_INSERT_LOCATION] = "INSERT INTO location VALUES (?,?,?)",
	[REC_INSERT_FRAME] = "INSERT INTO location_frame VALUES (?,?,?,?,?,?)",
	[REC_INSERT_NODE] = "INSERT INTO node VALUES (?,?,?)",
	[REC_INSERT_STACK] = "INSERT INTO stack VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[REC_INSERT_SAMPLE] = "INSERT INTO sample VALUES (?,?,?,?,?)",
	[REC_INSERT_SAMPLING] = "INSERT INTO sampling VALUES (?,?)",
	[REC_INSERT_VARIANCE] = "INSERT INTO variance VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[REC_INSERT_SLACK] = "INSERT INTO slack VALUES (?,?,?,?,?,?)",
	[REC_INSERT_ERROR] =
		"INSERT INTO error VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[REC_INSERT_GUARD] = "INSERT INTO guard VALUES (?,?,?,?,?,?,?,?,?,?)",
	[REC_INSERT_INTERRUPTED] = "INSERT INTO interrupted VALUES (?)",
	[REC_INSERT_SITE] = "INSERT INTO site VALUES (?,?,?,?,?,?)",
	[REC_INSERT_THREAD] = "INSERT INTO thread VALUES (?,?,?,?,?,?)",
	[REC_INSERT_PART] = "INSERT INTO part VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[REC_INSERT_PART_VARIANCE] = "INSERT INTO part_variance VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[REC_INSERT_MOMENT] = "INSERT INTO moment VALUES (?,?,?)",
	[REC_INSERT_MOMENT_STACK] = "INSERT INTO moment_stack VALUES (?,?,?,?,?)",
};

/* Keeps the first failure: what follows from it is no news. */
static int fail(struct recording *rec, int error, struct diag *diag)
{
	if (!rec->failed) {
		rec->failed = error;
		if (diag)
			rec->failure = *diag;
	}
	return error;
}

static int fail_sqlite(struct recording *rec, int result, struct diag *diag)
{
	struct diag local;
	int error = rec_write_error(rec, result, &local);
	if (diag)
		*diag = local;
	return fail(rec, error, &local);
}

static int fail_argument(struct recording *rec, const char *what, struct diag *diag)
{
	diag_set(diag, -EINVAL, "cannot write '%s': a %s that was never added is named", rec->path,
		 what);
	return fail(rec, -EINVAL, diag);
}

/* The failure of an earlier call, again; 0 when all went well so far. */
static int check(struct recording *rec, struct diag *diag)
{
	if (rec->failed && diag)
		*diag = rec->failure;
	return rec->failed;
}

static int run_statement(struct recording *rec, sqlite3_stmt *statement, struct diag *diag)
{
	int result = sqlite3_step(statement);
	sqlite3_reset(statement);
	return result == SQLITE_DONE ? 0
				     : fail_sqlite(rec, sqlite3_extended_errcode(rec->db), diag);
}

static int insert(struct recording *rec, enum rec_statement which, const int64_t *values,
		  size_t count, struct diag *diag)
{
	sqlite3_stmt *statement = rec->statements[which];
	if (!rec->db)
		return 0;
	for (size_t i = 0; i < count; i++)
		sqlite3_bind_int64(statement, (int)i + 1, values[i]);
	return run_statement(rec, statement, diag);
}

/* A figure that may come from a damaged process, as a column holds it. */
static int64_t clip(uint64_t figure)
{
	return figure < INT64_MAX ? (int64_t)figure : INT64_MAX;
}

#define INSERT(rec, which, values, diag) \
 insert(rec, which, values, sizeof(values) / sizeof((values)[0]), diag)

static int fail_memory(struct recording *rec, struct diag *diag)
{
	diag_set(diag, -ENOMEM, "cannot write '%s': out of memory", rec->path);
	return fail(rec, -ENOMEM, diag);
}

/* Sets *id to the string's id, 0 for NULL. */
static int add_string(struct recording *rec, const char *text, int64_t *id, struct diag *diag)
{
	*id = 0;
	if (!text)
		return 0;
	size_t length = strlen(text);
	*id = pool_add(&rec->strings, text, length);
	if (!*id)
		return fail_memory(rec, diag);
	if (*id <= rec->strings_written)
		return 0;
	rec->strings_written = *id;
	if (!rec->db)
		return 0;
	sqlite3_stmt *statement = rec->statements[REC_INSERT_STRING];
	sqlite3_bind_int64(statement, 1, *id);
	sqlite3_bind_text64(statement, 2, text, length, SQLITE_STATIC, SQLITE_UTF8);
	int error = run_statement(rec, statement, diag);
	sqlite3_clear_bindings(statement);
	return error;
}

static int add_meta(struct recording *rec, const char *key, const char *text, int64_t number,
		    struct diag *diag)
{
	sqlite3_stmt *statement = NULL;
	int result =
		sqlite3_prepare_v2(rec->db, "INSERT INTO meta VALUES (?, ?)", -1, &statement, NULL);
	if (result != SQLITE_OK)
		return fail_sqlite(rec, result, diag);
	sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
	if (text)
		sqlite3_bind_text(statement, 2, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_int64(statement, 2, number);
	int error = run_statement(rec, statement, diag);
	sqlite3_finalize(statement);
	return error;
}

static int add_metadata(struct recording *rec, const char *host, const char *options,
			struct diag *diag)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t created_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	int error = add_meta(rec, "memtrack_version", MEMTRACK_VERSION, 0, diag);
	if (!error)
		error = add_meta(rec, "min_readable_version", NULL, 1, diag);
	if (!error)
		error = add_meta(rec, "host", host ? host : "", 0, diag);
	if (!error)
		error = add_meta(rec, "options", options ? options : "", 0, diag);
	if (!error)
		error = add_meta(rec, "created_ns", NULL, created_ns, diag);
	return error;
}

static int prepare_statements(struct recording *rec, struct diag *diag)
{
	for (size_t i = 0; i < REC_STATEMENTS; i++) {
		int result =
			sqlite3_prepare_v3(rec->db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
					   &rec->statements[i], NULL);
		if (result != SQLITE_OK)
			return fail_sqlite(rec, result, diag);
	}
	return 0;
}

static int open_database(struct recording *rec, struct diag *diag)
{
	static const char settings[] =
		"PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
		"PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -8192; BEGIN";
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
	int result = rec_open_database(rec, rec->temp_path, flags);
	if (result == SQLITE_OK) {
		sqlite3_extended_result_codes(rec->db, 1);
		result = sqlite3_exec(rec->db, settings, NULL, NULL, NULL);
	}
	if (result == SQLITE_OK)
		result = sqlite3_exec(rec->db, rec_schema_sql, NULL, NULL, NULL);
	return result == SQLITE_OK ? prepare_statements(rec, diag) : fail_sqlite(rec, result, diag);
}

static int start_file(struct recording *rec, const char *path, const char *host,
		      const char *options, struct diag *diag)
{
	int error = rec_create_temp(rec, path, diag);
	if (!error)
		error = open_database(rec, diag);
	if (!error)
		error = add_metadata(rec, host, options, diag);
	return error;
}

int rec_create(struct recording **out, const char *path, const char *host, const char *options,
	       struct diag *diag)
{
	struct recording *rec;
	bool discard;
	*out = NULL;
	int error = rec_new_target(&rec, path, &discard, diag);
	if (error)
		return error;
	rec_sites_init(&rec->sites, &rec->strings);
	if (!discard)
		error = start_file(rec, path, host, options, diag);
	if (error) {
		rec_abandon(rec);
		return error;
	}
	*out = rec;
	return 0;
}

static int add_argv(struct recording *rec, int64_t process, const char *const *argv,
		    struct diag *diag)
{
	for (int64_t seq = 0; argv && argv[seq]; seq++) {
		int64_t value;
		int error = add_string(rec, argv[seq], &value, diag);
		const int64_t values[] = { process, seq, value };
		if (!error)
			error = INSERT(rec, REC_INSERT_ARGV, values, diag);
		if (error)
			return error;
	}
	return 0;
}

/* What is stored of its stacks besides the costs. */
static int add_kind(struct recording *rec, int64_t process, const struct rec_process *p,
		    struct diag *diag)
{
	const int64_t values[] = { process, p->sample_mean };
	struct rec_kind *kinds =
		array_grow(rec->kinds, &rec->kinds_room, (size_t)process + 1, sizeof(*kinds));
	if (!kinds)
		return fail_memory(rec, diag);
	rec->kinds = kinds;
	kinds[process] = (struct rec_kind){ p->sample_mean > 0, p->slack };
	return p->sample_mean > 0 ? INSERT(rec, REC_INSERT_SAMPLING, values, diag) : 0;
}

int rec_add_process(struct recording *rec, const struct rec_process *p, rec_id *id,
		    struct diag *diag)
{
	int64_t executable, allocator, notes;
	int error = check(rec, diag);
	if (!error && (p->parent.v < 0 || p->parent.v > rec->processes))
		error = fail_argument(rec, "parent process", diag);
	if (!error)
		error = add_string(rec, p->executable, &executable, diag);
	if (!error)
		error = add_string(rec, p->allocator, &allocator, diag);
	if (!error)
		error = add_string(rec, p->notes, &notes, diag);
	if (error)
		return error;
	const int64_t values[] = {
		rec->processes + 1,
		p->pid,
		p->parent_pid,
		p->parent.v,
		executable,
		p->start_time_ns,
		p->duration_ns,
		p->exit_code,
		p->exit_signal,
		p->complete,
		p->exec_ended,
		allocator,
		p->peak_bytes,
		p->peak_blocks,
		p->peak_time_ns,
		p->peak_error_bytes,
		(int64_t)p->unknown_frees,
		(int64_t)p->double_frees,
		(int64_t)p->dropped_events,
		(int64_t)p->unattributed,
		(int64_t)p->truncated_events,
		(int64_t)p->threads,
		p->peak_rss_bytes,
		notes,
	};
	error = INSERT(rec, REC_INSERT_PROCESS, values, diag);
	if (error)
		return error;
	id->v = ++rec->processes;
	error = add_kind(rec, id->v, p, diag);
	return error ? error : add_argv(rec, id->v, p->argv, diag);
}

int rec_add_module(struct recording *rec, const struct rec_module *module, rec_id *id,
		   struct diag *diag)
{
	int64_t path, symbols;
	uint32_t *paths = array_grow(rec->module_paths, &rec->module_room, (size_t)rec->modules + 2,
				     sizeof(*paths));
	if (!paths)
		return fail_memory(rec, diag);
	rec->module_paths = paths;
	paths[0] = 0;
	int error = check(rec, diag);
	if (!error)
		error = add_string(rec, module->path, &path, diag);
	if (!error)
		error = add_string(rec, module->symbols, &symbols, diag);
	if (error)
		return error;
	id->v = ++rec->modules;
	paths[id->v] = (uint32_t)path;
	if (!rec->db)
		return 0;
	sqlite3_stmt *statement = rec->statements[REC_INSERT_MODULE];
	sqlite3_bind_int64(statement, 1, id->v);
	sqlite3_bind_int64(statement, 2, path);
	if (module->build_id_size)
		sqlite3_bind_blob64(statement, 3, module->build_id, module->build_id_size,
				    SQLITE_STATIC);
	sqlite3_bind_int64(statement, 4, symbols);
	error = run_statement(rec, statement, diag);
	sqlite3_clear_bindings(statement);
	return error;
}

static int add_frame(struct recording *rec, int64_t location, size_t seq,
		     const struct rec_frame *frame, struct diag *diag)
{
	int64_t function, file;
	int error = add_string(rec, frame->function, &function, diag);
	if (!error)
		error = add_string(rec, frame->file, &file, diag);
	if (error)
		return error;
	if (rec_sites_add_frame(&rec->sites, (uint32_t)function, (uint32_t)file, frame->line))
		return fail_memory(rec, diag);
	const int64_t values[] = { location, (int64_t)seq, function,
				   file,     frame->line,  frame->inlined };
	return INSERT(rec, REC_INSERT_FRAME, values, diag);
}

int rec_add_location(struct recording *rec, rec_id module, uint64_t address,
		     const struct rec_frame *frames, size_t count, rec_id *id, struct diag *diag)
{
	int error = check(rec, diag);
	if (!error && (module.v < 0 || module.v > rec->modules))
		error = fail_argument(rec, "module", diag);
	if (error)
		return error;
	const int64_t values[] = { rec->locations + 1, module.v, (int64_t)address };
	error = INSERT(rec, REC_INSERT_LOCATION, values, diag);
	if (error)
		return error;
	id->v = ++rec->locations;
	uint32_t path = module.v ? rec->module_paths[module.v] : 0;
	if (rec_sites_add_location(&rec->sites, path, address))
		return fail_memory(rec, diag);
	for (size_t i = 0; !error && i < count; i++)
		error = add_frame(rec, id->v, i, &frames[i], diag);
	if (!error && rec_sites_end_location(&rec->sites))
		error = fail_memory(rec, diag);
	return error;
}

int rec_mark_interrupted(struct recording *rec, rec_id location, struct diag *diag)
{
	int error = check(rec, diag);
	if (!error && (location.v <= 0 || location.v > rec->locations))
		error = fail_argument(rec, "location", diag);
	const int64_t values[] = { location.v };
	return error ? error : INSERT(rec, REC_INSERT_INTERRUPTED, values, diag);
}

int rec_add_node(struct recording *rec, rec_id parent, rec_id location, rec_id *id,
		 struct diag *diag)
{
	int error = check(rec, diag);
	if (!error && (parent.v < 0 || parent.v > rec->nodes))
		error = fail_argument(rec, "parent node", diag);
	if (!error && (location.v < 0 || location.v > rec->locations))
		error = fail_argument(rec, "location", diag);
	if (error)
		return error;
	const int64_t values[] = { rec->nodes + 1, parent.v, location.v };
	error = INSERT(rec, REC_INSERT_NODE, values, diag);
	if (error)
		return error;
	id->v = ++rec->nodes;
	return rec_sites_add_node(&rec->sites, (uint32_t)parent.v, (uint32_t)location.v)
		       ? fail_memory(rec, diag)
		       : 0;
}

/* key: the three columns before the costs. */
static int add_variances(struct recording *rec, enum rec_statement which, const int64_t key[3],
			 const struct cost_variances *v, struct diag *diag)
{
	sqlite3_stmt *statement = rec->statements[which];
	const double values[] = {
		v->allocations,		  v->allocated_bytes, v->frees,	      v->freed_bytes,
		v->temporary_allocations, v->reallocations,   v->peak_blocks, v->peak_bytes,
		v->leaked_blocks,	  v->leaked_bytes,
	};
	if (!rec->db)
		return 0;
	for (int i = 0; i < 3; i++)
		sqlite3_bind_int64(statement, i + 1, key[i]);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		sqlite3_bind_double(statement, (int)i + 4, values[i]);
	return run_statement(rec, statement, diag);
}

/* `key`: process, node and end. */
static int add_slack(struct recording *rec, const int64_t *key, const struct cost_slack *s,
		     struct diag *diag)
{
	const int64_t values[] = {
		key[0], key[1], key[2], clip(s->allocated_bytes), s->peak_bytes, s->leaked_bytes,
	};
	return INSERT(rec, REC_INSERT_SLACK, values, diag);
}

/* The number of a stack's site, which is written when it is new; 0 when nothing is known of it. */
static int add_site(struct recording *rec, int64_t node, int64_t *id, struct diag *diag)
{
	struct rec_site *site = rec_sites_of_node(&rec->sites, (uint32_t)node);
	*id = site ? site->id : 0;
	if (!site || site->id)
		return 0;
	*id = site->id = ++rec->sites.ids;
	const int64_t values[] = { *id,	       site->function, site->file,
				   site->line, site->module,   (int64_t)site->address };
	return INSERT(rec, REC_INSERT_SITE, values, diag);
}

int rec_add_stack(struct recording *rec, rec_id process, rec_id node, enum stack_end end,
		  const struct costs *c, struct diag *diag)
{
	int error = check(rec, diag);
	if (!error && (process.v <= 0 || process.v > rec->processes))
		error = fail_argument(rec, "process", diag);
	if (!error && (node.v < 0 || node.v > rec->nodes))
		error = fail_argument(rec, "node", diag);
	int64_t site = 0;
	if (!error)
		error = add_site(rec, node.v, &site, diag);
	if (error)
		return error;
	const int64_t values[] = {
		process.v,
		node.v,
		end,
		(int64_t)c->allocations,
		(int64_t)c->allocated_bytes,
		(int64_t)c->frees,
		(int64_t)c->freed_bytes,
		(int64_t)c->temporary_allocations,
		(int64_t)c->reallocations,
		c->peak_blocks,
		c->peak_bytes,
		c->leaked_blocks,
		c->leaked_bytes,
		site,
	};
	error = INSERT(rec, REC_INSERT_STACK, values, diag);
	if (!error && rec->kinds[process.v].sampled)
		error = add_variances(rec, REC_INSERT_VARIANCE, values, &c->variances, diag);
	if (!error && rec->kinds[process.v].slack)
		error = add_slack(rec, values, &c->slack, diag);
	return error;
}

int rec_add_sample(struct recording *rec, rec_id process, const struct rec_sample *s,
		   struct diag *diag)
{
	int error = check(rec, diag);
	if (!error && (process.v <= 0 || process.v > rec->processes))
		error = fail_argument(rec, "process", diag);
	if (error)
		return error;
	const int64_t values[] = { process.v, s->t_ns, s->heap_bytes, s->blocks, s->rss_bytes };
	return INSERT(rec, REC_INSERT_SAMPLE, values, diag);
}

int rec_add_moment(struct recording *rec, rec_id process, int64_t t_ns, rec_id *id,
		   struct diag *diag)
{
	int error = check(rec, diag);
	if (!error && (process.v <= 0 || process.v > rec->processes))
		error = fail_argument(rec, "process", diag);
	if (error)
		return error;
	const int64_t values[] = { rec->moments + 1, process.v, t_ns };
	error = INSERT(rec, REC_INSERT_MOMENT, values, diag);
	if (!error)
		id->v = ++rec->moments;
	return error;
}

int rec_add_moment_stack(struct recording *rec, rec_id moment, rec_id node, enum stack_end end,
			 int64_t blocks, int64_t bytes, struct diag *diag)
{
	int error = check(rec, diag);
	if (!error && (moment.v <= 0 || moment.v > rec->moments))
		error = fail_argument(rec, "moment", diag);
	if (!error && (node.v < 0 || node.v > rec->nodes))
		error = fail_argument(rec, "node", diag);
	if (error)
		return error;
	const int64_t values[] = { moment.v, node.v, end, blocks, bytes };
	return INSERT(rec, REC_INSERT_MOMENT_STACK, values, diag);
}

static int check_stacks(struct recording *rec, const struct rec_error *e, struct diag *diag)
{
	for (size_t i = 0; i < ERROR_STACKS; i++) {
		if (e->stacks[i].node.v < 0 || e->stacks[i].node.v > rec->nodes)
			return fail_argument(rec, "node", diag);
	}
	return 0;
}

/* The columns of `error` that may be NULL. */
static void bind_nulls(sqlite3_stmt *statement, const struct rec_error *e)
{
	if (!e->has_block) {
		for (int column = 8; column <= 10; column++)
			sqlite3_bind_null(statement, column);
	}
	if (e->kind != ERROR_CORRUPTION)
		sqlite3_bind_null(statement, 12);
	if (e->t_ns < 0)
		sqlite3_bind_null(statement, 17);
}

int rec_add_error(struct recording *rec, const struct rec_error *e, struct diag *diag)
{
	int error = check(rec, diag);
	if (!error && (e->process.v < 0 || e->process.v > rec->processes))
		error = fail_argument(rec, "process", diag);
	if (!error)
		error = check_stacks(rec, e, diag);
	if (error)
		return error;
	const int64_t values[] = {
		++rec->errors,
		e->process.v,
		e->pid,
		e->source,
		e->kind,
		e->access,
		(int64_t)e->address,
		(int64_t)e->block_address,
		clip(e->block_size),
		(int64_t)(e->address - e->block_address),
		e->block_freed,
		clip(e->corrupt_bytes),
		e->thread,
		e->allocated_thread,
		e->freed_thread,
		e->tid,
		e->t_ns,
		clip(e->count),
		e->continued,
		e->by_realloc,
		e->stacks[ERROR_STACK].node.v,
		e->stacks[ERROR_STACK].end,
		e->stacks[ERROR_ALLOCATED].node.v,
		e->stacks[ERROR_ALLOCATED].end,
		e->stacks[ERROR_FREED].node.v,
		e->stacks[ERROR_FREED].end,
	};
	if (!rec->db)
		return 0;
	sqlite3_stmt *statement = rec->statements[REC_INSERT_ERROR];
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		sqlite3_bind_int64(statement, (int)i + 1, values[i]);
	bind_nulls(statement, e);
	return run_statement(rec, statement, diag);
}

int rec_add_guard(struct recording *rec, rec_id process, const struct rec_guard *g,
		  struct diag *diag)
{
	int error = check(rec, diag);
	if (!error && (process.v <= 0 || process.v > rec->processes))
		error = fail_argument(rec, "process", diag);
	if (error)
		return error;
	const int64_t values[] = {
		process.v,
		g->method,
		clip(g->blocks[GUARD_MADVISE]),
		clip(g->blocks[GUARD_MPROTECT]),
		clip(g->blocks[GUARD_CANARY]),
		clip(g->blocks[GUARD_NONE]),
		clip(g->budget),
		clip(g->refused),
		clip(g->errors),
		clip(g->errors_lost),
	};
	return INSERT(rec, REC_INSERT_GUARD, values, diag);
}

int rec_add_thread(struct recording *rec, rec_id process, const struct rec_thread *t,
		   struct diag *diag)
{
	int64_t name = 0;
	int error = check(rec, diag);
	if (!error && (process.v <= 0 || process.v > rec->processes))
		error = fail_argument(rec, "process", diag);
	if (!error && !t->number)
		error = fail_argument(rec, "thread", diag);
	if (!error)
		error = add_string(rec, t->name, &name, diag);
	if (error)
		return error;
	const int64_t values[] = { process.v, t->number,	t->tid,
				   name,      clip(t->holders), t->inherited };
	return INSERT(rec, REC_INSERT_THREAD, values, diag);
}

static bool is_part(enum part_kind kind, uint64_t key)
{
	return kind == PART_SIZE ? size_class_exists(key)
				 : kind == PART_THREAD && key && key <= UINT32_MAX;
}

int rec_add_part(struct recording *rec, rec_id process, enum part_kind kind, uint64_t key,
		 const struct costs *c, struct diag *diag)
{
	int error = check(rec, diag);
	if (!error && (process.v <= 0 || process.v > rec->processes))
		error = fail_argument(rec, "process", diag);
	if (!error && !is_part(kind, key))
		error = fail_argument(rec, kind == PART_SIZE ? "class of sizes" : "thread", diag);
	if (error)
		return error;
	const int64_t values[] = {
		process.v,
		kind,
		(int64_t)key,
		(int64_t)c->allocations,
		(int64_t)c->allocated_bytes,
		(int64_t)c->frees,
		(int64_t)c->freed_bytes,
		(int64_t)c->temporary_allocations,
		(int64_t)c->reallocations,
		c->peak_blocks,
		c->peak_bytes,
		c->leaked_blocks,
		c->leaked_bytes,
	};
	error = INSERT(rec, REC_INSERT_PART, values, diag);
	if (!error && rec->kinds[process.v].sampled)
		error = add_variances(rec, REC_INSERT_PART_VARIANCE, values, &c->variances, diag);
	return error;
}

static int commit(struct recording *rec, struct diag *diag)
{
	for (size_t i = 0; i < REC_STATEMENTS; i++) {
		sqlite3_finalize(rec->statements[i]);
		rec->statements[i] = NULL;
	}
	int result = sqlite3_exec(rec->db, "COMMIT", NULL, NULL, NULL);
	if (result != SQLITE_OK)
		return fail_sqlite(rec, result, diag);
	result = rec_close_database(rec);
	return result == SQLITE_OK ? 0 : fail_sqlite(rec, result, diag);
}

int rec_finish(struct recording *rec, struct diag *diag)
{
	int error = check(rec, diag);
	if (!error && rec->db)
		error = commit(rec, diag);
	if (!error && rec->temp_path)
		error = rec_publish(rec, true, diag);
	rec_abandon(rec);
	return error;
}
