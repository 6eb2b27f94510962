/* SPDX-License-Identifier: MIT */
/* Callers without truth in their unwind information.  void NAME(void (*call)(void)) each. */
	.text
#if defined(__x86_64__)

/* No unwind information, but a frame pointer is kept. */
	.globl	asm_framed
	.type	asm_framed, @function
asm_framed:
	push	%rbp
	mov	%rsp, %rbp
	call	*%rdi
	pop	%rbp
	ret
	.size	asm_framed, .-asm_framed

/* None, and rubbish in rbp. */
	.globl	asm_rubbish
	.type	asm_rubbish, @function
asm_rubbish:
	push	%rbp
	mov	$1, %rbp
	call	*%rdi
	pop	%rbp
	ret
	.size	asm_rubbish, .-asm_rubbish

/* None, and in rbp an address just below the end of the address space. */
	.globl	asm_far
	.type	asm_far, @function
asm_far:
	push	%rbp
	mov	$0x7ffffffffff8, %rbp
	call	*%rdi
	pop	%rbp
	ret
	.size	asm_far, .-asm_far

/* None, and rbp points to itself: a frame that is its own parent. */
	.globl	asm_loop
	.type	asm_loop, @function
asm_loop:
	push	%rbp
	sub	$16, %rsp
	mov	%rsp, %rbp
	mov	%rbp, (%rbp)
	lea	asm_loop(%rip), %rax
	mov	%rax, 8(%rbp)
	call	*%rdi
	add	$16, %rsp
	pop	%rbp
	ret
	.size	asm_loop, .-asm_loop

/* Unwind information that lies: the caller's frame is said to lie 1 MiB further. */
	.globl	asm_liar
	.type	asm_liar, @function
asm_liar:
	.cfi_startproc
	.cfi_def_cfa_offset 0x100008
	sub	$8, %rsp
	call	*%rdi
	add	$8, %rsp
	ret
	.cfi_endproc
	.size	asm_liar, .-asm_liar

/* A CFA below its own frame: a walk that believes it goes round for ever. */
	.globl	asm_backward
	.type	asm_backward, @function
asm_backward:
	.cfi_startproc
	.cfi_def_cfa_offset -64
	sub	$8, %rsp
	call	*%rdi
	add	$8, %rsp
	ret
	.cfi_endproc
	.size	asm_backward, .-asm_backward

/* Says that it is the outermost frame (undefined return address), as _start does. */
	.globl	asm_outermost
	.type	asm_outermost, @function
asm_outermost:
	.cfi_startproc
	.cfi_undefined rip
	sub	$8, %rsp
	call	*%rdi
	add	$8, %rsp
	ret
	.cfi_endproc
	.size	asm_outermost, .-asm_outermost

/* Right, but by means the quick rules do not know: the CFA by an expression (rsp + 16), and rbx holding rbp. */
	.globl	asm_expression
	.type	asm_expression, @function
asm_expression:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	/* DW_CFA_def_cfa_expression, 2 bytes: DW_OP_breg7 (rsp) 16 */
	.cfi_escape 0x0f, 0x02, 0x77, 0x10
	call	*%rdi
	pop	%rbx
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	asm_expression, .-asm_expression

/* Right: the frame is found through a callee-saved register other than rbp. */
	.globl	asm_by_r12
	.type	asm_by_r12, @function
asm_by_r12:
	.cfi_startproc
	push	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	mov	%rsp, %r12
	.cfi_def_cfa r12, 16
	sub	$0x400, %rsp
	call	*%rdi
	mov	%r12, %rsp
	pop	%r12
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	asm_by_r12, .-asm_by_r12

#endif
	.section .note.GNU-stack,"",@progbits
