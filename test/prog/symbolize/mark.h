/* SPDX-License-Identifier: MIT */
/*
 * MARK(name) puts a one-byte instruction with the symbol mark_name (not
 * exported) at its place.  A comment "LINE name" tells the tests which line a
 * place is expected to have.
 */
#ifndef MEMTRACK_TEST_PROG_SYMBOLIZE_MARK_H
#define MEMTRACK_TEST_PROG_SYMBOLIZE_MARK_H

#define MARK(name) \
 __asm__ volatile(".globl mark_" #name "\n.hidden mark_" #name "\nmark_" #name ":\n\tnop")

#endif
