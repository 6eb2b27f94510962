/* SPDX-License-Identifier: MIT */
/*
 * Function symbols: gathered, ordered by how good a name they are, and turned
 * into address ranges. A symbol with a size holds for just that; one without
 * (assembly) up to the next symbol, but never beyond its section and never over
 * one with a size.
 */
#include "symbolize/elf_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/elf_dynamic.h"
#include "symbolize/elf_file.h"
#include "symbolize/interval.h"
#include "symbolize/xz.h"

struct symbol {
	uint64_t low;
	uint64_t size;
	uint64_t limit; /* end of its section: it cannot reach beyond */
	const char *name;
	uint32_t worth; /* of several names for one place the one worth most is shown */
};

struct elf_symbols {
	struct symbol *items;
	size_t count;
	size_t capacity;
	struct interval_set ranges; /* value: index into items */
	struct elf_file *expanded;  /* from .gnu_debugdata */
};

/* What a symbol needs to know of the section it lies in. */
struct section {
	uint64_t end;
	bool executable;
};

struct section_table {
	struct section *items;
	size_t count;
};

static int section_table_load(const struct elf_file *file, struct section_table *table)
{
	Elf_Scn *section = NULL;

	if (elf_getshdrnum(file->elf, &table->count))
		table->count = 0;
	table->items = calloc(table->count + 1, sizeof(*table->items));
	if (!table->items)
		return -ENOMEM;
	while ((section = elf_nextscn(file->elf, section))) {
		size_t at = elf_ndxscn(section);
		GElf_Shdr header;
		struct section *item = &table->items[at];

		if (at >= table->count || !gelf_getshdr(section, &header))
			continue;
		item->executable = header.sh_flags & SHF_EXECINSTR;
		if (__builtin_add_overflow(header.sh_addr, header.sh_size, &item->end))
			item->end = 0;
	}
	return 0;
}

static bool is_label(const char *name)
{
	/* Labels of assemblers, and marks between code and data ($x, $d). */
	return name[0] == '\0' || name[0] == '$' || (name[0] == '.' && name[1] == 'L');
}

static uint32_t symbol_worth(const GElf_Sym *symbol, const char *name)
{
	unsigned int bind = GELF_ST_BIND(symbol->st_info);
	uint32_t worth = 0;

	if (GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE)
		worth += 8;
	if (bind == STB_GLOBAL || bind == STB_GNU_UNIQUE)
		worth += 4;
	else if (bind == STB_WEAK)
		worth += 2;
	if (name[0] != '_')
		worth += 1;
	return worth;
}

static int symbol_add(struct elf_symbols *symbols, const struct symbol *symbol)
{
	if (symbols->count == symbols->capacity) {
		size_t capacity = symbols->capacity ? symbols->capacity * 2 : 1024;
		struct symbol *items = reallocarray(symbols->items, capacity, sizeof(*items));

		if (!items)
			return -ENOMEM;
		symbols->items = items;
		symbols->capacity = capacity;
	}
	symbols->items[symbols->count++] = *symbol;
	return 0;
}

static bool is_function(const GElf_Sym *symbol, bool executable)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && executable);
}

/* One entry of a table with section headers. */
static int take_symbol(struct elf_symbols *symbols, const struct elf_file *file,
		       const struct section_table *sections, const GElf_Sym *symbol,
		       const char *name)
{
	struct section where = { file->text.high, true };

	if (!name || symbol->st_shndx == SHN_UNDEF)
		return 0;
	if (symbol->st_shndx < SHN_LORESERVE) {
		if (symbol->st_shndx >= sections->count)
			return 0;
		where = sections->items[symbol->st_shndx];
	} else if (symbol->st_shndx != SHN_XINDEX || symbol->st_size == 0) {
		return 0;
	}
	if (!is_function(symbol, where.executable) || is_label(name))
		return 0;
	return symbol_add(symbols, &(struct symbol){ symbol->st_value, symbol->st_size, where.end,
						     name, symbol_worth(symbol, name) });
}

static int take_table(struct elf_symbols *symbols, const struct elf_file *file,
		      const struct section_table *sections, Elf_Scn *section, size_t strings)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	if (!data)
		return 0;
	for (int i = 1; gelf_getsym(data, i, &symbol); i++) {
		int error = take_symbol(symbols, file, sections, &symbol,
					elf_strptr(file->elf, strings, symbol.st_name));

		if (error)
			return error;
	}
	return 0;
}

static int take_tables(struct elf_symbols *symbols, const struct elf_file *file)
{
	struct section_table sections = { NULL, 0 };
	Elf_Scn *section = NULL;
	int error = section_table_load(file, &sections);

	while (!error && (section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			error = take_table(symbols, file, &sections, section, header.sh_link);
	}
	free(sections.items);
	return error;
}

/* Without section headers only symbols with a type and a size are of use. */
static int take_dynamic_symbol(void *context, const GElf_Sym *symbol, const char *name,
			       uint64_t limit)
{
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_size == 0 || is_label(name) ||
	    !is_function(symbol, false))
		return 0;
	return symbol_add(context, &(struct symbol){ symbol->st_value, symbol->st_size, limit, name,
						     symbol_worth(symbol, name) });
}

static int take_file(struct elf_symbols *symbols, const struct elf_file *file)
{
	size_t sections = 0;

	if (elf_getshdrnum(file->elf, &sections) || sections == 0)
		return elf_dynamic_symbols(file, take_dynamic_symbol, symbols);
	return take_tables(symbols, file);
}

static int take_debugdata(struct elf_symbols *symbols, const struct elf_file *file)
{
	Elf_Data *data = elf_file_section_data(file, ".gnu_debugdata");
	size_t size;
	void *image;

	if (!data || symbols->expanded)
		return 0;
	image = xz_expand(data->d_buf, data->d_size, &size);
	if (!image)
		return 0;
	if (elf_file_from_memory(image, size, &symbols->expanded))
		return 0;
	return take_tables(symbols, symbols->expanded);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	size_t x_length, y_length;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->worth != y->worth)
		return x->worth < y->worth ? -1 : 1;
	x_length = strlen(x->name);
	y_length = strlen(y->name);
	if (x_length != y_length)
		return x_length > y_length ? -1 : 1;
	return -strcmp(x->name, y->name);
}

static uint64_t symbol_end(const struct symbol *symbol, uint64_t next)
{
	uint64_t end;

	if (symbol->size == 0)
		return next < symbol->limit ? next : symbol->limit;
	if (__builtin_add_overflow(symbol->low, symbol->size, &end) || end > symbol->limit)
		return symbol->limit;
	return end;
}

/* One past the items that start where item `at` does. */
static size_t group_end(const struct elf_symbols *symbols, size_t at)
{
	size_t end = at + 1;

	while (end < symbols->count && symbols->items[end].low == symbols->items[at].low)
		end++;
	return end;
}

/* Labels inside a function with a size end where that does. */
static void limit_labels(struct elf_symbols *symbols)
{
	uint64_t reach = 0; /* of the functions so far */

	for (size_t at = 0, end; at < symbols->count; at = end) {
		end = group_end(symbols, at);
		for (size_t i = at; i < end; i++) {
			const struct symbol *symbol = &symbols->items[i];

			if (symbol->size > 0 && symbol_end(symbol, 0) > reach)
				reach = symbol_end(symbol, 0);
		}
		for (size_t i = at; i < end; i++) {
			struct symbol *symbol = &symbols->items[i];

			if (symbol->size == 0 && reach > symbol->low && reach < symbol->limit)
				symbol->limit = reach;
		}
	}
}

/* Later items outrank earlier ones, those with a size all others. */
static int index_symbols(struct elf_symbols *symbols)
{
	int error = 0;

	if (symbols->count >= INTERVAL_NONE)
		symbols->count = INTERVAL_NONE - 1;
	if (symbols->count > 0)
		qsort(symbols->items, symbols->count, sizeof(*symbols->items), compare_symbols);
	limit_labels(symbols);
	for (size_t at = 0, end; at < symbols->count; at = end) {
		uint64_t next;

		end = group_end(symbols, at);
		next = end < symbols->count ? symbols->items[end].low : UINT64_MAX;
		for (size_t i = at; i < end && !error; i++) {
			const struct symbol *symbol = &symbols->items[i];
			uint64_t sized = symbol->size > 0 ? (uint64_t)1 << 63 : 0;

			error = interval_add(&symbols->ranges, symbol->low,
					     symbol_end(symbol, next), sized | i, (uint32_t)i);
		}
	}
	return error ? error : interval_seal(&symbols->ranges);
}

int elf_symbols_load(struct elf_file *const *files, size_t count, struct elf_symbols **result)
{
	struct elf_symbols *symbols = calloc(1, sizeof(*symbols));
	int error = symbols ? 0 : -ENOMEM;

	*result = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		if (!files[i])
			continue;
		error = take_file(symbols, files[i]);
		if (!error)
			error = take_debugdata(symbols, files[i]);
	}
	if (!error)
		error = index_symbols(symbols);
	if (error)
		elf_symbols_free(symbols);
	else
		*result = symbols;
	return error;
}

size_t elf_symbols_count(const struct elf_symbols *symbols)
{
	return symbols->count;
}

const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address)
{
	uint32_t at = interval_find(&symbols->ranges, address);

	return at == INTERVAL_NONE ? NULL : symbols->items[at].name;
}

int elf_symbols_each(const struct elf_symbols *symbols,
		     int (*visit)(void *, const char *, uint64_t, uint64_t), void *context)
{
	int result = 0;

	for (size_t i = 0; i < symbols->count && !result; i++) {
		const struct symbol *s = &symbols->items[i];

		if (s->size)
			result = visit(context, s->name, s->low, s->low + s->size);
	}
	return result;
}

void elf_symbols_free(struct elf_symbols *symbols)
{
	if (!symbols)
		return;
	interval_release(&symbols->ranges);
	free(symbols->items);
	elf_file_close(symbols->expanded);
	free(symbols);
}
