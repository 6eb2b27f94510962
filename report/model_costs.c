/* SPDX-License-Identifier: MIT */
/* Rows of costs: three columns that say of what, then the costs; and rows of their variances. */
#include <float.h>
#include <string.h>

#include "report/model_private.h"

/* The figures of the row of variances at hand.  A number that is none, NaN, is stored as NULL. */
static int read_variances(const struct rows *rows, struct cost_variances *variances)
{
	double v[10];
	for (int i = 0; i < 10; i++) {
		int type = sqlite3_column_type(rows->statement, i + 3);
		v[i] = sqlite3_column_double(rows->statement, i + 3);
		if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !(v[i] >= 0) ||
		    v[i] > DBL_MAX)
			return rows_damaged(rows, "a variance is out of range");
	}
	*variances = (struct cost_variances){ v[0], v[1], v[2], v[3], v[4],
					      v[5], v[6], v[7], v[8], v[9] };
	return 0;
}

/* The next row of variances must be that of these costs. */
static int take_variances(struct rows *rows, const int64_t *key, struct cost_variances *variances)
{
	int error = rows->statement ? rows_next(rows) : 0;
	if (error < 0)
		return error;
	if (!error || memcmp(rows->values, key, 3 * sizeof(*key)) != 0)
		return rows_damaged(rows, "the rows are not those of the costs");
	return read_variances(rows, variances);
}

int costs_read(struct rows *rows, struct rows *variances, struct costs *costs)
{
	const int64_t *v = rows->values;
	for (int i = 3; i <= 8; i++) {
		if (v[i] < 0)
			return rows_damaged(rows, "a count is negative");
	}
	*costs = (struct costs){
		.allocations = (uint64_t)v[3],
		.allocated_bytes = (uint64_t)v[4],
		.frees = (uint64_t)v[5],
		.freed_bytes = (uint64_t)v[6],
		.temporary_allocations = (uint64_t)v[7],
		.reallocations = (uint64_t)v[8],
		.peak_blocks = v[9],
		.peak_bytes = v[10],
		.leaked_blocks = v[11],
		.leaked_bytes = v[12],
	};
	return variances ? take_variances(variances, v, &costs->variances) : 0;
}
