/* SPDX-License-Identifier: MIT */
/* See csv_costs.h. */
#include "report/csv_costs.h"

#include <inttypes.h>
#include <math.h>

#include "report/csv.h"
#include "report/model.h"
#include "report/sites.h"
#include "report/utf8.h"

void csv_place_titles(FILE *out)
{
	fputs("function,file,line,module,address", out);
}

int csv_place(FILE *out, const struct model *model, const struct site *site)
{
	int error = csv_put(out, model_text(model, site->function), UTF8_VISIBLE);
	fputc(',', out);
	if (!error)
		error = csv_put(out, model_text(model, site->file), UTF8_VISIBLE);
	fputc(',', out);
	if (site->line)
		fprintf(out, "%" PRIu32, site->line);
	fputc(',', out);
	if (!error)
		error = csv_put(out, model_text(model, site->module), UTF8_VISIBLE);
	fputc(',', out);
	if (site->address)
		fprintf(out, "0x%" PRIx64, site->address);
	return error;
}

void csv_cost_titles(FILE *out, const char *before, const char *behind)
{
	static const char *const titles[] = {
		"allocations",		 "allocated_bytes", "peak_bytes",
		"peak_blocks",		 "leaked_bytes",    "leaked_blocks",
		"temporary_allocations",
	};
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		fprintf(out, ",%s%s%s", before, titles[i], behind);
}

void csv_costs(FILE *out, const struct costs *c)
{
	fprintf(out,
		",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu64,
		c->allocations, c->allocated_bytes, c->peak_bytes, c->peak_blocks, c->leaked_bytes,
		c->leaked_blocks, c->temporary_allocations);
}

void csv_standard_errors(FILE *out, const struct cost_variances *v)
{
	const double variances[] = { v->allocations,	      v->allocated_bytes, v->peak_bytes,
				     v->peak_blocks,	      v->leaked_bytes,	  v->leaked_blocks,
				     v->temporary_allocations };
	for (size_t i = 0; i < sizeof(variances) / sizeof(variances[0]); i++) {
		if (isnan(variances[i])) /* not known */
			fputc(',', out);
		else
			fprintf(out, ",%.3f", sqrt(variances[i]));
	}
}
