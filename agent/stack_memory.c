/* SPDX-License-Identifier: MIT */
/* Readable stack ranges; see stack_memory.h. */
#include "agent/stack_memory.h"

#include "agent/arch.h"
#include "agent/rt/sys.h"

enum { FAR = 64 << 20 }; /* a stack pointer further away than this is on another stack */

static uintptr_t main_low, main_high;

void stack_memory_start(uintptr_t high, uintptr_t size)
{
	main_high = high;
	main_low = high - size;
}

void stack_memory_reset(struct stack_memory *memory)
{
	*memory = (struct stack_memory){ 0 };
}

static bool all_readable(uintptr_t low, uintptr_t high)
{
	for (uintptr_t page = low; page < high; page += RT_PAGE)
		if (!rt_readable(page))
			return false;
	return true;
}

/* The first walk of a thread.  The kernel keeps the main thread's stack in one piece up to its limit; the C library
 * keeps the thread control block at the top of every other thread's stack, wherever that came from. */
static bool find_own(struct stack_memory *m, uintptr_t sp)
{
	uintptr_t top = arch_thread_pointer(), page = sp & ~(RT_PAGE - 1);

	if (sp >= main_low && sp < main_high) {
		m->own_low = main_low;
		m->own_high = main_high;
		return true;
	}
	if (sp < top && top - sp < FAR && all_readable(page, top)) {
		m->own_low = page;
		m->own_high = top;
		return true;
	}
	return false;
}

void stack_memory_enter_slowly(struct stack_memory *m, uintptr_t sp)
{
	uintptr_t page = sp & ~(RT_PAGE - 1);

	if (!m->own_high && find_own(m, sp))
		return;
	if (sp >= m->foreign_low && sp < m->foreign_high)
		return;
	if (sp < m->own_low && m->own_low - sp < FAR && m->own_low != main_low &&
	    all_readable(page, m->own_low)) {
		m->own_low = page; /* the stack has grown down */
		return;
	}
	m->foreign_low = page; /* the thread runs on it, so it can be read */
	m->foreign_high = page + RT_PAGE;
}

bool stack_memory_probe(struct stack_memory *m, uintptr_t address)
{
	uintptr_t page = address & ~(RT_PAGE - 1);

	if (address < RT_PAGE || address >= 1ul << 47 || !rt_readable(address) ||
	    !rt_readable(address + 7))
		return false;
	if (page == m->foreign_high)
		m->foreign_high += RT_PAGE;
	else if (page + RT_PAGE == m->foreign_low)
		m->foreign_low = page;
	else if (page < m->foreign_low || page >= m->foreign_high) {
		m->foreign_low = page;
		m->foreign_high = page + RT_PAGE;
	}
	return true;
}
