/* SPDX-License-Identifier: MIT */
/*
 * The dynamic segment's symbol table.  Its length is written nowhere: it
 * follows from the hash table.
 */
#include "symbolize/elf_dynamic.h"

#include <stdbool.h>
#include <string.h>

#include "symbolize/elf_file.h"

struct dynamic {
	uint64_t symbols, strings, strings_size, hash, gnu_hash; /* addresses; 0: absent */
};

/* The file's bytes for an address, `size` of them or (if `clip`) what the
 * segment has left. */
static Elf_Data *data_at(const struct elf_file *file, uint64_t address, uint64_t size, bool clip,
			 Elf_Type type)
{
	size_t count = 0;

	if (elf_getphdrnum(file->elf, &count))
		return NULL;
	for (size_t i = 0; i < count && i < 65536; i++) {
		GElf_Phdr header;
		uint64_t skip;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    address < header.p_vaddr || address - header.p_vaddr >= header.p_filesz)
			continue;
		skip = address - header.p_vaddr;
		if (size > header.p_filesz - skip) {
			if (!clip)
				return NULL;
			size = header.p_filesz - skip;
		}
		if (header.p_offset > INT64_MAX || skip > INT64_MAX - header.p_offset)
			return NULL;
		return elf_getdata_rawchunk(file->elf, (int64_t)(header.p_offset + skip), size,
					    type);
	}
	return NULL;
}

static void note_entry(struct dynamic *dynamic, const GElf_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_SYMTAB:
		dynamic->symbols = entry->d_un.d_ptr;
		break;
	case DT_STRTAB:
		dynamic->strings = entry->d_un.d_ptr;
		break;
	case DT_STRSZ:
		dynamic->strings_size = entry->d_un.d_val;
		break;
	case DT_HASH:
		dynamic->hash = entry->d_un.d_ptr;
		break;
	case DT_GNU_HASH:
		dynamic->gnu_hash = entry->d_un.d_ptr;
		break;
	default:
		break;
	}
}

static bool read_dynamic(const struct elf_file *file, struct dynamic *dynamic)
{
	size_t count = 0;

	memset(dynamic, 0, sizeof(*dynamic));
	if (elf_getphdrnum(file->elf, &count))
		return false;
	for (size_t i = 0; i < count && i < 65536; i++) {
		GElf_Phdr header;
		GElf_Dyn entry;
		Elf_Data *data;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_DYNAMIC ||
		    header.p_offset > INT64_MAX)
			continue;
		data = elf_getdata_rawchunk(file->elf, (int64_t)header.p_offset, header.p_filesz,
					    ELF_T_DYN);
		for (int at = 0; data && gelf_getdyn(data, at, &entry) && entry.d_tag != DT_NULL;
		     at++)
			note_entry(dynamic, &entry);
		return dynamic->symbols && dynamic->strings && dynamic->strings_size;
	}
	return false;
}

/* GNU hash: the highest chain start, followed to the chain's end. */
static uint64_t count_by_gnu_hash(const struct elf_file *file, uint64_t address)
{
	Elf_Data *data = data_at(file, address, UINT64_MAX, true, ELF_T_WORD);
	size_t words = data ? data->d_size / 4 : 0;
	const uint32_t *word = data ? data->d_buf : NULL;
	uint64_t bloom_words, chains;
	uint32_t last = 0;

	if (words < 4)
		return 0;
	bloom_words = (uint64_t)word[2] * (gelf_getclass(file->elf) == ELFCLASS64 ? 2 : 1);
	chains = 4 + bloom_words + word[0];
	if (chains >= words)
		return 0;
	for (uint64_t i = 4 + bloom_words; i < chains; i++)
		last = word[i] > last ? word[i] : last;
	if (last < word[1])
		return 0;
	for (; chains + (last - word[1]) < words; last++) {
		if (word[chains + (last - word[1])] & 1)
			return (uint64_t)last + 1;
	}
	return 0;
}

static uint64_t count_by_hash(const struct elf_file *file, uint64_t address)
{
	Elf_Data *data = data_at(file, address, 8, false, ELF_T_WORD);

	return data ? ((const uint32_t *)data->d_buf)[1] : 0;
}

static uint64_t count_symbols(const struct elf_file *file, const struct dynamic *dynamic)
{
	if (dynamic->hash)
		return count_by_hash(file, dynamic->hash);
	return dynamic->gnu_hash ? count_by_gnu_hash(file, dynamic->gnu_hash) : 0;
}

int elf_dynamic_symbols(const struct elf_file *file, elf_dynamic_visit *visit, void *context)
{
	struct dynamic dynamic;
	Elf_Data *symbols, *strings;
	GElf_Sym symbol;
	uint64_t count;
	int result = 0;

	if (!read_dynamic(file, &dynamic))
		return 0;
	count = count_symbols(file, &dynamic);
	strings = data_at(file, dynamic.strings, dynamic.strings_size, true, ELF_T_BYTE);
	if (count == 0 || count > INT32_MAX || !strings)
		return 0;
	symbols = data_at(file, dynamic.symbols,
			  count * gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT), true, ELF_T_SYM);
	for (int i = 1; symbols && !result && gelf_getsym(symbols, i, &symbol); i++) {
		const char *name = (const char *)strings->d_buf + symbol.st_name;

		if (symbol.st_name < strings->d_size &&
		    memchr(name, '\0', strings->d_size - symbol.st_name))
			result = visit(context, &symbol, name, file->text.high);
	}
	return result;
}
