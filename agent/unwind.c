/* SPDX-License-Identifier: MIT */
/* The full walk and DWARF expressions (DWARF 5 §2.5, §6.4.3); see unwind.h. */
#include "agent/unwind.h"

#include "agent/rt/mem.h"
#include "agent/stack_memory.h"

enum { EXPRESSION_DEPTH = 16, EXPRESSION_STEPS = 256 };

struct machine {
	uint64_t stack[EXPRESSION_DEPTH];
	unsigned depth;
	bool bad;
	const uint8_t *at, *begin, *end;
	const struct unwind_cursor *cursor;
	struct stack_memory *memory;
};

static void push(struct machine *m, uint64_t value)
{
	if (m->depth == EXPRESSION_DEPTH)
		m->bad = true;
	else
		m->stack[m->depth++] = value;
}

static uint64_t pop(struct machine *m)
{
	if (!m->depth) {
		m->bad = true;
		return 0;
	}
	return m->stack[--m->depth];
}

static uint64_t operand(struct machine *m, unsigned size, bool is_signed)
{
	uint64_t value = 0;

	if ((size_t)(m->end - m->at) < size) {
		m->bad = true;
		return 0;
	}
	memcpy(&value, m->at, size);
	m->at += size;
	if (is_signed && size < 8 && value >> (8 * size - 1))
		value |= ~0ull << (8 * size);
	return value;
}

static uint64_t leb(struct machine *m, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)operand(m, 1, false);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && byte & 0x40)
		value |= ~0ull << shift;
	return value;
}

static uint64_t register_value(struct machine *m, uint64_t reg)
{
	if (reg >= ARCH_REGISTERS || !(m->cursor->known >> reg & 1)) {
		m->bad = true;
		return 0;
	}
	return m->cursor->registers[reg];
}

static uint64_t load(struct machine *m, uint64_t address)
{
	if (!stack_memory_ok(m->memory, address)) {
		m->bad = true;
		return 0;
	}
	return *(const uint64_t *)address;
}

/* Two-operand arithmetic and comparisons; `a` was below `b`. */
static uint64_t binary(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case 0x1a: /* and */
		return a & b;
	case 0x1c: /* minus */
		return a - b;
	case 0x1e: /* mul */
		return a * b;
	case 0x21: /* or */
		return a | b;
	case 0x22: /* plus */
		return a + b;
	case 0x24: /* shl */
		return b < 64 ? a << b : 0;
	case 0x25: /* shr */
		return b < 64 ? a >> b : 0;
	case 0x26: /* shra */
		return (uint64_t)((int64_t)a >> (b < 63 ? b : 63));
	case 0x27: /* xor */
		return a ^ b;
	case 0x29: /* eq, ge, gt, le, lt, ne */
		return a == b;
	case 0x2a:
		return (int64_t)a >= (int64_t)b;
	case 0x2b:
		return (int64_t)a > (int64_t)b;
	case 0x2c:
		return (int64_t)a <= (int64_t)b;
	case 0x2d:
		return (int64_t)a < (int64_t)b;
	case 0x2e:
		return a != b;
	default:
		m->bad = true;
		return 0;
	}
}

static void pick(struct machine *m, unsigned index)
{
	if (index >= m->depth)
		m->bad = true;
	else
		push(m, m->stack[m->depth - 1 - index]);
}

static void jump(struct machine *m, int64_t distance)
{
	if (distance > m->end - m->at || distance < m->begin - m->at)
		m->bad = true;
	else
		m->at += distance;
}

static void swap_top(struct machine *m)
{
	uint64_t b = pop(m), a = pop(m);

	push(m, b);
	push(m, a);
}

static void constants_and_registers(struct machine *m, uint8_t op)
{
	if (op >= 0x30 && op <= 0x4f) /* lit0..lit31 */
		push(m, op - 0x30u);
	else if (op >= 0x70 && op <= 0x8f) { /* breg0..breg31 */
		uint64_t value = register_value(m, op - 0x70u);

		push(m, value + leb(m, true));
	} else {
		m->bad = true;
	}
}

static void operate(struct machine *m, uint8_t op)
{
	uint64_t b;

	switch (op) {
	case 0x03: /* addr, const8u, const8s */
	case 0x0e:
	case 0x0f:
		push(m, operand(m, 8, false));
		return;
	case 0x06: /* deref */
		push(m, load(m, pop(m)));
		return;
	case 0x08: /* const1u, const1s, const2u, ... */
	case 0x09:
		push(m, operand(m, 1, op & 1));
		return;
	case 0x0a:
	case 0x0b:
		push(m, operand(m, 2, op & 1));
		return;
	case 0x0c:
	case 0x0d:
		push(m, operand(m, 4, op & 1));
		return;
	case 0x10: /* constu, consts */
	case 0x11:
		push(m, leb(m, op & 1));
		return;
	case 0x12: /* dup */
		pick(m, 0);
		return;
	case 0x13: /* drop */
		pop(m);
		return;
	case 0x14: /* over */
		pick(m, 1);
		return;
	case 0x15: /* pick */
		pick(m, (unsigned)operand(m, 1, false));
		return;
	case 0x16: /* swap */
		swap_top(m);
		return;
	case 0x1f: /* neg */
		push(m, 0 - pop(m));
		return;
	case 0x20: /* not */
		push(m, ~pop(m));
		return;
	case 0x23: /* plus_uconst */
		b = pop(m);
		push(m, b + leb(m, false));
		return;
	case 0x28: /* bra */
		b = operand(m, 2, true);
		if (pop(m))
			jump(m, (int64_t)b);
		return;
	case 0x2f: /* skip */
		jump(m, (int64_t)operand(m, 2, true));
		return;
	case 0x92: /* bregx */
		b = register_value(m, leb(m, false));
		push(m, b + leb(m, true));
		return;
	case 0x96: /* nop */
		return;
	default:
		break;
	}
	if (op >= 0x1a && op <= 0x2e) {
		b = pop(m);
		push(m, binary(m, op, pop(m), b));
	} else {
		constants_and_registers(m, op);
	}
}

/* `start` is pushed first when given (register rules get the CFA). */
static bool evaluate(const struct cfi_expression *e, const struct unwind_cursor *cursor,
		     struct stack_memory *memory, const uint64_t *start, uint64_t *result)
{
	struct machine m = {
		.at = e->bytes,
		.begin = e->bytes,
		.end = e->bytes + e->size,
		.cursor = cursor,
		.memory = memory,
	};

	if (start)
		push(&m, *start);
	for (unsigned steps = 0; m.at < m.end && !m.bad; steps++) {
		if (steps == EXPRESSION_STEPS)
			return false;
		operate(&m, (uint8_t)operand(&m, 1, false));
	}
	*result = pop(&m);
	return !m.bad;
}

static bool compute_cfa(const struct unwind_cursor *c, struct stack_memory *memory, uint64_t *cfa)
{
	const struct cfi_row *row = &c->work.row;

	if (row->cfa_is_expression)
		return evaluate(&row->cfa_expression, c, memory, NULL, cfa);
	if (row->cfa_register >= ARCH_REGISTERS || !(c->known >> row->cfa_register & 1))
		return false;
	*cfa = c->registers[row->cfa_register] + (uint64_t)row->cfa_offset;
	return true;
}

enum outcome { KNOWN, LOST, FAILED };

static enum outcome restore_from(struct stack_memory *memory, uint64_t address, uint64_t *value)
{
	if (!stack_memory_ok(memory, address))
		return FAILED;
	*value = *(const uint64_t *)address;
	return KNOWN;
}

/* The caller's value of one register. */
static enum outcome restore(const struct unwind_cursor *c, struct stack_memory *memory,
			    unsigned reg, uint64_t cfa, uint64_t *value)
{
	const struct cfi_rule *rule = &c->work.row.rules[reg];
	uint64_t address;

	switch (rule->kind) {
	case CFI_SAME:
		*value = c->registers[reg];
		return c->known >> reg & 1 ? KNOWN : LOST;
	case CFI_OFFSET:
		return restore_from(memory, cfa + (uint64_t)rule->value, value);
	case CFI_VAL_OFFSET:
		*value = cfa + (uint64_t)rule->value;
		return KNOWN;
	case CFI_REGISTER:
		if (rule->value < 0 || rule->value >= ARCH_REGISTERS ||
		    !(c->known >> rule->value & 1))
			return LOST;
		*value = c->registers[rule->value];
		return KNOWN;
	case CFI_EXPRESSION:
		if (!evaluate(&rule->expression, c, memory, &cfa, &address))
			return FAILED;
		return restore_from(memory, address, value);
	case CFI_VAL_EXPRESSION:
		return evaluate(&rule->expression, c, memory, &cfa, value) ? KNOWN : FAILED;
	default:
		return LOST;
	}
}

/* Registers that only a signal frame brings back need not be readable for the walk to go on. */
static bool is_essential(unsigned reg)
{
	return reg == ARCH_REG_RA || reg == ARCH_REG_SP;
}

static enum unwind_result restore_all(struct unwind_cursor *c, struct stack_memory *memory,
				      uint64_t cfa)
{
	uint64_t next[ARCH_REGISTERS];
	uint32_t known = 0;

	for (unsigned reg = 0; reg < ARCH_REGISTERS; reg++) {
		enum outcome outcome = restore(c, memory, reg, cfa, &next[reg]);

		if (reg == ARCH_REG_SP && c->work.row.rules[reg].kind == CFI_SAME) {
			next[reg] = cfa;
			outcome = KNOWN;
		}
		if (outcome == KNOWN)
			known |= 1u << reg;
		else if (is_essential(reg))
			return outcome == FAILED ? UNWIND_UNREADABLE : UNWIND_BAD;
	}
	memcpy(c->registers, next, sizeof(next));
	c->known = known;
	return UNWIND_STEPPED;
}

enum unwind_result unwind_step(struct unwind_cursor *c, struct stack_memory *memory)
{
	const struct cfi_row *row = &c->work.row;
	uint64_t cfa;
	enum unwind_result result;
	bool signal_frame;

	if (cfi_find(c->registers[ARCH_REG_RA] - !c->interrupted, &c->work) != CFI_FOUND)
		return UNWIND_NO_INFORMATION;
	if (row->rules[ARCH_REG_RA].kind == CFI_UNDEFINED)
		return UNWIND_OUTERMOST;
	if (!compute_cfa(c, memory, &cfa))
		return UNWIND_BAD;
	signal_frame = row->signal_frame;
	result = restore_all(c, memory, cfa);
	if (result != UNWIND_STEPPED)
		return result;
	c->interrupted = signal_frame;
	c->slot = signal_frame ? c->registers[ARCH_REG_SP] - 8 : cfa - 8;
	return UNWIND_STEPPED;
}
