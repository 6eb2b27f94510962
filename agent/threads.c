/* SPDX-License-Identifier: MIT */
/* Shards and their holders; see threads.h. */
#include "agent/threads.h"

#include "agent/arch.h"
#include "agent/growth.h"
#include "agent/peak.h"
#include "agent/real.h"
#include "agent/rt/sys.h"
#include "agent/sample.h"
#include "agent/segment.h"
#include "agent/thread_names.h"

enum {
	FIRST_SLOTS = 128, /* of a counter look-up table */
	ROUNDS = 3,	   /* glibc calls a key's destructor up to four times: we end in the last */
	OWNER_SPINS = 20000,
};

__thread struct thread thread_self;

uint32_t thread_image = 1;
static struct shard **shards[SEG_SHARD_CHUNKS]; /* by index */
/* Shards without a holder.  Low half: index + 1 of the first; high half: changes, against ABA. */
static uint64_t free_list, lent_list;
static unsigned end_key;
static bool has_end_key;

static struct shard **shard_at(uint32_t index)
{
	struct seg_place place = seg_chunk_of(index, SEG_SHARD_FIRST);

	return &shards[place.chunk][place.position];
}

static struct shard *pop(uint64_t *list)
{
	uint64_t head = __atomic_load_n(list, __ATOMIC_ACQUIRE), next;
	struct shard *shard;

	do {
		if (!(uint32_t)head)
			return NULL;
		shard = *shard_at((uint32_t)head - 1);
		next = ((head >> 32) + 1) << 32 | shard->next_free;
	} while (!__atomic_compare_exchange_n(list, &head, next, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return shard;
}

static void push(uint64_t *list, struct shard *shard)
{
	uint64_t head = __atomic_load_n(list, __ATOMIC_RELAXED), next;

	do {
		shard->next_free = (uint32_t)head;
		next = ((head >> 32) + 1) << 32 | (shard->index + 1);
	} while (!__atomic_compare_exchange_n(list, &head, next, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
}

/* Makes the record for the next index; under the growth lock. */
static struct seg_shard *new_record(uint32_t index)
{
	struct seg_place place = seg_chunk_of(index, SEG_SHARD_FIRST);
	size_t count = (size_t)SEG_SHARD_FIRST << place.chunk;
	struct seg_shard *records;

	if (place.chunk >= SEG_SHARD_CHUNKS)
		return NULL;
	if (place.position == 0) {
		if (!shards[place.chunk])
			shards[place.chunk] = rt_map(count * sizeof(struct shard *));
		if (!shards[place.chunk])
			return NULL;
		return segment_alloc(count * sizeof(*records), sizeof(*records),
				     &segment->shard_chunks[place.chunk]);
	}
	/* The first of the chunk knows where it begins. */
	records = &shards[place.chunk][0]->counts[place.position];
	return segment_back(records, sizeof(*records)) ? records : NULL;
}

static void add_size_variances(struct shard *shard)
{
	const size_t size = SEG_SIZES * sizeof(struct seg_variance);

	if (sample_mean)
		shard->size_variances = segment_alloc(size, size, &shard->counts->size_variances);
}

/* The first shard's account becomes the common one.  Its owner may be at work: wait for the end of that event. */
static void leave_single(void)
{
	struct shard *first = *shard_at(0);
	struct thread *owner = first->owner;

	for (int i = 0; i < OWNER_SPINS && owner && owner != &thread_self &&
			__atomic_load_n(&owner->busy, __ATOMIC_ACQUIRE);
	     i++)
		arch_pause();
	peak_go_common(first->counts);
}

struct shard *shard_new(void)
{
	struct shard *shard = rt_map(sizeof(*shard) + FIRST_SLOTS * sizeof(struct counter_slot));
	uint32_t index;

	if (!shard)
		return NULL;
	shard->slots = (struct counter_slot *)(shard + 1);
	shard->slot_mask = FIRST_SLOTS - 1;
	if (!rt_lock_try(&growth_lock))
		goto fail;
	index = segment->shard_count;
	shard->counts = new_record(index);
	if (shard->counts) {
		shard->index = index;
		add_size_variances(shard);
		*shard_at(index) = shard;
		__atomic_store_n(&segment->shard_count, index + 1, __ATOMIC_RELEASE);
		if (index == 1 && !segment->several)
			leave_single();
	}
	rt_unlock(&growth_lock);
	if (shard->counts)
		return shard;
fail:
	rt_unmap(shard, sizeof(*shard) + FIRST_SLOTS * sizeof(struct counter_slot));
	return NULL;
}

static struct shard *begin_use(struct shard *shard)
{
	if (!shard)
		return NULL;
	stack_cache_reset(&shard->stacks);
	__atomic_store_n(&shard->counts->held, 1, __ATOMIC_RELAXED);
	return shard;
}

/* For a new thread: as long as there are few, a new one. */
static struct shard *acquire(void)
{
	struct shard *shard = NULL;

	if (__atomic_load_n(&segment->shard_count, __ATOMIC_RELAXED) < SEG_OWN_SHARDS)
		shard = shard_new();
	if (!shard)
		shard = pop(&free_list);
	return begin_use(shard ? shard : shard_new());
}

static struct shard *borrow(void)
{
	struct shard *shard = pop(&lent_list);

	if (!shard) {
		shard = shard_new();
		if (shard)
			shard->is_lent = true;
	}
	return begin_use(shard ? shard : pop(&free_list));
}

void shard_give_back(struct shard *shard)
{
	peak_settle(shard->counts);
	shard->owner = NULL;
	__atomic_store_n(&shard->counts->held, 0, __ATOMIC_RELAXED);
	push(shard->is_lent ? &lent_list : &free_list, shard);
}

/* A thread's end, as seen by a pthread key.  Other keys' destructors may run after this one and allocate: stay until
 * the last round. */
static void end_thread(void *value)
{
	struct thread *t = &thread_self;
	struct shard *shard = t->shard;

	if (!shard || t->image != thread_image || t->busy)
		return;
	if (t->destructor_rounds++ < ROUNDS) {
		real.key_set(end_key, value);
		return;
	}
	t->shard = NULL;
	t->ended = true;
	shard_give_back(shard);
	peak_set_holders(-1);
}

/* The loader writes the main thread's TLS anew when it has relocated everything: calls of before that, in IFUNC resolvers,
 * are forgotten there, but the shard knows its owner. */
static struct shard *lost_shard(const struct thread *t)
{
	struct shard *first = segment->shard_count ? *shard_at(0) : NULL;

	return first && first->owner == t ? first : NULL;
}

/* The thread's own shard, at its first event. */
static struct shard *take_own(struct thread *t, uintptr_t frame)
{
	struct shard *shard;

	t->busy = frame; /* what key_set may allocate goes to a borrowed shard */
	shard = lost_shard(t);
	if (shard) {
		t->shard = shard;
		return shard;
	}
	shard = acquire();
	if (!shard) {
		t->busy = 0;
		return NULL;
	}
	shard->owner = t;
	t->shard = shard;
	thread_names_note(t, shard);
	__atomic_fetch_add(&segment->thread_count, 1, __ATOMIC_RELAXED);
	peak_set_holders(1);
	if (has_end_key)
		real.key_set(end_key, t);
	return shard;
}

/* Was the hook at work left by longjmp, out of a signal handler?  Then its frame is no more: this one is further
 * out on the same stack. */
static bool is_stale(const struct thread *t, uintptr_t frame)
{
	const struct stack_memory *m = &t->shard->stacks.memory;

	return frame > t->busy && t->busy >= m->own_low && frame < m->own_high &&
	       frame >= m->own_low;
}

struct shard *shard_enter_slowly(uintptr_t frame, bool *borrowed)
{
	struct thread *t = &thread_self;
	struct shard *shard;

	if (t->image != thread_image) {
		*t = (struct thread){ .image = thread_image,
				      .last = t->last,
				      .ended = t->ended,
				      .name = { t->name[0], t->name[1] } };
		/* The thread that forked keeps what it set for its end. */
	}
	if (t->busy && t->shard && is_stale(t, frame)) {
		stack_cache_forget(&t->shard->stacks);
		t->busy = frame;
		return t->shard;
	}
	if (!t->busy && !t->shard && !t->ended)
		return take_own(t, frame);
	if (!t->busy && t->shard) {
		t->busy = frame;
		return t->shard;
	}
	shard = borrow();
	*borrowed = shard != NULL;
	if (shard)
		segment_drop(SEG_SECONDARY, 1);
	return shard;
}

void threads_start(void)
{
	has_end_key = real.key_create && real.key_set && real.key_create(&end_key, end_thread) == 0;
}

void threads_visit(void (*visit)(const struct shard *shard, void *context), void *context)
{
	for (unsigned k = 0; k < SEG_SHARD_CHUNKS && shards[k]; k++)
		for (unsigned i = 0; i < SEG_SHARD_FIRST << k && shards[k][i]; i++)
			visit(shards[k][i], context);
}

void threads_forget(void)
{
	thread_image++;
	free_list = lent_list = 0;
	for (unsigned i = 0; i < SEG_SHARD_CHUNKS; i++)
		shards[i] = NULL;
}
