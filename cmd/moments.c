/* SPDX-License-Identifier: MIT */
/* Stacks over time; see moments.h. */
#include "cmd/moments.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/hash_index.h"

enum {
	FIRST_INTERVAL_NS = 10 * 1000 * 1000,
	REST = 50, /* times what reading took pass before the next */
	/* Intervals between two looks at counters whose totals have not changed: the same bytes in as many blocks may have
	 * become those of other stacks. */
	IDLE_INTERVALS = 8,
	MOST_CHANGES = 100 * 1000, /* of a process with few nodes */
};

size_t moments_budget(size_t image, uint32_t nodes)
{
	size_t share = MOST_CHANGES / (image + 1);

	return nodes / 2 > share ? nodes / 2 : share;
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Room for one more; NULL: memory has ended, and nothing more is recorded. */
static void *one_more(struct moments *m, void *items, size_t *room, size_t count, size_t size)
{
	void *grown = array_grow(items, room, count + 1, size);

	m->stopped |= !grown;
	return grown;
}

static bool index_reaches(struct moments *m, uint32_t node)
{
	size_t size = m->index_size ? m->index_size : 1024;
	uint32_t *index;

	if (node < m->index_size)
		return true;
	while (size <= node)
		size *= 2;
	index = realloc(m->index, size * sizeof(*index));
	if (!index) {
		m->stopped = true;
		return false;
	}
	memset(index + m->index_size, 0, (size - m->index_size) * sizeof(*index));
	m->index = index;
	m->index_size = size;
	return true;
}

/* NULL: memory has ended. */
static struct moment_stack *stack_of(struct moments *m, uint32_t node)
{
	if (!index_reaches(m, node))
		return NULL;
	if (!m->index[node]) {
		struct moment_stack *stacks =
			one_more(m, m->stacks, &m->stack_room, m->stack_count, sizeof(*stacks));

		if (!stacks)
			return NULL;
		m->stacks = stacks;
		m->stacks[m->stack_count++] = (struct moment_stack){ .node = node };
		m->index[node] = (uint32_t)m->stack_count;
	}
	return &m->stacks[m->index[node] - 1];
}

static bool equal(struct moment_live a, struct moment_live b)
{
	return a.blocks == b.blocks && a.bytes == b.bytes;
}

void moments_begin(struct moments *m)
{
	for (size_t i = 0; i < m->stack_count; i++)
		m->stacks[i].other = (struct moment_live){ 0, 0 };
}

void moments_take(void *context, uint32_t node, uint64_t blocks, uint64_t bytes)
{
	struct moments *m = context;
	struct moment_stack *s = m->stopped ? NULL : stack_of(m, node);

	if (!s)
		return;
	s->other.blocks = (int64_t)((uint64_t)s->other.blocks + blocks);
	s->other.bytes = (int64_t)((uint64_t)s->other.bytes + bytes);
}

/* -- thinning ------------------------------------------------------------------------------------ */

/* Puts a change among those of the moment that begins at `first`: in place of the same stack's, if there is one. */
static void put_change(struct moments *m, size_t first, const struct moment_change *change)
{
	struct moment_change c = *change;
	size_t place = m->stacks[c.stack].place;

	if (place < first || place >= m->change_count || m->changes[place].stack != c.stack) {
		place = m->change_count++;
		m->stacks[c.stack].place = place;
	}
	m->changes[place] = c;
}

/* Leaves out what has gone back to what it was at the moment before. */
static void drop_unchanged(struct moments *m, size_t first)
{
	size_t kept = first;

	for (size_t i = first; i < m->change_count; i++) {
		struct moment_change c = m->changes[i];
		struct moment_stack *s = &m->stacks[c.stack];

		if (equal(s->other, c.live))
			continue;
		s->other = c.live;
		m->changes[kept++] = c;
	}
	m->change_count = kept;
}

/* Every other moment becomes part of the one after it; the last one stays.  In place: what is written was read before. */
static void thin_out(struct moments *m)
{
	size_t end = m->change_count, kept = 0, from = 0;

	moments_begin(m);
	m->change_count = 0;
	for (size_t i = 0; i < m->count; i += 2) {
		size_t last = i + 1 < m->count ? i + 1 : i;
		size_t to = last + 1 < m->count ? m->list[last + 1].first : end;
		size_t first = m->change_count;

		for (; from < to; from++)
			put_change(m, first, &m->changes[from]);
		drop_unchanged(m, first);
		m->list[kept++] = (struct moment){ m->list[last].t_ns, first };
	}
	m->count = kept;
	m->every_ns *= 2;
}

/* A single moment that is too large for the recording is not kept at all. */
static void forget_all(struct moments *m)
{
	m->count = m->change_count = 0;
	for (size_t i = 0; i < m->stack_count; i++)
		m->stacks[i].latest = (struct moment_live){ 0, 0 };
	m->every_ns *= 2;
}

/* -- taking one ---------------------------------------------------------------------------------- */

/* Other threads may have freed, by the time their counters were read, what was not yet counted as allocated. */
static struct moment_live not_below_zero(struct moment_live live)
{
	return (struct moment_live){ live.blocks > 0 ? live.blocks : 0,
				     live.bytes > 0 ? live.bytes : 0 };
}

static bool add_change(struct moments *m, uint32_t stack, struct moment_live live)
{
	struct moment_change *changes =
		one_more(m, m->changes, &m->change_room, m->change_count, sizeof(*changes));

	if (!changes)
		return false;
	m->changes = changes;
	changes[m->change_count++] = (struct moment_change){ stack, live };
	m->stacks[stack].latest = live;
	return true;
}

static bool add_changes(struct moments *m)
{
	for (uint32_t i = 0; i < m->stack_count; i++) {
		struct moment_live live = not_below_zero(m->stacks[i].other);

		if (!equal(m->stacks[i].latest, live) && !add_change(m, i, live))
			return false;
	}
	return true;
}

static bool add_moment(struct moments *m, int64_t t_ns)
{
	struct moment *list = one_more(m, m->list, &m->room, m->count, sizeof(*list));
	size_t first = m->change_count;

	if (!list)
		return false;
	m->list = list;
	if (!add_changes(m)) {
		m->change_count = first;
		return false;
	}
	list[m->count++] = (struct moment){ t_ns, first };
	return true;
}

void moments_end(struct moments *m, int64_t t_ns, size_t most)
{
	if (m->count && t_ns <= m->list[m->count - 1].t_ns)
		t_ns = m->list[m->count - 1].t_ns + 1;
	if (m->stopped || t_ns < 0 || !add_moment(m, t_ns))
		return;
	if (!m->every_ns)
		m->every_ns = FIRST_INTERVAL_NS;
	while (m->count > 1 && (m->count >= MOMENTS_MOST || m->change_count > most))
		thin_out(m);
	if (m->change_count > most)
		forget_all(m);
}

static bool is_due(const struct moments *m, uint64_t now, const struct image_totals *totals)
{
	bool same = totals->bytes == m->totals.bytes && totals->blocks == m->totals.blocks;

	return !m->stopped && now >= m->next_ns && (!same || now >= m->idle_until_ns);
}

void moments_look(struct moments *m, struct image_source source, const struct seg_header *header,
		  const struct image_totals *totals, const struct moments_share *share)
{
	uint64_t now = read_clock(CLOCK_MONOTONIC) - header->start_monotonic_ns, started, rest;
	uint32_t nodes;

	if (!is_due(m, now, totals))
		return;
	started = read_clock(CLOCK_THREAD_CPUTIME_ID);
	moments_begin(m);
	nodes = image_read_live(source, header, moments_take, m);
	/* The time after reading: nothing later is in it. */
	now = read_clock(CLOCK_MONOTONIC) - header->start_monotonic_ns;
	moments_end(m, (int64_t)now, moments_budget(share->image, nodes));
	rest = REST * share->living * (read_clock(CLOCK_THREAD_CPUTIME_ID) - started);
	m->totals = *totals;
	m->next_ns = now + (rest > m->every_ns ? rest : m->every_ns);
	m->idle_until_ns = now + IDLE_INTERVALS * m->every_ns;
}

void moments_stop(struct moments *m)
{
	free(m->index);
	m->index = NULL;
	m->index_size = 0;
	m->stopped = true;
}

void moments_release(struct moments *m)
{
	free(m->list);
	free(m->changes);
	free(m->stacks);
	free(m->index);
	memset(m, 0, sizeof(*m));
}
