/* SPDX-License-Identifier: MIT */
/* What --suppressions left out of a text report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/render.h"
#include "report/suppressions.h"
#include "report/text.h"
#include "report/units.h"

static void put_line(struct text *t, const char *label, enum text_style style, char *line)
{
	if (line)
		text_paragraph(t, label, style, line);
	else
		t->error = -ENOMEM;
	free(line);
}

static size_t count_used(const struct suppressions *set)
{
	size_t used = 0;
	for (size_t i = 0; i < set->count; i++)
		used += set->items[i].costs.leaked_bytes || set->items[i].costs.leaked_blocks;
	return used;
}

static void put_sum(struct text *t, const struct suppressions *set)
{
	const struct costs *c = &set->costs;
	const struct cost_variances *v = &c->variances;
	char size[UNITS_TEXT], blocks[UNITS_TEXT], errors[2][TEXT_ERROR];
	char *line = NULL;
	size_t used = count_used(set);
	int length =
		used ? asprintf(
			       &line, "%s%s in %s%s block%s by %zu pattern%s",
			       units_size(size, c->leaked_bytes),
			       text_error(t, errors[0], (double)c->leaked_bytes, v->leaked_bytes),
			       units_signed_count(blocks, c->leaked_blocks),
			       text_error(t, errors[1], (double)c->leaked_blocks, v->leaked_blocks),
			       c->leaked_blocks == 1 ? "" : "s", used, used == 1 ? "" : "s")
		     : asprintf(&line, "nothing");
	put_line(t, "Suppressed", TEXT_PLAIN, length < 0 ? NULL : line);
}

/* Patterns outlive the leaks that they were written for. */
static void put_unused(struct text *t, const struct suppressions *set)
{
	for (size_t i = 0; i < set->count; i++) {
		char *line = NULL;
		if (set->items[i].matched)
			continue;
		if (asprintf(&line, "leak:%s matches no leak", set->items[i].pattern) < 0)
			line = NULL;
		put_line(t, "Unused", TEXT_DIM, line);
	}
}

void text_suppressed(struct text *t)
{
	const struct suppressions *set = t->report->suppressions;
	if (!set)
		return;
	put_sum(t, set);
	put_unused(t, set);
}
