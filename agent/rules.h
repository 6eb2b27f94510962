/* SPDX-License-Identifier: MIT */
/*
 * Unwind rules by return address: how to step from a frame to its caller, computed once from the call frame
 * information and kept in a lock-free table that only grows.
 *
 * A step knows three values of a frame: where its return address was found (slot; the frame's sp is slot + 8), the
 * return address, and the frame pointer register's value there.  Fast rules lead from those to the caller's three.
 * Whatever needs more registers or expressions is RULE_HARD and left to unwind.c's full walk.
 */
#ifndef MEMTRACK_AGENT_RULES_H
#define MEMTRACK_AGENT_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/rt/hidden.h"

struct cfi_work;
struct cfi_row;

enum rule_kind {
	RULE_UNSET = 0,
	RULE_SP,       /* CFA = sp + cfa_offset */
	RULE_FP,       /* CFA = fp + cfa_offset */
	RULE_FP_DEREF, /* CFA = *(fp + cfa_offset): gcc's realigned frames */
	RULE_HARD,     /* needs the full register set */
	RULE_CHAIN,    /* no unwind information: try the frame pointer chain */
	RULE_OUTERMOST,
	RULE_IMPLAUSIBLE, /* not a return address at all */
};

/*
 * One word, so that it is written and read at once:
 *   bits 0-3 kind, 4-15 stamp of the load map's generation, 16-47 cfa_offset, 48-63 fp_save.
 * fp_save: 0 = the register is not saved; else (RULE_SP, RULE_FP) saved at CFA + 8 * fp_save,
 * (RULE_FP_DEREF) at fp + 8 * (fp_save - 1).
 */
typedef struct {
	uint64_t word;
} unwind_rule;

static inline enum rule_kind rule_kind(unwind_rule r)
{
	return (enum rule_kind)(r.word & 15);
}

static inline int64_t rule_cfa_offset(unwind_rule r)
{
	return (int32_t)(r.word >> 16);
}

static inline int64_t rule_fp_save(unwind_rule r)
{
	return (int64_t)r.word >> 48;
}

/* What is known of a return address. */
struct return_site {
	uintptr_t address; /* 0 free; set once */
	uint64_t rule;	   /* 0 until computed; rewritten when its generation has passed */
	/* The stack tree's node of this address met last: its parent in the high half, its id in the low one.  A hint:
	 * most call sites are reached in one way most of the time. */
	uint64_t child;
	uint64_t reserved; /* two to a cache line */
};

/* Replaced by a larger copy when half full.  Entries made meanwhile in the old one are computed again. */
struct rule_table {
	uint32_t mask;
	uint32_t used;
	_Alignas(32) struct return_site sites[];
};
extern HIDDEN struct rule_table *rule_table;

#define RULE_STAMP_MASK 0xfff0ull
/* While libraries are being unloaded: no rule has it, nor has what is no rule yet. */
#define RULE_STAMP_UNSURE 16ull

bool rules_start(void);
/* What rules that hold in this state of the load map are stamped with. */
uint64_t rule_stamp(uint64_t modules);

static inline uint32_t rule_hash(uintptr_t address)
{
	return (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 32);
}

unwind_rule rule_of_slowly(uintptr_t return_address, uint64_t stamp, struct cfi_work *work,
			   struct return_site **site);

/* The rule for a return address.  *site is its place in the table, NULL when it has none now.  `work` is scratch memory of
 * the calling thread. */
static inline unwind_rule rule_of(uintptr_t return_address, uint64_t stamp, struct cfi_work *work,
				  struct return_site **site)
{
	struct rule_table *t = __atomic_load_n(&rule_table, __ATOMIC_ACQUIRE);
	struct return_site *s = &t->sites[rule_hash(return_address) & t->mask];
	unwind_rule rule = { __atomic_load_n(&s->rule, __ATOMIC_ACQUIRE) };

	if (__builtin_expect(__atomic_load_n(&s->address, __ATOMIC_RELAXED) == return_address &&
				     (rule.word & RULE_STAMP_MASK) == stamp,
			     1)) {
		*site = s;
		return rule;
	}
	return rule_of_slowly(return_address, stamp, work, site);
}

/* The fast rule that a row amounts to; for tests. */
unwind_rule rule_from_row(const struct cfi_row *row);

#endif
