/* SPDX-License-Identifier: MIT */
/*
 * Call frame information.  Rows of real objects against readelf's; rows of hand-made sections against what
 * DWARF says; damaged sections between pages that cannot be read.  Links the agent without hooks.o.
 */
#include "agent/eh_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/real.h"
#include "agent/rules.h"
#include "agent/stack_memory.h"
#include "agent/unwind.h"
#include "test/unit/agent_fixture.h"

static struct cfi_work work;

/* -- real objects --------------------------------------------------------------------------------- */

static const char *const register_names[ARCH_REGISTERS] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
	"r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ra",
};

static int register_number(const char *name, size_t length)
{
	for (int i = 0; i < ARCH_REGISTERS; i++)
		if (strlen(register_names[i]) == length &&
		    strncmp(register_names[i], name, length) == 0)
			return i;
	return -1;
}

/* A row as readelf prints it. */
struct expected {
	uint64_t start, end; /* link-time addresses */
	bool signal_frame;
	char cfa[16];
	char rules[ARCH_REGISTERS][12]; /* "" not mentioned */
};

static struct expected *rows;
static size_t row_count, row_room;

static struct expected *new_row(void)
{
	if (row_count == row_room) {
		row_room = row_room ? 2 * row_room : 4096;
		rows = realloc(rows, row_room * sizeof(*rows));
		assert_non_null(rows);
	}
	memset(&rows[row_count], 0, sizeof(*rows));
	return &rows[row_count++];
}

/* The record being read. */
struct record {
	bool is_fde;
	unsigned cie; /* index: its own or the one it refers to */
	uint64_t start, end;
	unsigned row_count;
	int columns[32]; /* register numbers; -1: none of ours */
	unsigned column_count;
};

enum { MOST_CIES = 256 };
static struct {
	unsigned long offset;
	struct expected row;
} cies[MOST_CIES];
static unsigned cie_count;

static void read_columns(struct record *r, char *line)
{
	char *rest = NULL;

	r->column_count = 0;
	strtok_r(line, " \n", &rest); /* LOC */
	strtok_r(NULL, " \n", &rest); /* CFA */
	for (char *word; (word = strtok_r(NULL, " \n", &rest)) && r->column_count < 32;)
		r->columns[r->column_count++] = register_number(word, strlen(word));
}

/* "0000000000026006 rsp+24 c-16 c-8" */
static void read_row(struct record *r, char *line)
{
	char *rest = NULL, *word = strtok_r(line, " \n", &rest);
	struct expected *row = r->is_fde ? new_row() : &cies[r->cie].row;

	row->start = strtoull(word, NULL, 16);
	if (r->is_fde && r->row_count++)
		row[-1].end = row->start;
	row->end = r->end;
	row->signal_frame = cies[r->cie].row.signal_frame;
	word = strtok_r(NULL, " \n", &rest);
	snprintf(row->cfa, sizeof(row->cfa), "%s", word);
	for (unsigned i = 0; i < r->column_count && (word = strtok_r(NULL, " \n", &rest)); i++) {
		if (*word == '(' && i--) /* the name after a register's number, "r1 (rdx)" */
			continue;
		if (r->columns[i] >= 0)
			snprintf(row->rules[r->columns[i]], sizeof(row->rules[0]), "%s", word);
	}
}

/* An FDE of which readelf prints no rows has its CIE's. */
static void end_record_text(const struct record *r)
{
	struct expected *row;

	if (!r->is_fde || r->row_count || r->start >= r->end)
		return;
	row = new_row();
	*row = cies[r->cie].row;
	row->start = r->start;
	row->end = r->end;
}

static void begin_cie(struct record *r, const char *line)
{
	const char *letters = strchr(line, '"');

	assert_true(cie_count < MOST_CIES && letters != NULL);
	*r = (struct record){ .cie = cie_count++ };
	memset(&cies[r->cie], 0, sizeof(cies[0]));
	cies[r->cie].offset = strtoul(line, NULL, 16);
	cies[r->cie].row.signal_frame = strchr(letters, 'S') != NULL;
}

static void begin_fde(struct record *r, const char *line)
{
	unsigned long cie = strtoul(strstr(line, "cie=") + 4, NULL, 16);

	*r = (struct record){ .is_fde = true };
	assert_int_equal(sscanf(strstr(line, "pc="), "pc=%lx..%lx", &r->start, &r->end), 2);
	while (r->cie < cie_count && cies[r->cie].offset != cie)
		r->cie++;
	assert_true(r->cie < cie_count);
}

static void read_lines(FILE *in)
{
	struct record r = { 0 };
	char line[512];

	while (fgets(line, sizeof(line), in)) {
		bool is_cie = strstr(line, " CIE \"") != NULL;

		if (is_cie || strstr(line, " FDE cie=")) {
			end_record_text(&r);
			(is_cie ? begin_cie : begin_fde)(&r, line);
		} else if (strstr(line, "  LOC ")) {
			read_columns(&r, line);
		} else if (r.column_count && strspn(line, "0123456789abcdef") == 16) {
			read_row(&r, line);
		}
	}
	end_record_text(&r);
}

static bool have_readelf(void)
{
	if (system("readelf --version >/dev/null 2>&1") == 0)
		return true;
	print_message("# skipped: no readelf here\n");
	return false;
}

/* Fills `rows`; false: there are none. */
static bool ask_readelf(const char *path)
{
	char command[4200];
	FILE *in;

	row_count = 0;
	cie_count = 0;
	snprintf(command, sizeof(command),
		 "LC_ALL=C readelf -W --debug-dump=frames-interp '%s' 2>/dev/null", path);
	in = popen(command, "r");
	assert_non_null(in);
	read_lines(in);
	pclose(in);
	return row_count != 0;
}

static void expect_rule(const struct cfi_rule *rule, const char *text, bool is_ra)
{
	if (!*text)
		assert_int_equal(rule->kind, CFI_SAME);
	else if (strcmp(text, "u") == 0 && is_ra)
		assert_int_equal(rule->kind, CFI_UNDEFINED);
	else if (strcmp(text, "u") == 0) /* what readelf says of the untouched as well */
		assert_true(rule->kind == CFI_SAME || rule->kind == CFI_UNDEFINED);
	else if (strcmp(text, "s") == 0)
		assert_int_equal(rule->kind, CFI_SAME);
	else if (strcmp(text, "exp") == 0)
		assert_int_equal(rule->kind, CFI_EXPRESSION);
	else if (strcmp(text, "vexp") == 0)
		assert_int_equal(rule->kind, CFI_VAL_EXPRESSION);
	else if (text[0] == 'c' || text[0] == 'v')
		assert_int_equal(rule->kind, text[0] == 'c' ? CFI_OFFSET : CFI_VAL_OFFSET);
	else
		assert_int_equal(rule->kind, CFI_REGISTER);
	if (rule->kind == CFI_OFFSET || rule->kind == CFI_VAL_OFFSET)
		assert_int_equal(rule->value, strtol(text + 1, NULL, 10));
	if (rule->kind == CFI_REGISTER) /* "r8" is DWARF's number 8 */
		assert_int_equal(rule->value, strtol(text + 1, NULL, 10));
}

static void expect_row(const struct cfi_row *row, const struct expected *e)
{
	size_t name = strcspn(e->cfa, "+-");

	assert_int_equal(row->signal_frame, e->signal_frame);
	assert_int_equal(row->cfa_is_expression, strcmp(e->cfa, "exp") == 0);
	if (!row->cfa_is_expression) {
		assert_int_equal(row->cfa_register, register_number(e->cfa, name));
		assert_int_equal(row->cfa_offset, strtol(e->cfa + name, NULL, 10));
	}
	for (unsigned i = 0; i < ARCH_REGISTERS; i++)
		expect_rule(&row->rules[i], e->rules[i], i == ARCH_REG_RA);
}

/* The fast rule that follows from readelf's words. */
static void expect_fast_rule(const struct cfi_row *row, const struct expected *e)
{
	const char *fp = e->rules[ARCH_REG_FP], *ra = e->rules[ARCH_REG_RA];
	const char *sp = e->rules[ARCH_REG_SP];
	unwind_rule rule = rule_from_row(row);
	bool by_sp = strncmp(e->cfa, "rsp+", 4) == 0, by_fp = strncmp(e->cfa, "rbp+", 4) == 0;

	if (strcmp(ra, "u") == 0) {
		assert_int_equal(rule_kind(rule), RULE_OUTERMOST);
		return;
	}
	if (e->signal_frame || strcmp(ra, "c-8") != 0 || (*sp && strcmp(sp, "u") != 0)) {
		assert_int_equal(rule_kind(rule), RULE_HARD);
		return;
	}
	if ((!by_sp && !by_fp) || strcmp(fp, "exp") == 0) {
		assert_true(rule_kind(rule) == RULE_HARD || rule_kind(rule) == RULE_FP_DEREF);
		return;
	}
	assert_int_equal(rule_kind(rule), by_sp ? RULE_SP : RULE_FP);
	assert_int_equal(rule_cfa_offset(rule), strtol(e->cfa + 4, NULL, 10));
	assert_int_equal(8 * rule_fp_save(rule), *fp == 'c' ? strtol(fp + 1, NULL, 10) : 0);
}

static unsigned check_rows(uintptr_t bias)
{
	unsigned checked = 0;

	for (size_t i = 0; i < row_count; i++) {
		const struct expected *e = &rows[i];
		const uint64_t places[] = { e->start, e->start + (e->end - e->start) / 2,
					    e->end - 1 };

		for (unsigned k = 0; k < 3 && e->start < e->end; k++) {
			assert_int_equal(cfi_find(bias + places[k], &work), CFI_FOUND);
			expect_row(&work.row, e);
			expect_fast_rule(&work.row, e);
			checked++;
		}
	}
	return checked;
}

static int by_start(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Between functions there is nothing. */
static unsigned check_gaps(uintptr_t bias)
{
	unsigned gaps = 0;

	qsort(rows, row_count, sizeof(*rows), by_start);
	assert_int_equal(cfi_find(bias + rows[0].start - 1, &work), CFI_NONE);
	for (size_t i = 0; i + 1 < row_count; i++)
		if (rows[i].end < rows[i + 1].start) {
			assert_int_equal(cfi_find(bias + rows[i].end, &work), CFI_NONE);
			assert_int_equal(cfi_find(bias + rows[i + 1].start - 1, &work), CFI_NONE);
			gaps++;
		}
	assert_int_equal(cfi_find(bias + rows[row_count - 1].end, &work), CFI_NONE);
	return gaps;
}

struct totals {
	unsigned objects, checked, gaps;
};

static int check_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct totals *t = context;
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	char self[4096] = "";

	(void)size;
	if (!*info->dlpi_name && readlink(path, self, sizeof(self) - 1) > 0)
		path = self;
	if (access(path, R_OK) != 0 || !ask_readelf(path)) /* the kernel's object has no file */
		return 0;
	t->objects++;
	t->checked += check_rows(info->dlpi_addr);
	t->gaps += check_gaps(info->dlpi_addr);
	return 0;
}

static void test_rows_of_loaded_objects(void **state)
{
	struct totals t = { 0 };

	(void)state;
	if (!have_readelf())
		return;
	dlopen("libstdc++.so.6", RTLD_LAZY);
	dlopen("libgcc_s.so.1", RTLD_LAZY);
	dl_iterate_phdr(check_object, &t);
	print_message("# %u objects, %u addresses, %u gaps\n", t.objects, t.checked, t.gaps);
	assert_true(t.objects >= 4);
	assert_true(t.checked >= 20000);
	assert_true(t.gaps >= 100);
}

static void test_nowhere(void **state)
{
	static const uintptr_t nowhere[] = { 0,		1,	   4096,       1ul << 46,
					     1ul << 47, 1ul << 63, UINTPTR_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++)
		assert_int_equal(cfi_find(nowhere[i], &work), CFI_NONE);
	assert_int_equal(cfi_find((uintptr_t)&work, &work), CFI_NONE);
}

/* The linker's CFA in a PLT: rsp + 8, or rsp + 16 from byte 11 of an entry on (its push is done). */
static void test_expression_of_plt(void **state)
{
	static struct unwind_cursor cursor;
	static uint64_t stack[8] = { 0, 0xa0, 0xa1, 0xa2, 0xa3 };
	struct stack_memory memory = { 0 };
	struct link_map *map = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	unsigned checked = 0;

	(void)state;
	assert_non_null(map);
	if (!have_readelf())
		return;
	assert_true(ask_readelf(map->l_name));
	for (size_t i = 0; i < row_count; i++) {
		if (strcmp(rows[i].cfa, "exp") != 0 || rows[i].signal_frame)
			continue;
		for (uint64_t pc = rows[i].start; pc < rows[i].end; pc++, checked++) {
			unsigned pushed = pc % 16 >= 11;

			memset(&cursor, 0, sizeof(cursor));
			cursor.registers[ARCH_REG_RA] = map->l_addr + pc;
			cursor.registers[ARCH_REG_SP] = (uintptr_t)&stack[1];
			cursor.known = 1u << ARCH_REG_RA | 1u << ARCH_REG_SP;
			cursor.interrupted = true;
			assert_int_equal(unwind_step(&cursor, &memory), UNWIND_STEPPED);
			assert_int_equal(cursor.registers[ARCH_REG_RA], 0xa0 + pushed);
			assert_int_equal(cursor.registers[ARCH_REG_SP],
					 (uintptr_t)&stack[2 + pushed]);
			assert_int_equal(cursor.slot, (uintptr_t)&stack[1 + pushed]);
		}
	}
	print_message("# %u addresses\n", checked);
}

/* -- hand-made sections --------------------------------------------------------------------------- */

static struct {
	uint8_t *start, *end, *header;
} fake;

static int find_fake(void *address, struct dl_find_object *result)
{
	(void)address;
	memset(result, 0, sizeof(*result));
	result->dlfo_map_start = fake.start;
	result->dlfo_map_end = fake.end;
	result->dlfo_eh_frame = fake.header;
	return 0;
}

static int (*real_find)(void *, struct dl_find_object *);

static int use_fake(void **state)
{
	(void)state;
	real_find = real.find_object;
	real.find_object = find_fake;
	return 0;
}

static int use_real(void **state)
{
	(void)state;
	real.find_object = real_find;
	return 0;
}

struct bytes {
	uint8_t data[2048];
	size_t size;
};

static void put(struct bytes *b, uint64_t value, unsigned size)
{
	assert_true(b->size + size <= sizeof(b->data));
	for (unsigned i = 0; i < size; i++)
		b->data[b->size++] = (uint8_t)(value >> (8 * i));
}

/* Where the parts of the section lie, to be damaged by hand. */
struct section {
	struct bytes b;
	size_t table, count, cie, fde;
};

enum { CODE = 0x4000, CODE_SIZE = 0x100 /* the function lies this far above the header */ };

/* What to build; zero fields mean the usual. */
struct recipe {
	uint16_t version;      /* 1; 0x100 makes it 0 */
	const char *letters;   /* of the augmentation: "zR" */
	const char *data;      /* of the augmentation: pcrel sdata4 */
	unsigned data_size;    /* of data */
	unsigned claimed_size; /* what the section says of it, when it lies */
	uint8_t ra;	       /* column of the return address: 16 */
	uint8_t initial[8];    /* instructions of the CIE: CFA = rsp + 8, ra at CFA - 8 */
	uint8_t program[128];  /* instructions of the FDE */
	unsigned initial_size, program_size;
	bool wide; /* 64-bit lengths */
};

#define PROGRAM(...) .program = { __VA_ARGS__ }, .program_size = sizeof((uint8_t[]){ __VA_ARGS__ })
#define INITIAL(...) .initial = { __VA_ARGS__ }, .initial_size = sizeof((uint8_t[]){ __VA_ARGS__ })
#define PUSH	     PROGRAM(0x41, 0x0e, 16) /* 2: CFA = rsp + 16 */

static size_t begin_record(struct bytes *b, bool wide)
{
	if (wide)
		put(b, 0xffffffff, 4);
	put(b, 0, wide ? 8 : 4);
	return b->size;
}

static void end_record(struct bytes *b, size_t start, bool wide)
{
	uint64_t length = b->size - start;

	memcpy(b->data + start - (wide ? 8 : 4), &length, wide ? 8 : 4);
}

static void put_all(struct bytes *b, const void *from, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		put(b, ((const uint8_t *)from)[i], 1);
}

static void put_cie(struct section *s, const struct recipe *r)
{
	static const uint8_t usual[] = { 0x0c, 7, 8, 0x90, 1 };
	const char *letters = r->letters ? r->letters : "zR";
	unsigned data_size = r->data ? r->data_size : 1;
	size_t start = begin_record(&s->b, r->wide);

	put(&s->b, 0, 4);
	put(&s->b, r->version ? r->version & 0xff : 1, 1);
	put_all(&s->b, letters, (unsigned)strlen(letters) + 1);
	if (r->version == 4)
		put(&s->b, 0x0008, 2);
	put(&s->b, 2, 1);    /* code alignment */
	put(&s->b, 0x78, 1); /* data alignment: -8 */
	put(&s->b, r->ra ? r->ra : 16, 1);
	if (letters[0] == 'z')
		put(&s->b, r->claimed_size ? r->claimed_size : data_size, 1);
	put_all(&s->b, r->data ? r->data : "\x1b", data_size);
	if (r->initial_size)
		put_all(&s->b, r->initial, r->initial_size);
	else
		put_all(&s->b, usual, sizeof(usual));
	end_record(&s->b, start, r->wide);
}

static void put_fde(struct section *s, const struct recipe *r)
{
	size_t start = begin_record(&s->b, r->wide);

	put(&s->b, start - s->cie, 4);
	put(&s->b, CODE - s->b.size, 4); /* relative to the field itself */
	put(&s->b, CODE_SIZE, 4);
	put(&s->b, 0, 1); /* no augmentation data */
	put_all(&s->b, r->program, r->program_size);
	end_record(&s->b, start, r->wide);
}

/* Header with a table of one entry, a CIE, an FDE, the end mark. */
static void build(struct section *s, const struct recipe *r)
{
	memset(s, 0, sizeof(*s));
	put(&s->b, 1, 1);
	put(&s->b, 0x1b, 1); /* pcrel sdata4 */
	put(&s->b, 0x03, 1); /* udata4 */
	put(&s->b, 0x3b, 1); /* datarel sdata4 */
	put(&s->b, 20 - 4, 4);
	s->count = s->b.size;
	put(&s->b, 1, 4);
	s->table = s->b.size;
	put(&s->b, CODE, 4);
	put(&s->b, 0, 4);
	s->cie = s->b.size;
	put_cie(s, r);
	s->fde = s->b.size;
	memcpy(s->b.data + s->table + 4, &(uint32_t){ (uint32_t)s->fde }, 4);
	put_fde(s, r);
	put(&s->b, 0, 4);
}

/* Makes the first `size` bytes the object's last ones, right before unreadable memory. */
static void place(const void *data, size_t size)
{
	static uint8_t *buffer;
	enum { ROOM = 8192 };

	if (!buffer)
		buffer = fixture_guarded(ROOM);
	memset(buffer, 0x5a, ROOM);
	memcpy(buffer + ROOM - size, data, size);
	fake.start = buffer;
	fake.end = buffer + ROOM;
	fake.header = fake.end - size;
}

static uintptr_t code(unsigned offset)
{
	return (uintptr_t)fake.header + CODE + offset;
}

static enum cfi_result look_up(const struct section *s, unsigned offset)
{
	place(s->b.data, s->b.size);
	return cfi_find(code(offset), &work);
}

static void expect_kind(unsigned reg, enum cfi_kind kind, int64_t value)
{
	assert_int_equal(work.row.rules[reg].kind, kind);
	assert_int_equal(work.row.rules[reg].value, value);
}

static void expect_cfa(unsigned reg, int64_t offset)
{
	assert_false(work.row.cfa_is_expression);
	assert_int_equal(work.row.cfa_register, reg);
	assert_int_equal(work.row.cfa_offset, offset);
}

#define EXPECT_FOUND(s, offset) assert_int_equal(look_up(s, offset), CFI_FOUND)

/* Every instruction once; figures by hand from DWARF 5, 6.4.2.  Addresses advance by twice the operand. */
static void test_instructions(void **state)
{
	struct section s;

	(void)state;
	build(&s, &(struct recipe){
			  PROGRAM(0x41, 0x0e, 16,		 /* 2: def_cfa_offset 16 */
				  0x02, 1, 0x83, 2,		 /* 4: rbx at CFA - 16 */
				  0x03, 1, 0, 0x0d, 6,		 /* 6: def_cfa_register rbp */
				  0x04, 1, 0, 0, 0, 0x05, 12, 3, /* 8: r12 at CFA - 24 */
				  0x41, 0x11, 13, 0x7c, /* 10: offset_extended_sf r13, -4: +32 */
				  0x41, 0x14, 14, 5,	/* 12: val_offset r14: -40 */
				  0x41, 0x15, 15, 0x7a, /* 14: val_offset_sf r15, -6: +48 */
				  0x41, 0x09, 0, 3,	/* 16: rax is in rbx */
				  0x41, 0x07, 1,	/* 18: rdx undefined */
				  0x41, 0x08, 3,	/* 20: rbx same */
				  0x41, 0x2f, 2, 7,	/* 22: negative_offset rcx 7: +56 */
				  0x41, 0x12, 4, 0x7e,	/* 24: def_cfa_sf rsi, -2: +16 */
				  0x41, 0x13, 0x7d,	/* 26: def_cfa_offset_sf -3: +24 */
				  0x41, 0x2e, 0x80, 1, 0x00,	      /* 28: args_size, nop */
				  0x41, 0x0f, 2, 0x76, 0,	      /* 30: CFA by expression */
				  0x41, 0x10, 5, 1, 0x12,	      /* 32: rdi by expression */
				  0x41, 0x16, 8, 3, 0x12, 0x13, 0x12, /* 34: r8 is an expression */
				  0x41, 0x0c, 7, 0x90, 1,	      /* 36: def_cfa rsp + 144 */
				  0x41, 0x86, 9, 0x06, 6,    /* 38: rbp at -72; restore_extended */
				  0x41, 0x83, 9, 0xc3,	     /* 40: rbx; restore rbx */
				  0x41, 0x83, 0x80, 0x80, 1, /* 42: rbx at CFA - 131072 */
				  0x41, 0x05, 40, 3, 0x06, 40, 0xa8, 1, 0xe8) /* vector registers */
		  });
	EXPECT_FOUND(&s, 0);
	expect_cfa(7, 8);
	expect_kind(16, CFI_OFFSET, -8);
	EXPECT_FOUND(&s, 1);
	expect_cfa(7, 8);
	EXPECT_FOUND(&s, 2);
	expect_cfa(7, 16);
	expect_kind(3, CFI_SAME, 0);
	EXPECT_FOUND(&s, 5);
	expect_kind(3, CFI_OFFSET, -16);
	expect_cfa(7, 16);
	EXPECT_FOUND(&s, 6);
	expect_cfa(6, 16);
	EXPECT_FOUND(&s, 8);
	expect_kind(12, CFI_OFFSET, -24);
	EXPECT_FOUND(&s, 10);
	expect_kind(13, CFI_OFFSET, 32);
	EXPECT_FOUND(&s, 13);
	expect_kind(14, CFI_VAL_OFFSET, -40);
	EXPECT_FOUND(&s, 15);
	expect_kind(15, CFI_VAL_OFFSET, 48);
	EXPECT_FOUND(&s, 16);
	expect_kind(0, CFI_REGISTER, 3);
	EXPECT_FOUND(&s, 18);
	expect_kind(1, CFI_UNDEFINED, 0);
	EXPECT_FOUND(&s, 20);
	expect_kind(3, CFI_SAME, 0);
	EXPECT_FOUND(&s, 22);
	expect_kind(2, CFI_OFFSET, 56);
	expect_cfa(6, 16);
	EXPECT_FOUND(&s, 24);
	expect_cfa(4, 16);
	EXPECT_FOUND(&s, 26);
	expect_cfa(4, 24);
	EXPECT_FOUND(&s, 29);
	expect_cfa(4, 24);
	EXPECT_FOUND(&s, 30);
	assert_true(work.row.cfa_is_expression);
	assert_int_equal(work.row.cfa_expression.size, 2);
	assert_memory_equal(work.row.cfa_expression.bytes, "\x76\0", 2);
	EXPECT_FOUND(&s, 32);
	expect_kind(5, CFI_EXPRESSION, 0);
	assert_int_equal(work.row.rules[5].expression.size, 1);
	EXPECT_FOUND(&s, 34);
	expect_kind(8, CFI_VAL_EXPRESSION, 0);
	assert_int_equal(work.row.rules[8].expression.size, 3);
	assert_memory_equal(work.row.rules[8].expression.bytes, "\x12\x13\x12", 3);
	EXPECT_FOUND(&s, 36);
	expect_cfa(7, 144);
	EXPECT_FOUND(&s, 38);
	expect_kind(6, CFI_SAME, 0);
	EXPECT_FOUND(&s, 40);
	expect_kind(3, CFI_SAME, 0);
	EXPECT_FOUND(&s, 42);
	expect_kind(3, CFI_OFFSET, -131072);
	EXPECT_FOUND(&s, CODE_SIZE - 1);
	expect_kind(3, CFI_OFFSET, -131072);
	expect_kind(14, CFI_VAL_OFFSET, -40);
	assert_int_equal(look_up(&s, CODE_SIZE), CFI_NONE);
	assert_int_equal(cfi_find(code(0) - 1, &work), CFI_NONE);
}

/* Restoring brings back what the CIE said, or all that was remembered. */
static void test_remember_and_restore(void **state)
{
	struct section s;

	(void)state;
	build(&s, &(struct recipe){ INITIAL(0x0c, 7, 8, 0x90, 1, 0x83, 4), /* rbx at CFA - 32 */
				    PROGRAM(0x83, 5, 0x0e, 32, 0x0a, 0x41, 0x83, 6, 0x0c, 6, 16,
					    0x0a, 0x41, 0xc3, 0x0b, 0x41, 0x0b, 0x41, 0xc3) });
	EXPECT_FOUND(&s, 0);
	expect_kind(3, CFI_OFFSET, -40);
	EXPECT_FOUND(&s, 2);
	expect_kind(3, CFI_OFFSET, -48);
	expect_cfa(6, 16);
	EXPECT_FOUND(&s, 4);
	expect_kind(3, CFI_OFFSET, -48);
	expect_cfa(6, 16);
	EXPECT_FOUND(&s, 6);
	expect_kind(3, CFI_OFFSET, -40);
	expect_cfa(7, 32);
	EXPECT_FOUND(&s, 8);
	expect_kind(3, CFI_OFFSET, -32);
	expect_cfa(7, 32);
}

static void test_forms(void **state)
{
	static const struct recipe good[] = {
		{ PUSH },
		{ PUSH, .wide = true },
		{ PUSH, .version = 3 },
		{ PUSH, .version = 4 },
		{ PUSH, .letters = "zRB" },
		{ PUSH, .letters = "zLR", .data = "\x1b\x1b", .data_size = 2 },
		{ PUSH, .letters = "zPLR", .data = "\x9b\1\2\3\4\x1b\x1b", .data_size = 7 },
		{ PUSH, .letters = "zPR", .data = "\x00........\x1b", .data_size = 10 },
		/* Data that no letter speaks for is skipped. */
		{ PUSH, .letters = "zR", .data = "\x1b\x77\x77", .data_size = 3 },
	};
	struct section s;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		build(&s, &good[i]);
		EXPECT_FOUND(&s, 0);
		expect_cfa(7, 8);
		assert_false(work.row.signal_frame);
		EXPECT_FOUND(&s, 2);
		expect_cfa(7, 16);
	}
	build(&s, &(struct recipe){ .letters = "zRS" });
	EXPECT_FOUND(&s, 0);
	assert_true(work.row.signal_frame);
}

static void test_not_understood(void **state)
{
	static const struct recipe bad[] = {
		{ .version = 2 },
		{ .version = 5 },
		{ .version = 0x100 },
		{ .letters = "zRQ" },
		{ .letters = "eh" },
		{ .letters = "R" },
		{ .ra = 30 },
		{ .claimed_size = 100 },
		{ .letters = "zRRRRRR" },   /* more letters than data */
		{ PROGRAM(0x3f) },	    /* no such instruction */
		{ PROGRAM(0x17) },	    /* nor this */
		{ PROGRAM(0x0b) },	    /* nothing to restore */
		{ PROGRAM(0x0e) },	    /* no operand */
		{ PROGRAM(0x0e, 0x80) },    /* half an operand */
		{ PROGRAM(0x04, 1, 0, 0) }, /* three quarters */
		{ PROGRAM(0x0f, 5, 1, 1) }, /* an expression of 5 bytes in 2 */
		{ PROGRAM(0x10, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1) },
		{ INITIAL(0x0c, 7) },
	};
	struct section s;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		build(&s, &bad[i]);
		assert_int_equal(look_up(&s, CODE_SIZE - 1), CFI_MALFORMED);
	}
}

static void damage(struct section *s, size_t at, uint32_t value)
{
	build(s, &(struct recipe){ PUSH });
	memcpy(s->b.data + at, &value, 4);
}

/* Lengths, pointers and counts that lead out of the section. */
static void test_lead_astray(void **state)
{
	static const uint32_t values[] = { 0,	       1,	   3,	       4,
					   7,	       8,	   0x1fff,     0x2000,
					   0x10000,    0x7fffffff, 0x80000000, 0xfffffff0,
					   0xfffffffe, 0xffffffff };
	struct section s;

	(void)state;
	build(&s, &(struct recipe){ PUSH });
	EXPECT_FOUND(&s, 2);
	for (size_t at = 0; at < s.b.size - 4; at++)
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			enum cfi_result result;

			damage(&s, at, values[i]);
			result = look_up(&s, 2);
			assert_in_range(result, CFI_FOUND, CFI_MALFORMED);
		}
	damage(&s, s.table + 4, 0x7fffff00); /* the table leads out of the object */
	assert_int_equal(look_up(&s, 2), CFI_MALFORMED);
	damage(&s, s.fde, 4000); /* a record longer than the object */
	assert_int_equal(look_up(&s, 2), CFI_MALFORMED);
	damage(&s, s.fde + 4, 0); /* a CIE where the FDE should be */
	assert_int_equal(look_up(&s, 2), CFI_MALFORMED);
	damage(&s, s.fde + 4, 9000); /* a CIE before the object */
	assert_int_equal(look_up(&s, 2), CFI_MALFORMED);
	damage(&s, s.count, 0x10000000);
	assert_int_equal(look_up(&s, 2), CFI_NONE);
	damage(&s, s.count, 0);
	assert_int_equal(look_up(&s, 2), CFI_NONE);
}

/* Cut off anywhere, the rest is unreadable. */
static void test_cut_short(void **state)
{
	struct section s;

	(void)state;
	build(&s, &(struct recipe){ PROGRAM(0x41, 0x0e, 16, 0x0f, 3, 0x76, 0, 0x12) });
	for (size_t size = 1; size < s.b.size; size++) {
		enum cfi_result result;

		place(s.b.data, size);
		result = cfi_find(code(2), &work);
		if (size < s.b.size - 4)
			assert_int_not_equal(result, CFI_FOUND);
		assert_in_range(result, CFI_FOUND, CFI_MALFORMED);
	}
}

static void test_no_header(void **state)
{
	struct section s;

	(void)state;
	build(&s, &(struct recipe){ .wide = false });
	EXPECT_FOUND(&s, 0);
	fake.header = NULL;
	assert_int_equal(cfi_find(code(0), &work), CFI_NONE);
	fake.header = fake.end;
	assert_int_equal(cfi_find(code(0), &work), CFI_MALFORMED);
	fake.header = fake.start - 1;
	assert_int_equal(cfi_find(code(0), &work), CFI_MALFORMED);
}

/* Without a search table the section is read from its start. */
static void test_no_table(void **state)
{
	struct section s;

	(void)state;
	build(&s, &(struct recipe){ PUSH });
	s.b.data[2] = 0xff;
	EXPECT_FOUND(&s, 2);
	expect_cfa(7, 16);
	assert_int_equal(look_up(&s, CODE_SIZE), CFI_NONE);
	build(&s, &(struct recipe){ PUSH });
	s.b.data[3] = 0x1b; /* a table of another form */
	EXPECT_FOUND(&s, 2);
	s.b.data[6] = 0x7f; /* the section lies far out of the object */
	assert_int_equal(look_up(&s, 2), CFI_NONE);
}

/* -- a damaged libc ------------------------------------------------------------------------------- */

/* A copy of libc's .eh_frame_hdr and what follows it, to the end of .eh_frame. */
static struct {
	uint8_t *header; /* the copy, which ends where memory does */
	const uint8_t *original;
	size_t size;
	uint32_t count;
} copy;

static uint32_t read32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return value;
}

/* .eh_frame has no size in memory: it ends with a length of 0. */
static size_t frames_size(const uint8_t *header)
{
	const uint8_t *at = header + 4 + (int32_t)read32(header + 4);

	while (read32(at))
		at += 4 + read32(at);
	return (size_t)(at + 4 - header);
}

static void copy_libc(void)
{
	struct dl_find_object object;
	uint8_t *start;

	assert_int_equal(_dl_find_object((void *)qsort, &object), 0);
	copy.original = object.dlfo_eh_frame;
	assert_int_equal(read32(copy.original), 0x3b031b01);
	copy.size = frames_size(copy.original);
	copy.count = read32(copy.original + 8);
	start = fixture_guarded((copy.size + 4095) & ~4095ul);
	fake.start = start;
	fake.end = start + ((copy.size + 4095) & ~4095ul);
	fake.header = copy.header = fake.end - copy.size;
	memcpy(copy.header, copy.original, copy.size);
}

static uintptr_t place_of(const uint8_t *header, uint32_t index)
{
	return (uintptr_t)header +
	       (uintptr_t)(intptr_t)(int32_t)read32(copy.original + 12 + 8 * index);
}

static void expect_same(const struct cfi_row *a, const struct cfi_row *b)
{
	assert_int_equal(a->signal_frame, b->signal_frame);
	assert_int_equal(a->cfa_is_expression, b->cfa_is_expression);
	assert_int_equal(a->cfa_register, b->cfa_register);
	assert_int_equal(a->cfa_offset, b->cfa_offset);
	for (unsigned i = 0; i < ARCH_REGISTERS; i++) {
		assert_int_equal(a->rules[i].kind, b->rules[i].kind);
		assert_int_equal(a->rules[i].value, b->rules[i].value);
	}
}

/* The copy is as good as the original before it is damaged. */
static void check_copy(uint64_t *random)
{
	static struct cfi_work other;

	for (unsigned i = 0; i < 3000; i++) {
		uint32_t index = (uint32_t)fixture_below(random, copy.count);
		uintptr_t offset = fixture_below(random, 200);
		enum cfi_result result;

		real.find_object = real_find;
		result = cfi_find(place_of(copy.original, index) + offset, &other);
		real.find_object = find_fake;
		assert_int_equal(cfi_find(place_of(copy.header, index) + offset, &work), result);
		if (result == CFI_FOUND)
			expect_same(&work.row, &other.row);
	}
}

static uint8_t other_byte(uint64_t *random, uint8_t byte)
{
	static const uint8_t usual[] = {
		0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x0b, 0x0f, 0x10, 0x16, 0x40
	};

	switch (fixture_below(random, 3)) {
	case 0:
		return byte ^ (uint8_t)(1u << fixture_below(random, 8));
	case 1:
		return usual[fixture_below(random, sizeof(usual))];
	default:
		return (uint8_t)fixture_random(random);
	}
}

/* Somewhere in the function's FDE, its CIE, the header, the table, or anywhere. */
static size_t place_to_damage(uint64_t *random, uint32_t index)
{
	uint32_t fde = read32(copy.original + 12 + 8 * index + 4);
	uint32_t cie = fde + 4 - read32(copy.original + fde + 4);

	switch (fixture_below(random, 10)) {
	case 0:
		return fixture_below(random, 12);
	case 1:
		return 12 + 8 * index + fixture_below(random, 8);
	case 2:
		return fixture_below(random, copy.size);
	case 3:
	case 4:
		return cie + fixture_below(random, 4 + read32(copy.original + cie));
	default:
		return fde + fixture_below(random, 4 + read32(copy.original + fde));
	}
}

/* What a walk would do with the row: expressions are evaluated. */
static void step(uint64_t *random, uintptr_t pc)
{
	static struct unwind_cursor cursor;
	struct stack_memory memory = { 0 };

	memset(&cursor, 0, sizeof(cursor));
	for (unsigned i = 0; i < ARCH_REGISTERS; i++)
		cursor.registers[i] = (uintptr_t)fake.start + 8 * fixture_below(random, 1000);
	cursor.registers[ARCH_REG_RA] = pc;
	cursor.known = (1u << ARCH_REGISTERS) - 1;
	cursor.interrupted = true;
	unwind_step(&cursor, &memory);
}

/* Reading out of the object would be a segmentation fault, which cmocka reports. */
static void test_damaged_bytes(void **state)
{
	unsigned results[3] = { 0 };
	uint64_t random = 20260131;

	(void)state;
	copy_libc();
	check_copy(&random);
	alarm(60);
	for (unsigned round = 0; round < 20000; round++) {
		uint32_t index = (uint32_t)fixture_below(&random, copy.count);
		uintptr_t pc = place_of(copy.header, index) + fixture_below(&random, 100);
		size_t places[6], count = 1 + fixture_below(&random, 6);

		for (unsigned i = 0; i < count; i++) {
			places[i] = place_to_damage(&random, index);
			copy.header[places[i]] = other_byte(&random, copy.header[places[i]]);
		}
		results[cfi_find(pc, &work)]++;
		step(&random, pc);
		for (unsigned i = 0; i < count; i++)
			copy.header[places[i]] = copy.original[places[i]];
	}
	alarm(0);
	assert_memory_equal(copy.header, copy.original, copy.size);
	print_message("# found %u, none %u, malformed %u\n", results[0], results[1], results[2]);
	assert_true(results[CFI_FOUND] > 1000 && results[CFI_NONE] > 1000 &&
		    results[CFI_MALFORMED] > 1000);
}

/* The object ends in the midst of things. */
static void test_damaged_end(void **state)
{
	uint64_t random = 7;

	(void)state;
	copy_libc();
	for (unsigned round = 0; round < 1000; round++) {
		size_t size = 1 + fixture_below(&random, round % 4 ? copy.size : 64);
		uint8_t *header = fake.end - size;

		memcpy(header, copy.original, size);
		fake.header = header;
		for (unsigned i = 0; i < 10; i++)
			cfi_find(place_of(header, (uint32_t)fixture_below(&random, copy.count)),
				 &work);
		if (size > 4) {
			header[2] = 0xff; /* no table */
			cfi_find(place_of(header, (uint32_t)fixture_below(&random, copy.count)),
				 &work);
		}
	}
}

#define FAKE_TEST(test) cmocka_unit_test_setup_teardown(test, use_fake, use_real)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_of_loaded_objects),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_expression_of_plt),
		FAKE_TEST(test_instructions),
		FAKE_TEST(test_remember_and_restore),
		FAKE_TEST(test_forms),
		FAKE_TEST(test_not_understood),
		FAKE_TEST(test_lead_astray),
		FAKE_TEST(test_cut_short),
		FAKE_TEST(test_no_header),
		FAKE_TEST(test_no_table),
		FAKE_TEST(test_damaged_bytes),
		FAKE_TEST(test_damaged_end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
