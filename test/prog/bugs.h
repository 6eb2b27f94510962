/* SPDX-License-Identifier: MIT */
/*
 * What bugs.c and bugs.cpp share: the functions that make an error, each a frame of its own with a marked line, and main.
 * bugs.table says what each mode has to be reported as.
 *
 *   bugs MODE             makes the bug, and whatever is left undone by it; says "done", status 0, when nobody minded
 *   bugs handler MODE     the same with handlers: of SIGSEGV one that says "handled" and ends with status 42, of SIGABRT 43
 *   bugs sandbox MODE     in a seccomp sandbox that forbids all but writing, memory and signals of its own, by EPERM
 *   bugs fork MODE        in a forked child; says what became of it, "child N": its status, 128 + N of a signal
 *   bugs exec MODE        the same with an exec in between
 *   bugs twice MODE       once in a forked child and once in the process itself
 *
 * The mode control has no bug.
 */
#ifndef MEMTRACK_TEST_BUGS_H
#define MEMTRACK_TEST_BUGS_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "prog.h"

#ifdef __cplusplus
extern "C" {
#endif

static volatile unsigned char sink __attribute__((unused));

SITE static void *bug_alloc(size_t size)
{
	void *p = malloc(size); /* bug_alloc */
	KEEP(p);
	return p;
}

SITE static void bug_read(const void *block, long offset)
{
	const volatile unsigned char *p = (const volatile unsigned char *)block;
	sink = p[offset]; /* bug_read */
	BARRIER();
}

SITE static void bug_write(void *block, long offset)
{
	volatile unsigned char *p = (volatile unsigned char *)block;
	p[offset] = 0x5a; /* bug_write */
	BARRIER();
}

SITE static void bug_free(void *p)
{
	free(p); /* bug_free */
	BARRIER();
}

SITE __attribute__((unused)) static void bug_free_again(void *p)
{
	free(p); /* bug_free_again */
	BARRIER();
}

/* Other blocks come and go. */
__attribute__((unused)) static void traffic(int count)
{
	void *held[16] = { NULL };
	for (int i = 0; i < count; i++) {
		free(held[i % 16]);
		held[i % 16] = malloc((size_t)(16 + i % 200));
		KEEP(held[i % 16]);
	}
	for (int i = 0; i < 16; i++)
		free(held[i]);
}

struct bug {
	const char *mode;
	void (*make)(void);
};

static void on_fault(int number)
{
	say("handled %d\n", number);
	_exit(number == SIGSEGV ? 42 : 43);
}

static void handle_faults(void)
{
	struct sigaction action;
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_fault;
	REQUIRE(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGABRT, &action, NULL) == 0);
}

static void tell_of_child(pid_t pid)
{
	int status;
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
	say("child %d\n", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

SITE static void make_bug(const struct bug *bugs, const char *mode)
{
	for (; bugs->mode; bugs++)
		if (strcmp(bugs->mode, mode) == 0) {
			bugs->make();
			say("done\n");
			_exit(0);
		}
	_exit(98);
}

/* What is not allowed fails; sigaction is not. */
static void enter_sandbox(void)
{
	static const int allowed[] = { SYS_write,   SYS_mmap,	     SYS_munmap,       SYS_mprotect,
				       SYS_madvise, SYS_futex,	     SYS_rt_sigreturn, SYS_rt_sigprocmask,
				       SYS_exit,    SYS_exit_group, SYS_brk };
	struct sock_filter filter[2 * sizeof(allowed) / sizeof(*allowed) + 2];
	struct sock_fprog program;
	size_t n = 0;
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
		filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	program.len = (unsigned short)n;
	program.filter = filter;
	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

static int bug_main(const struct bug *bugs, int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "", *mode = argc > 1 ? argv[argc - 1] : "";
	if (strcmp(how, "handler") == 0)
		handle_faults();
	if (strcmp(how, "sandbox") == 0)
		enter_sandbox();
	if (strcmp(how, "fork") == 0 || strcmp(how, "exec") == 0 || strcmp(how, "twice") == 0) {
		pid_t pid = fork();
		if (pid == 0 && *how == 'e')
			execl("/proc/self/exe", argv[0], mode, (char *)NULL);
		if (pid == 0)
			make_bug(bugs, mode);
		tell_of_child(pid);
		if (*how != 't')
			return 0;
	}
	make_bug(bugs, mode);
	return 98;
}

#ifdef __cplusplus
}
#endif

#endif
