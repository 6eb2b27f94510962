/* SPDX-License-Identifier: MIT */
/* A futex lock with an owner and a limit; see lock.h. */
#include "agent/rt/lock.h"

#include <linux/futex.h>
#include <time.h>

#include "agent/arch.h"
#include "agent/rt/sys.h"

enum { SPINS = 200, WAITS = 50, WAIT_NS = 20 * 1000 * 1000 }; /* a second in all */

static bool take(struct rt_lock *lock, uint32_t value)
{
	uint32_t zero = 0;

	/* Acquire: pairs with the release in rt_unlock. */
	if (!__atomic_compare_exchange_n(&lock->word, &zero, value, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&lock->owner, arch_thread_pointer(), __ATOMIC_RELAXED);
	return true;
}

bool rt_lock_try(struct rt_lock *lock)
{
	struct timespec pause = { .tv_nsec = WAIT_NS };

	if (__atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == arch_thread_pointer())
		return false;
	for (int i = 0; i < SPINS; i++) {
		if (take(lock, 1))
			return true;
		arch_pause();
	}
	for (int i = 0; i < WAITS; i++) {
		if (take(lock, 2))
			return true;
		if (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) == 0) {
			__atomic_store_n(&lock->owner, arch_thread_pointer(), __ATOMIC_RELAXED);
			return true;
		}
		rt_syscall6(SYS_futex, (long)&lock->word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2,
			    (long)&pause, 0, 0);
	}
	return false;
}

void rt_unlock(struct rt_lock *lock)
{
	__atomic_store_n(&lock->owner, 0, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
		rt_syscall6(SYS_futex, (long)&lock->word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0,
			    0);
}
