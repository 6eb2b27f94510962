/* SPDX-License-Identifier: MIT */
/*
 * The full walk: frame by frame with all registers a callee must keep, by the rows of the unwind tables, with
 * expressions and signal frames.  Slow (a microsecond or so a frame) and rarely needed: only when a fast rule is
 * RULE_HARD.  Memory is read only where the stack can be (stack_memory.h).
 */
#ifndef MEMTRACK_AGENT_UNWIND_H
#define MEMTRACK_AGENT_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch.h"
#include "agent/eh_frame.h"

struct stack_memory;

struct unwind_cursor {
	uint64_t registers[ARCH_REGISTERS]; /* ARCH_REG_RA holds the pc of the frame */
	uint32_t known;			    /* bit set of registers whose values are certain */
	bool interrupted; /* the pc is where a signal struck, not a return address */
	uint64_t slot;	  /* where the pc was read from (plain frames), else sp - 8 */
	struct cfi_work work;
};

enum unwind_result {
	UNWIND_STEPPED,
	UNWIND_OUTERMOST,
	UNWIND_NO_INFORMATION, /* the pc is in code without unwind information */
	UNWIND_UNREADABLE,
	UNWIND_BAD,
};

enum unwind_result unwind_step(struct unwind_cursor *cursor, struct stack_memory *memory);

#endif
