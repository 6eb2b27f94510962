/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: from an address to the row of its unwind table.  Formats: DWARF 5 §6.4, the LSB's
 * .eh_frame and .eh_frame_hdr chapters.  Reads only the loaded object's own sections, bounds-checked.
 */
#ifndef MEMTRACK_AGENT_EH_FRAME_H
#define MEMTRACK_AGENT_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/arch.h"

enum cfi_kind {
	CFI_SAME = 0,	/* the caller's value is in the register still */
	CFI_UNDEFINED,	/* lost; for the return address: this is the outermost frame */
	CFI_OFFSET,	/* saved at CFA + value */
	CFI_VAL_OFFSET, /* is CFA + value */
	CFI_REGISTER,	/* is in register `value` */
	CFI_EXPRESSION, /* saved at the address that the expression gives */
	CFI_VAL_EXPRESSION,
};

struct cfi_expression {
	const uint8_t *bytes;
	uint32_t size;
};

struct cfi_rule {
	uint8_t kind; /* enum cfi_kind */
	int64_t value;
	struct cfi_expression expression;
};

/* One row: how to undo the frame of a function at one address. */
struct cfi_row {
	bool signal_frame;
	bool cfa_is_expression;
	uint8_t cfa_register;
	int64_t cfa_offset;
	struct cfi_expression cfa_expression;
	struct cfi_rule rules[ARCH_REGISTERS];
};

enum { CFI_REMEMBERED = 4 };
/* Working memory, about 3 KiB: too much for the small stacks that hooks run on. */
struct cfi_work {
	struct cfi_row row;	/* the result */
	struct cfi_row initial; /* after the CIE's instructions */
	struct cfi_row remembered[CFI_REMEMBERED];
};

enum cfi_result {
	CFI_FOUND,
	CFI_NONE,      /* no unwind information covers the address */
	CFI_MALFORMED, /* there is some, but not to be understood */
};

/* `pc` lies inside the instruction whose row is wanted (return address - 1).  The row is in work->row. */
enum cfi_result cfi_find(uintptr_t pc, struct cfi_work *work);

#endif
