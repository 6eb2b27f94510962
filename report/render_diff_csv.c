/* SPDX-License-Identifier: MIT */
/* `diff --format csv`: a header line, then one line a row. */
#include <inttypes.h>
#include <stdio.h>

#include "report/csv.h"
#include "report/render_diff.h"
#include "report/view.h"

static const char *const figures[] = { "allocations",	       "allocated_bytes", "peak_bytes",
				       "peak_blocks",	       "leaked_bytes",	  "leaked_blocks",
				       "temporary_allocations" };

#define FIGURES (sizeof(figures) / sizeof(figures[0]))

static void list_figures(const struct costs *c, __int128 *list)
{
	list[0] = c->allocations;
	list[1] = c->allocated_bytes;
	list[2] = c->peak_bytes;
	list[3] = c->peak_blocks;
	list[4] = c->leaked_bytes;
	list[5] = c->leaked_blocks;
	list[6] = c->temporary_allocations;
}

static void put_heading(FILE *out)
{
	static const char *const prefixes[] = { "old", "new", "delta" };
	fputs("status,function,file,line,module,address", out);
	for (size_t prefix = 0; prefix < 3; prefix++) {
		for (size_t i = 0; i < FIGURES; i++)
			fprintf(out, ",%s_%s", prefixes[prefix], figures[i]);
	}
	fputc('\n', out);
}

static int put_names(FILE *out, const struct model *model, const struct site *site)
{
	fputc(',', out);
	int error = csv_put(out, model_text(model, site->function), 0);
	fputc(',', out);
	if (!error)
		error = csv_put(out, model_text(model, site->file), 0);
	fputc(',', out);
	if (site->line)
		fprintf(out, "%" PRIu32, site->line);
	fputc(',', out);
	if (!error)
		error = csv_put(out, model_text(model, site->module), 0);
	fputc(',', out);
	if (site->address)
		fprintf(out, "0x%" PRIx64, site->address);
	return error;
}

static void put_figures(FILE *out, const struct diff_row *row)
{
	__int128 sides[SIDES + 1][FIGURES];
	list_figures(&row->costs[SIDE_OLD], sides[SIDE_OLD]);
	list_figures(&row->costs[SIDE_NEW], sides[SIDE_NEW]);
	for (size_t i = 0; i < FIGURES; i++)
		sides[SIDES][i] = sides[SIDE_NEW][i] - sides[SIDE_OLD][i];
	for (int side = 0; side <= SIDES; side++) {
		for (size_t i = 0; i < FIGURES; i++) {
			__int128 figure = sides[side][i];
			fprintf(out, ",%s%" PRIu64, figure < 0 ? "-" : "",
				(uint64_t)(figure < 0 ? -figure : figure));
		}
	}
	fputc('\n', out);
}

int render_diff_csv(const struct diff_report *report)
{
	FILE *out = report->options->report.out;
	put_heading(out);
	for (size_t i = 0; i < report->shown; i++) {
		const struct diff_row *row = &report->diff->rows[i];
		const struct view *view = report->views[row->side];
		fputs(diff_status_name(row->status), out);
		int error =
			put_names(out, &view->model, &view->table.sites[row->sites[row->side] - 1]);
		if (error)
			return error;
		put_figures(out, row);
	}
	return 0;
}
