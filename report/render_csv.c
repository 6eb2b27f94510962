/* SPDX-License-Identifier: MIT */
/*
 * `report --format csv` (RFC 4180): a header line, then one line a row of the
 * table; no stacks.
 */
#include <inttypes.h>
#include <stdio.h>

#include "report/csv.h"
#include "report/csv_costs.h"
#include "report/model.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/size_class.h"
#include "report/utf8.h"

static int put_names(FILE *out, const struct model *model, const struct site *site)
{
	const struct model_process *process =
		site->process ? &model->processes[site->process - 1] : NULL;
	if (process)
		fprintf(out, "%" PRIu32 ",%d", process->number, process->rec.pid);
	else
		fputc(',', out);
	fputc(',', out);
	int error = csv_place(out, model, site);
	fputc(',', out); /* no recording has tags */
	return error;
}

static int put_thread(FILE *out, const struct model *model, const struct model_thread *thread)
{
	fprintf(out, "%d,%" PRIu32 ",", model->processes[thread->process].rec.pid,
		thread->rec.number);
	if (thread->rec.tid)
		fprintf(out, "%" PRId32, thread->rec.tid);
	fputc(',', out);
	int error = csv_put(out, model_text(model, thread->name), UTF8_VISIBLE);
	fprintf(out, ",%" PRIu64 ",%d", thread->rec.holders, thread->rec.inherited);
	return error;
}

static void put_size(FILE *out, uint64_t least)
{
	uint64_t most = size_class_most(least);
	fprintf(out, "%" PRIu64 ",", least);
	if (most < UINT64_MAX)
		fprintf(out, "%" PRIu64, most);
}

/* What the row is about. */
static int put_key(FILE *out, const struct model *model, const struct site *site)
{
	if (!site->part)
		return put_names(out, model, site);
	const struct model_part *part = &model->parts[site->part - 1];
	if (part->kind == PART_THREAD)
		return put_thread(out, model, &model->threads[part->thread]);
	put_size(out, part->key);
	return 0;
}

static void put_key_titles(FILE *out, enum report_by by)
{
	if (by == REPORT_BY_THREAD) {
		fputs("pid,thread,tid,name,threads,inherited", out);
	} else if (by == REPORT_BY_SIZE) {
		fputs("size_min,size_max", out);
	} else {
		fputs("process,pid,", out);
		csv_place_titles(out);
		fputs(",tag", out);
	}
}

/* What follows the key is the same for all tables, and the errors come last. */
static void put_titles(FILE *out, const struct report *report)
{
	put_key_titles(out, report->options->by);
	csv_cost_titles(out, "", "");
	fputs(",stacks", out);
	if (report_has_slack(report))
		fputs(",slack_bytes,slack_leaked_bytes,slack_allocated_bytes", out);
	if (report->model->totals.sample_mean)
		csv_cost_titles(out, "", "_standard_error");
	fputc('\n', out);
}

static int put_row(FILE *out, const struct report *report, const struct site *site)
{
	const struct cost_slack *slack = &site->costs.slack;
	int error = put_key(out, report->model, site);
	csv_costs(out, &site->costs);
	fprintf(out, ",%" PRIu32, site->stack_count);
	if (report_has_slack(report))
		fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRIu64, slack->peak_bytes,
			slack->leaked_bytes, slack->allocated_bytes);
	if (report->model->totals.sample_mean)
		csv_standard_errors(out, &site->costs.variances);
	fputc('\n', out);
	return error;
}

int render_csv(const struct report *report)
{
	FILE *out = report->options->out;
	int error = 0;
	if (report->options->tree)
		return csv_tree(report);
	put_titles(out, report);
	for (size_t i = 0; !error && i < report->shown; i++)
		error = put_row(out, report, &report->table->sites[i]);
	return error;
}
