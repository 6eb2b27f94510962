/* SPDX-License-Identifier: MIT */
/* Sums of costs; called by collect.c and by all that groups stacks. */
#include <float.h>

#include "report/recording.h"

static void add_unsigned(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

static void add_signed(int64_t *sum, int64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = more < 0 ? INT64_MIN : INT64_MAX;
}

static void add_variance(double *sum, double more)
{
	*sum += more;
	if (*sum > DBL_MAX)
		*sum = DBL_MAX;
}

static void add_variances(struct cost_variances *sum, const struct cost_variances *more)
{
	add_variance(&sum->allocations, more->allocations);
	add_variance(&sum->allocated_bytes, more->allocated_bytes);
	add_variance(&sum->frees, more->frees);
	add_variance(&sum->freed_bytes, more->freed_bytes);
	add_variance(&sum->temporary_allocations, more->temporary_allocations);
	add_variance(&sum->reallocations, more->reallocations);
	add_variance(&sum->peak_blocks, more->peak_blocks);
	add_variance(&sum->peak_bytes, more->peak_bytes);
	add_variance(&sum->leaked_blocks, more->leaked_blocks);
	add_variance(&sum->leaked_bytes, more->leaked_bytes);
}

static void add_slack(struct cost_slack *sum, const struct cost_slack *more)
{
	add_unsigned(&sum->allocated_bytes, more->allocated_bytes);
	add_signed(&sum->peak_bytes, more->peak_bytes);
	add_signed(&sum->leaked_bytes, more->leaked_bytes);
}

void costs_add(struct costs *sum, const struct costs *more)
{
	add_unsigned(&sum->allocations, more->allocations);
	add_unsigned(&sum->allocated_bytes, more->allocated_bytes);
	add_unsigned(&sum->frees, more->frees);
	add_unsigned(&sum->freed_bytes, more->freed_bytes);
	add_unsigned(&sum->temporary_allocations, more->temporary_allocations);
	add_unsigned(&sum->reallocations, more->reallocations);
	add_signed(&sum->peak_blocks, more->peak_blocks);
	add_signed(&sum->peak_bytes, more->peak_bytes);
	add_signed(&sum->leaked_blocks, more->leaked_blocks);
	add_signed(&sum->leaked_bytes, more->leaked_bytes);
	add_variances(&sum->variances, &more->variances);
	add_slack(&sum->slack, &more->slack);
}
