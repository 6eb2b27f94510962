/* SPDX-License-Identifier: MIT */
/* Looking at an executable; see program.h.  Finding it follows execvp(3): PATH, and the interpreter of a script. */
#include "cmd/program.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { MOST_SCRIPTS = 4 /* interpreters that are scripts themselves */ };

static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return EACCES;
	return 0;
}

/* The element of PATH after this one, which may be empty; NULL: none. */
static const char *next_element(const char *path)
{
	const char *colon = strchr(path, ':');

	return colon ? colon + 1 : NULL;
}

/* As execvp: the first that can be executed; else the most telling error. */
static char *find_in_path(const char *name, int *error)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	*error = ENOENT;
	for (path = path ? path : "/bin:/usr/bin"; *name && path; path = next_element(path)) {
		int length, problem;

		length = (int)strcspn(path, ":");
		if (snprintf(file, sizeof(file), "%.*s%s%s", length, path, length ? "/" : "./",
			     name) >= (int)sizeof(file))
			continue;
		problem = check_file(file);
		if (!problem) {
			*error = 0;
			return strdup(file);
		}
		if (problem == EACCES || problem == EISDIR)
			*error = EACCES;
	}
	return NULL;
}

/* The program that a "#!" line names; NULL when the file is none. */
static char *read_interpreter(const char *path)
{
	char line[PATH_MAX], *at;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 3 || memcmp(line, "#!", 2) != 0)
		return NULL;
	line[n] = 0;
	line[strcspn(line, "\n")] = 0;
	at = line + 2 + strspn(line + 2, " \t");
	at[strcspn(at, " \t")] = 0;
	return *at ? strdup(at) : NULL;
}

struct mark {
	const char *symbol, *allocator;
};

/* Symbols by which an allocator inside an executable is known. */
static const struct mark marks[] = {
	{ "mi_malloc", "mimalloc" },
	{ "je_malloc", "jemalloc" },
	{ "_rjem_malloc", "jemalloc" },
	{ "je_mallctl", "jemalloc" },
	{ "mallctl", "jemalloc" },
	{ "tc_malloc", "tcmalloc" },
	{ "TCMallocInternalMalloc", "tcmalloc" },
	{ "rpmalloc", "rpmalloc" },
	{ "snmalloc_alloc", "snmalloc" },
	{ "scalable_malloc", "tbbmalloc" },
	{ "hoard_malloc", "Hoard" },
	{ "dlmalloc", "dlmalloc" },
	{ "__interceptor_malloc", "AddressSanitizer" },
};

static void look_at_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
			    struct program_facts *facts)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; data && i < count; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    (GELF_ST_TYPE(symbol.st_info) != STT_FUNC &&
		     GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC))
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!name)
			continue;
		if (strcmp(name, "malloc") == 0)
			facts->own_malloc = true;
		for (size_t k = 0; k < sizeof(marks) / sizeof(*marks); k++)
			if (!*facts->allocator && strcmp(name, marks[k].symbol) == 0)
				snprintf(facts->allocator, sizeof(facts->allocator), "%s",
					 marks[k].allocator);
	}
}

static void look_at_sections(Elf *elf, struct program_facts *facts)
{
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section;
	     section = elf_nextscn(elf, section)) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			look_at_symbols(elf, section, &header, facts);
	}
}

static void name_architecture(const GElf_Ehdr *header, struct program_facts *facts)
{
	const char *name = header->e_machine == EM_386	     ? "x86 (32 bits)"
			   : header->e_machine == EM_AARCH64 ? "aarch64"
			   : header->e_machine == EM_ARM     ? "arm"
			   : header->e_machine == EM_RISCV   ? "riscv"
			   : header->e_machine == EM_PPC64   ? "ppc64"
			   : header->e_machine == EM_S390    ? "s390"
			   : header->e_machine == EM_X86_64  ? "x32"
							     : NULL;

	if (name)
		snprintf(facts->architecture, sizeof(facts->architecture), "%s", name);
	else
		snprintf(facts->architecture, sizeof(facts->architecture), "ELF machine %u",
			 header->e_machine);
}

static void look_at_elf(Elf *elf, struct program_facts *facts)
{
	GElf_Ehdr header;
	size_t count = 0;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return;
	if (header.e_machine != EM_X86_64 || header.e_ident[EI_CLASS] != ELFCLASS64) {
		facts->foreign = true;
		name_architecture(&header, facts);
		return;
	}
	facts->is_static = true;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_INTERP)
			facts->is_static = false;
	}
	look_at_sections(elf, facts);
}

/* Running the loader itself, as in "ld.so PROGRAM": it has no interpreter but preloads. */
static bool is_loader(const char *path)
{
	const char *base = strrchr(path, '/');

	return strncmp(base ? base + 1 : path, "ld-linux", 8) == 0 ||
	       strncmp(base ? base + 1 : path, "ld-2.", 5) == 0;
}

static void look_at_file(const char *path, struct program_facts *facts)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char magic[SELFMAG] = "";
	struct stat st;
	Elf *elf;

	if (fd < 0)
		return;
	facts->is_elf =
		pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
	if (fstat(fd, &st) == 0)
		facts->privileged = ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
				    ((st.st_mode & S_ISGID) && st.st_gid != getegid());
	if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		facts->privileged = true;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf) {
		look_at_elf(elf, facts);
		elf_end(elf);
	}
	close(fd);
	if (is_loader(path))
		facts->is_static = facts->own_malloc = false;
}

void program_examine(const char *name, struct program_facts *facts)
{
	char *interpreter, *at;

	memset(facts, 0, sizeof(*facts));
	if (strchr(name, '/')) {
		facts->error = check_file(name);
		facts->path = facts->error ? NULL : strdup(name);
	} else {
		facts->path = find_in_path(name, &facts->error);
	}
	if (!facts->path)
		return;
	at = strdup(facts->path);
	for (int i = 0; at && i < MOST_SCRIPTS && (interpreter = read_interpreter(at)); i++) {
		free(at);
		at = interpreter;
	}
	if (at)
		look_at_file(at, facts);
	if (at && strcmp(at, facts->path) != 0)
		facts->is_elf = false;
	free(at);
}

void program_release(struct program_facts *facts)
{
	free(facts->path);
	facts->path = NULL;
}
