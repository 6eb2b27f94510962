/* SPDX-License-Identifier: MIT */
/*
 * Debug information made by hand to be a trap for readers.  TRAP chooses which:
 * 1 blocks nested without end, 2 siblings that point at themselves, 3 origins
 * in a circle, 4 many functions that share a list of many ranges.
 */
	.text
	.globl	main
main:
	.rept	64
	nop
	.endr
	xor	%eax, %eax
	ret
.Lend:

	.section .debug_abbrev,"",@progbits
	.uleb128 1, 0x11	/* compile_unit, children: name, language, low_pc, high_pc */
	.byte	1
	.uleb128 0x03, 0x08, 0x13, 0x0b, 0x11, 0x01, 0x12, 0x07
	.byte	0, 0
	.uleb128 2, 0x2e	/* subprogram, children: name, low_pc, high_pc */
	.byte	1
	.uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07
	.byte	0, 0
	.uleb128 3, 0x0b	/* lexical_block, children */
	.byte	1
	.byte	0, 0
	.uleb128 4, 0x0b	/* lexical_block, children: sibling */
	.byte	1
	.uleb128 0x01, 0x13
	.byte	0, 0
	.uleb128 5, 0x2e	/* subprogram: abstract_origin, low_pc, high_pc */
	.byte	0
	.uleb128 0x31, 0x13, 0x11, 0x01, 0x12, 0x07
	.byte	0, 0
	.uleb128 6, 0x2e	/* subprogram: ranges */
	.byte	0
	.uleb128 0x55, 0x17
	.byte	0, 0
	.byte	0

	.section .debug_info,"",@progbits
.Lunit:
	.long	.Lunit_end - .Lunit_start
.Lunit_start:
	.short	4
	.long	.debug_abbrev
	.byte	8
	.uleb128 1
	.asciz	"hostile.cc"
	.byte	0x1a
	.quad	main
	.quad	.Lend - main
#if TRAP == 1 || TRAP == 2
	.uleb128 2
	.asciz	"trap"
	.quad	main
	.quad	.Lend - main
#endif
#if TRAP == 1
	.rept	500000
	.uleb128 3
	.endr
#elif TRAP == 2
	.rept	50000
	.uleb128 4
1:	.long	1b - .Lunit - 1
	.endr
#elif TRAP == 3
.Lone:
	.uleb128 5
	.long	.Ltwo - .Lunit
	.quad	main
	.quad	.Lend - main
.Ltwo:
	.uleb128 5
	.long	.Lone - .Lunit
	.quad	main
	.quad	.Lend - main
#elif TRAP == 4
	.rept	20000
	.uleb128 6
	.long	.debug_ranges
	.endr
#endif
	.byte	0
.Lunit_end:

	.section .debug_ranges,"",@progbits
	.rept	100000
	.quad	1, 2
	.endr
	.quad	0, 0
	.section .note.GNU-stack,"",@progbits
