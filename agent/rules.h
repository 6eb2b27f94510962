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
 *   bits 0-3 kind, 4-15 generation of the load map (low bits), 16-47 cfa_offset, 48-63 fp_save.
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

bool rules_start(void);
/* The rule for a return address.  `work` is scratch memory of the calling thread. */
unwind_rule rule_of(uintptr_t return_address, struct cfi_work *work);

/* The fast rule that a row amounts to; for tests. */
unwind_rule rule_from_row(const struct cfi_row *row);

#endif
