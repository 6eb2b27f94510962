/* SPDX-License-Identifier: MIT */
/*
 * Threads and shards.  A thread takes a shard (counters in the segment, caches in private memory) at its first event and
 * gives it back when it ends.  The first threads get a new one each, so that their costs can be told apart; a later one
 * takes over what another gave back, counts included.  Events that find the thread's own shard in use (a signal handler
 * that interrupted a hook) or already given back (late destructors) borrow one that no thread has for its own.
 */
#ifndef MEMTRACK_AGENT_THREADS_H
#define MEMTRACK_AGENT_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/layout.h"
#include "agent/rt/hidden.h"
#include "agent/stack_cache.h"

/* The private half of a shard. */
struct shard {
	struct seg_shard *counts;
	struct seg_counter *last; /* the counter used last */
	/* Look-up from node to counter: open addressing over node, 0 = free. */
	struct counter_slot *slots;
	uint32_t slot_mask;
	uint32_t backed_counters;
	struct seg_counter *chunks[SEG_COUNTER_CHUNKS];
	struct seg_variance *variance_chunks[SEG_COUNTER_CHUNKS];
	/* See counters.h. */
	struct seg_slack *slack_chunks[SEG_COUNTER_CHUNKS];
	int64_t *live_slack[SEG_COUNTER_CHUNKS];
	int64_t live_none_slack;
	struct stack_cache stacks;
	struct seg_variance *size_variances; /* NULL: not sampled, or no room */
	struct thread *owner;		     /* who holds it; NULL when free or borrowed */
	uint32_t index;
	bool is_lent;	    /* made to be borrowed, and never a thread's own */
	uint32_t next_free; /* index + 1 of the next in the list of free shards */
};

struct counter_slot {
	uint32_t node; /* 0: a free slot */
	uint32_t index;
};

/* Everything a thread knows of itself; in initial-exec TLS. */
struct thread {
	struct shard *shard; /* NULL: none yet, or given back */
	uintptr_t busy;	     /* frame address of the hook at work; 0: none */
	const void *last;    /* the last block it allocated: freed next, it was temporary */
	/* When sampling: bytes to the next point; 0: not begun (and when every event is recorded). */
	uint64_t sample_left;
	uint64_t sample_last; /* what sample_left was after `last` */
	uint64_t sample_random;
	uint32_t
		image; /* serial number of the process image the shard belongs to: another one in a forked child */
	uint32_t destructor_rounds;
	uint32_t
		asking; /* how many questions for a usable size are under way: see record_slack_of */
	bool ended;
	uint64_t name[SEG_NAME_SIZE / 8]; /* see thread_names.h; 0 unknown */
};
_Static_assert(sizeof(struct thread) <= 256, "glibc keeps little room for libraries loaded late");

extern HIDDEN __thread struct thread thread_self;

extern HIDDEN uint32_t thread_image; /* serial number of this process image */

struct shard *shard_enter_slowly(uintptr_t frame, bool *borrowed);
void shard_give_back(struct shard *shard);

/* A shard for one event that begins at hook frame `frame`; NULL: not to be had, the event is dropped.  *borrowed: to be
 * given back by shard_leave. */
static inline struct shard *shard_enter(uintptr_t frame, bool *borrowed)
{
	struct thread *t = &thread_self;

	*borrowed = false;
	if (__builtin_expect(t->shard && !t->busy && t->image == thread_image, 1)) {
		t->busy = frame;
		/* The compiler must not move what follows before the mark: a signal may come at any instruction. */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return t->shard;
	}
	return shard_enter_slowly(frame, borrowed);
}

static inline void shard_leave(struct shard *shard, bool borrowed)
{
	if (__builtin_expect(borrowed, 0)) {
		shard_give_back(shard);
		return;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&thread_self.busy, 0, __ATOMIC_RELEASE);
}

/* A shard of nobody's, for what a forked child inherits; NULL: no room. */
struct shard *shard_new(void);

void threads_start(void);
/* Calls `visit` for all shards that were there when this process was forked. */
void threads_visit(void (*visit)(const struct shard *shard, void *context), void *context);
/* In a forked child: the parent's shards are history. */
void threads_forget(void);

#endif
