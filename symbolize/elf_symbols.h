/* SPDX-License-Identifier: MIT */
/*
 * The function symbols of a module, from every table it has: .symtab, .dynsym
 * and the compressed .gnu_debugdata; and for files without section headers the
 * table the dynamic linker uses.
 */
#ifndef MEMTRACK_SYMBOLIZE_ELF_SYMBOLS_H
#define MEMTRACK_SYMBOLIZE_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct elf_symbols;

/* Reads the tables of `count` files that describe the same module (NULL entries
 * are passed over), which must stay open.  0 or -ENOMEM; damaged tables count
 * as absent. */
int elf_symbols_load(struct elf_file *const *files, size_t count, struct elf_symbols **symbols)
	__attribute__((warn_unused_result));
size_t elf_symbols_count(const struct elf_symbols *symbols);
/* The name of the function at an address as the table spells it, or NULL. */
const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address);
/* Calls `visit` for each symbol of a size, by ascending address, until it returns something else than 0, which is
 * returned. */
int elf_symbols_each(const struct elf_symbols *symbols,
		     int (*visit)(void *context, const char *name, uint64_t low, uint64_t high),
		     void *context);
void elf_symbols_free(struct elf_symbols *symbols);

#endif
