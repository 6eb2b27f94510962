/* SPDX-License-Identifier: MIT */
/* Capturing and reading stacks; see stacks.h. */
#include "allocators/stomp/stacks.h"

#include "agent/arch.h"
#include "agent/growth.h"
#include "agent/layout.h"
#include "agent/modules.h"
#include "agent/rt/sys.h"
#include "agent/rules.h"
#include "agent/segment.h"
#include "agent/stack_cache.h"
#include "agent/stack_tree.h"
#include "agent/stack_walk.h"
#include "agent/threads.h"
#include "allocators/stomp/fork_lock.h"
#include "allocators/stomp/layout.h"

enum { BUCKETS = 4096 };

static uint32_t threads_seen = 1; /* the main thread is the first, whenever it is seen */
static __thread uint32_t thread_number;

bool stacks_start(void)
{
	struct segment_request request = { .depth = STOMP_DEPTH };

	stack_cache_start(STOMP_DEPTH);
	if (!rules_start() || !segment_claim_private(&request) || !stack_tree_start(BUCKETS))
		return false;
	segment_activate();
	threads_start();
	return true;
}

/* Numbers are never used again; the main thread's TLS may be written anew by the loader, its number stays. */
uint32_t stacks_thread(void)
{
	if (__builtin_expect(!thread_number, 0))
		thread_number = rt_syscall3(SYS_gettid, 0, 0, 0) == rt_syscall3(SYS_getpid, 0, 0, 0)
					? 1
					: __atomic_add_fetch(&threads_seen, 1, __ATOMIC_RELAXED);
	return thread_number;
}

struct stomp_caller stacks_caller(const uintptr_t *frame)
{
	struct stomp_caller caller = { .thread = stacks_thread() };
	bool borrowed;
	struct shard *shard = shard_enter((uintptr_t)frame, &borrowed);

	if (!shard)
		return caller;
	caller.node = stack_capture(&shard->stacks, frame);
	shard_leave(shard, borrowed);
	return caller;
}

uint32_t stacks_of_node(uint32_t node, struct stomp_frame *frames, uint32_t *root)
{
	uint32_t count = 0;

	while (node >= SEG_FIRST_NODE && count < STOMP_DEPTH) {
		const struct seg_node *n = stack_tree_node(node);

		if (n->address != SEG_ADDRESS_CUT)
			frames[count++] = (struct stomp_frame){
				.address = n->address & ~SEG_INTERRUPTED,
				.module = n->module,
				.interrupted = (n->address & SEG_INTERRUPTED) != 0,
			};
		node = n->parent;
	}
	*root = node < SEG_FIRST_NODE ? node : SEG_ROOT_DEPTH;
	return count;
}

uint32_t stacks_of_context(const ucontext_t *context, struct stomp_frame *frames, uint32_t *root)
{
	static struct unwind_cursor cursor;
	static struct stack_memory memory;
	static struct stack_address found[STOMP_DEPTH];
	uint32_t count;

	stack_memory_reset(&memory);
	arch_registers_of(context, cursor.registers);
	cursor.known = (1u << ARCH_REGISTERS) - 1;
	cursor.interrupted = true;
	cursor.slot = cursor.registers[ARCH_REG_SP] - 8;
	stack_memory_enter(&memory, cursor.registers[ARCH_REG_SP]);
	count = stack_walk_from(&cursor, &memory, found, STOMP_DEPTH, root);
	for (uint32_t i = 0; i < count; i++)
		frames[i] = (struct stomp_frame){
			.address = found[i].address,
			.module = module_of(found[i].address - !found[i].interrupted),
			.interrupted = found[i].interrupted,
		};
	return count;
}

static bool held_for_fork;

void stacks_before_fork(void)
{
	held_for_fork = fork_lock(&growth_lock);
}

void stacks_after_fork(bool in_child)
{
	if (in_child)
		fork_unlock_child(&growth_lock);
	else
		fork_unlock_parent(&growth_lock, held_for_fork);
}
