/* SPDX-License-Identifier: MIT */
/*
 * Which memory a walk may read.  Each thread knows the range of its own stack that is certainly mapped; memory
 * beyond (a signal stack, a fiber's stack) is asked for page by page without faulting (rt_readable) and remembered as
 * long as the thread stays there.  Needs no look into /proc, no pthread call and no knowledge of where stacks end.
 */
#ifndef MEMTRACK_AGENT_STACK_MEMORY_H
#define MEMTRACK_AGENT_STACK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct stack_memory {
	uintptr_t own_low, own_high;	     /* the thread's own stack */
	uintptr_t foreign_low, foreign_high; /* the other stack it was last seen on */
};

/* Facts about the main thread's stack, once at start: its highest address and how far it may reach down. */
void stack_memory_start(uintptr_t main_high, uintptr_t main_size);
/* Forgets what the shard's former thread knew. */
void stack_memory_reset(struct stack_memory *memory);
void stack_memory_enter_slowly(struct stack_memory *memory, uintptr_t sp);
bool stack_memory_probe(struct stack_memory *memory, uintptr_t address);

/* The walk begins at `sp`, which is on the running thread's current stack. */
static inline void stack_memory_enter(struct stack_memory *m, uintptr_t sp)
{
	if (__builtin_expect(sp < m->own_low || sp >= m->own_high, 0))
		stack_memory_enter_slowly(m, sp);
	else if (__builtin_expect(m->foreign_high != 0, 0))
		m->foreign_low = m->foreign_high = 0; /* left behind: it may be unmapped by now */
}

/* Words are aligned, and so are the ranges: a word that begins in one ends in it. */
static inline bool stack_memory_has(const struct stack_memory *m, uintptr_t address)
{
	return (address >= m->own_low && address < m->own_high) ||
	       (address >= m->foreign_low && address < m->foreign_high);
}

/* Is this word a part of the thread's own stack?  That is mapped as long as the thread lives; other memory may be gone
 * the next time. */
static inline bool stack_memory_owns(const struct stack_memory *m, uintptr_t address)
{
	return address >= m->own_low && address < m->own_high;
}

/* May the word at `address` be read? */
static inline bool stack_memory_ok(struct stack_memory *m, uintptr_t address)
{
	return (address & 7) == 0 &&
	       (stack_memory_has(m, address) || stack_memory_probe(m, address));
}

#endif
