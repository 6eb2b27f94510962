/* SPDX-License-Identifier: MIT */
/*
 * What the agent needs to know of the processor: thread pointer, cycle counter, a double-word compare and swap,
 * and where the caller's registers are.  DWARF register numbers: System V ABI, AMD64 supplement, figure 3.36.
 */
#ifndef MEMTRACK_AGENT_ARCH_X86_64_H
#define MEMTRACK_AGENT_ARCH_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum { ARCH_REG_FP = 6, ARCH_REG_SP = 7, ARCH_REG_RA = 16, ARCH_REGISTERS = 17 };

/* In glibc the word at fs:16 is the address of the thread control block, which lies above the thread's stack. */
static inline uintptr_t arch_thread_pointer(void)
{
	uintptr_t p;

	__asm__("mov %%fs:16, %0" : "=r"(p));
	return p;
}

/* Where glibc keeps the kernel's number of a thread, from the thread pointer on.  Nobody promises that: look before use. */
enum { ARCH_TID_AT = 0x2d0 };

static inline void arch_pause(void)
{
	__asm__ volatile("pause" : : : "memory");
}

static inline uint64_t arch_cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* *word == *expected ? (*word = desired, true) : (*expected = *word, false); 16-aligned, full barrier. */
static inline bool arch_swap_double(uint64_t word[2], uint64_t expected[2],
				    const uint64_t desired[2])
{
	bool done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*(unsigned __int128 *)word), "+a"(expected[0]),
			   "+d"(expected[1])
			 : "b"(desired[0]), "c"(desired[1])
			 : "memory");
	return done;
}

/* Registers that a callee must keep, and pc and sp, as they are right here. */
#define ARCH_CAPTURE(regs)                   \
 __asm__ volatile("mov %%rbx, 3*8(%0)\n\t"   \
		  "mov %%rbp, 6*8(%0)\n\t"   \
		  "mov %%rsp, 7*8(%0)\n\t"   \
		  "mov %%r12, 12*8(%0)\n\t"  \
		  "mov %%r13, 13*8(%0)\n\t"  \
		  "mov %%r14, 14*8(%0)\n\t"  \
		  "mov %%r15, 15*8(%0)\n\t"  \
		  "lea 0f(%%rip), %%rax\n\t" \
		  "mov %%rax, 16*8(%0)\n"    \
		  "0:"                       \
		  :                          \
		  : "D"(regs)                \
		  : "rax", "memory")
#define ARCH_CAPTURED ((1u << 3) | (1u << 6) | (1u << 7) | (0xfu << 12) | (1u << 16))

/* All registers as a signal found them. */
static inline void arch_registers_of(const ucontext_t *context, uint64_t registers[ARCH_REGISTERS])
{
	static const uint8_t places[ARCH_REGISTERS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
		REG_R9,	 REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
	};

	for (unsigned i = 0; i < ARCH_REGISTERS; i++)
		registers[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
}

/* Was the access that made a page fault a write?  Bit 1 of the error code. */
static inline bool arch_fault_wrote(const ucontext_t *context)
{
	return context->uc_mcontext.gregs[REG_ERR] >> 1 & 1;
}

/* Frame of a function built with a frame pointer: [0] = caller's fp, [1] = return address; the caller's sp is
 * right above. */

/* Do the bytes before a return address encode a call?  The caller has made sure that 8 bytes can be read. */
static inline bool arch_call_before(const uint8_t *ra)
{
	if (ra[-5] == 0xe8)
		return true; /* call rel32 */
	if (ra[-2] == 0xff)
		return (ra[-1] & 0x38) == 0x10 && (ra[-1] & 0xc7) != 0x04 &&
		       (ra[-1] & 0xc7) != 0x05 &&
		       ((ra[-1] & 0xc0) == 0xc0 ||
			(ra[-1] & 0xc0) == 0x00); /* call reg, call [reg] */
	if (ra[-3] == 0xff && ((ra[-2] & 0xf8) == 0x50 || ra[-2] == 0x14))
		return true; /* call [reg+disp8], call [sib] */
	if (ra[-4] == 0xff && ra[-3] == 0x54)
		return true; /* call [sib+disp8] */
	if (ra[-6] == 0xff && ((ra[-5] & 0xf8) == 0x90 || ra[-5] == 0x15))
		return true;			 /* call [reg+disp32], call [rip+disp32] */
	return ra[-7] == 0xff && ra[-6] == 0x94; /* call [sib+disp32] */
}

#endif
