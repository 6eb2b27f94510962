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
	fputs("pid,function,file,line,module,allocations,allocated_bytes,peak_bytes,peak_blocks,leaked_bytes,"
	      "leaked_blocks,temporary_allocations,stacks",
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
		int error = put_names(out, report->model, site);
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
