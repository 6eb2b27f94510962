/* SPDX-License-Identifier: MIT */
/*
 * The exported functions: thin bodies around the next definition.  Built with frame pointers; each passes its own frame
 * on, which is where the stack walk begins.
 *
 * The real allocator is asked for at least real_least bytes, 16: size classes of 8 would let two blocks share a granule of
 * the block map.  The guard-page allocator must know the true size, and has no such classes.
 */
#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/counters.h"
#include "agent/lifecycle.h"
#include "agent/peak.h"
#include "agent/real.h"
#include "agent/record.h"
#include "agent/record_slack.h"
#include "agent/rt/mem.h"
#include "agent/sample.h"
#include "agent/thread_names.h"
#include "agent/threads.h"
#include "agent/unloading.h"

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
int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int pthread_setname_np(unsigned long thread, const char *name);

static inline size_t at_least_a_granule(size_t size)
{
	return size < real_least ? real_least : size;
}

/* Before the real functions are known, memory comes from the bootstrap arena (zeroed, never reused). */
static inline bool must_bootstrap(void)
{
	return __builtin_expect(!agent_live.active, 0) && !real_ready();
}

/* The usual case of the two busiest hooks, decided by one test; the rest is apart. */
static inline bool is_recording(void)
{
	return __builtin_expect(agent_live.active, 1);
}
#define APART __attribute__((noinline, cold)) static

/* When sampling: does the next point lie beyond this allocation?  It costs no more than this then.  Never when every
 * allocation is recorded: sample_left is 0. */
static inline bool is_passed_over(size_t size)
{
	uint64_t measured = at_least_a_granule(size);

	if (measured >= thread_self.sample_left)
		return false;
	thread_self.sample_left -= measured;
	return true;
}

static inline void *allocated(void *block, size_t size, const uintptr_t *frame)
{
	if (__builtin_expect(block != NULL, 1))
		record_alloc(block, size, frame);
	else /* a point may have fallen on what is no allocation: draw anew */
		thread_self.sample_left = 0;
	return block;
}

APART void *malloc_apart(size_t size, const uintptr_t *frame)
{
	bool on = agent_is_on();
	void *block;

	if (must_bootstrap())
		return bootstrap_alloc(16, size, frame[1]);
	block = real.malloc(at_least_a_granule(size));
	return on ? allocated(block, size, frame) : block;
}

HOOK void *malloc(size_t size)
{
	if (!is_recording())
		return malloc_apart(size, FRAME);
	if (is_passed_over(size))
		return real.malloc(at_least_a_granule(size));
	return allocated(real.malloc(at_least_a_granule(size)), size, FRAME);
}

HOOK void *calloc(size_t count, size_t size)
{
	bool on = agent_is_on();
	size_t total;
	void *block;

	if (must_bootstrap())
		return __builtin_mul_overflow(count, size, &total)
			       ? NULL
			       : bootstrap_alloc(16, total, FRAME[1]);
	if (__builtin_mul_overflow(count, size, &total))
		return real.calloc(count, size); /* fails, with its own errno */
	block = total < real_least ? real.calloc(1, real_least) : real.calloc(count, size);
	return on ? allocated(block, total, FRAME) : block;
}

APART void release_apart(void *block, const uintptr_t *frame)
{
	bool on = block && agent_is_on();

	if (bootstrap_owns(block)) {
		if (on)
			record_early_free(block, frame);
		return;
	}
	if (on)
		record_free(block, frame);
	if (block && !must_bootstrap())
		real.free(block);
}

static inline void release(void *block, const uintptr_t *frame)
{
	if (thread_self.sample_left && !sample_may_have(block) && !bootstrap_owns(block)) {
		real.free(block);
		return;
	}
	if (__builtin_expect(!block, 0))
		return;
	if (!is_recording() || __builtin_expect(bootstrap_owns(block), 0)) {
		release_apart(block, frame);
		return;
	}
	record_free(block, frame);
	real.free(block);
}

HOOK void free(void *block)
{
	release(block, FRAME);
}

HOOK void cfree(void *block)
{
	release(block, FRAME);
}

HOOK void free_sized(void *block, size_t size)
{
	(void)size;
	release(block, FRAME);
}

HOOK void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	release(block, FRAME);
}

/* A block of the bootstrap arena moves to the real heap. */
static void *move_out(void *block, size_t size, const uintptr_t *frame)
{
	size_t old = bootstrap_size(block);
	void *to = must_bootstrap() ? bootstrap_alloc(16, size, frame[1])
				    : real.malloc(at_least_a_granule(size));

	if (to)
		memcpy(to, block, old < size ? old : size);
	return to;
}

static struct block known(const void *block)
{
	if (record_mode == RECORD_SAMPLED && !sample_may_have(block))
		return (struct block){ .state = BLOCK_UNKNOWN };
	return block_take(block);
}

static void *with_a_granule(void *block)
{
	void *to = real.realloc(block, 16);

	return to ? to : block;
}

/* realloc(p, 0) is a free in the C library; in some allocators a block of no bytes comes back. */
static inline void *resized(void *to, size_t size, const uintptr_t *frame)
{
	return to ? allocated(size ? to : with_a_granule(to), size, frame) : NULL;
}

/* When more is to be known of the old block than the block map does. */
APART void *resize_apart(void *block, size_t size, const uintptr_t *frame)
{
	struct block old = known(block);
	uint64_t slack = record_mode == RECORD_SLACK && old.state == BLOCK_LIVE
				 ? record_slack_of(block, old.size)
				 : 0;
	void *to = real.realloc(block, size ? at_least_a_granule(size) : 0);

	if (!to && size) {
		record_put_back(block, &old);
		return NULL;
	}
	record_replaced_apart(block, &old, slack, frame, to != NULL);
	return resized(to, size, frame);
}

static void *resize(void *block, size_t size, const uintptr_t *frame)
{
	bool on = agent_is_on();
	struct block old;
	void *to;

	if (block && bootstrap_owns(block)) {
		to = move_out(block, size, frame);
		if (on && to)
			record_early_free(block, frame);
		return on ? allocated(to, size, frame) : to;
	}
	if (must_bootstrap())
		return bootstrap_alloc(16, size, frame[1]);
	if (!block) {
		to = real.realloc(NULL, at_least_a_granule(size));
		return on ? allocated(to, size, frame) : to;
	}
	if (!on)
		return real.realloc(block, size);
	if (__builtin_expect(record_mode != RECORD_EXACT, 0))
		return resize_apart(block, size, frame);
	old = block_take(block);
	to = real.realloc(block, size ? at_least_a_granule(size) : 0);
	if (!to && size) {
		record_put_back(block, &old);
		return NULL;
	}
	record_replaced(block, &old, frame, to != NULL);
	return resized(to, size, frame);
}

HOOK void *realloc(void *block, size_t size)
{
	return resize(block, size, FRAME);
}

HOOK void *reallocarray(void *block, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		return must_bootstrap()
			       ? NULL
			       : real.calloc(count, size); /* fails, with libc's own errno */
	return resize(block, total, FRAME);
}

HOOK void *memalign(size_t alignment, size_t size)
{
	bool on = agent_is_on();
	void *block;

	if (must_bootstrap())
		return bootstrap_alloc(alignment, size, FRAME[1]);
	block = real.memalign(alignment, at_least_a_granule(size));
	return on ? allocated(block, size, FRAME) : block;
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
	bool on = agent_is_on();
	void *block;

	if (must_bootstrap())
		return bootstrap_alloc(alignment, size, FRAME[1]);
	block = real.aligned_alloc(alignment, at_least_a_granule(size));
	return on ? allocated(block, size, FRAME) : block;
}

HOOK int posix_memalign(void **result, size_t alignment, size_t size)
{
	bool on = agent_is_on();
	int error;

	if (must_bootstrap()) {
		*result = bootstrap_alloc(alignment, size, FRAME[1]);
		return *result ? 0 : ENOMEM;
	}
	error = real.posix_memalign(result, alignment, at_least_a_granule(size));
	if (!error && on)
		allocated(*result, size, FRAME);
	return error;
}

HOOK void *valloc(size_t size)
{
	bool on = agent_is_on();
	void *block = must_bootstrap() ? NULL : real.valloc(size);

	return on ? allocated(block, size, FRAME) : block;
}

HOOK void *pvalloc(size_t size)
{
	bool on = agent_is_on();
	void *block = must_bootstrap() ? NULL : real.pvalloc(size);

	return on ? allocated(block, size, FRAME) : block;
}

HOOK size_t malloc_usable_size(void *block)
{
	if (!block)
		return 0;
	if (bootstrap_owns(block))
		return bootstrap_size(block);
	return must_bootstrap() ? 0 : real.malloc_usable_size(block);
}

HOOK int dlclose(void *handle)
{
	return agent_is_on() ? unloading_close(handle) : real.dlclose(handle);
}

/* Strict seccomp takes the cycle counter away, and so may PR_SET_TSC: reading it would be fatal from then on. */
HOOK int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	int result;

	agent_is_on(); /* looks up the real one, if nothing did so far */
	if ((option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT) ||
	    (option == PR_SET_TSC && a == PR_TSC_SIGSEGV))
		peak_without_clock = 1;
	result = real.prctl(option, a, b, c, d);
	if (option == PR_SET_NAME && result == 0)
		thread_names_set_own((const char *)a);
	return result;
}

HOOK int pthread_setname_np(unsigned long thread, const char *name)
{
	int error;

	agent_is_on();
	error = real.set_name ? real.set_name(thread, name) : ENOSYS;
	if (!error)
		thread_names_set(thread, name);
	return error;
}

/*
 * dlopen(file, flags): jumps on to the real one, which sees the caller as its own, unless RTLD_DEEPBIND (8) is given:
 * see deepbind.h.
 */
__asm__(".text\n"
	".globl dlopen\n"
	".type dlopen, @function\n"
	"dlopen:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	testl $8, %esi\n"
	"	jnz 2f\n"
	"	cmpq $0, real_dlopen(%rip)\n"
	"	je 2f\n"
	"	jmp *real_dlopen(%rip)\n"
	"2:	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call deepbind_open\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	testq %rax, %rax\n"
	"	jnz 3f\n"
	"	jmp *real_dlopen(%rip)\n"
	"3:	ret\n"
	"	.cfi_endproc\n"
	".size dlopen, .-dlopen\n");
