/* SPDX-License-Identifier: MIT */
/* .eh_frame look-up and interpretation; see eh_frame.h. */
#include "agent/eh_frame.h"

#include "agent/modules.h"
#include "agent/rt/mem.h"

/* Pointer encodings (LSB core, "DWARF Exception Header Encoding"). */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORM = 0x0f,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_BASE = 0x70,
	PE_OMIT = 0xff,
	PE_TABLE = PE_DATAREL | PE_SDATA4, /* the only table form linkers write */
};

/* A cursor that never leaves [at, end): reading past it gives zeros and sets `bad`. */
struct reader {
	const uint8_t *at, *end;
	bool bad;
};

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	uint8_t fde_encoding;
	bool has_augmentation;
	bool signal_frame;
	struct reader instructions;
};

static uint64_t read_fixed(struct reader *r, unsigned size)
{
	uint64_t value = 0;

	if ((size_t)(r->end - r->at) < size) {
		r->bad = true;
		r->at = r->end;
		return 0;
	}
	memcpy(&value, r->at, size);
	r->at += size;
	return value;
}

static uint8_t read_byte(struct reader *r)
{
	if (r->at >= r->end) {
		r->bad = true;
		return 0;
	}
	return *r->at++;
}

static uint64_t read_uleb(struct reader *r)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = read_byte(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static int64_t read_sleb(struct reader *r)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = read_byte(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return (int64_t)value;
}

static uint64_t read_form(struct reader *r, uint8_t form)
{
	switch (form & PE_FORM) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return read_fixed(r, 8);
	case PE_ULEB:
		return read_uleb(r);
	case PE_SLEB:
		return (uint64_t)read_sleb(r);
	case PE_UDATA2:
		return read_fixed(r, 2);
	case PE_SDATA2:
		return (uint64_t)(int16_t)read_fixed(r, 2);
	case PE_UDATA4:
		return read_fixed(r, 4);
	case PE_SDATA4:
		return (uint64_t)(int32_t)read_fixed(r, 4);
	default:
		r->bad = true;
		return 0;
	}
}

static uint64_t read_pointer(struct reader *r, uint8_t encoding, uintptr_t data_base)
{
	uintptr_t here = (uintptr_t)r->at;
	uint64_t value = read_form(r, encoding);

	switch (encoding & PE_BASE) {
	case 0:
		return value;
	case PE_PCREL:
		return value + here;
	case PE_DATAREL:
		return value + data_base;
	default:
		r->bad = true;
		return 0;
	}
}

/* The contents of the record at `at` (its length word skipped); false at the end mark or when it does not fit. */
static bool open_record(const uint8_t *at, const uint8_t *end, struct reader *record)
{
	struct reader r = { at, end, false };
	uint64_t length = read_fixed(&r, 4);

	if (length == 0xffffffff)
		length = read_fixed(&r, 8);
	if (r.bad || length == 0 || length > (size_t)(end - r.at))
		return false;
	*record = (struct reader){ r.at, r.at + length, false };
	return true;
}

/* The augmentation's data tells the encoding of FDE addresses; unknown letters end what we understand. */
static bool parse_augmentation(struct reader *r, const char *letters, struct cie *cie)
{
	uint64_t size = read_uleb(r);
	struct reader data = { r->at, r->at, r->bad };

	if (r->bad || size > (size_t)(r->end - r->at))
		return false;
	data.end = r->at + size;
	r->at += size;
	for (letters++; *letters; letters++) {
		if (*letters == 'R')
			cie->fde_encoding = read_byte(&data);
		else if (*letters == 'S')
			cie->signal_frame = true;
		else if (*letters == 'L')
			read_byte(&data);
		else if (*letters == 'P')
			(void)read_form(&data, read_byte(&data));
		else if (*letters != 'B')
			return false;
	}
	return !data.bad;
}

static bool parse_cie(const uint8_t *at, const uint8_t *end, struct cie *cie)
{
	struct reader r;
	const char *letters;
	uint8_t version;

	memset(cie, 0, sizeof(*cie));
	if (!open_record(at, end, &r) || read_fixed(&r, 4) != 0)
		return false;
	version = read_byte(&r);
	letters = (const char *)r.at;
	while (read_byte(&r) && !r.bad)
		;
	if (version == 4)
		read_fixed(&r, 2); /* address and segment sizes */
	cie->code_align = read_uleb(&r);
	cie->data_align = read_sleb(&r);
	cie->ra_register = version == 1 ? read_byte(&r) : read_uleb(&r);
	cie->fde_encoding = PE_ABSPTR;
	if (r.bad || (version != 1 && version != 3 && version != 4) ||
	    cie->ra_register != ARCH_REG_RA)
		return false;
	if (letters[0] == 'z') {
		cie->has_augmentation = true;
		if (!parse_augmentation(&r, letters, cie))
			return false;
	} else if (letters[0]) {
		return false;
	}
	cie->instructions = r;
	return !r.bad;
}

struct fde {
	struct cie cie;
	uintptr_t start, size;
	struct reader instructions;
};

/* `at` is an FDE of the section that ends (at most) at `end` and begins not before `begin`. */
static bool parse_fde(const uint8_t *at, const uint8_t *begin, const uint8_t *end, struct fde *fde)
{
	struct reader r;
	const uint8_t *field;
	uint64_t back;

	if (!open_record(at, end, &r))
		return false;
	field = r.at;
	back = read_fixed(&r, 4);
	if (back == 0 || back > (size_t)(field - begin) || !parse_cie(field - back, end, &fde->cie))
		return false;
	fde->start = read_pointer(&r, fde->cie.fde_encoding, 0);
	fde->size = read_form(&r, fde->cie.fde_encoding);
	if (fde->cie.has_augmentation) {
		uint64_t size = read_uleb(&r);

		if (size > (size_t)(r.end - r.at))
			return false;
		r.at += size;
	}
	fde->instructions = r;
	return !r.bad;
}

/* Without a search table: from the section's start, record by record. */
static const uint8_t *scan(const struct object *object, const uint8_t *section, uintptr_t pc)
{
	const uint8_t *begin = (const uint8_t *)object->start, *end = (const uint8_t *)object->end;
	struct reader record;

	while (open_record(section, end, &record)) {
		struct fde fde;

		if (parse_fde(section, begin, end, &fde) && pc - fde.start < fde.size)
			return section;
		section = record.end;
	}
	return NULL;
}

/* The last table entry whose address is not above pc. */
static const uint8_t *search(const uint8_t *header, const uint8_t *table, uint64_t count,
			     uintptr_t pc)
{
	uint64_t low = 0, high = count;
	int32_t entry[2];

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		memcpy(entry, table + middle * sizeof(entry), sizeof(entry));
		if ((uintptr_t)header + (uintptr_t)(intptr_t)entry[0] <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	memcpy(entry, table + (low - 1) * sizeof(entry), sizeof(entry));
	return header + entry[1];
}

static const uint8_t *find_fde(const struct object *object, uintptr_t pc)
{
	const uint8_t *header = object->eh_frame_hdr, *end = (const uint8_t *)object->end;
	struct reader r = { header, end, false };
	uint8_t version = read_byte(&r), section_form = read_byte(&r);
	uint8_t count_form = read_byte(&r), table_form = read_byte(&r);
	uint64_t section, count;

	if (version != 1)
		return NULL;
	section = read_pointer(&r, section_form, (uintptr_t)header);
	if (count_form == PE_OMIT || table_form != PE_TABLE)
		return section - object->start < object->end - object->start
			       ? scan(object, (const uint8_t *)section, pc)
			       : NULL;
	count = read_pointer(&r, count_form, (uintptr_t)header);
	if (r.bad || count > (size_t)(end - r.at) / 8)
		return NULL;
	return search(header, r.at, count, pc);
}

static struct cfi_rule *rule_for(struct cfi_row *row, uint64_t reg)
{
	static struct cfi_rule nowhere; /* vector registers and others that nobody asks for */

	return reg < ARCH_REGISTERS ? &row->rules[reg] : &nowhere;
}

static void set_rule(struct cfi_row *row, uint64_t reg, enum cfi_kind kind, int64_t value)
{
	if (reg < ARCH_REGISTERS)
		*rule_for(row, reg) = (struct cfi_rule){ .kind = (uint8_t)kind, .value = value };
}

static struct cfi_expression read_block(struct reader *r)
{
	uint64_t size = read_uleb(r);
	struct cfi_expression e = { r->at, (uint32_t)size };

	if (size > (size_t)(r->end - r->at)) {
		r->bad = true;
		return (struct cfi_expression){ r->at, 0 };
	}
	r->at += size;
	return e;
}

static void set_expression(struct cfi_row *row, struct reader *r, enum cfi_kind kind)
{
	uint64_t reg = read_uleb(r);
	struct cfi_expression e = read_block(r);

	if (reg < ARCH_REGISTERS)
		*rule_for(row, reg) = (struct cfi_rule){ .kind = (uint8_t)kind, .expression = e };
}

static void set_cfa(struct cfi_row *row, uint64_t reg, int64_t offset)
{
	row->cfa_is_expression = false;
	row->cfa_register = reg < ARCH_REGISTERS ? (uint8_t)reg : ARCH_REGISTERS;
	row->cfa_offset = offset;
}

struct execution {
	struct cfi_work *work;
	const struct cie *cie;
	uintptr_t location;
	unsigned remembered;
};

static bool op_remember(struct execution *x)
{
	if (x->remembered == CFI_REMEMBERED)
		return false;
	x->work->remembered[x->remembered++] = x->work->row;
	return true;
}

static bool op_restore(struct execution *x)
{
	if (!x->remembered)
		return false;
	x->work->row = x->work->remembered[--x->remembered];
	return true;
}

/* Opcodes with the two high bits clear (DWARF 5 table 7.29).  False: not understood. */
static bool execute_extended(struct execution *x, struct reader *r, uint8_t op)
{
	struct cfi_row *row = &x->work->row;
	const struct cie *cie = x->cie;
	uint64_t reg;

	switch (op) {
	case 0x00: /* nop */
		return true;
	case 0x01: /* set_loc */
		x->location = read_pointer(r, cie->fde_encoding, 0);
		return true;
	case 0x02: /* advance_loc1, 2, 4 */
		x->location += read_fixed(r, 1) * cie->code_align;
		return true;
	case 0x03:
		x->location += read_fixed(r, 2) * cie->code_align;
		return true;
	case 0x04:
		x->location += read_fixed(r, 4) * cie->code_align;
		return true;
	case 0x05: /* offset_extended */
		reg = read_uleb(r);
		set_rule(row, reg, CFI_OFFSET, (int64_t)read_uleb(r) * cie->data_align);
		return true;
	case 0x06: /* restore_extended */
		reg = read_uleb(r);
		*rule_for(row, reg) = *rule_for(&x->work->initial, reg);
		return true;
	case 0x07: /* undefined */
		set_rule(row, read_uleb(r), CFI_UNDEFINED, 0);
		return true;
	case 0x08: /* same_value */
		set_rule(row, read_uleb(r), CFI_SAME, 0);
		return true;
	case 0x09: /* register */
		reg = read_uleb(r);
		set_rule(row, reg, CFI_REGISTER, (int64_t)read_uleb(r));
		return true;
	case 0x0a:
		return op_remember(x);
	case 0x0b:
		return op_restore(x);
	case 0x0c: /* def_cfa */
		reg = read_uleb(r);
		set_cfa(row, reg, (int64_t)read_uleb(r));
		return true;
	case 0x0d: /* def_cfa_register */
		set_cfa(row, read_uleb(r), row->cfa_offset);
		return true;
	case 0x0e: /* def_cfa_offset */
		row->cfa_offset = (int64_t)read_uleb(r);
		return true;
	case 0x0f: /* def_cfa_expression */
		row->cfa_is_expression = true;
		row->cfa_expression = read_block(r);
		return true;
	case 0x10:
		set_expression(row, r, CFI_EXPRESSION);
		return true;
	case 0x11: /* offset_extended_sf */
		reg = read_uleb(r);
		set_rule(row, reg, CFI_OFFSET, read_sleb(r) * cie->data_align);
		return true;
	case 0x12: /* def_cfa_sf */
		reg = read_uleb(r);
		set_cfa(row, reg, read_sleb(r) * cie->data_align);
		return true;
	case 0x13: /* def_cfa_offset_sf */
		row->cfa_offset = read_sleb(r) * cie->data_align;
		return true;
	case 0x14: /* val_offset */
		reg = read_uleb(r);
		set_rule(row, reg, CFI_VAL_OFFSET, (int64_t)read_uleb(r) * cie->data_align);
		return true;
	case 0x15: /* val_offset_sf */
		reg = read_uleb(r);
		set_rule(row, reg, CFI_VAL_OFFSET, read_sleb(r) * cie->data_align);
		return true;
	case 0x16:
		set_expression(row, r, CFI_VAL_EXPRESSION);
		return true;
	case 0x2e: /* GNU_args_size */
		read_uleb(r);
		return true;
	case 0x2f: /* GNU_negative_offset_extended */
		reg = read_uleb(r);
		set_rule(row, reg, CFI_OFFSET, -(int64_t)read_uleb(r) * cie->data_align);
		return true;
	default:
		return false;
	}
}

/* Runs instructions until the row of `pc` is complete. */
static bool execute(struct execution *x, struct reader r, uintptr_t pc)
{
	struct cfi_row *row = &x->work->row;

	while (r.at < r.end && x->location <= pc) {
		uint8_t op = read_byte(&r), low = op & 0x3f;

		if (op >> 6 == 1) { /* advance_loc */
			x->location += low * x->cie->code_align;
		} else if (op >> 6 == 2) { /* offset */
			set_rule(row, low, CFI_OFFSET, (int64_t)read_uleb(&r) * x->cie->data_align);
		} else if (op >> 6 == 3) { /* restore */
			*rule_for(row, low) = *rule_for(&x->work->initial, low);
		} else if (!execute_extended(x, &r, op)) {
			return false;
		}
		if (r.bad)
			return false;
	}
	return true;
}

enum cfi_result cfi_find(uintptr_t pc, struct cfi_work *work)
{
	struct object object;
	struct fde fde;
	const uint8_t *at;
	struct execution x = { .work = work, .cie = &fde.cie };

	if (!object_find(pc, &object) || !object.eh_frame_hdr)
		return CFI_NONE;
	if ((uintptr_t)object.eh_frame_hdr < object.start ||
	    (uintptr_t)object.eh_frame_hdr >= object.end)
		return CFI_MALFORMED;
	at = find_fde(&object, pc);
	if (!at)
		return CFI_NONE;
	if ((uintptr_t)at < object.start || (uintptr_t)at >= object.end ||
	    !parse_fde(at, (const uint8_t *)object.start, (const uint8_t *)object.end, &fde))
		return CFI_MALFORMED;
	if (pc - fde.start >= fde.size)
		return CFI_NONE;
	memset(&work->row, 0, sizeof(work->row));
	memset(&work->initial, 0, sizeof(work->initial));
	work->row.signal_frame = fde.cie.signal_frame;
	if (!execute(&x, fde.cie.instructions, UINTPTR_MAX))
		return CFI_MALFORMED;
	work->initial = work->row;
	x.location = fde.start;
	return execute(&x, fde.instructions, pc) ? CFI_FOUND : CFI_MALFORMED;
}
