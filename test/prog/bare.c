/* SPDX-License-Identifier: MIT */
/*
 * Assembly and generated code in the middle of the stack.  Each of these calls back 10 times, and each callback
 * makes one block of 31 bytes that stays: 10 allocations, 310 bytes per callback.
 *   callback_framed      under asm_framed       the stack may go on to main by the frame pointer
 *   callback_rubbish     under asm_rubbish      innermost part exact: leaf<callback_rubbish<asm_rubbish, then it may end
 *   callback_far         under asm_far          the same
 *   callback_loop        under asm_loop         the same; no endless walk
 *   callback_liar        under asm_liar         the same
 *   callback_backward    under asm_backward     the same; no endless walk
 *   callback_outermost   under asm_outermost    the stack ends at asm_outermost and is not a cut one
 *   callback_expression  under asm_expression   leaf<callback_expression<asm_expression<main
 *   callback_by_r12      under asm_by_r12       leaf<callback_by_r12<asm_by_r12<main
 *   callback_generated   under code in an anonymous page with a frame pointer: leaf<callback_generated<(no name)
 *   callback_generated2  under code in a page that is unmapped before the program ends, without one
 */
#include <sys/mman.h>

#include "prog.h"

typedef void callback(void);
typedef void caller(callback *call);

extern caller asm_framed, asm_rubbish, asm_far, asm_loop, asm_liar, asm_backward, asm_outermost;
extern caller asm_expression, asm_by_r12;

SITE static void *leaf(void)
{
	void *p = malloc(31);
	KEEP(p);
	return p;
}

#define DEFINE_CALLBACK(name) \
 SITE static void name(void)  \
 {                            \
  void *p = leaf();           \
  KEEP(p);                    \
 }

DEFINE_CALLBACK(callback_framed)
DEFINE_CALLBACK(callback_rubbish)
DEFINE_CALLBACK(callback_far)
DEFINE_CALLBACK(callback_loop)
DEFINE_CALLBACK(callback_liar)
DEFINE_CALLBACK(callback_backward)
DEFINE_CALLBACK(callback_outermost)
DEFINE_CALLBACK(callback_expression)
DEFINE_CALLBACK(callback_by_r12)
DEFINE_CALLBACK(callback_generated)
DEFINE_CALLBACK(callback_generated2)

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret  -  sub $8,%rsp; call *%rdi; add $8,%rsp; ret */
static const unsigned char with_frame[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
static const unsigned char without_frame[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
					       0x48, 0x83, 0xc4, 0x08, 0xc3 };

static caller *generate(const unsigned char *code, size_t size)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(page != MAP_FAILED);
	memcpy(page, code, size);
	REQUIRE(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
	return (caller *)(uintptr_t)page;
}

int main(void)
{
	caller *generated = generate(with_frame, sizeof(with_frame));
	caller *generated2 = generate(without_frame, sizeof(without_frame));
	for (int i = 0; i < 10; i++) {
		asm_framed(callback_framed);
		asm_rubbish(callback_rubbish);
		asm_far(callback_far);
		asm_loop(callback_loop);
		asm_liar(callback_liar);
		asm_backward(callback_backward);
		asm_outermost(callback_outermost);
		asm_expression(callback_expression);
		asm_by_r12(callback_by_r12);
		generated(callback_generated);
		generated2(callback_generated2);
	}
	munmap((void *)(uintptr_t)generated2, 4096);
	return 0;
}
