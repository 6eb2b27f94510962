/* SPDX-License-Identifier: MIT */
/* The rows of slack beside those of the stacks; called by model_stacks.c. */
#include <string.h>

#include "report/model_private.h"

static int next_row(struct slack_rows *slack)
{
	int more = slack->rows.statement ? rows_next(&slack->rows) : 0;
	slack->more = more > 0;
	return more < 0 ? more : 0;
}

int slack_open(struct slack_rows *slack, struct loader *loader)
{
	*slack = (struct slack_rows){ .rows = { .loader = loader, .table = "slack" } };
	if (!rows_exist(loader, "slack"))
		return 0;
	int error = rows_open(&slack->rows, loader, "slack",
			      "SELECT process, node, end, allocated_bytes, peak_bytes, leaked_bytes"
			      " FROM slack");
	return error ? error : next_row(slack);
}

int slack_take(struct slack_rows *slack, const int64_t *key, struct model_process *owner,
	       struct cost_slack *costs)
{
	const int64_t *v = slack->rows.values;
	bool found = slack->more && memcmp(v, key, 3 * sizeof(*key)) == 0;
	if (owner->stacks == 0)
		owner->rec.slack = found;
	if (found != owner->rec.slack)
		return rows_damaged(&slack->rows, "the rows are not those of the stacks");
	if (!found)
		return 0;
	if (v[3] < 0)
		return rows_damaged(&slack->rows, "a number of bytes is negative");
	*costs = (struct cost_slack){ (uint64_t)v[3], v[4], v[5] };
	return next_row(slack);
}

int slack_end(const struct slack_rows *slack)
{
	return slack->more ? rows_damaged(&slack->rows, "the rows are not those of the stacks") : 0;
}
