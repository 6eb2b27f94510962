/* SPDX-License-Identifier: MIT */
/*
 * Opening ELF files and reading what identifies them.
 */
#include "symbolize/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sections said to expand to more than this times the file are not believed. */
#define EXPANSION_MAX 64

static void find_text(struct elf_file *file)
{
	size_t count = 0;

	if (elf_getphdrnum(file->elf, &count))
		return;
	for (size_t i = 0; i < count && i < 65536; i++) {
		GElf_Phdr header;
		uint64_t high;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X) ||
		    __builtin_add_overflow(header.p_vaddr, header.p_memsz, &high))
			continue;
		if (file->text.high == 0 || header.p_vaddr < file->text.low)
			file->text.low = header.p_vaddr;
		if (high > file->text.high)
			file->text.high = high;
	}
}

static bool is_object(Elf *elf)
{
	GElf_Ehdr header;

	return elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
	       header.e_type != ET_CORE;
}

/* What a compressed section says it expands to.  Reads just that: to ask libelf
 * would read the whole section. */
static bool expanded_size(const struct elf_file *file, const GElf_Shdr *header, uint64_t *size)
{
	bool is_64 = gelf_getclass(file->elf) == ELFCLASS64;
	Elf_Data *data =
		header->sh_offset > INT64_MAX
			? NULL
			: elf_getdata_rawchunk(file->elf, (int64_t)header->sh_offset,
					       is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr),
					       ELF_T_CHDR);

	if (!data)
		return false;
	*size = is_64 ? ((const Elf64_Chdr *)data->d_buf)->ch_size
		      : ((const Elf32_Chdr *)data->d_buf)->ch_size;
	return true;
}

/* Compressed sections are expanded whole: refuse what would not fit. */
static bool believable_sections(const struct elf_file *file)
{
	Elf_Scn *section = NULL;
	uint64_t total = 0;

	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		uint64_t size;

		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_COMPRESSED) ||
		    header.sh_type == SHT_NOBITS || !expanded_size(file, &header, &size))
			continue;
		if (__builtin_add_overflow(total, size, &total) ||
		    total / EXPANSION_MAX > file->size)
			return false;
	}
	return true;
}

int elf_file_begin(struct elf_file *file)
{
	if (!is_object(file->elf))
		return -ENOEXEC;
	if (!believable_sections(file))
		return -ENOEXEC;
	find_text(file);
	return 0;
}

static int open_regular(const char *path, off_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	*size = status.st_size;
	return fd;
}

int elf_file_open(const char *path, struct elf_file **result)
{
	struct elf_file *file;
	off_t size = 0;
	int fd = open_regular(path, &size), error = -ENOMEM;

	*result = NULL;
	if (fd < 0)
		return fd;
	file = calloc(1, sizeof(*file));
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	file->fd = fd;
	file->size = (size_t)size;
	file->path = strdup(path);
	if (!file->path)
		goto out;
	elf_version(EV_CURRENT);
	file->elf = elf_begin(fd, ELF_C_READ, NULL);
	error = elf_file_begin(file);
out:
	if (error)
		elf_file_close(file);
	else
		*result = file;
	return error;
}

int elf_file_from_memory(void *image, size_t size, struct elf_file **result)
{
	struct elf_file *file = calloc(1, sizeof(*file));
	int error;

	*result = NULL;
	if (!file) {
		free(image);
		return -ENOMEM;
	}
	file->fd = -1;
	file->memory = image;
	file->size = size;
	elf_version(EV_CURRENT);
	file->elf = elf_memory(image, size);
	error = elf_file_begin(file);
	if (error)
		elf_file_close(file);
	else
		*result = file;
	return error;
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	for (size_t i = 0; file->expanded && file->expanded[i]; i++)
		free(file->expanded[i]);
	free(file->expanded);
	if (file->memory && file->mapped)
		munmap(file->memory, file->mapped);
	else
		free(file->memory);
	free(file->path);
	free(file);
}

Elf_Scn *elf_file_section(const struct elf_file *file, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return NULL;
	while ((section = elf_nextscn(file->elf, section))) {
		const char *found;

		if (!gelf_getshdr(section, header) || header->sh_type == SHT_NOBITS ||
		    header->sh_size == 0)
			continue;
		found = elf_strptr(file->elf, names, header->sh_name);
		if (found && strcmp(found, name) == 0)
			return section;
	}
	return NULL;
}

Elf_Data *elf_file_section_data(const struct elf_file *file, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(file, name, &header);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

	return data && data->d_buf && data->d_size > 0 ? data : NULL;
}

bool elf_file_has_dwarf(const struct elf_file *file)
{
	GElf_Shdr header;

	return elf_file_section(file, ".debug_info", &header) ||
	       elf_file_section(file, ".zdebug_info", &header);
}

static bool note_build_id(Elf_Data *data, struct build_id *id)
{
	GElf_Nhdr note;
	size_t offset = 0, name, contents;

	if (!data)
		return false;
	while ((offset = gelf_getnote(data, offset, &note, &name, &contents)) > 0) {
		const char *bytes = data->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp(bytes + name, "GNU", sizeof("GNU")) != 0)
			continue;
		if (note.n_descsz == 0 || note.n_descsz > sizeof(id->bytes))
			continue;
		id->size = note.n_descsz;
		memcpy(id->bytes, bytes + contents, id->size);
		return true;
	}
	return false;
}

static Elf_Type note_type(uint64_t alignment)
{
	return alignment == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
}

/* Segments come second: in a separate debug file their offsets are those of
 * another file. */
static void segment_build_id(const struct elf_file *file, struct build_id *id)
{
	size_t count = 0;

	if (elf_getphdrnum(file->elf, &count))
		return;
	for (size_t i = 0; i < count && i < 65536; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_NOTE ||
		    header.p_filesz == 0 || header.p_offset > INT64_MAX)
			continue;
		if (note_build_id(elf_getdata_rawchunk(file->elf, (int64_t)header.p_offset,
						       header.p_filesz, note_type(header.p_align)),
				  id))
			return;
	}
}

void elf_file_build_id(const struct elf_file *file, struct build_id *id)
{
	Elf_Scn *section = NULL;

	memset(id, 0, sizeof(*id));
	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
		    note_build_id(elf_getdata(section, NULL), id))
			return;
	}
	segment_build_id(file, id);
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

const char *elf_file_link(const struct elf_file *file, const char *section, const uint8_t **rest,
			  size_t *rest_size)
{
	Elf_Data *data = elf_file_section_data(file, section);
	const char *text = data ? data->d_buf : NULL;
	size_t length = text ? strnlen(text, data->d_size) : 0;

	if (length == 0 || length >= data->d_size)
		return NULL;
	*rest = (const uint8_t *)text + length + 1;
	*rest_size = data->d_size - length - 1;
	return text;
}

int elf_file_crc(const struct elf_file *file, uint32_t *crc)
{
	uint8_t *buffer = malloc(1 << 18);
	off_t offset = 0;
	ssize_t size;
	int error = 0;

	if (!buffer)
		return -ENOMEM;
	*crc = 0;
	while ((size = pread(file->fd, buffer, 1 << 18, offset)) > 0) {
		*crc = lzma_crc32(buffer, (size_t)size, *crc);
		offset += size;
	}
	if (size < 0)
		error = -errno;
	free(buffer);
	return error;
}
