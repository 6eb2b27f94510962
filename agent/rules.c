/* SPDX-License-Identifier: MIT */
/* The rule cache; see rules.h. */
#include "agent/rules.h"

#include <stddef.h>

#include "agent/arch.h"
#include "agent/eh_frame.h"
#include "agent/growth.h"
#include "agent/modules.h"
#include "agent/rt/sys.h"

enum {
	FIRST_SLOTS = 4096,
	GENERATION_BITS = 12,
	ENTRY_SIZE = 64 /* bytes of a program's first function */
};

struct slot {
	uintptr_t address; /* 0 free; set once */
	uint64_t rule;	   /* 0 until computed; rewritten when its generation has passed */
};

/* Replaced by a larger copy when half full.  Entries made meanwhile in the old one are computed again. */
struct table {
	uint32_t mask;
	uint32_t used;
	struct slot slots[];
};

static struct table *table;

static struct table *new_table(uint32_t slots)
{
	struct table *t = rt_map(sizeof(*t) + slots * sizeof(struct slot));

	if (t)
		t->mask = slots - 1;
	return t;
}

bool rules_start(void)
{
	table = new_table(FIRST_SLOTS);
	return table != NULL;
}

static unwind_rule make_rule(enum rule_kind kind, int64_t cfa_offset, int64_t fp_save)
{
	return (unwind_rule){ (uint64_t)kind | (uint64_t)(uint32_t)cfa_offset << 16 |
			      (uint64_t)(uint16_t)fp_save << 48 };
}

static bool read_breg_fp(const struct cfi_expression *e, bool deref, int64_t *offset)
{
	uint8_t breg_fp = 0x70 + ARCH_REG_FP;
	uint64_t value = 0;
	uint32_t i = 1;
	unsigned shift = 0;

	if (e->size < 2 || e->bytes[0] != breg_fp)
		return false;
	do {
		value |= (uint64_t)(e->bytes[i] & 0x7f) << shift;
		shift += 7;
	} while (e->bytes[i++] & 0x80 && i < e->size && shift < 32);
	if (e->bytes[i - 1] & 0x40)
		value |= ~0ull << shift;
	*offset = (int64_t)value;
	return deref ? i + 1 == e->size && e->bytes[i] == 0x06 /* DW_OP_deref */ : i == e->size;
}

/* gcc's frames with a realigned stack: CFA = *(fp + n), the caller's fp saved at fp + m. */
static unwind_rule rule_from_realigned(const struct cfi_row *row)
{
	const struct cfi_rule *fp = &row->rules[ARCH_REG_FP];
	int64_t cfa, save;

	if (read_breg_fp(&row->cfa_expression, true, &cfa) && fp->kind == CFI_EXPRESSION &&
	    read_breg_fp(&fp->expression, false, &save) && save % 8 == 0 && save / 8 + 1 != 0 &&
	    save > -32768 && save < 32768 && cfa == (int32_t)cfa)
		return make_rule(RULE_FP_DEREF, cfa, save / 8 + 1);
	return make_rule(RULE_HARD, 0, 0);
}

unwind_rule rule_from_row(const struct cfi_row *row)
{
	const struct cfi_rule *fp = &row->rules[ARCH_REG_FP], *ra = &row->rules[ARCH_REG_RA];
	int64_t save = 0;

	if (ra->kind == CFI_UNDEFINED)
		return make_rule(RULE_OUTERMOST, 0, 0);
	if (row->signal_frame || ra->kind != CFI_OFFSET || ra->value != -8 ||
	    row->rules[ARCH_REG_SP].kind != CFI_SAME)
		return make_rule(RULE_HARD, 0, 0);
	if (row->cfa_is_expression)
		return rule_from_realigned(row);
	if (fp->kind == CFI_OFFSET && fp->value % 8 == 0 && fp->value &&
	    fp->value == (int16_t)fp->value)
		save = fp->value / 8;
	else if (fp->kind != CFI_SAME && fp->kind != CFI_UNDEFINED)
		return make_rule(RULE_HARD, 0, 0);
	if (row->cfa_offset != (int32_t)row->cfa_offset)
		return make_rule(RULE_HARD, 0, 0);
	if (row->cfa_register == ARCH_REG_SP)
		return make_rule(RULE_SP, row->cfa_offset, save);
	if (row->cfa_register == ARCH_REG_FP)
		return make_rule(RULE_FP, row->cfa_offset, save);
	return make_rule(RULE_HARD, 0, 0);
}

/* Code without unwind information: is this the address after a call instruction? */
static bool is_call_site(uintptr_t address)
{
	return address > RT_PAGE && address < 1ul << 47 && rt_readable(address - 8) &&
	       rt_readable(address - 1) && arch_call_before((const uint8_t *)address);
}

/* The entry code of a program ends every stack; older start files have no unwind information for it. */
static bool is_entry_code(uintptr_t address)
{
	struct object object;
	uintptr_t entry = object_find(address, &object) ? object_entry(&object) : 0;

	return entry && address - entry < ENTRY_SIZE;
}

static unwind_rule compute(uintptr_t address, struct cfi_work *work)
{
	switch (cfi_find(address - 1, work)) {
	case CFI_FOUND:
		return rule_from_row(&work->row);
	case CFI_MALFORMED:
	case CFI_NONE:
		break;
	}
	/* A stack may begin with a return address at the first byte of the code that is meant to follow, as makecontext
	 * makes them; before it lies nothing. */
	if (cfi_find(address, work) == CFI_FOUND)
		return make_rule(RULE_OUTERMOST, 0, 0);
	if (is_entry_code(address))
		return make_rule(RULE_OUTERMOST, 0, 0);
	return make_rule(is_call_site(address) ? RULE_CHAIN : RULE_IMPLAUSIBLE, 0, 0);
}

static uint32_t hash_of(uintptr_t address)
{
	return (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 32);
}

static void grow(void)
{
	struct table *old = table, *t;

	if (!rt_lock_try(&growth_lock))
		return;
	if (table == old && (t = new_table(2 * (old->mask + 1)))) {
		for (uint32_t i = 0; i <= old->mask; i++) {
			uint32_t at = hash_of(old->slots[i].address);

			if (!old->slots[i].address)
				continue;
			while (t->slots[at & t->mask].address)
				at++;
			t->slots[at & t->mask] = old->slots[i];
			t->used++;
		}
		__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	}
	rt_unlock(&growth_lock);
}

/* The slot of an address, made when there is none; NULL when the table is full. */
static struct slot *find_slot(struct table *t, uintptr_t address)
{
	uint32_t at = hash_of(address);

	for (uint32_t n = 0; n <= t->mask; n++, at++) {
		struct slot *s = &t->slots[at & t->mask];
		uintptr_t seen = __atomic_load_n(&s->address, __ATOMIC_RELAXED);

		if (seen == address)
			return s;
		if (seen)
			continue;
		if (__atomic_compare_exchange_n(&s->address, &seen, address, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			if (__atomic_add_fetch(&t->used, 1, __ATOMIC_RELAXED) > t->mask / 2)
				grow();
			return s;
		}
		if (seen == address)
			return s;
	}
	return NULL;
}

/* Every 2^GENERATION_BITS generations the stamps repeat: drop all rules then. */
static void forget_all(struct table *t)
{
	for (uint32_t i = 0; i <= t->mask; i++)
		__atomic_store_n(&t->slots[i].rule, 0, __ATOMIC_RELAXED);
}

static uint64_t generation_stamp(struct table *t)
{
	static uint32_t swept;
	uint32_t generation = __atomic_load_n(&module_generation, __ATOMIC_ACQUIRE);
	uint32_t round = generation >> GENERATION_BITS;

	if (__atomic_load_n(&swept, __ATOMIC_RELAXED) != round) {
		__atomic_store_n(&swept, round, __ATOMIC_RELAXED);
		forget_all(t);
	}
	return (uint64_t)(generation & ((1u << GENERATION_BITS) - 1)) << 4;
}

unwind_rule rule_of(uintptr_t return_address, struct cfi_work *work)
{
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	uint64_t stamp = generation_stamp(t), mask = ((1ull << GENERATION_BITS) - 1) << 4;
	struct slot *slot;
	unwind_rule rule;

	if (!return_address)
		return make_rule(RULE_IMPLAUSIBLE, 0, 0);
	if (__atomic_load_n(&modules_closing, __ATOMIC_ACQUIRE))
		return compute(return_address, work);
	slot = find_slot(t, return_address);
	if (!slot)
		return compute(return_address, work);
	rule.word = __atomic_load_n(&slot->rule, __ATOMIC_RELAXED);
	if (rule.word && (rule.word & mask) == stamp)
		return rule;
	module_of(return_address -
		  1); /* enters the module: only entered ones are watched for unloading */
	rule = compute(return_address, work);
	rule.word |= stamp;
	__atomic_store_n(&slot->rule, rule.word, __ATOMIC_RELAXED);
	return rule;
}
