/* SPDX-License-Identifier: MIT */
/*
 * One ELF file, opened with care: regular files only, never waiting, never
 * trusted.
 */
#ifndef MEMTRACK_SYMBOLIZE_ELF_FILE_H
#define MEMTRACK_SYMBOLIZE_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
	Elf *elf;
	int fd;	    /* -1 for a file that lives in memory */
	char *path; /* NULL for one without */
	size_t size;
	void *memory;	 /* the image of one in memory */
	size_t mapped;	 /* size of its mapping; 0: malloc'ed */
	void **expanded; /* malloc'ed sections; ends with NULL */
	struct {
		uint64_t low, high;
	} text; /* span of the executable segments; 0, 0 unknown */
};

struct build_id {
	size_t size; /* 0: none */
	uint8_t bytes[64];
};

/* 0, -ENOENT and such, -EINVAL for what is no regular file, -ENOEXEC for what
 * is no ELF file. */
int elf_file_open(const char *path, struct elf_file **file) __attribute__((warn_unused_result));
/* Takes a malloc'ed image over, even when it fails. */
int elf_file_from_memory(void *image, size_t size, struct elf_file **file)
	__attribute__((warn_unused_result));
/* Checks file->elf and fills in what follows from it: for those who make one. */
int elf_file_begin(struct elf_file *file) __attribute__((warn_unused_result));
/* The same file again in memory, with only those of its sections that say where
 * functions and lines are, expanded where they are compressed, and zero bytes
 * after its end and theirs.  libdw is only given such: it takes for granted
 * that strings end.  0 or -errno. */
int elf_file_load(const struct elf_file *file, struct elf_file **loaded)
	__attribute__((warn_unused_result));
void elf_file_close(struct elf_file *file);

/* The first section of that name that has contents in the file, or NULL. */
Elf_Scn *elf_file_section(const struct elf_file *file, const char *name, GElf_Shdr *header);
/* Its bytes as they stand in the file, or NULL. */
Elf_Data *elf_file_section_data(const struct elf_file *file, const char *name);
/* Whether there is debug information that names functions. */
bool elf_file_has_dwarf(const struct elf_file *file);
void elf_file_build_id(const struct elf_file *file, struct build_id *id);
bool build_id_equal(const struct build_id *a, const struct build_id *b);
/* A .gnu_debuglink or .gnu_debugaltlink section's file name (inside the file's
 * data) and what follows it, or NULL. */
const char *elf_file_link(const struct elf_file *file, const char *section, const uint8_t **rest,
			  size_t *rest_size);
/* The checksum .gnu_debuglink speaks of, over the whole file; 0 or -errno. */
int elf_file_crc(const struct elf_file *file, uint32_t *crc) __attribute__((warn_unused_result));

#endif
