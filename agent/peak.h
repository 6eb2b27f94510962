/* SPDX-License-Identifier: MIT */
/*
 * The peak of live bytes, and what was live then, without an event log.
 *
 * An epoch begins with the first change after a new maximum.  A counter that is changed for the first time in an epoch
 * saves its live value: what it had at the maximum.  In the end a counter's share of the peak is the saved value when
 * its epoch is the current one, else its live value; when the run ends at the maximum, the live value everywhere.
 *
 * With one shard this is plain arithmetic and exact.  With several, each thread publishes its changes to a
 * common total in quanta: one 16-byte word {total, maximum, epoch} changed by compare-and-swap, so that a published
 * change and its epoch are one event.  Unpublished changes bound the error (seg_header.peak_error).
 */
#ifndef MEMTRACK_AGENT_PEAK_H
#define MEMTRACK_AGENT_PEAK_H

#include <stdint.h>

#include "agent/arch.h"
#include "agent/layout.h"
#include "agent/rt/hidden.h"
#include "agent/segment.h"

/* Set when the process may no longer read the cycle counter: the time of later maxima is not known. */
extern HIDDEN uint32_t peak_without_clock;

static inline uint64_t peak_now(void)
{
	return __builtin_expect(peak_without_clock, 0) ? 0 : arch_cycles();
}

uint32_t peak_change_common(struct seg_shard *shard);

/* Accounts for a change of `bytes` by the shard's owner and returns the epoch that the changed counter belongs to. */
static inline uint32_t peak_change(struct seg_shard *shard, int64_t bytes)
{
	struct seg_header *s = segment;
	int64_t total = shard->live_bytes += bytes;

	/* Acquire: pairs with peak_go_common, which sets up the common account first. */
	if (__builtin_expect(__atomic_load_n(&s->several, __ATOMIC_ACQUIRE), 0))
		return peak_change_common(shard);
	if (total > s->single_max) {
		s->single_max = total;
		s->single_at_max = 1;
		s->peak_tsc = peak_now();
	} else if (s->single_at_max) {
		s->single_at_max = 0;
		s->single_epoch = (s->single_epoch + 1) & SEG_EPOCH_MASK;
	}
	/* A signal handler or a new thread may have opened the common account just now: what it missed goes there. */
	if (__builtin_expect(__atomic_load_n(&s->several, __ATOMIC_ACQUIRE), 0))
		return peak_change_common(shard);
	return s->single_epoch;
}

/* From the first shard's exact account to the common one, before a second shard is used. */
void peak_go_common(struct seg_shard *first);
/* Publishes what is left, when a thread gives its shard back; and adapts the quantum to the number of threads. */
void peak_settle(struct seg_shard *shard);
void peak_set_holders(int change);

#endif
