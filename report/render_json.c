/* SPDX-License-Identifier: MIT */
/* `report --format json`; see json.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/json.h"
#include "report/model.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/suppressions.h"
#include "report/timeline.h"
#include "report/version.h"

static void put_start_time(struct json *j, int64_t start_time_ns)
{
	char text[64];
	time_t seconds = (time_t)(start_time_ns / 1000000000);
	struct tm tm;
	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "\"%Y-%m-%dT%H:%M:%SZ\"", &tm))
		json_put(j, text);
	else
		json_put(j, "null");
}

static void put_command(struct json *j, const struct model_process *process)
{
	json_put(j, "[");
	for (uint32_t i = 0; i < process->argc; i++) {
		json_put(j, i ? ", " : "");
		uint32_t id = j->model->argv[process->argv + i];
		json_string(j, id ? model_text(j->model, id) : "");
	}
	json_put(j, "]");
}

static void put_exit(struct json *j, const struct rec_process *rec)
{
	json_put(j, "{\"code\": ");
	if (rec->exit_code >= 0 && rec->exit_signal == 0 && rec->complete && !rec->exec_ended)
		fprintf(j->out, "%d", rec->exit_code);
	else
		json_put(j, "null");
	json_put(j, ", \"signal\": ");
	if (rec->exit_signal)
		fprintf(j->out, "%d", rec->exit_signal);
	else
		json_put(j, "null");
	fprintf(j->out, ", \"complete\": %s, \"exec\": %s}", rec->complete ? "true" : "false",
		rec->exec_ended ? "true" : "false");
}

static void put_notes(struct json *j, const char *notes)
{
	json_put(j, "[");
	for (bool first = true; notes && *notes; first = false) {
		size_t length = strcspn(notes, "\n");
		char *note = strndup(notes, length);
		json_put(j, first ? "" : ", ");
		json_string(j, note ? note : "");
		free(note);
		notes += length + (notes[length] == '\n');
	}
	json_put(j, "]");
}

static void put_process(struct json *j, const struct model_process *process)
{
	if (!process) {
		json_put(j, "null");
		return;
	}
	const struct rec_process *rec = &process->rec;
	fprintf(j->out, "{\"id\": %" PRIu32 ", \"pid\": %d, \"command\": ", process->number,
		rec->pid);
	put_command(j, process);
	json_put(j, ", \"executable\": ");
	json_text(j, process->executable);
	fprintf(j->out, ", \"parent_pid\": %d,\n  \"start_time\": ", rec->parent_pid);
	put_start_time(j, rec->start_time_ns);
	json_put(j, ", \"duration_s\": ");
	json_seconds(j, rec->duration_ns);
	json_put(j, ", \"exit\": ");
	put_exit(j, rec);
	json_put(j, ",\n  \"allocator\": ");
	json_text(j, process->allocator);
	json_put(j, ", \"notes\": ");
	put_notes(j, model_text(j->model, process->notes));
	json_put(j, "}");
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
		json_put(j, "null");
	json_put(j, ", \"command\": ");
	put_command(j, process);
	fprintf(j->out,
		", \"peak_bytes\": %" PRId64 ", \"leaked_bytes\": %" PRId64
		", \"allocations\": %" PRIu64,
		process->rec.peak_bytes, process->costs.leaked_bytes, process->costs.allocations);
	if (process->rec.sample_mean) {
		const struct cost_variances *v = &process->costs.variances;
		json_begin_errors(j);
		json_error(j, "peak_bytes", v->peak_bytes);
		json_error(j, "leaked_bytes", v->leaked_bytes);
		json_error(j, "allocations", v->allocations);
		json_put(j, "}");
	}
	json_put(j, "}");
}

static void put_processes(struct json *j)
{
	json_put(j, "[");
	for (size_t i = 0; i < j->model->process_count; i++) {
		json_put(j, i ? ",\n    " : "\n    ");
		put_process_row(j, &j->model->processes[i]);
	}
	json_put(j, "]");
}

/* Are the figures estimates? */
static void put_sampling(struct json *j)
{
	int64_t mean = j->model->totals.sample_mean;
	if (mean)
		fprintf(j->out, "\"sampled\": true, \"sample_bytes\": %" PRId64, mean);
	else
		json_put(j, "\"sampled\": false, \"sample_bytes\": null");
}

static void put_leak(struct json *j, const struct costs *c)
{
	fprintf(j->out, "\"leaked_bytes\": %" PRId64 ", \"leaked_blocks\": %" PRId64,
		c->leaked_bytes, c->leaked_blocks);
	if (!j->model->totals.sample_mean)
		return;
	json_begin_errors(j);
	json_error(j, "leaked_bytes", c->variances.leaked_bytes);
	json_error(j, "leaked_blocks", c->variances.leaked_blocks);
	json_put(j, "}");
}

/* What the suppressions took out of all the other figures. */
static void put_suppressed(struct json *j, const struct suppressions *set)
{
	json_put(j, "{");
	put_leak(j, &set->costs);
	json_put(j, ", \"patterns\": [");
	for (size_t i = 0; i < set->count; i++) {
		json_put(j, i ? ",\n    {\"pattern\": " : "\n    {\"pattern\": ");
		json_string(j, set->items[i].pattern);
		json_put(j, ", ");
		put_leak(j, &set->items[i].costs);
		json_put(j, "}");
	}
	json_put(j, "]}");
}

static void put_sites(struct json *j, const struct report *report)
{
	json_put(j, "[");
	for (size_t i = 0; i < report->shown; i++) {
		json_put(j, i ? ",\n    " : "\n    ");
		json_site(j, report->table, &report->table->sites[i], report->options->sort);
	}
	json_put(j, "]");
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
	json_put(j, "[");
	for (size_t i = 0; i < count; i++) {
		json_put(j, i ? ",\n    {\"t_s\": " : "\n    {\"t_s\": ");
		json_seconds(j, points[i].t_ns);
		fprintf(j->out,
			", \"heap_bytes\": %" PRId64 ", \"blocks\": %" PRId64
			", \"rss_bytes\": %" PRId64 "}",
			points[i].heap_bytes, points[i].blocks, points[i].rss_bytes);
	}
	json_put(j, "]");
	free(points);
}

/* What was found wrong in the program. */
static void put_all_found(struct json *j)
{
	json_put(j, "[");
	for (size_t i = 0; i < j->model->error_count; i++) {
		json_put(j, i ? ",\n    " : "\n    ");
		json_found(j, &j->model->errors[i]);
	}
	json_put(j, "]");
}

static void put_guard(struct json *j, const struct model_process *process)
{
	const struct rec_guard *g = &process->guard;
	fprintf(j->out, "{\"process\": %" PRIu32 ", \"method\": ", process->number);
	json_string(j, guard_method_name(g->method));
	fprintf(j->out,
		", \"madvise_blocks\": %" PRIu64 ", \"mprotect_blocks\": %" PRIu64
		", \"canary_blocks\": %" PRIu64 ", \"unguarded_blocks\": %" PRIu64,
		g->blocks[GUARD_MADVISE], g->blocks[GUARD_MPROTECT], g->blocks[GUARD_CANARY],
		g->blocks[GUARD_NONE]);
	json_number_or_null(j, "budget", g->budget);
	fprintf(j->out,
		", \"refused\": %" PRIu64 ", \"errors\": %" PRIu64 ", \"errors_lost\": %" PRIu64
		"}",
		g->refused, g->errors, g->errors_lost);
}

static void put_guards(struct json *j)
{
	bool first = true;
	json_put(j, "[");
	for (size_t i = 0; i < j->model->process_count; i++) {
		const struct model_process *process = &j->model->processes[i];
		if (!process->selected || !process->guarded)
			continue;
		json_put(j, first ? "\n    " : ",\n    ");
		put_guard(j, process);
		first = false;
	}
	json_put(j, "]");
}

int render_json(const struct report *report)
{
	struct json j;
	int error = json_init(&j, report->options->out, report->model);
	if (error)
		return error;
	json_put(&j, "{ \"memtrack\": \"" MEMTRACK_VERSION "\", \"schema\": 1, ");
	put_sampling(&j);
	json_put(&j, ",\n  \"process\": ");
	put_process(&j, report_single_process(j.model));
	json_put(&j, ",\n  \"processes\": ");
	put_processes(&j);
	json_put(&j, ",\n  \"totals\": ");
	json_totals(&j, &j.model->totals, NULL);
	if (report->suppressions) {
		json_put(&j, ",\n  \"suppressed\": ");
		put_suppressed(&j, report->suppressions);
	}
	json_put(&j, ",\n  \"sites\": ");
	put_sites(&j, report);
	if (report->options->tree) {
		json_put(&j, ",\n  \"tree\": ");
		json_tree(&j, report);
	}
	json_put(&j, ",\n  \"timeline\": ");
	put_timeline(&j);
	json_put(&j, ",\n  \"errors\": ");
	put_all_found(&j);
	json_put(&j, ",\n  \"guards\": ");
	put_guards(&j);
	json_put(&j, " }\n");
	return json_release(&j);
}
