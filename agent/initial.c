/* SPDX-License-Identifier: MIT */
/* What lies above the first stack frame; see initial.h. */
#include "agent/initial.h"

#include <sys/resource.h>

#include "agent/modules.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "agent/stack_memory.h"

#define MAIN_STACK_MOST (1ul << 30)

/* Where the kernel put argc, the arguments, the environment: libc may not have looked yet. */
extern void *__libc_stack_end __attribute__((weak));

const char *const *initial_arguments(long *count)
{
	const long *at = &__libc_stack_end ? __libc_stack_end : NULL;

	*count = at ? at[0] : 0;
	return at ? (const char *const *)(at + 1) : NULL;
}

const char *initial_variable(const char *name)
{
	long count;
	const char *const *arguments = initial_arguments(&count);
	size_t n = rt_length(name);

	if (!arguments)
		return NULL;
	for (const char *const *e = arguments + count + 1; *e; e++) {
		size_t i = 0;

		while (i < n && (*e)[i] == name[i])
			i++;
		if (i == n && (*e)[n] == '=')
			return *e + n + 1;
	}
	return NULL;
}

static const unsigned long *auxiliary_vector(void)
{
	long count;
	const char *const *at = initial_arguments(&count);

	if (!at)
		return NULL;
	for (at += count + 1; *at; at++)
		;
	return (const unsigned long *)(at + 1);
}

static void look_at_stack(void)
{
	struct rlimit limit = { 0 };
	uintptr_t high = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
	uintptr_t size = MAIN_STACK_MOST;

	if (!rt_failed(rt_syscall3(SYS_getrlimit, RLIMIT_STACK, (long)&limit, 0)) &&
	    limit.rlim_cur < size)
		size = limit.rlim_cur;
	if (high)
		stack_memory_start((high + RT_PAGE) & ~(RT_PAGE - 1), size & ~(RT_PAGE - 1));
}

void initial_look(void)
{
	look_at_stack();
	modules_start(auxiliary_vector());
}
