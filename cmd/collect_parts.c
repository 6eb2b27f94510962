/* SPDX-License-Identifier: MIT */
/* Costs of an image to rows; see collect_parts.h. */
#include "cmd/collect_parts.h"

#include "cmd/image_parts.h"

static struct cost_variances variances_of(const struct image_variances *v)
{
	return (struct cost_variances){
		.allocations = v->allocations,
		.allocated_bytes = v->bytes,
		.frees = v->frees,
		.freed_bytes = v->freed_bytes,
		.temporary_allocations = v->temporary,
		.reallocations = v->reallocations,
		.peak_blocks = v->peak_blocks,
		.peak_bytes = v->peak_bytes,
		.leaked_blocks = v->live_blocks,
		.leaked_bytes = v->live_bytes,
	};
}

struct costs collect_costs(const struct image_cost *cost, const struct image_variances *variances)
{
	struct costs costs = {
		.allocations = cost->allocations,
		.allocated_bytes = cost->bytes,
		.frees = cost->frees,
		.freed_bytes = cost->freed_bytes,
		.temporary_allocations = cost->temporary,
		.reallocations = cost->reallocations,
		.peak_blocks = cost->peak_blocks,
		.peak_bytes = cost->peak_bytes,
		.leaked_blocks = cost->live_blocks,
		.leaked_bytes = cost->live_bytes,
	};

	if (variances)
		costs.variances = variances_of(variances);
	return costs;
}

static int add_parts(struct recording *rec, rec_id process, enum part_kind kind,
		     const struct image_part *part, struct diag *diag)
{
	for (size_t i = 0; i < part->count; i++) {
		uint32_t key = part->costs[i].node;
		struct costs costs = collect_costs(&part->costs[i],
						   part->variances ? &part->variances[i] : NULL);
		int error =
			rec_add_part(rec, process, kind,
				     kind == PART_SIZE ? image_size_least(key) : key, &costs, diag);

		if (error)
			return error;
	}
	return 0;
}

static int add_threads(struct recording *rec, rec_id process, const struct image *image,
		       const struct thread_names *names, struct diag *diag)
{
	for (uint32_t i = 0; i < image->thread_count; i++) {
		const struct image_thread *t = &image->threads[i];
		const char *name =
			*t->name ? t->name : thread_names_find(names, i, t->holders, t->tid);
		int error = rec_add_thread(rec, process,
					   &(struct rec_thread){
						   .number = i + 1,
						   .tid = (int32_t)t->tid,
						   .name = *name ? name : NULL,
						   .holders = t->holders,
						   .inherited = t->inherited,
					   },
					   diag);

		if (error)
			return error;
	}
	return 0;
}

int collect_parts(struct recording *rec, rec_id process, const struct image *image,
		  const struct thread_names *names, struct diag *diag)
{
	int error = add_threads(rec, process, image, names, diag);

	if (!error)
		error = add_parts(rec, process, PART_THREAD, &image->by_thread, diag);
	return error ? error : add_parts(rec, process, PART_SIZE, &image->by_size, diag);
}
