/* SPDX-License-Identifier: MIT */
/*
 * Moments to rows.  What was read by nodes of the image becomes what the stacks of the recording have live: some nodes are the
 * same stack.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd/collect_private.h"

/* A stack of the recording, while the moments go by. */
struct sum {
	struct moment_live live, written;
	size_t touched; /* 1 + the last moment that changed it */
};

struct pass {
	const struct moments *moments;
	const struct item *item;
	const struct row *rows;
	size_t row_count;
	const struct row **row_of;  /* by the moments' stack; NULL: there is no such row */
	struct moment_live *former; /* likewise: what is in the sum */
	struct sum *sums;	    /* by row */
	size_t *touched;	    /* rows that the moment at hand has changed */
	size_t touched_count;
};

int collect_compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->end - y->end;
}

/* The row of a node; NULL only when the target has damaged its figures. */
static const struct row *find_row(const struct pass *p, uint32_t node)
{
	const struct item *item = p->item;
	struct row key = { .end = STACK_UNATTRIBUTED };

	if (node >= item->image.node_count && node >= SEG_FIRST_NODE)
		return NULL;
	if (node >= SEG_FIRST_NODE) {
		key.node = item->rows[node].v;
		key.end = item->ends[node];
	}
	return bsearch(&key, p->rows, p->row_count, sizeof(key), collect_compare);
}

/* Estimates are in fractions of a block.  By what is rounded is up to chance, drawn for each stack once: no figure is biased,
 * and what has not changed stays the same. */
static struct moment_live in_blocks(const struct seg_header *h, uint32_t node,
				    struct moment_live live)
{
	uint64_t chance = (h->image ^ node) * 0x9e3779b97f4a7c15u >> (64 - SEG_SAMPLE_BITS);

	if (h->sample_mean)
		live.blocks = (int64_t)(((uint64_t)live.blocks + chance) >> SEG_SAMPLE_BITS);
	return live;
}

/* Sums of hostile figures may wrap around. */
static void replace(int64_t *sum, int64_t former, int64_t value)
{
	*sum = (int64_t)((uint64_t)*sum - (uint64_t)former + (uint64_t)value);
}

static void take_change(struct pass *p, size_t moment, const struct moment_change *change)
{
	const struct row *row = p->row_of[change->stack];
	struct moment_live *former = &p->former[change->stack];
	struct moment_live live = in_blocks(&p->item->image.header,
					    p->moments->stacks[change->stack].node, change->live);
	struct sum *sum;

	if (!row)
		return;
	sum = &p->sums[row - p->rows];
	replace(&sum->live.blocks, former->blocks, live.blocks);
	replace(&sum->live.bytes, former->bytes, live.bytes);
	*former = live;
	if (sum->touched != moment + 1)
		p->touched[p->touched_count++] = (size_t)(row - p->rows);
	sum->touched = moment + 1;
}

static int by_value(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t not_below_zero(int64_t figure)
{
	return figure < 0 ? INT64_MAX : figure;
}

static int write_changes(struct pass *p, struct recording *rec, rec_id moment, struct diag *diag)
{
	int error = 0;

	qsort(p->touched, p->touched_count, sizeof(*p->touched), by_value);
	for (size_t i = 0; i < p->touched_count && !error; i++) {
		const struct row *row = &p->rows[p->touched[i]];
		struct sum *sum = &p->sums[p->touched[i]];

		if (sum->live.blocks == sum->written.blocks &&
		    sum->live.bytes == sum->written.bytes)
			continue;
		sum->written = sum->live;
		error = rec_add_moment_stack(
			rec, moment, (rec_id){ row->node }, (enum stack_end)row->end,
			not_below_zero(sum->live.blocks), not_below_zero(sum->live.bytes), diag);
	}
	p->touched_count = 0;
	return error;
}

static int write_moment(struct pass *p, struct recording *rec, size_t index, struct diag *diag)
{
	const struct moments *m = p->moments;
	size_t end = index + 1 < m->count ? m->list[index + 1].first : m->change_count;
	rec_id id;
	int error = rec_add_moment(rec, p->item->process, m->list[index].t_ns, &id, diag);

	for (size_t i = m->list[index].first; i < end; i++)
		take_change(p, index, &m->changes[i]);
	return error ? error : write_changes(p, rec, id, diag);
}

int collect_moments(struct recording *rec, const struct item *item, const struct row *rows,
		    size_t count, struct diag *diag)
{
	const struct moments *m = &item->watched->moments;
	struct pass p = { .moments = m, .item = item, .rows = rows, .row_count = count };
	int error = 0;

	p.row_of = calloc(m->stack_count + 1, sizeof(*p.row_of));
	p.former = calloc(m->stack_count + 1, sizeof(*p.former));
	p.sums = calloc(count + 1, sizeof(*p.sums));
	p.touched = calloc(count + 1, sizeof(*p.touched));
	if (!p.row_of || !p.former || !p.sums || !p.touched)
		error = diag_set(diag, -ENOMEM, "out of memory");
	for (size_t i = 0; i < m->stack_count && !error; i++)
		p.row_of[i] = find_row(&p, m->stacks[i].node);
	for (size_t i = 0; i < m->count && !error; i++)
		error = write_moment(&p, rec, i, diag);
	free(p.row_of);
	free(p.former);
	free(p.sums);
	free(p.touched);
	return error;
}
