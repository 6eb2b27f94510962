/* SPDX-License-Identifier: MIT */
/*
 * Truth mode; see truth.h.  Not part of the shipped agent: it calls libunwind, which takes locks and may allocate.
 * Differences go to standard error, the first few in full.
 */
#define UNW_LOCAL_ONLY
#include "agent/truth.h"

#include <libunwind.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "agent/layout.h"
#include "agent/rt/sys.h"
#include "agent/segment.h"
#include "agent/stack_tree.h"
#include "agent/threads.h"

enum { EVERY = 23, MOST = 1024, SHOWN = 5 };

struct path {
	uintptr_t addresses[MOST]; /* innermost first */
	unsigned count;
	uint32_t root;
	bool cut, failed;
};

static __thread bool checking;
static __thread unsigned turn;
static __thread struct path ours, theirs;
static uint32_t shown;

static void read_ours(uint32_t node)
{
	ours.count = 0;
	ours.cut = false;
	while (node >= SEG_FIRST_NODE && ours.count < MOST) {
		const struct seg_node *n = stack_tree_node(node);

		if (n->address == SEG_ADDRESS_CUT) {
			ours.cut = true; /* the comparison ends here */
			break;
		}
		ours.addresses[ours.count++] = n->address;
		node = n->parent;
	}
	ours.root = node;
}

/* libunwind's stack, from the hook's caller on. */
static void read_theirs(const uintptr_t *frame)
{
	unw_context_t context;
	unw_cursor_t cursor;
	bool begun = false;
	int step;

	theirs.count = 0;
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_word_t ip = 0, sp = 0;

		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		unw_get_reg(&cursor, UNW_REG_SP, &sp);
		if (ip == frame[1] && sp == (uintptr_t)(frame + 2))
			begun = true;
		if (begun && ip && theirs.count < MOST)
			theirs.addresses[theirs.count++] = ip;
		step = unw_step(&cursor);
	} while (step > 0 && theirs.count < MOST);
	theirs.failed = step < 0;
}

static bool same_place(uintptr_t a, uintptr_t b)
{
	return (a & ~SEG_INTERRUPTED) == b;
}

/* A stack that says it is truncated, or theirs when it gave up, is compared as far as it goes. */
static bool agree(void)
{
	unsigned common = ours.count < theirs.count ? ours.count : theirs.count;

	for (unsigned i = 0; i < common; i++)
		if (!same_place(ours.addresses[i], theirs.addresses[i]))
			return false;
	if (ours.cut || ours.root != SEG_ROOT_COMPLETE)
		return ours.count <= theirs.count || theirs.failed;
	return ours.count == theirs.count || (theirs.failed && theirs.count < ours.count) ||
	       theirs.count == MOST;
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	char text[256];
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	rt_syscall3(SYS_write, 2, (long)text, n < (int)sizeof(text) ? n : (int)sizeof(text) - 1);
}

static void show(void)
{
	if (__atomic_fetch_add(&shown, 1, __ATOMIC_RELAXED) >= SHOWN)
		return;
	say("memtrack truth: stacks differ: %u frames (root %u%s), libunwind %u%s\n", ours.count,
	    ours.root, ours.cut ? ", cut" : "", theirs.count, theirs.failed ? " and failed" : "");
	for (unsigned i = 0; i < ours.count || i < theirs.count; i++)
		say("  %#lx %#lx\n", i < ours.count ? ours.addresses[i] : 0,
		    i < theirs.count ? theirs.addresses[i] : 0);
}

void truth_check(struct shard *shard, const uintptr_t *frame, uint32_t node)
{
	(void)shard;
	if (checking || ++turn % EVERY || node < SEG_FIRST_NODE)
		return;
	checking = true;
	read_ours(node);
	read_theirs(frame);
	segment_drop(SEG_TRUTH_CHECKED, 1);
	if (!agree()) {
		segment_drop(SEG_TRUTH_DIFFERENT, 1);
		show();
	}
	checking = false;
}
