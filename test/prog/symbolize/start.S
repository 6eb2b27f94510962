/* SPDX-License-Identifier: MIT */
/*
 * Symbols with and without a size.  What follows "assembly" up to "unsized"
 * belongs to nobody.
 */
	.text
	.globl	assembly
	.type	assembly, @function
assembly:
	lea	1(%rdi), %eax
	.globl	mark_sized
mark_sized:
	nop			/* LINE sized */
	ret
	.size	assembly, . - assembly
	nop
	nop
	nop			/* LINE nobody */
	nop
	.globl	unsized
unsized:
	nop
	nop			/* LINE unsized */
	ret
	.section	.note.GNU-stack,"",@progbits
