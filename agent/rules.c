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
	GENERATION_BITS = 11,
	STAMP_VALID = 1 << 15, /* above the generation */
	ENTRY_SIZE = 64	       /* bytes of a program's first function */
};

struct rule_table *rule_table;

static struct rule_table *new_table(uint32_t sites)
{
	struct rule_table *t = rt_map(sizeof(*t) + sites * sizeof(struct return_site));

	if (t)
		t->mask = sites - 1;
	return t;
}

bool rules_start(void)
{
	rule_table = new_table(FIRST_SLOTS);
	return rule_table != NULL;
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
	if (row->cfa_offset != (int32_t)row->cfa_offset ||
	    save == -1 /* the return address itself */)
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

static void grow(void)
{
	struct rule_table *old = rule_table, *t;

	if (!rt_lock_try(&growth_lock))
		return;
	if (rule_table == old && (t = new_table(2 * (old->mask + 1)))) {
		for (uint32_t i = 0; i <= old->mask; i++) {
			uint32_t at = rule_hash(old->sites[i].address);

			if (!old->sites[i].address)
				continue;
			while (t->sites[at & t->mask].address)
				at++;
			t->sites[at & t->mask] = old->sites[i];
			t->used++;
		}
		__atomic_store_n(&rule_table, t, __ATOMIC_RELEASE);
	}
	rt_unlock(&growth_lock);
}

/* The place of an address, made when there is none; NULL when the table is full. */
static struct return_site *search(struct rule_table *t, uintptr_t address)
{
	uint32_t at = rule_hash(address);

	for (uint32_t n = 0; n <= t->mask; n++, at++) {
		struct return_site *s = &t->sites[at & t->mask];
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
static void forget_all(void)
{
	struct rule_table *t = __atomic_load_n(&rule_table, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i <= t->mask; i++)
		__atomic_store_n(&t->sites[i].rule, 0, __ATOMIC_RELAXED);
}

uint64_t rule_stamp(uint64_t modules)
{
	static uint32_t swept;
	uint32_t round = (uint32_t)modules >> GENERATION_BITS;

	if (modules_closing(modules))
		return RULE_STAMP_UNSURE;
	if (__atomic_load_n(&swept, __ATOMIC_RELAXED) != round) {
		__atomic_store_n(&swept, round, __ATOMIC_RELAXED);
		forget_all();
	}
	return (modules & ((1u << GENERATION_BITS) - 1)) << 4 | STAMP_VALID;
}

/* The address is new, or new in this generation. */
__attribute__((noinline)) static unwind_rule learn(struct return_site *site, uintptr_t address,
						   uint64_t stamp, struct cfi_work *work)
{
	unwind_rule rule;

	module_of(address - 1); /* enters the module: only entered ones are watched for unloading */
	rule = compute(address, work);
	rule.word |= stamp;
	__atomic_store_n(&site->child, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&site->rule, rule.word, __ATOMIC_RELEASE);
	return rule;
}

unwind_rule rule_of_slowly(uintptr_t return_address, uint64_t stamp, struct cfi_work *work,
			   struct return_site **site)
{
	unwind_rule rule;

	*site = NULL;
	if (!return_address)
		return make_rule(RULE_IMPLAUSIBLE, 0, 0);
	if (stamp == RULE_STAMP_UNSURE)
		return compute(return_address, work);
	*site = search(__atomic_load_n(&rule_table, __ATOMIC_ACQUIRE), return_address);
	if (!*site)
		return compute(return_address, work);
	rule.word = __atomic_load_n(&(*site)->rule, __ATOMIC_ACQUIRE);
	if ((rule.word & RULE_STAMP_MASK) == stamp)
		return rule;
	return learn(*site, return_address, stamp, work);
}
