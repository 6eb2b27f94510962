/* SPDX-License-Identifier: MIT */
/* The last line of a text report: the command to type next. */
#include <string.h>

#include "report/model.h"
#include "report/render.h"
#include "report/sentence.h"
#include "report/sites.h"
#include "report/text.h"

/* What one would likely ask next. */
void text_next(struct text *t)
{
	const struct report_options *o = t->report->options;
	const struct costs *c = &t->model->totals.costs;
	struct sentence s;
	if (!sentence_open(t, &s))
		return;
	fputs("memtrack report ", s.stream);
	if (c->leaked_bytes > 0 && o->sort != REPORT_SORT_LEAKED)
		fputs("--sort leaked", s.stream);
	else if (c->temporary_allocations > c->allocations / 10 && o->sort != REPORT_SORT_TEMPORARY)
		fputs("--sort temporary", s.stream);
	else
		fputs(o->by == REPORT_BY_MODULE ? "--by function" : "--by module", s.stream);
	sentence_selection(&s, o);
	for (size_t i = 0; i < o->files.count; i++) {
		if (o->files.count == 1 && strcmp(o->files.items[i], "memtrack.dat") == 0)
			break;
		fputc(' ', s.stream);
		sentence_argument(&s, o->files.items[i]);
	}
	sentence_print(t, &s, "Next", TEXT_PLAIN);
}
