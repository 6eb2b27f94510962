/* SPDX-License-Identifier: MIT */
/* Is a file a malloc library?  Read by libelf, never loaded.  The file may be anything. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocators/allocators.h"

/* What is looked for among the symbols it defines. */
enum finding {
	HAS_MALLOC = 1,
	HAS_FREE = 2,
	HAS_CALLOC = 4,
	HAS_REALLOC = 8,
	HAS_ALL = 15,
	HAS_OPERATORS = 16,
	HAS_SANITIZER = 32,
	HAS_MARK = 64,
};

static const struct {
	const char *symbol;
	enum finding finding;
} wanted[] = {
	{ "malloc", HAS_MALLOC },	    { "free", HAS_FREE },
	{ "calloc", HAS_CALLOC },	    { "realloc", HAS_REALLOC },
	{ "_Znwm", HAS_OPERATORS },	    { "__asan_init", HAS_SANITIZER },
	{ "__tsan_init", HAS_SANITIZER },   { "__msan_init", HAS_SANITIZER },
	{ "__hwasan_init", HAS_SANITIZER }, { "__interceptor_malloc", HAS_SANITIZER },
};

static bool is_word_of(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; n && (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

static unsigned look_at_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
				const char *marks)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	unsigned found = 0;

	for (size_t i = 0; data && i < count; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    GELF_ST_BIND(symbol.st_info) == STB_LOCAL)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!name)
			continue;
		for (size_t k = 0; k < sizeof(wanted) / sizeof(*wanted); k++)
			if (strcmp(name, wanted[k].symbol) == 0)
				found |= wanted[k].finding;
		if (marks && is_word_of(marks, name))
			found |= HAS_MARK;
	}
	return found;
}

static unsigned look_at_sections(Elf *elf, const char *marks)
{
	unsigned found = 0;

	for (Elf_Scn *section = elf_nextscn(elf, NULL); section;
	     section = elf_nextscn(elf, section)) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
			found |= look_at_symbols(elf, section, &header, marks);
	}
	return found;
}

/* An executable that is position-independent looks like a library but for its program interpreter (which the C library
 * has too, but it also has a soname; so have libraries that can be run). */
static bool is_program(Elf *elf)
{
	bool interpreter = false, soname = false;
	size_t count = 0;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_INTERP)
			interpreter = true;
	}
	for (Elf_Scn *section = elf_nextscn(elf, NULL); interpreter && section;
	     section = elf_nextscn(elf, section)) {
		Elf_Data *data;
		GElf_Shdr header;
		GElf_Dyn entry;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC ||
		    !(data = elf_getdata(section, NULL)))
			continue;
		for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
			soname |= entry.d_tag == DT_SONAME;
	}
	return interpreter && !soname;
}

static int refuse(char *reason, size_t size, const char *text)
{
	snprintf(reason, size, "%s", text);
	return -EINVAL;
}

static int check_elf(Elf *elf, const char *marks, bool *operators, char *reason, size_t size)
{
	GElf_Ehdr header;
	unsigned found;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return refuse(reason, size, "it is no ELF file");
	if (header.e_machine != EM_X86_64 || header.e_ident[EI_CLASS] != ELFCLASS64) {
		snprintf(reason, size,
			 "it is for another architecture (ELF machine %u, %d bits), not x86-64",
			 header.e_machine, header.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64);
		return -ENOEXEC;
	}
	if (header.e_type != ET_DYN || is_program(elf))
		return refuse(reason, size,
			      header.e_type == ET_DYN || header.e_type == ET_EXEC
				      ? "it is a program, not a shared library"
				      : "it is no shared library");
	found = look_at_sections(elf, marks);
	*operators = found & HAS_OPERATORS;
	if (found & HAS_SANITIZER)
		return refuse(reason, size,
			      "it is the runtime of a sanitizer, for programs built with that");
	if ((found & HAS_ALL) != HAS_ALL)
		return refuse(
			reason, size,
			found & HAS_MALLOC
				? "it defines malloc, but not free, calloc and realloc as well"
				: "it defines no malloc");
	if (marks && !(found & HAS_MARK))
		return refuse(reason, size, "it is another malloc library by that name");
	return 0;
}

int allocator_check_file(const char *path, const char *marks, bool *operators, char *reason,
			 size_t size)
{
	/* Not to wait for the writer of a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;
	struct stat st;
	Elf *elf;

	*operators = false;
	if (fd < 0 || fstat(fd, &st) < 0) {
		error = -errno;
		if (fd >= 0)
			close(fd);
		snprintf(reason, size, "%s", strerror(-error));
		return error;
	}
	if (!S_ISREG(st.st_mode) || st.st_size == 0) {
		close(fd);
		return refuse(reason, size,
			      S_ISDIR(st.st_mode)   ? "it is a directory"
			      : S_ISREG(st.st_mode) ? "it is empty"
						    : "it is no regular file");
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	error = check_elf(elf, marks, operators, reason, size);
	elf_end(elf);
	close(fd);
	return error;
}
