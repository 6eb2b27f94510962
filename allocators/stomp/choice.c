/* SPDX-License-Identifier: MIT */
/* The choice; see choice.h. */
#include "allocators/stomp/choice.h"

#include "agent/layout.h"
#include "agent/modules.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "agent/stack_tree.h"
#include "allocators/stomp/errors.h"
#include "allocators/stomp/options.h"

enum { MOST_NODES = 1 << 26 /* more stacks than that are not guarded */, PATH_SIZE = 4200 };

enum verdict { NOT_KNOWN, NO, YES };

static const struct stomp_range *ranges;
static uint32_t range_count;
static uint8_t *verdicts; /* by node; NULL: functions do not matter */

static bool is_this_program(const char *path, uint32_t size)
{
	static char own[PATH_SIZE];
	long n = rt_syscall3(SYS_readlink, (long)"/proc/self/exe", (long)own, sizeof(own));

	return n == (long)size && memcmp(own, path, size) == 0;
}

void choice_start(void)
{
	const char *program;
	uint32_t size;

	if (!errors_chosen(&ranges, &range_count, &program, &size))
		return;
	verdicts = rt_map_sparse(MOST_NODES);
	if (!is_this_program(program, size))
		range_count = 0; /* none of this one's functions was meant */
}

static bool in_ranges(uint64_t address)
{
	uint32_t low = 0, high = range_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (address < ranges[middle].start)
			high = middle;
		else if (address >= ranges[middle].end)
			low = middle + 1;
		else
			return true;
	}
	return false;
}

/* Is the frame of a node in a function that was chosen? */
static bool is_chosen_frame(const struct seg_node *n)
{
	const struct seg_module *module;
	const char *path;

	if (!n->module || n->address == SEG_ADDRESS_CUT)
		return false;
	module = module_record(n->module, &path);
	return !module->path_size /* the executable */ &&
	       in_ranges((n->address & ~SEG_INTERRUPTED) - module->bias -
			 !(n->address & SEG_INTERRUPTED));
}

static bool has_verdict(uint32_t node)
{
	return node >= SEG_FIRST_NODE && node < MOST_NODES;
}

/* A stack is chosen when one of its frames is: what is known of an outer part holds for all that it leads to. */
static bool has_chosen_frame(uint32_t node)
{
	enum verdict verdict = NO;
	uint32_t last;

	for (last = node; has_verdict(last); last = stack_tree_node(last)->parent) {
		if (verdicts[last] != NOT_KNOWN) {
			verdict = verdicts[last];
			break;
		}
		if (is_chosen_frame(stack_tree_node(last))) {
			verdict = verdicts[last] = YES;
			break;
		}
	}
	for (; node != last; node = stack_tree_node(node)->parent)
		verdicts[node] = (uint8_t)verdict;
	return verdict == YES;
}

static bool is_its_turn(void)
{
	static __thread uint64_t left;

	if (stomp_options.sample <= 1)
		return true;
	if (left == 0)
		left = stomp_options.sample;
	return --left == 0;
}

bool choice_is_guarded(size_t size, uint32_t node)
{
	if (size < stomp_options.min || size > stomp_options.max)
		return false;
	if (verdicts && !has_chosen_frame(node))
		return false;
	return is_its_turn();
}
