/* SPDX-License-Identifier: MIT */
/* The exported functions.  Built with frame pointers; each passes its own frame on, where the stack walk begins. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/real.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "agent/unloading.h"
#include "allocators/stomp/canary.h"
#include "allocators/stomp/choice.h"
#include "allocators/stomp/errors.h"
#include "allocators/stomp/fault.h"
#include "allocators/stomp/heap.h"
#include "allocators/stomp/limits.h"
#include "allocators/stomp/options.h"
#include "allocators/stomp/stacks.h"
#include "allocators/stomp/start.h"

#define HOOK  __attribute__((visibility("default")))
#define FRAME ((const uintptr_t *)__builtin_frame_address(0))

void *malloc(size_t size);
void free(void *block);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void *reallocarray(void *block, size_t count, size_t size);
void *memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **result, size_t alignment, size_t size);
void *valloc(size_t size);
void *pvalloc(size_t size);
void cfree(void *block);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);
size_t malloc_usable_size(void *block);
int dlclose(void *handle);
void memtrack_sparse_heap(uint64_t *base, uint64_t *size, uint32_t *apart_bits);
__sighandler_t bsd_signal(int number, __sighandler_t handler);

static void *allocate(size_t size, size_t alignment, const uintptr_t *frame, bool zeroed)
{
	enum stomp_guard how = STOMP_GUARD_CANARY;
	struct stomp_caller caller = { 0 };
	void *block = NULL;

	if (!stomp_is_on()) {
		if (!real_ready())
			return bootstrap_alloc(alignment, size, frame[1]);
		return canary_alloc(size, alignment, caller, zeroed);
	}
	caller = stacks_caller(frame);
	if (choice_is_guarded(size, caller.node)) {
		block = heap_alloc(size, alignment, caller, &how);
		if (!block && stomp_arena.size)
			__atomic_fetch_add(&errors_process->refused, 1, __ATOMIC_RELAXED);
	}
	if (!block) {
		how = STOMP_GUARD_CANARY;
		block = canary_alloc(size, alignment, caller, zeroed);
	}
	if (block)
		__atomic_fetch_add(&errors_process->blocks[how], 1, __ATOMIC_RELAXED);
	return block;
}

static void *allocate_or_fail(size_t size, size_t alignment, const uintptr_t *frame, bool zeroed)
{
	void *block = allocate(size, alignment, frame, zeroed);

	if (!block)
		errno = ENOMEM;
	return block;
}

static void release(void *block, const uintptr_t *frame, bool by_realloc)
{
	struct stomp_finding finding = { .by_realloc = by_realloc };
	struct stomp_caller caller = { 0 };
	bool good;

	if (!block || bootstrap_owns(block))
		return;
	if (stomp_is_on())
		caller = stacks_caller(frame);
	good = arena_owns(block) ? heap_free(block, caller, &finding)
				 : canary_free(block, caller, &finding);
	if (!good)
		fault_in_call(&finding, caller);
}

HOOK void *malloc(size_t size)
{
	return allocate_or_fail(size, stomp_options.align, FRAME, false);
}

HOOK void *calloc(size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return allocate_or_fail(total, stomp_options.align, FRAME, true);
}

HOOK void free(void *block)
{
	release(block, FRAME, false);
}

HOOK void cfree(void *block)
{
	release(block, FRAME, false);
}

HOOK void free_sized(void *block, size_t size)
{
	(void)size;
	release(block, FRAME, false);
}

HOOK void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	release(block, FRAME, false);
}

static bool size_of(const void *block, size_t *size)
{
	if (bootstrap_owns(block)) {
		*size = bootstrap_size(block);
		return true;
	}
	return arena_owns(block) ? heap_size(block, size) : canary_size(block, size);
}

/* Always to another place: who kept the old pointer is found out. */
static void *resize(void *block, size_t size, const uintptr_t *frame)
{
	size_t old;
	void *to;

	if (!block)
		return allocate_or_fail(size, stomp_options.align, frame, false);
	if (!size) { /* as in the C library of GNU: a free */
		release(block, frame, true);
		return NULL;
	}
	if (!size_of(block, &old)) { /* an error, which is reported there */
		release(block, frame, true);
		old = 0;
	}
	to = allocate_or_fail(size, stomp_options.align, frame, false);
	if (!to || !old)
		return to;
	memcpy(to, block, old < size ? old : size);
	release(block, frame, true);
	return to;
}

HOOK void *realloc(void *block, size_t size)
{
	return resize(block, size, FRAME);
}

HOOK void *reallocarray(void *block, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return resize(block, total, FRAME);
}

static bool is_power_of_two(size_t n)
{
	return n && !(n & (n - 1));
}

/* As in the C library of GNU: an alignment that is no power of two is rounded up to one. */
static size_t usable_alignment(size_t alignment)
{
	size_t power = 1;

	while (power < alignment && power <= SIZE_MAX / 4)
		power *= 2;
	return power;
}

HOOK void *memalign(size_t alignment, size_t size)
{
	return allocate_or_fail(size, usable_alignment(alignment), FRAME, false);
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
	return allocate_or_fail(size, usable_alignment(alignment), FRAME, false);
}

HOOK int posix_memalign(void **result, size_t alignment, size_t size)
{
	void *block;

	if (!is_power_of_two(alignment) || alignment % sizeof(void *))
		return EINVAL;
	block = allocate(size, alignment, FRAME, false);
	if (!block)
		return ENOMEM;
	*result = block;
	return 0;
}

HOOK void *valloc(size_t size)
{
	return allocate_or_fail(size, RT_PAGE, FRAME, false);
}

HOOK void *pvalloc(size_t size)
{
	size_t rounded;

	if (__builtin_add_overflow(size, RT_PAGE - 1, &rounded)) {
		errno = ENOMEM;
		return NULL;
	}
	return allocate_or_fail(rounded & ~(RT_PAGE - 1), RT_PAGE, FRAME, false);
}

HOOK size_t malloc_usable_size(void *block)
{
	size_t size;

	return block && size_of(block, &size) ? size : 0;
}

HOOK int dlclose(void *handle)
{
	return stomp_is_on() ? unloading_close(handle) : real.dlclose(handle);
}

/* For the agent's block map: see agent/real.h. */
HOOK void memtrack_sparse_heap(uint64_t *base, uint64_t *size, uint32_t *apart_bits)
{
	stomp_is_on();
	*base = stomp_arena.base;
	*size = stomp_arena.size;
	*apart_bits = STOMP_APART_BITS;
}

/* -- limits: see limits.h ---------------------------------------------------------------------------- */

static int limit_result(int error)
{
	if (!error)
		return 0;
	errno = -error;
	return -1;
}

/* Here struct rlimit64 is the same; both spellings have symbols of their own. */
int set_limit(int resource, const struct rlimit *limit) __asm__("setrlimit");
int set_limit64(int resource, const struct rlimit *limit) __asm__("setrlimit64");
int get_limit(int resource, struct rlimit *limit) __asm__("getrlimit");
int get_limit64(int resource, struct rlimit *limit) __asm__("getrlimit64");
int change_limit(pid_t pid, int resource, const struct rlimit *set,
		 struct rlimit *old) __asm__("prlimit");
int change_limit64(pid_t pid, int resource, const struct rlimit *set,
		   struct rlimit *old) __asm__("prlimit64");

HOOK int set_limit(int resource, const struct rlimit *limit)
{
	return limit_result(limits_change(0, resource, limit, NULL));
}

HOOK int set_limit64(int resource, const struct rlimit *limit)
{
	return limit_result(limits_change(0, resource, limit, NULL));
}

HOOK int get_limit(int resource, struct rlimit *limit)
{
	return limit_result(limits_change(0, resource, NULL, limit));
}

HOOK int get_limit64(int resource, struct rlimit *limit)
{
	return limit_result(limits_change(0, resource, NULL, limit));
}

HOOK int change_limit(pid_t pid, int resource, const struct rlimit *set, struct rlimit *old)
{
	return limit_result(limits_change(pid, resource, set, old));
}

HOOK int change_limit64(pid_t pid, int resource, const struct rlimit *set, struct rlimit *old)
{
	return limit_result(limits_change(pid, resource, set, old));
}

/* -- signals: see fault.h ---------------------------------------------------------------------------- */

HOOK int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	stomp_is_on();
	return fault_sigaction(signal, action, old);
}

static __sighandler_t set_handler(int signal, __sighandler_t handler, int flags)
{
	struct sigaction action = { .sa_flags = flags }, old;

	action.sa_handler = handler;
	stomp_is_on();
	if (handler == SIG_ERR || fault_sigaction(signal, &action, &old) != 0)
		return SIG_ERR;
	return old.sa_handler;
}

/* signal(3) as BSD has it, which is GNU's.  siginterrupt(3) is heeded by the C library's own alone. */
HOOK __sighandler_t signal(int number, __sighandler_t handler)
{
	return number == SIGSEGV ? set_handler(number, handler, SA_RESTART)
				 : fault_next_signal(number, handler);
}

HOOK __sighandler_t bsd_signal(int number, __sighandler_t handler)
{
	return signal(number, handler);
}

HOOK __sighandler_t ssignal(int number, __sighandler_t handler)
{
	return signal(number, handler);
}

/* As System V has it: once, and not blocked meanwhile. */
HOOK __sighandler_t __sysv_signal(int number, __sighandler_t handler)
{
	return set_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

HOOK __sighandler_t sysv_signal(int number, __sighandler_t handler)
{
	return __sysv_signal(number, handler);
}
