/* SPDX-License-Identifier: MIT */
/* Images to rows; see collect.h. */
#include "cmd/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/code_map.h"
#include "cmd/collect_errors.h"
#include "cmd/collect_parts.h"
#include "cmd/collect_private.h"
#include "cmd/image.h"
#include "cmd/notes.h"
#include "cmd/session.h"

struct collector {
	const struct collect_options *options;
	struct item *items;
	size_t count;
	struct code_map *map;
	struct recording *rec;
	struct error_image *images; /* the items, for the errors */
	struct error_set errors;
	double cycles_per_ns;
	struct diag *diag;
};

static int out_of_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, "out of memory");
}

/* -- reading ------------------------------------------------------------------------------------ */

static int load_item(struct collector *c, const struct watched *w)
{
	struct item *item = &c->items[c->count];
	struct diag diag;
	int fd = open(w->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int error;

	if (fd < 0)
		return 0; /* it went away: nothing to tell */
	memset(item, 0, sizeof(*item));
	item->watched = w;
	error = image_load((struct image_source){ fd, w->base }, &item->image, &diag);
	close(fd);
	if (error == -EAGAIN) {
		image_release(&item->image);
		return 0;
	}
	c->count++;
	if (error)
		return diag_set(c->diag, error, "%s", diag.text);
	item->codes = calloc(item->image.node_count + 1ul, sizeof(*item->codes));
	item->rows = calloc(item->image.node_count + 1ul, sizeof(*item->rows));
	item->ends = calloc(item->image.node_count + 1ul, sizeof(*item->ends));
	return item->codes && item->rows && item->ends ? 0 : out_of_memory(c->diag);
}

static int by_start(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	uint64_t s = x->image.header.start_monotonic_ns, t = y->image.header.start_monotonic_ns;

	return s < t ? -1 : s > t;
}

static int load_items(struct collector *c, const struct watch *watched)
{
	c->items = calloc(watched->count + 1, sizeof(*c->items));
	if (!c->items)
		return out_of_memory(c->diag);
	for (size_t i = 0; i < watched->count; i++) {
		int error = load_item(c, &watched->images[i]);

		if (error)
			return error;
	}
	if (!c->count)
		return diag_set(c->diag, -ENOENT, "nothing was recorded");
	qsort(c->items, c->count, sizeof(*c->items), by_start);
	for (size_t i = 0; i < c->count; i++)
		for (size_t j = i + 1; j < c->count; j++)
			if (c->items[i].image.header.pid == c->items[j].image.header.pid)
				c->items[i].exec_ended = true;
	return 0;
}

/* -- code locations ----------------------------------------------------------------------------- */

static bool is_agent(const struct collector *c, const char *path)
{
	const char *base = strrchr(path, '/');

	return strcmp(path, c->options->agent) == 0 ||
	       strcmp(base ? base + 1 : path, "libmemtrack.so") == 0;
}

/* The file behind a link that the session directory has for LD_PRELOAD. */
static const char *real_name(const char *path, char room[PATH_MAX])
{
	const char *base = strrchr(path, '/');

	if (base &&
	    (strcmp(base + 1, SESSION_ALLOCATOR) == 0 || strcmp(base + 1, SESSION_STOMP) == 0 ||
	     strcmp(base + 1, SESSION_OPERATORS) == 0) &&
	    realpath(path, room))
		return room;
	return path;
}

static void mark_stack(const struct item *item, uint8_t *used, uint32_t node)
{
	for (; node >= SEG_FIRST_NODE && !used[node]; node = item->image.nodes[node].parent)
		used[node] = 1;
}

/* Marks the nodes that some cost or error needs, outward from each. */
static void mark_used(struct item *item, uint8_t *used)
{
	for (size_t i = 0; i < item->image.cost_count; i++)
		mark_stack(item, used, item->image.costs[i].node);
	for (size_t i = 0; i < item->image.bad_free_count; i++) {
		mark_stack(item, used, item->image.bad_frees[i].node);
		mark_stack(item, used, item->image.bad_frees[i].allocated);
	}
}

static int enter_code(struct collector *c, size_t index, uint32_t *modules, uint32_t node)
{
	struct item *item = &c->items[index];
	const struct seg_node *n = &item->image.nodes[node];
	const struct image_module *m = &item->image.modules[n->module];
	bool interrupted = (n->address & SEG_INTERRUPTED) != 0;
	uint64_t address = n->address & ~SEG_INTERRUPTED;
	char real[PATH_MAX];

	if (n->address == SEG_ADDRESS_CUT || !n->address)
		return 0;
	if (n->module && is_agent(c, m->path))
		return 0;
	if (n->module && !modules[n->module]) {
		modules[n->module] = code_map_module(c->map, real_name(m->path, real), m->build_id,
						     m->build_id_size);
		if (!modules[n->module])
			return out_of_memory(c->diag);
	}
	if (n->module)
		item->codes[node] =
			code_map_enter(c->map, modules[n->module], address - m->bias, interrupted);
	else
		item->codes[node] =
			code_map_enter_jit(c->map, item->image.header.pid, address + interrupted);
	return item->codes[node] ? 0 : out_of_memory(c->diag);
}

static int enter_codes(struct collector *c, size_t index)
{
	struct item *item = &c->items[index];
	uint8_t *used = calloc(item->image.node_count + 1ul, 1);
	uint32_t *modules = calloc(item->image.module_count + 1ul, sizeof(*modules));
	int error = used && modules ? 0 : out_of_memory(c->diag);

	if (!error)
		mark_used(item, used);
	for (uint32_t n = SEG_FIRST_NODE; !error && n < item->image.node_count; n++)
		if (used[n])
			error = enter_code(c, index, modules, n);
		else
			item->image.nodes[n].address = 0;
	free(used);
	free(modules);
	return error;
}

/* -- the tree ----------------------------------------------------------------------------------- */

/* Gives each used node its row.  Parents come first. */
static int write_nodes(struct collector *c, struct item *item)
{
	for (uint32_t n = SEG_FIRST_NODE; n < item->image.node_count; n++) {
		const struct seg_node *node = &item->image.nodes[n];
		uint32_t parent = node->parent;
		rec_id above = parent >= SEG_FIRST_NODE ? item->rows[parent] : (rec_id){ 0 };
		int error = 0;

		if (!node->address)
			continue;
		item->ends[n] =
			parent >= SEG_FIRST_NODE ? item->ends[parent] : image_stack_end(parent);
		if (node->address == SEG_ADDRESS_CUT) {
			item->ends[n] = STACK_DEPTH;
			error = code_map_node(c->map, c->rec, above, 0, &item->rows[n], c->diag);
		} else if (!item->codes[n]) {
			item->rows[n] = above; /* the agent's own frame */
		} else {
			error = code_map_node(c->map, c->rec, above, item->codes[n], &item->rows[n],
					      c->diag);
		}
		if (error)
			return error;
	}
	return 0;
}

/* -- costs -------------------------------------------------------------------------------------- */

static struct row make_row(const struct item *item, size_t index)
{
	const struct image_cost *cost = &item->image.costs[index];
	const struct image_variances *variances = item->image.variances;
	const struct image_slack *slack = item->image.slack;
	bool has_stack = cost->node >= SEG_FIRST_NODE;

	struct row row = {
		.node = has_stack ? item->rows[cost->node].v : 0,
		.end = has_stack ? item->ends[cost->node] : STACK_UNATTRIBUTED,
		.costs = collect_costs(cost, variances ? &variances[index] : NULL),
	};

	if (slack)
		row.costs.slack = (struct cost_slack){ slack[index].allocated, slack[index].peak,
						       slack[index].live };
	return row;
}

/* Stacks that no other process has get their rows in order, and there may be a million. */
static void sort_rows(struct row *rows, size_t count)
{
	size_t sorted = 1;

	while (sorted < count && collect_compare(&rows[sorted - 1], &rows[sorted]) <= 0)
		sorted++;
	if (sorted < count)
		qsort(rows, count, sizeof(*rows), collect_compare);
}

/* One row for each stack: two nodes may turn out to be the same one. */
static struct row *make_rows(const struct item *item, size_t *count)
{
	struct row *rows = calloc(item->image.cost_count + 1, sizeof(*rows));
	size_t kept = 0;

	if (!rows)
		return NULL;
	for (size_t i = 0; i < item->image.cost_count; i++)
		rows[i] = make_row(item, i);
	sort_rows(rows, item->image.cost_count);
	for (size_t i = 0; i < item->image.cost_count; i++) {
		if (kept && collect_compare(&rows[kept - 1], &rows[i]) == 0)
			costs_add(&rows[kept - 1].costs, &rows[i].costs);
		else
			rows[kept++] = rows[i];
	}
	*count = kept;
	return rows;
}

/* -- the process -------------------------------------------------------------------------------- */

static int64_t unix_time(const struct seg_header *h)
{
	return (int64_t)h->start_realtime_ns;
}

static int64_t peak_time(const struct collector *c, const struct seg_header *h)
{
	if (h->peak_tsc <= h->start_tsc || c->cycles_per_ns <= 0)
		return 0;
	return (int64_t)((double)(h->peak_tsc - h->start_tsc) / c->cycles_per_ns);
}

/* The image this one came from: its parent at a fork, the former program under its pid, or the newest image of its
 * parent process. */
static rec_id find_parent(const struct collector *c, size_t index)
{
	const struct seg_header *h = &c->items[index].image.header;
	rec_id parent = { 0 };

	for (size_t i = 0; i < index; i++) {
		const struct seg_header *other = &c->items[i].image.header;

		if (h->origin == SEG_ORIGIN_FORK
			    ? other->image == h->parent_image
			    : other->pid == h->pid || other->pid == h->parent_pid)
			parent = c->items[i].process;
	}
	return parent;
}

static void fill_exit(struct rec_process *p, const struct item *item)
{
	const struct watched *w = item->watched;

	p->exit_code = -1;
	p->exec_ended = item->exec_ended;
	p->complete = item->exec_ended || w->ended || w->status_known;
	if (item->exec_ended || !w->status_known)
		return;
	if (WIFEXITED(w->status))
		p->exit_code = WEXITSTATUS(w->status);
	else if (WIFSIGNALED(w->status))
		p->exit_signal = WTERMSIG(w->status);
}

/* To the start of the program that replaced this one, to the end as seen, or, of a process that was gone when it was first
 * looked at (recover), to the last thing that is known of it. */
static int64_t duration_of(const struct collector *c, size_t index, uint64_t now)
{
	const struct item *item = &c->items[index];
	uint64_t start = item->image.header.start_monotonic_ns,
		 end = item->watched->end_monotonic_ns;

	for (size_t i = index + 1; i < c->count; i++)
		if (item->exec_ended && c->items[i].image.header.pid == item->image.header.pid) {
			end = c->items[i].image.header.start_monotonic_ns;
			break;
		}
	if (!end && item->watched->ended)
		return peak_time(c, &item->image.header);
	if (!end)
		end = now;
	return end > start ? (int64_t)(end - start) : 0;
}

static uint64_t truncated_of(const struct row *rows, size_t count)
{
	uint64_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].end != STACK_COMPLETE && rows[i].end != STACK_UNATTRIBUTED)
			n += rows[i].costs.allocations;
	return n;
}

static int64_t peak_blocks_of(const struct row *rows, size_t count)
{
	int64_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += rows[i].costs.peak_blocks;
	return n;
}

/* Where it is not known what was preloaded (recover), by the frames of its stacks. */
static bool has_our_operators(const struct collector *c, const struct item *item)
{
	bool found = c->options->operators;

	for (uint32_t i = 1; i < item->image.module_count && !found; i++) {
		const char *base = strrchr(item->image.modules[i].path, '/');

		found = base && strcmp(base + 1, SESSION_OPERATORS) == 0;
	}
	return found;
}

static int write_process(struct collector *c, size_t index, const struct row *rows, size_t count,
			 uint64_t now)
{
	struct item *item = &c->items[index];
	const struct seg_header *h = &item->image.header;
	char real[PATH_MAX];
	const char *allocator = real_name(item->image.allocator, real);
	char *notes = notes_of(
		h, &(struct notes_of_allocator){ .served = allocator,
						 .asked = c->options->allocator,
						 .our_operators = has_our_operators(c, item) });
	struct rec_process p = {
		.pid = h->pid,
		.parent_pid = h->parent_pid,
		.parent = find_parent(c, index),
		.executable = item->image.executable,
		.argv = (const char *const *)item->image.argv,
		.start_time_ns = unix_time(h),
		.duration_ns = duration_of(c, index, now),
		.allocator = *allocator ? allocator : NULL,
		.peak_bytes = item->image.peak_bytes,
		.peak_blocks = peak_blocks_of(rows, count),
		.peak_time_ns = peak_time(c, h),
		.peak_error_bytes = item->image.peak_error,
		.unknown_frees = h->drops[SEG_UNKNOWN_FREES],
		.double_frees = h->drops[SEG_DOUBLE_FREES],
		.dropped_events = h->drops[SEG_DROPPED_ALLOCS] + h->drops[SEG_DROPPED_FREES],
		.unattributed = item->image.unattributed,
		.truncated_events = truncated_of(rows, count),
		.threads = h->thread_count,
		.peak_rss_bytes = item->watched->peak_rss_bytes,
		.notes = notes,
		.sample_mean = (int64_t)h->sample_mean,
		.slack = item->image.slack != NULL,
	};
	int error;

	fill_exit(&p, item);
	error = rec_add_process(c->rec, &p, &item->process, c->diag);
	free(notes);
	return error;
}

static int write_samples(struct collector *c, const struct item *item)
{
	for (size_t i = 0; i < item->watched->sample_count; i++) {
		int error =
			rec_add_sample(c->rec, item->process, &item->watched->samples[i], c->diag);

		if (error)
			return error;
	}
	return 0;
}

static void summarize(struct collector *c, const struct costs *sum, struct collect_summary *s)
{
	const struct item *first = &c->items[0];

	s->costs = *sum;
	s->costs.peak_bytes = first->image.peak_bytes;
	s->peak_time_ns = peak_time(c, &first->image.header);
	s->sample_mean = (int64_t)first->image.header.sample_mean;
}

static void note_largest(const struct item *item, size_t index, const struct costs *sum,
			 struct collect_summary *s)
{
	const char *base = strrchr(item->image.executable, '/');

	if (s->largest && item->image.peak_bytes <= s->largest_peak)
		return;
	s->largest = index + 1;
	s->largest_peak = item->image.peak_bytes;
	s->largest_peak_variance = sum->variances.peak_bytes;
	snprintf(s->largest_name, sizeof(s->largest_name), "%s",
		 base ? base + 1 : item->image.executable);
}

static int write_item(struct collector *c, size_t index, uint64_t now,
		      struct collect_summary *summary)
{
	struct item *item = &c->items[index];
	const struct seg_header *h = &item->image.header;
	size_t count = 0;
	struct costs sum = { 0 };
	struct row *rows;
	int error = write_nodes(c, item);

	if (error)
		return error;
	rows = make_rows(item, &count);
	if (!rows)
		return out_of_memory(c->diag);
	for (size_t i = 0; i < count; i++)
		costs_add(&sum, &rows[i].costs);
	if (index == 0)
		summarize(c, &sum, summary);
	note_largest(item, index, &sum, summary);
	summary->dropped += h->drops[SEG_DROPPED_ALLOCS] + h->drops[SEG_DROPPED_FREES];
	summary->unattributed += item->image.unattributed;
	summary->lost_children += h->drops[SEG_LOST_CHILDREN];
	error = write_process(c, index, rows, count, now);
	for (size_t i = 0; i < count && !error; i++)
		error = rec_add_stack(c->rec, item->process, (rec_id){ rows[i].node },
				      (enum stack_end)rows[i].end, &rows[i].costs, c->diag);
	if (!error)
		error = write_samples(c, item);
	if (!error)
		error = collect_moments(c->rec, item, rows, count, c->diag);
	free(rows);
	return error ? error
		     : collect_parts(c->rec, item->process, &item->image,
				     &item->watched->thread_names, c->diag);
}

/* -- errors ------------------------------------------------------------------------------------- */

static struct rec_error_stack stack_of(const struct item *item, uint32_t node)
{
	if (node < SEG_FIRST_NODE)
		return (struct rec_error_stack){ { 0 }, image_stack_end(node) };
	return (struct rec_error_stack){ item->rows[node], (enum stack_end)item->ends[node] };
}

static int write_bad_free(struct collector *c, const struct item *item,
			  const struct image_bad_free *f)
{
	struct rec_error e = {
		.process = item->process,
		.pid = item->image.header.pid,
		.source = ERROR_FROM_AGENT,
		.kind = f->freed_before ? ERROR_DOUBLE_FREE : ERROR_INVALID_FREE,
		.address = f->address,
		.has_block = f->freed_before,
		.block_freed = f->freed_before,
		.block_address = f->freed_before ? f->address : 0,
		.block_size = f->size,
		.thread = f->thread,
		.t_ns = -1,
		.count = f->count,
		.stacks = {
			[ERROR_STACK] = stack_of(item, f->node),
			[ERROR_ALLOCATED] = stack_of(item, f->freed_before ? f->allocated : 0),
			[ERROR_FREED] = { { 0 }, STACK_UNATTRIBUTED },
		},
	};

	return rec_add_error(c->rec, &e, c->diag);
}

/* The guard-page allocator knows more of the same frees. */
static int write_bad_frees(struct collector *c, size_t index, struct collect_summary *summary)
{
	const struct item *item = &c->items[index];

	for (size_t i = 0; i < item->image.bad_free_count && !c->errors.guarded[index]; i++) {
		const struct image_bad_free *f = &item->image.bad_frees[i];
		int error = write_bad_free(c, item, f);

		if (error)
			return error;
		summary->errors[f->freed_before ? ERROR_DOUBLE_FREE : ERROR_INVALID_FREE]++;
	}
	return 0;
}

static int write_errors(struct collector *c, struct collect_summary *summary)
{
	int error;

	for (size_t i = 0; i < c->count; i++)
		c->images[i].process = c->items[i].process;
	error = errors_write(&c->errors, c->images, c->count, c->map, c->rec, c->diag);
	for (size_t i = 0; i < c->errors.count; i++)
		summary->errors[c->errors.errors[i].rec.kind]++;
	summary->errors_lost = c->errors.state.lost;
	for (size_t i = 0; i < c->count && !error; i++)
		error = write_bad_frees(c, i, summary);
	return error;
}

static int load_errors(struct collector *c, const char *directory)
{
	c->images = calloc(c->count + 1, sizeof(*c->images));
	if (!c->images)
		return out_of_memory(c->diag);
	for (size_t i = 0; i < c->count; i++)
		c->images[i].image = &c->items[i].image;
	return errors_load(&c->errors, directory, c->images, c->count, c->diag);
}

/* -- all ---------------------------------------------------------------------------------------- */

static int write_code(struct collector *c)
{
	const struct collect_options *o = c->options;
	struct sym *own = o->sym ? NULL : sym_new(&o->symbols);
	int error;

	if (!o->sym && !own)
		return out_of_memory(c->diag);
	error = code_map_write(c->map, c->rec, o->sym ? o->sym : own, o->progress, c->diag);
	sym_free(own);
	return error;
}

static int write_recording(struct collector *c, uint64_t now, struct collect_summary *summary)
{
	char host[256] = "";
	int error;

	gethostname(host, sizeof(host) - 1);
	error = rec_create(&c->rec, c->options->output, host, c->options->options, c->diag);
	if (error)
		return error;
	error = write_code(c);
	for (size_t i = 0; i < c->count && !error; i++)
		error = write_item(c, i, now, summary);
	if (!error)
		error = write_errors(c, summary);
	summary->processes = c->count;
	summary->bare_modules = code_map_bare_modules(c->map);
	if (error) {
		rec_abandon(c->rec);
		return error;
	}
	return rec_finish(c->rec, c->diag);
}

static void release(struct collector *c)
{
	for (size_t i = 0; i < c->count; i++) {
		image_release(&c->items[i].image);
		free(c->items[i].codes);
		free(c->items[i].rows);
		free(c->items[i].ends);
	}
	errors_release(&c->errors);
	free(c->images);
	free(c->items);
	code_map_free(c->map);
}

int collect_session(const struct watch *watched, const struct collect_options *options,
		    struct collect_summary *summary, struct diag *diag)
{
	struct collector c = { .options = options, .diag = diag, .errors.file.fd = -1 };
	int error;

	memset(summary, 0, sizeof(*summary));
	c.cycles_per_ns = watch_cycles_per_ns(watched);
	c.map = code_map_new();
	error = c.map ? load_items(&c, watched) : out_of_memory(diag);
	if (!error)
		error = load_errors(&c, watched->directory);
	for (size_t i = 0; i < c.count && !error; i++)
		error = enter_codes(&c, i);
	if (!error)
		error = errors_enter(&c.errors, c.images, c.map, diag);
	if (!error)
		error = write_recording(&c, watch_now_ns(), summary);
	release(&c);
	return error;
}
