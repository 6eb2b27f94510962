/* SPDX-License-Identifier: MIT */
/*
 * `report --format csv` (RFC 4180): a header line, then one line a row of the
 * table; no stacks.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "report/csv.h"
#include "report/model.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/size_class.h"

static int put_names(FILE *out, const struct model *model, const struct site *site)
{
	if (site->process)
		fprintf(out, "%d", model->processes[site->process - 1].rec.pid);
	fputc(',', out);
	int error = csv_put(out, model_text(model, site->function), 0);
	fputc(',', out);
	if (!error)
		error = csv_put(out, model_text(model, site->file), 0);
	fputc(',', out);
	if (site->line)
		fprintf(out, "%" PRIu32, site->line);
	fputc(',', out);
	return error ? error : csv_put(out, model_text(model, site->module), 0);
}

static int put_thread(FILE *out, const struct model *model, const struct model_thread *thread)
{
	fprintf(out, "%d,%" PRIu32 ",", model->processes[thread->process].rec.pid,
		thread->rec.number);
	if (thread->rec.tid)
		fprintf(out, "%" PRId32, thread->rec.tid);
	fputc(',', out);
	int error = csv_put(out, model_text(model, thread->name), 0);
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

static const char *key_columns(enum report_by by)
{
	if (by == REPORT_BY_THREAD)
		return "pid,thread,tid,name,threads,inherited";
	return by == REPORT_BY_SIZE ? "size_min,size_max" : "pid,function,file,line,module";
}

static void put_errors(FILE *out, const struct cost_variances *v)
{
	const double variances[] = { v->allocations,	      v->allocated_bytes, v->peak_bytes,
				     v->peak_blocks,	      v->leaked_bytes,	  v->leaked_blocks,
				     v->temporary_allocations };
	for (size_t i = 0; i < sizeof(variances) / sizeof(variances[0]); i++)
		fprintf(out, ",%.3f", sqrt(variances[i]));
}

int render_csv(const struct report *report)
{
	FILE *out = report->options->out;
	bool sampled = report->model->totals.sample_mean != 0;
	fputs(key_columns(report->options->by), out);
	fputs(",allocations,allocated_bytes,peak_bytes,peak_blocks,leaked_bytes,leaked_blocks,"
	      "temporary_allocations,stacks",
	      out);
	if (sampled)
		fputs(",allocations_standard_error,allocated_bytes_standard_error,peak_bytes_standard_error,"
		      "peak_blocks_standard_error,leaked_bytes_standard_error,leaked_blocks_standard_error,"
		      "temporary_allocations_standard_error",
		      out);
	fputc('\n', out);
	for (size_t i = 0; i < report->shown; i++) {
		const struct site *site = &report->table->sites[i];
		const struct costs *c = &site->costs;
		int error = put_key(out, report->model, site);
		if (error)
			return error;
		fprintf(out,
			",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
			",%" PRIu64 ",%" PRIu32,
			c->allocations, c->allocated_bytes, c->peak_bytes, c->peak_blocks,
			c->leaked_bytes, c->leaked_blocks, c->temporary_allocations,
			site->stack_count);
		if (sampled)
			put_errors(out, &c->variances);
		fputc('\n', out);
	}
	return 0;
}
