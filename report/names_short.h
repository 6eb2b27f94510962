/* SPDX-License-Identifier: MIT */
/* Demangled names for people: what a name says, without what the compiler adds to tell it apart. */
#ifndef MEMTRACK_REPORT_NAMES_SHORT_H
#define MEMTRACK_REPORT_NAMES_SHORT_H

/*
 * Shortens a demangled name of C++, Rust or D in place; names of other
 * languages have nothing of the kind and stay.  Template arguments of more than
 * a few letters become `ellipsis` (at most 3 bytes), parameters, return types,
 * ABI tags, hashes and "[clone ...]" go, the library's own spellings of std
 * become those that one writes.  Any text is allowed: one whose brackets do not
 * match stays as it is.  Pure; takes memory and time in proportion to the name,
 * and without memory changes nothing.
 */
void names_shorten(char *name, const char *ellipsis);

#endif
