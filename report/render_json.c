/* SPDX-License-Identifier: MIT */
/*
 * `report --format json`.  Texts and small objects are printed by cJSON;
 * numbers are written here, since cJSON keeps them as doubles and would round
 * past 2^53.  Sites are written one by one and each code location's frames are
 * turned into text once, so that 200 000 stacks need no tree in memory.
 *
 * Names that are no UTF-8 get U+FFFD for each wrong byte: lone surrogates would
 * keep the bytes for Python, but other readers refuse them.  The recording
 * itself keeps the bytes.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/model.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/suppressions.h"
#include "report/timeline.h"
#include "report/utf8.h"
#include "report/version.h"

struct json {
	const struct report *report;
	const struct model *model;
	FILE *out;
	unsigned errors;    /* how many standard errors an object has so far */
	char **frame_texts; /* by location: its frames as JSON, made when first needed */
	int error;	    /* -ENOMEM once memory ended */
};

static void put(struct json *j, const char *text)
{
	fputs(text, j->out);
}

/* A text as a JSON string; null for NULL. */
static void put_string(struct json *j, const char *text)
{
	if (!text) {
		put(j, "null");
		return;
	}
	char *clean = utf8_clean(text, 0);
	cJSON *item = clean ? cJSON_CreateStringReference(clean) : NULL;
	char *printed = item ? cJSON_PrintUnformatted(item) : NULL;
	if (printed)
		put(j, printed);
	else
		j->error = -ENOMEM;
	cJSON_free(printed);
	cJSON_Delete(item);
	free(clean);
}

static void put_text_id(struct json *j, uint32_t id)
{
	put_string(j, model_text(j->model, id));
}

/* Seconds with as many decimals as it takes, at least one. */
static void put_seconds(struct json *j, int64_t t_ns)
{
	char text[40];
	uint64_t ns = t_ns < 0 ? -(uint64_t)t_ns : (uint64_t)t_ns;
	int length = snprintf(text, sizeof(text), "%s%" PRIu64 ".%09" PRIu64, t_ns < 0 ? "-" : "",
			      ns / 1000000000, ns % 1000000000);
	while (text[length - 1] == '0' && text[length - 2] != '.')
		text[--length] = '\0';
	put(j, text);
}

static void put_start_time(struct json *j, int64_t start_time_ns)
{
	char text[64];
	time_t seconds = (time_t)(start_time_ns / 1000000000);
	struct tm tm;
	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "\"%Y-%m-%dT%H:%M:%SZ\"", &tm))
		put(j, text);
	else
		put(j, "null");
}

static void put_command(struct json *j, const struct model_process *process)
{
	put(j, "[");
	for (uint32_t i = 0; i < process->argc; i++) {
		put(j, i ? ", " : "");
		uint32_t id = j->model->argv[process->argv + i];
		put_string(j, id ? model_text(j->model, id) : "");
	}
	put(j, "]");
}

static void put_exit(struct json *j, const struct rec_process *rec)
{
	put(j, "{\"code\": ");
	if (rec->exit_code >= 0 && rec->exit_signal == 0 && rec->complete && !rec->exec_ended)
		fprintf(j->out, "%d", rec->exit_code);
	else
		put(j, "null");
	put(j, ", \"signal\": ");
	if (rec->exit_signal)
		fprintf(j->out, "%d", rec->exit_signal);
	else
		put(j, "null");
	fprintf(j->out, ", \"complete\": %s, \"exec\": %s}", rec->complete ? "true" : "false",
		rec->exec_ended ? "true" : "false");
}

static void put_notes(struct json *j, const char *notes)
{
	put(j, "[");
	for (bool first = true; notes && *notes; first = false) {
		size_t length = strcspn(notes, "\n");
		char *note = strndup(notes, length);
		put(j, first ? "" : ", ");
		put_string(j, note ? note : "");
		free(note);
		notes += length + (notes[length] == '\n');
	}
	put(j, "]");
}

static void put_process(struct json *j, const struct model_process *process)
{
	if (!process) {
		put(j, "null");
		return;
	}
	const struct rec_process *rec = &process->rec;
	fprintf(j->out, "{\"id\": %" PRIu32 ", \"pid\": %d, \"command\": ", process->number,
		rec->pid);
	put_command(j, process);
	put(j, ", \"executable\": ");
	put_text_id(j, process->executable);
	fprintf(j->out, ", \"parent_pid\": %d,\n  \"start_time\": ", rec->parent_pid);
	put_start_time(j, rec->start_time_ns);
	put(j, ", \"duration_s\": ");
	put_seconds(j, rec->duration_ns);
	put(j, ", \"exit\": ");
	put_exit(j, rec);
	put(j, ",\n  \"allocator\": ");
	put_text_id(j, process->allocator);
	put(j, ", \"notes\": ");
	put_notes(j, model_text(j->model, process->notes));
	put(j, "}");
}

/* "KEY": the standard error, after a comma when it is not the first. */
static void put_error(struct json *j, const char *key, double variance)
{
	fprintf(j->out, "%s\"%s\": %.3f", j->errors++ ? ", " : "", key, sqrt(variance));
}

static void begin_errors(struct json *j)
{
	put(j, ", \"standard_errors\": {");
	j->errors = 0;
}

/* Of the figures that put_costs writes. */
static void put_cost_errors(struct json *j, const struct cost_variances *v)
{
	put_error(j, "allocations", v->allocations);
	put_error(j, "allocated_bytes", v->allocated_bytes);
	put_error(j, "peak_bytes", v->peak_bytes);
	put_error(j, "peak_blocks", v->peak_blocks);
	put_error(j, "leaked_bytes", v->leaked_bytes);
	put_error(j, "leaked_blocks", v->leaked_blocks);
	put_error(j, "temporary_allocations", v->temporary_allocations);
}

static void put_total_errors(struct json *j, const struct cost_variances *v)
{
	begin_errors(j);
	put_cost_errors(j, v);
	put_error(j, "frees", v->frees);
	put_error(j, "freed_bytes", v->freed_bytes);
	put_error(j, "reallocations", v->reallocations);
	put(j, "}");
}

static void put_process_row(struct json *j, const struct model_process *process)
{
	fprintf(j->out, "{\"id\": %" PRIu32 ", ", process->number);
	if (j->model->file_count > 1)
		fprintf(j->out, "\"recording\": %" PRIu32 ", ", process->file + 1);
	fprintf(j->out, "\"pid\": %d, \"parent\": ", process->rec.pid);
	if (process->parent)
		fprintf(j->out, "%" PRIu32, process->parent);
	else
		put(j, "null");
	put(j, ", \"command\": ");
	put_command(j, process);
	fprintf(j->out,
		", \"peak_bytes\": %" PRId64 ", \"leaked_bytes\": %" PRId64
		", \"allocations\": %" PRIu64,
		process->rec.peak_bytes, process->costs.leaked_bytes, process->costs.allocations);
	if (process->rec.sample_mean) {
		const struct cost_variances *v = &process->costs.variances;
		begin_errors(j);
		put_error(j, "peak_bytes", v->peak_bytes);
		put_error(j, "leaked_bytes", v->leaked_bytes);
		put_error(j, "allocations", v->allocations);
		put(j, "}");
	}
	put(j, "}");
}

static void put_processes(struct json *j)
{
	put(j, "[");
	for (size_t i = 0; i < j->model->process_count; i++) {
		put(j, i ? ",\n    " : "\n    ");
		put_process_row(j, &j->model->processes[i]);
	}
	put(j, "]");
}

static void put_totals(struct json *j)
{
	const struct model_totals *t = &j->model->totals;
	const struct costs *c = &t->costs;
	fprintf(j->out,
		"{\"allocations\": %" PRIu64 ", \"allocated_bytes\": %" PRIu64
		", \"frees\": %" PRIu64 ", \"freed_bytes\": %" PRIu64
		", \"reallocations\": %" PRIu64 ",\n    \"temporary_allocations\": %" PRIu64
		", \"leaked_blocks\": %" PRId64 ", \"leaked_bytes\": %" PRId64
		",\n    \"peak_bytes\": %" PRId64 ", \"peak_blocks\": %" PRId64
		", \"peak_time_s\": ",
		c->allocations, c->allocated_bytes, c->frees, c->freed_bytes, c->reallocations,
		c->temporary_allocations, c->leaked_blocks, c->leaked_bytes, c->peak_bytes,
		c->peak_blocks);
	put_seconds(j, t->peak_time_ns);
	fprintf(j->out,
		", \"peak_error_bytes\": %" PRId64 ",\n    \"unknown_frees\": %" PRIu64
		", \"double_frees\": %" PRIu64 ", \"dropped_events\": %" PRIu64
		", \"unattributed_allocations\": %" PRIu64 ", \"truncated_stacks\": %" PRIu32
		",\n    \"stacks\": %" PRIu32 ", \"threads\": %" PRIu64
		", \"peak_rss_bytes\": %" PRId64,
		t->peak_error_bytes, t->unknown_frees, t->double_frees, t->dropped_events,
		t->unattributed, t->truncated_stacks, t->stacks, t->threads, t->peak_rss_bytes);
	if (t->sample_mean)
		put_total_errors(j, &c->variances);
	put(j, "}");
}

/* Are the figures estimates? */
static void put_sampling(struct json *j)
{
	int64_t mean = j->model->totals.sample_mean;
	if (mean)
		fprintf(j->out, "\"sampled\": true, \"sample_bytes\": %" PRId64, mean);
	else
		put(j, "\"sampled\": false, \"sample_bytes\": null");
}

static void put_costs(struct json *j, const struct costs *c)
{
	fprintf(j->out,
		"\"allocations\": %" PRIu64 ", \"allocated_bytes\": %" PRIu64
		", \"peak_bytes\": %" PRId64 ", \"peak_blocks\": %" PRId64
		", \"leaked_bytes\": %" PRId64 ", \"leaked_blocks\": %" PRId64
		", \"temporary_allocations\": %" PRIu64,
		c->allocations, c->allocated_bytes, c->peak_bytes, c->peak_blocks, c->leaked_bytes,
		c->leaked_blocks, c->temporary_allocations);
	if (!j->model->totals.sample_mean)
		return;
	begin_errors(j);
	put_cost_errors(j, &c->variances);
	put(j, "}");
}

static void put_leak(struct json *j, const struct costs *c)
{
	fprintf(j->out, "\"leaked_bytes\": %" PRId64 ", \"leaked_blocks\": %" PRId64,
		c->leaked_bytes, c->leaked_blocks);
	if (!j->model->totals.sample_mean)
		return;
	begin_errors(j);
	put_error(j, "leaked_bytes", c->variances.leaked_bytes);
	put_error(j, "leaked_blocks", c->variances.leaked_blocks);
	put(j, "}");
}

/* What the suppressions took out of all the other figures. */
static void put_suppressed(struct json *j, const struct suppressions *set)
{
	put(j, "{");
	put_leak(j, &set->costs);
	put(j, ", \"patterns\": [");
	for (size_t i = 0; i < set->count; i++) {
		put(j, i ? ",\n    {\"pattern\": " : "\n    {\"pattern\": ");
		put_string(j, set->items[i].pattern);
		put(j, ", ");
		put_leak(j, &set->items[i].costs);
		put(j, "}");
	}
	put(j, "]}");
}

static cJSON *string_or_null(const char *text)
{
	char *clean = text ? utf8_clean(text, 0) : NULL;
	cJSON *item = clean ? cJSON_CreateString(clean) : cJSON_CreateNull();
	free(clean);
	return item;
}

static cJSON *frame_object(const struct shown_frame *frame)
{
	char address[24];
	cJSON *object = cJSON_CreateObject();
	snprintf(address, sizeof(address), "0x%" PRIx64, frame->address);
	cJSON_AddItemToObject(object, "function", string_or_null(frame->function));
	cJSON_AddItemToObject(object, "file", string_or_null(frame->file));
	cJSON_AddItemToObject(object, "line",
			      frame->line ? cJSON_CreateNumber(frame->line) : cJSON_CreateNull());
	cJSON_AddItemToObject(object, "module", string_or_null(frame->module));
	cJSON_AddStringToObject(object, "address", address);
	cJSON_AddBoolToObject(object, "inlined", frame->inlined);
	return object;
}

/*
 * The frames of the location at `walk`, printed; `walk` is left at the next
 * location.
 */
static char *print_location(struct frame_walk *walk)
{
	struct shown_frame frame;
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	if (!memory)
		return NULL;
	do {
		if (!frame_walk_next(walk, &frame))
			break;
		cJSON *object = frame_object(&frame);
		char *printed = cJSON_PrintUnformatted(object);
		fprintf(memory, "%s%s", frame.index ? ", " : "", printed ? printed : "null");
		cJSON_free(printed);
		cJSON_Delete(object);
	} while (walk->next);
	if (fclose(memory)) {
		free(text);
		return NULL;
	}
	return text;
}

static void put_frames(struct json *j, uint32_t node)
{
	const struct model *model = j->model;
	bool first = true;
	put(j, "[");
	for (; node && !j->error; node = model->nodes[node].parent) {
		uint32_t location = model->nodes[node].location;
		if (!location)
			continue;
		if (!j->frame_texts[location]) {
			struct frame_walk walk = frame_walk_start(model, node);
			j->frame_texts[location] = print_location(&walk);
		}
		if (!j->frame_texts[location]) {
			j->error = -ENOMEM;
			break;
		}
		put(j, first ? "" : ", ");
		put(j, j->frame_texts[location]);
		first = false;
	}
	put(j, "]");
}

static void put_stack(struct json *j, const struct model_stack *stack)
{
	put(j, "{");
	put_costs(j, &stack->costs);
	fprintf(j->out, ", \"truncated\": %s, \"frames\": ",
		stack->end == STACK_COMPLETE ? "false" : "true");
	put_frames(j, stack->node);
	put(j, "}");
}

static void put_site(struct json *j, const struct site *site)
{
	put(j, "{\"function\": ");
	put_text_id(j, site->function);
	put(j, ", \"file\": ");
	put_text_id(j, site->file);
	put(j, ", \"line\": ");
	if (site->line)
		fprintf(j->out, "%" PRIu32, site->line);
	else
		put(j, "null");
	put(j, ", \"module\": ");
	put_text_id(j, site->module);
	put(j, ", \"tag\": null, ");
	if (site->process)
		fprintf(j->out, "\"process\": %" PRIu32 ", ",
			j->model->processes[site->process - 1].number);
	put_costs(j, &site->costs);
	put(j, ",\n     \"stacks\": [");
	sites_sort_stacks(j->report->table, site, j->model, j->report->options->sort,
			  site->stack_count);
	for (uint32_t i = 0; i < site->stack_count; i++) {
		put(j, i ? ",\n      " : "\n      ");
		put_stack(j, &j->model->stacks[j->report->table->stacks[site->first_stack + i]]);
	}
	put(j, "]}");
}

static void put_sites(struct json *j)
{
	put(j, "[");
	for (size_t i = 0; i < j->report->shown; i++) {
		put(j, i ? ",\n    " : "\n    ");
		put_site(j, &j->report->table->sites[i]);
	}
	put(j, "]");
}

static void put_timeline(struct json *j)
{
	struct rec_sample *points;
	size_t count;
	int error = timeline_build(j->model, &points, &count);
	if (error) {
		j->error = error;
		return;
	}
	put(j, "[");
	for (size_t i = 0; i < count; i++) {
		put(j, i ? ",\n    {\"t_s\": " : "\n    {\"t_s\": ");
		put_seconds(j, points[i].t_ns);
		fprintf(j->out,
			", \"heap_bytes\": %" PRId64 ", \"blocks\": %" PRId64
			", \"rss_bytes\": %" PRId64 "}",
			points[i].heap_bytes, points[i].blocks, points[i].rss_bytes);
	}
	put(j, "]");
	free(points);
}

static void put_number_or_null(struct json *j, const char *key, uint64_t number)
{
	if (number)
		fprintf(j->out, ", \"%s\": %" PRIu64, key, number);
	else
		fprintf(j->out, ", \"%s\": null", key);
}

static void put_block(struct json *j, const struct rec_error *rec)
{
	if (rec->has_block)
		fprintf(j->out,
			"{\"address\": \"0x%" PRIx64 "\", \"size\": %" PRIu64
			", \"offset\": %" PRId64 ", \"freed\": %s}",
			rec->block_address, rec->block_size,
			(int64_t)(rec->address - rec->block_address),
			rec->block_freed ? "true" : "false");
	else
		put(j, "null");
}

static void put_found(struct json *j, const struct model_error *error)
{
	const struct rec_error *rec = &error->rec;
	put(j, "{\"kind\": ");
	put_string(j, error_kind_name(rec->kind));
	put(j, ", \"access\": ");
	put_string(j, error_access_name(rec->access));
	fprintf(j->out, ", \"address\": \"0x%" PRIx64 "\", \"block\": ", rec->address);
	put_block(j, rec);
	put(j, ",\n     \"stack\": ");
	put_frames(j, error->nodes[ERROR_STACK]);
	put(j, ",\n     \"allocated\": ");
	put_frames(j, error->nodes[ERROR_ALLOCATED]);
	put(j, ",\n     \"freed\": ");
	if (error->nodes[ERROR_FREED])
		put_frames(j, error->nodes[ERROR_FREED]);
	else
		put(j, "null");
	put(j, ",\n     \"source\": ");
	put_string(j, error_source_name(rec->source));
	put_number_or_null(j, "process",
			   error->process ? j->model->processes[error->process - 1].number : 0);
	fprintf(j->out, ", \"pid\": %d, \"t_s\": ", rec->pid);
	if (rec->t_ns >= 0)
		put_seconds(j, rec->t_ns);
	else
		put(j, "null");
	put_number_or_null(j, "thread", rec->thread);
	put_number_or_null(j, "allocated_thread", rec->allocated_thread);
	put_number_or_null(j, "freed_thread", rec->freed_thread);
	put_number_or_null(j, "corrupt_bytes", rec->corrupt_bytes);
	fprintf(j->out, ", \"count\": %" PRIu64 ", \"continued\": %s, \"by_realloc\": %s}",
		rec->count, rec->continued ? "true" : "false", rec->by_realloc ? "true" : "false");
}

/* What was found wrong in the program. */
static void put_all_found(struct json *j)
{
	put(j, "[");
	for (size_t i = 0; i < j->model->error_count; i++) {
		put(j, i ? ",\n    " : "\n    ");
		put_found(j, &j->model->errors[i]);
	}
	put(j, "]");
}

static void put_guard(struct json *j, const struct model_process *process)
{
	const struct rec_guard *g = &process->guard;
	fprintf(j->out, "{\"process\": %" PRIu32 ", \"method\": ", process->number);
	put_string(j, guard_method_name(g->method));
	fprintf(j->out,
		", \"madvise_blocks\": %" PRIu64 ", \"mprotect_blocks\": %" PRIu64
		", \"canary_blocks\": %" PRIu64 ", \"unguarded_blocks\": %" PRIu64,
		g->blocks[GUARD_MADVISE], g->blocks[GUARD_MPROTECT], g->blocks[GUARD_CANARY],
		g->blocks[GUARD_NONE]);
	put_number_or_null(j, "budget", g->budget);
	fprintf(j->out,
		", \"refused\": %" PRIu64 ", \"errors\": %" PRIu64 ", \"errors_lost\": %" PRIu64
		"}",
		g->refused, g->errors, g->errors_lost);
}

static void put_guards(struct json *j)
{
	bool first = true;
	put(j, "[");
	for (size_t i = 0; i < j->model->process_count; i++) {
		const struct model_process *process = &j->model->processes[i];
		if (!process->selected || !process->guarded)
			continue;
		put(j, first ? "\n    " : ",\n    ");
		put_guard(j, process);
		first = false;
	}
	put(j, "]");
}

int render_json(const struct report *report)
{
	struct json j = { .report = report, .model = report->model, .out = report->options->out };
	j.frame_texts = calloc(j.model->location_count + 1, sizeof(*j.frame_texts));
	if (!j.frame_texts)
		return -ENOMEM;
	put(&j, "{ \"memtrack\": \"" MEMTRACK_VERSION "\", \"schema\": 1, ");
	put_sampling(&j);
	put(&j, ",\n  \"process\": ");
	put_process(&j, report_single_process(j.model));
	put(&j, ",\n  \"processes\": ");
	put_processes(&j);
	put(&j, ",\n  \"totals\": ");
	put_totals(&j);
	if (report->suppressions) {
		put(&j, ",\n  \"suppressed\": ");
		put_suppressed(&j, report->suppressions);
	}
	put(&j, ",\n  \"sites\": ");
	put_sites(&j);
	put(&j, ",\n  \"timeline\": ");
	put_timeline(&j);
	put(&j, ",\n  \"errors\": ");
	put_all_found(&j);
	put(&j, ",\n  \"guards\": ");
	put_guards(&j);
	put(&j, " }\n");
	for (size_t i = 0; i <= j.model->location_count; i++)
		free(j.frame_texts[i]);
	free(j.frame_texts);
	return j.error;
}
