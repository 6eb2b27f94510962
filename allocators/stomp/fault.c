/* SPDX-License-Identifier: MIT */
/* The handler of SIGSEGV; see fault.h. */
#include "allocators/stomp/fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "agent/arch.h"
#include "agent/rt/lock.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "allocators/stomp/errors.h"
#include "allocators/stomp/options.h"
#include "allocators/stomp/stacks.h"

/* As the kernel takes it. */
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

typedef void handler_with_info(int, siginfo_t *, void *);

static int (*next_sigaction)(int, const struct sigaction *, struct sigaction *);
static __sighandler_t (*next_signal)(int, __sighandler_t);
static struct sigaction wanted; /* the program's, for SIGSEGV */
static struct rt_lock lock;	/* of `wanted` */
static int32_t home;		/* pid: a vfork child shares our memory, but not its handlers */

static int32_t pid_now(void)
{
	return (int32_t)rt_syscall3(SYS_getpid, 0, 0, 0);
}

static bool set_default(int signal)
{
	struct kernel_action action = { .handler = SIG_DFL };

	return !rt_failed(
		rt_syscall6(SYS_rt_sigaction, signal, (long)&action, 0, sizeof(action.mask), 0, 0));
}

static void raise_here(int signal)
{
	uint64_t set = 1ull << (signal - 1);

	rt_syscall6(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&set, 0, sizeof(set), 0, 0);
	rt_syscall3(SYS_tgkill, pid_now(), rt_syscall3(SYS_gettid, 0, 0, 0), signal);
}

/* -- passing on ------------------------------------------------------------------------------------- */

static bool is_sent(const siginfo_t *info)
{
	return info->si_code <= 0; /* by kill(2) and the like, not by a fault */
}

static void die_by_fault(void)
{
	uint64_t set = 1ull << (SIGSEGV - 1);

	rt_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, 0, sizeof(set), 0, 0);
	*(volatile char *)stomp_arena.base = 0; /* never open */
}

/* To nobody: a fault kills, at its own instruction, when that is tried again; so does a signal that was sent. */
static void pass_to_default(int signal, const siginfo_t *info)
{
	if (!set_default(signal)) /* a sandbox forbids: a fault in its own handler kills, too */
		die_by_fault();
	if (is_sent(info))
		raise_here(signal);
}

static void pass_on(int signal, siginfo_t *info, void *context)
{
	struct sigaction action = wanted;

	if (action.sa_handler == SIG_IGN && is_sent(info))
		return;
	if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
		pass_to_default(signal, info);
		return;
	}
	if (action.sa_flags & (int)SA_RESETHAND)
		wanted.sa_handler = SIG_DFL;
	/* Through the type that the flags say: both take what is passed. */
	((handler_with_info *)(void *)action.sa_sigaction)(signal, info, context);
}

/* True: reported, and let pass. */
static bool take_fault(uintptr_t address, const ucontext_t *context)
{
	struct stomp_finding f = {
		.access = arch_fault_wrote(context) ? STOMP_WRITE : STOMP_READ,
	};
	struct stomp_caller caller = { .thread = stacks_thread() };

	heap_explain(address, &f);
	f.goes_on = stomp_options.go_on && heap_let_pass(address);
	errors_report(&f, context, caller);
	return f.goes_on;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	int error = errno;

	if (!is_sent(info) && arena_owns(info->si_addr) &&
	    take_fault((uintptr_t)info->si_addr, context)) {
		errno = error;
		return;
	}
	errno = error;
	pass_on(signal, info, context);
}

/* -- standing before the program's handler ------------------------------------------------------------ */

/* Ours, with what of the program's the kernel must know. */
static int install(const struct sigaction *action)
{
	struct sigaction ours = *action;
	int kept = SA_ONSTACK | SA_NODEFER | SA_RESTART;

	if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN) {
		ours.sa_flags = SA_ONSTACK;
		ours.sa_mask = (sigset_t){ 0 };
	}
	ours.sa_flags = (ours.sa_flags & kept) | SA_SIGINFO;
	ours.sa_sigaction = on_fault;
	return next_sigaction(SIGSEGV, &ours, NULL);
}

static void find_next(void)
{
	if (next_sigaction)
		return;
	*(void **)(void *)&next_signal = dlsym(RTLD_NEXT, "signal");
	*(void **)(void *)&next_sigaction = dlsym(RTLD_NEXT, "sigaction");
}

void fault_start(void)
{
	find_next();
	home = pid_now();
	if (next_sigaction(SIGSEGV, NULL, &wanted) == 0)
		install(&wanted);
}

void fault_restart(void)
{
	lock = (struct rt_lock){ 0 };
	home = pid_now();
}

__sighandler_t fault_next_signal(int signal, __sighandler_t handler)
{
	find_next();
	return next_signal(signal, handler);
}

int fault_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction former;
	int result = 0;

	find_next();
	if (signal != SIGSEGV || !home || home != pid_now())
		return next_sigaction(signal, action, old);
	if (!rt_lock_try(&lock))
		return next_sigaction(signal, action, old);
	former = wanted;
	if (action) {
		wanted = *action;
		result = install(action);
		if (result)
			wanted = former;
	}
	rt_unlock(&lock);
	if (old && !result)
		*old = former;
	return result;
}

/* -- errors found in calls ------------------------------------------------------------------------------ */

/* As abort(3): a handler of SIGABRT runs; when it returns, or the signal is ignored, the program ends all the same. */
static void end_program(void)
{
	raise_here(SIGABRT);
	set_default(SIGABRT);
	raise_here(SIGABRT);
	rt_syscall3(SYS_exit_group, 127, 0, 0);
}

void fault_in_call(struct stomp_finding *finding, struct stomp_caller caller)
{
	finding->goes_on = stomp_options.go_on;
	errors_report(finding, NULL, caller);
	if (!finding->goes_on)
		end_program();
}
