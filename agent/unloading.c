/* SPDX-License-Identifier: MIT */
/* Forgetting unloaded libraries; see unloading.h. */
#include "agent/unloading.h"

#include <stdbool.h>

#include "agent/growth.h"
#include "agent/modules.h"
#include "agent/real.h"
#include "agent/stack_tree.h"

/* False: the growth lock was not to be had.  Nothing cached may be trusted until it is. */
static bool forget_gone(void)
{
	bool gone;

	if (!rt_lock_try(&growth_lock))
		return false;
	gone = modules_mark_unloaded();
	if (gone)
		stack_tree_forget_unloaded();
	rt_unlock(&growth_lock);
	if (gone)
		__atomic_fetch_add(&modules_state, 1, __ATOMIC_RELEASE);
	return true;
}

/* A dlclose that never returns (an exception, a cancelled thread) leaves the slow state on. */
int unloading_close(void *handle)
{
	int result;

	__atomic_fetch_add(&modules_state, MODULES_CLOSING, __ATOMIC_SEQ_CST);
	result = real.dlclose(handle);
	if (forget_gone())
		__atomic_fetch_sub(&modules_state, MODULES_CLOSING, __ATOMIC_SEQ_CST);
	return result;
}
