/* SPDX-License-Identifier: MIT */
/*
 * Symbols of a file without section headers, found the way the dynamic linker
 * finds them.
 */
#ifndef MEMTRACK_SYMBOLIZE_ELF_DYNAMIC_H
#define MEMTRACK_SYMBOLIZE_ELF_DYNAMIC_H

#include <gelf.h>
#include <stdint.h>

struct elf_file;

/* Called for each symbol; `limit` is the end of the executable segments.
 * Nonzero stops. */
typedef int elf_dynamic_visit(void *context, const GElf_Sym *symbol, const char *name,
			      uint64_t limit);

/* 0 (also when there is no usable table) or what `visit` returned. */
int elf_dynamic_symbols(const struct elf_file *file, elf_dynamic_visit *visit, void *context);

#endif
