/* SPDX-License-Identifier: MIT */
/*
 * Stacks in all the forms a C compiler gives them.  Built with -O2 -fomit-frame-pointer.  The argument picks:
 *   plain      10 x 11 bytes: leaf<five<four<three<two<one<main
 *   deep N     5 x 12 bytes under N calls of itself: leaf<recurse x N<main
 *   frames     one block of 13 each: leaf<with_alloca<main, leaf<with_vla<main, leaf<realigned<main, leaf<huge_frame<main,
 *              leaf<forced<main, and all nested: leaf<huge_frame<forced<realigned<with_vla<with_alloca<nested<main.  In total 6
 *   signal     20 x 14 bytes: leaf<handler<...<raises<main (a kill of its own process)
 *   first      1 x 15 bytes: leaf<trap_handler<...<first_instruction<main: the signal comes from the very first instruction
 *              of first_instruction, so the saved pc is the function's own start and may not be looked up as pc - 1
 *   noreturn   1 x 16 bytes: leaf<never_returns<last_call<main: the call is the last instruction of last_call, so the return
 *              address lies in the next function and must be looked up as pc - 1
 *   tail       3 x 17 bytes: leaf<tail_target<main, entered by a jump from tail_caller, which has no frame
 *   two        10 x 18 bytes and 20 x 19 bytes from two calls on two lines of one function: two_calls
 * All blocks stay.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>

#include "prog.h"

SITE static void *leaf(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	return p;
}

#define DEFINE_LINK(name, next)      \
 SITE static void *name(size_t size) \
 {                                   \
  void *p = next(size);              \
  KEEP(p);                           \
  return p;                          \
 }

DEFINE_LINK(five, leaf)
DEFINE_LINK(four, five)
DEFINE_LINK(three, four)
DEFINE_LINK(two, three)
DEFINE_LINK(one, two)

SITE static void *recurse(int left, size_t size)
{
	void *p = left > 1 ? recurse(left - 1, size) : leaf(size);
	KEEP(p);
	return p;
}

typedef void *link_fn(size_t size);

static link_fn *chain_rest[8];

/* Takes the next function of the chain that is being built, leaf at its end. */
#define CALL_NEXT(size) ((chain_rest[0]) ? pop_next()(size) : leaf(size))

static inline link_fn *pop_next(void)
{
	link_fn *next = chain_rest[0];
	memmove(chain_rest, chain_rest + 1, sizeof(chain_rest) - sizeof(chain_rest[0]));
	return next;
}

SITE static void *with_alloca(size_t size)
{
	char *room = alloca(size * 7);
	memset(room, 1, size);
	KEEP(room);
	void *p = CALL_NEXT(size);
	KEEP(p);
	return p;
}

SITE static void *with_vla(size_t size)
{
	char room[size * 3];
	memset(room, 1, size);
	char *at = room;
	KEEP(at);
	void *p = CALL_NEXT(size);
	KEEP(p);
	return p;
}

SITE static void *realigned(size_t size)
{
	char room[256] __attribute__((aligned(128)));
	char *at = room;
	KEEP(at);
	REQUIRE(((uintptr_t)at & 127) == 0);
	char *more = alloca(size);
	KEEP(more);
	void *p = CALL_NEXT(size);
	KEEP(p);
	return p;
}

SITE static void *huge_frame(size_t size)
{
	char room[2 << 20];
	room[0] = 1;
	room[sizeof(room) - 1] = 1;
	char *at = room;
	KEEP(at);
	void *p = CALL_NEXT(size);
	KEEP(p);
	return p;
}

#ifdef __x86_64__
__attribute__((force_align_arg_pointer))
#endif
SITE static void *
forced(size_t size)
{
	void *p = CALL_NEXT(size);
	KEEP(p);
	return p;
}

SITE static void *nested(size_t size)
{
	static link_fn *const order[] = { with_vla, realigned, forced, huge_frame };
	memcpy(chain_rest, order, sizeof(order));
	void *p = with_alloca(size);
	KEEP(p);
	return p;
}

SITE static void handler(int number)
{
	(void)number;
	void *p = leaf(14);
	KEEP(p);
}

SITE static void raises(void)
{
	kill(getpid(), SIGUSR1);
	BARRIER();
}

static sigjmp_buf back;

SITE static void trap_handler(int number)
{
	(void)number;
	void *p = leaf(15);
	KEEP(p);
	siglongjmp(back, 1);
}

/* Both in assembly: what comes before the trapping instruction must be another function. */
extern void first_instruction(void);
#ifdef __x86_64__
__asm__(".text\n"
	".globl before_first\n.type before_first, @function\n"
	"before_first:\n.cfi_startproc\nnop\nret\n.cfi_endproc\n.size before_first, .-before_first\n"
	".globl first_instruction\n.type first_instruction, @function\n"
	"first_instruction:\n.cfi_startproc\nud2\nret\n.cfi_endproc\n.size first_instruction, .-first_instruction\n");
#else
__asm__(".text\n"
	".globl before_first\n.type before_first, @function\n"
	"before_first:\n.cfi_startproc\nnop\nret\n.cfi_endproc\n.size before_first, .-before_first\n"
	".globl first_instruction\n.type first_instruction, @function\n"
	"first_instruction:\n.cfi_startproc\nudf #0\nret\n.cfi_endproc\n.size first_instruction, .-first_instruction\n");
#endif

static jmp_buf out;

SITE __attribute__((noreturn)) static void never_returns(void)
{
	void *p = leaf(16);
	KEEP(p);
	longjmp(out, 1);
}

SITE static void last_call(void)
{
	never_returns();
}

/* Follows last_call in the file (-fno-toplevel-reorder): its name is the wrong answer. */
SITE static void after_last_call(void)
{
	BARRIER();
}

SITE static void *tail_target(size_t size)
{
	void *p = leaf(size);
	KEEP(p);
	return p;
}

SITE static void *tail_caller(size_t size)
{
	return tail_target(size);
}

SITE static void two_calls(int which)
{
	void *p;
	if (which == 0)
		p = malloc(18);
	else
		p = malloc(19);
	KEEP(p);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";
	if (strcmp(what, "plain") == 0) {
		for (int i = 0; i < 10; i++)
			one(11);
	} else if (strcmp(what, "deep") == 0) {
		for (int i = 0; i < 5; i++)
			recurse(atoi(argv[2]), 12);
	} else if (strcmp(what, "frames") == 0) {
		with_alloca(13);
		with_vla(13);
		realigned(13);
		huge_frame(13);
		forced(13);
		nested(13);
	} else if (strcmp(what, "signal") == 0) {
		signal(SIGUSR1, handler);
		for (int i = 0; i < 20; i++)
			raises();
	} else if (strcmp(what, "first") == 0) {
		signal(SIGILL, trap_handler);
		if (sigsetjmp(back, 1) == 0)
			first_instruction();
	} else if (strcmp(what, "noreturn") == 0) {
		if (setjmp(out) == 0)
			last_call();
		after_last_call();
	} else if (strcmp(what, "tail") == 0) {
		for (int i = 0; i < 3; i++)
			tail_caller(17);
	} else if (strcmp(what, "two") == 0) {
		for (int i = 0; i < 30; i++)
			two_calls(i % 3);
	} else {
		return 98;
	}
	BARRIER();
	return 0;
}
