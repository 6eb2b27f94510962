/* SPDX-License-Identifier: MIT */
/*
 * Memory that a stack was read from, and that is gone at the next allocation.
 *
 * gone block:  code without unwind information keeps the address of a block in rbp, which so looks like a frame; 40
 *              allocations of 100 bytes, and in the midst of them the block is unmapped.
 * gone fiber:  30 fibers at the same place, each with one allocation of 64 bytes; the later ones' stacks are smaller, and the
 *              frame that the first ones had further out would lie beyond their end.
 * gone thread: 100 threads one after the other, on the same stack, with 12 blocks of 8 bytes each: 2 of them from first(), the
 *              others from second(); the last of a thread is asked for where the first of the next one is.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline))

enum { REGION = 1 << 20, PAGE = 4096, FIBER = 1 << 16 };

static char *block;

void *call_with_rbp(void *rbp, size_t size);
__asm__(".text\n.type call_with_rbp, @function\n"
	"call_with_rbp:\n	push %rbp\n	mov %rdi, %rbp\n	mov %rsi, %rdi\n"
	"	call malloc\n	pop %rbp\n	ret\n.size call_with_rbp, .-call_with_rbp\n");

NOINLINE static void in_block(void)
{
	free(call_with_rbp(block, 100));
	__asm__ volatile("");
}

static void *use_block(void *unused)
{
	for (int i = 0; i < 40; i++) {
		if (i == 20)
			munmap(block, PAGE);
		in_block();
	}
	return unused;
}

/* The block lies above the thread's stack, as large blocks often do. */
static void run_block(void)
{
	char *m = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	block = m + REGION - PAGE;
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, m, REGION / 2);
	pthread_create(&thread, &attributes, use_block, NULL);
	pthread_join(thread, NULL);
}

/* switch_to(stack, function): runs it there; its return address is in large_frame, which is never entered. */
void switch_to(void *stack, void (*function)(void));
extern char return_to_large_frame[];
void *switch_back;
__asm__(".text\n.type switch_to, @function\nswitch_to:\n.cfi_startproc\n"
	"	push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"
	"	mov %rsp, %rbx\n.cfi_def_cfa_register %rbx\n	mov %rdi, %rsp\n"
	"	lea 1f(%rip), %rcx\n	mov %rcx, switch_back(%rip)\n	jmp *%rsi\n"
	"1:	mov %rbx, %rsp\n	pop %rbx\n.cfi_def_cfa %rsp, 8\n	ret\n"
	".cfi_endproc\n.size switch_to, .-switch_to\n"
	".type large_frame, @function\nlarge_frame:\n.cfi_startproc\n"
	"	sub $8192, %rsp\n.cfi_def_cfa_offset 8200\n	nop\n"
	"return_to_large_frame:\n	nop\n	jmp *switch_back(%rip)\n"
	".cfi_endproc\n.size large_frame, .-large_frame\n");

NOINLINE static void in_fiber(void)
{
	void *volatile p = malloc(64);

	free(p);
	__asm__ volatile("");
}

static void run_fibers(void)
{
	for (int i = 0; i < 30; i++) {
		size_t size = i < 10 ? FIBER : FIBER / 2 + PAGE;
		char *m = mmap((void *)0x10000000, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		uintptr_t *stack = (uintptr_t *)(m + FIBER / 2);

		*stack = (uintptr_t)return_to_large_frame;
		switch_to(stack, in_fiber);
		munmap(m, size);
	}
}

NOINLINE static void allocate(void)
{
	void *volatile p = malloc(8);

	free(p);
	__asm__ volatile("");
}

NOINLINE static void first(void)
{
	allocate();
	__asm__ volatile("");
}

NOINLINE static void second(void)
{
	allocate();
	__asm__ volatile("nop");
}

static void *use_thread(void *unused)
{
	for (volatile int i = 0; i < 12; i++) {
		if (i % 11 == 0)
			first();
		else
			second();
	}
	return unused;
}

static void run_threads(void)
{
	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, use_thread, NULL);
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "block") == 0)
		run_block();
	else if (strcmp(what, "fiber") == 0)
		run_fibers();
	else
		run_threads();
	return 7;
}
