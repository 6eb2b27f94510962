/* SPDX-License-Identifier: MIT */
/*
 * Control flow that leaves frames without returning.  The argument picks:
 *   signals   60 x 25 bytes in a handler on the usual stack, 60 x 26 on an alternate stack of 64 KiB, 60 x 27 on one of
 *             8 KiB (more only where the kernel's own frame leaves less than 3 KiB of it): in_handler, in_alternate, in_tiny; all stay
 *   longjmp   3000 x (30 frames down with a block of 28 bytes at each tenth frame, freed after a longjmp back to the top):
 *             before_jump 9000 x 28 freed; after_jump 3000 x 29, of which each 30th stays: 100 (2900)
 *             after_jump never stands under dive
 *   fibers    60 fibers on stacks of 64 KiB from malloc (fiber_stack, freed), switched in turn, each 20 turns with a block of
 *             30 bytes: in_fiber 1200 x 30 (36000), of which 60 stay (the first of each: 1800); innermost frames
 *             in_fiber<fiber_step<fiber_body, and no stack has both in_fiber and resume
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "prog.h"

#define DEFINE_SITE(name)            \
 SITE static void *name(size_t size) \
 {                                   \
  void *p = malloc(size);            \
  KEEP(p);                           \
  return p;                          \
 }

DEFINE_SITE(in_handler)
DEFINE_SITE(in_alternate)
DEFINE_SITE(in_tiny)
DEFINE_SITE(before_jump)
DEFINE_SITE(after_jump)
DEFINE_SITE(fiber_stack)
DEFINE_SITE(in_fiber)

static void *(*signal_site)(size_t);
static size_t signal_size;

SITE static void on_signal(int number)
{
	(void)number;
	void *p = signal_site(signal_size);
	KEEP(p);
}

SITE static void raise_it(void)
{
	kill(getpid(), SIGUSR2);
	BARRIER();
}

static void with_stack(size_t size)
{
	stack_t stack = { 0 };
	struct sigaction action = { .sa_handler = on_signal };
	if (size) {
		/* Right before it lies a page that must not be touched. */
		char *room = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		REQUIRE(room != MAP_FAILED);
		size = (size + 4095) & ~(size_t)4095;
		REQUIRE(mprotect(room + 4096, size, PROT_READ | PROT_WRITE) == 0);
		stack.ss_sp = room + 4096;
		stack.ss_size = size;
		REQUIRE(sigaltstack(&stack, NULL) == 0);
		action.sa_flags = SA_ONSTACK;
	}
	REQUIRE(sigaction(SIGUSR2, &action, NULL) == 0);
	for (int i = 0; i < 60; i++)
		raise_it();
}

static void do_signals(void)
{
	size_t tiny = 8192;
	size_t needed = getauxval(AT_MINSIGSTKSZ);
	if (needed + 3072 > tiny)
		tiny = needed + 3072;
	signal_site = in_handler, signal_size = 25;
	with_stack(0);
	signal_site = in_alternate, signal_size = 26;
	with_stack(65536);
	signal_site = in_tiny, signal_size = 27;
	with_stack(tiny);
}

static jmp_buf top;
static void *volatile held[8];
static volatile int holding;

SITE static void dive(int left)
{
	if (left % 10 == 0)
		held[holding++] = before_jump(28);
	if (left == 1)
		longjmp(top, 1);
	dive(left - 1);
	BARRIER();
}

static void do_longjmp(void)
{
	for (volatile int i = 0; i < 3000; i++) {
		holding = 0;
		if (setjmp(top) == 0)
			dive(30);
		void *p = after_jump(29);
		while (holding > 0)
			free(held[--holding]);
		if (i % 30 != 0)
			free(p);
	}
}

#define FIBERS 60
static ucontext_t hub, fiber[FIBERS];

SITE static void fiber_step(int number, int turn)
{
	void *p = in_fiber(30);
	REQUIRE(swapcontext(&fiber[number], &hub) == 0);
	if (turn != 0)
		free(p);
}

static void fiber_body(int number)
{
	for (int turn = 0; turn < 20; turn++)
		fiber_step(number, turn);
	BARRIER();
}

SITE static void resume(int number)
{
	REQUIRE(swapcontext(&hub, &fiber[number]) == 0);
	BARRIER();
}

static void do_fibers(void)
{
	void *stack[FIBERS];
	for (int i = 0; i < FIBERS; i++) {
		stack[i] = fiber_stack(65536);
		REQUIRE(getcontext(&fiber[i]) == 0);
		fiber[i].uc_stack.ss_sp = stack[i];
		fiber[i].uc_stack.ss_size = 65536;
		fiber[i].uc_link = &hub;
		makecontext(&fiber[i], (void (*)(void))(uintptr_t)fiber_body, 1, i);
	}
	/* 20 turns, and one more in which each fiber comes to its end. */
	for (int turn = 0; turn < 21; turn++) {
		for (int i = 0; i < FIBERS; i++)
			resume((i * 7 + turn) % FIBERS);
	}
	for (int i = 0; i < FIBERS; i++)
		free(stack[i]);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "signals") == 0)
			do_signals();
		else if (strcmp(argv[i], "longjmp") == 0)
			do_longjmp();
		else if (strcmp(argv[i], "fibers") == 0)
			do_fibers();
		else
			return 98;
	}
	return 0;
}
