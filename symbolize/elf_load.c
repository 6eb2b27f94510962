/* SPDX-License-Identifier: MIT */
/*
 * A file's debug sections in memory, for libdw.  Only what leads to functions
 * and lines is read and expanded; the rest, code and the places of variables
 * above all, is more than half of most files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "symbolize/elf_file.h"

/* Up to here a file is copied, beyond it is mapped: a mapped file that somebody
 * cuts short raises SIGBUS, a copied one costs its size in memory. */
#define COPY_MAX ((size_t)512 << 20)

/* Zero bytes after what libdw reads. */
#define PADDING 64

/* Names without the dot and the z of old compressed sections. */
static bool is_wanted(const char *name)
{
	static const char *const wanted[] = {
		"debug_info",	  "debug_types",    "debug_abbrev",	"debug_line",
		"debug_line_str", "debug_str",	    "debug_addr",	"debug_str_offsets",
		"debug_ranges",	  "debug_rnglists", "gnu_debugaltlink",
	};

	if (*name++ != '.')
		return false;
	name += *name == 'z';
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (strcmp(name, wanted[i]) == 0)
			return true;
	}
	return false;
}

/* Copies a part of the file to the same place in the image. */
static void copy_part(const struct elf_file *file, char *image, uint64_t offset, uint64_t size)
{
	if (offset > file->size)
		return;
	if (size > file->size - offset)
		size = file->size - offset;
	while (size > 0) {
		ssize_t got = pread(file->fd, image + offset, size, (off_t)offset);

		if (got <= 0)
			return; /* cut short meanwhile: zero bytes for the rest */
		offset += (size_t)got;
		size -= (size_t)got;
	}
}

static bool section_is_wanted(const struct elf_file *file, size_t names, const GElf_Shdr *header)
{
	const char *name = elf_strptr(file->elf, names, header->sh_name);

	return header->sh_type != SHT_NOBITS && name && is_wanted(name);
}

static void copy_sections(const struct elf_file *file, char *image)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return;
	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) &&
		    (elf_ndxscn(section) == names || section_is_wanted(file, names, &header)))
			copy_part(file, image, header.sh_offset, header.sh_size);
	}
}

static void copy_headers(const struct elf_file *file, char *image)
{
	size_t segments = 0, sections = 0;
	GElf_Ehdr header;

	if (!gelf_getehdr(file->elf, &header))
		return;
	elf_getphdrnum(file->elf, &segments);
	elf_getshdrnum(file->elf, &sections);
	copy_part(file, image, 0, header.e_ehsize);
	copy_part(file, image, header.e_phoff, segments * header.e_phentsize);
	copy_part(file, image, header.e_shoff, sections * header.e_shentsize);
}

/* Where nothing is copied to, no memory is used. */
static void *copy_file(const struct elf_file *file, size_t mapped)
{
	char *image = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (image == MAP_FAILED)
		return NULL;
	copy_headers(file, image);
	copy_sections(file, image);
	return image;
}

/* The file over the start of a longer anonymous mapping, which provides the
 * zero bytes. */
static void *map_file(const struct elf_file *file, size_t mapped)
{
	void *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return NULL;
	if (mmap(base, file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
		 file->fd, 0) == MAP_FAILED) {
		munmap(base, mapped);
		return NULL;
	}
	return base;
}

/* One call of zlib, straight to where the bytes will stay. */
static bool inflate_all(const void *from, size_t size, void *to, size_t expanded)
{
	z_stream stream = { .next_in = (void *)from,
			    .avail_in = (uInt)size,
			    .next_out = to,
			    .avail_out = (uInt)expanded };
	bool good;

	if (size > UINT32_MAX || expanded > UINT32_MAX || inflateInit(&stream) != Z_OK)
		return false;
	good = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
	inflateEnd(&stream);
	return good;
}

static void set_contents(Elf_Data *data, void *bytes, size_t size)
{
	if (!data)
		return;
	data->d_buf = bytes;
	data->d_size = size;
}

/* As elf_rawdata(3) and elf_getdata(3) give it from here on. */
static void replace_contents(Elf_Scn *section, void *bytes, size_t size)
{
	set_contents(elf_rawdata(section, NULL), bytes, size);
	set_contents(elf_getdata(section, NULL), bytes, size);
}

/* The other way, for what only libelf knows: it expands, then a copy with zero
 * bytes after it takes its place. */
static int expand_by_libelf(Elf_Scn *section, void **copy)
{
	Elf_Data *data;

	if (elf_compress(section, 0, 0) < 0)
		return 0; /* libdw will fail likewise and do without */
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || data->d_size == 0)
		return 0;
	*copy = calloc(1, data->d_size + PADDING);
	if (!*copy)
		return -ENOMEM;
	memcpy(*copy, data->d_buf, data->d_size);
	replace_contents(section, *copy, data->d_size);
	return 0;
}

static int expand_section(const struct elf_file *file, Elf_Scn *section, GElf_Shdr *header,
			  void **copy)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	size_t skip =
		gelf_getclass(file->elf) == ELFCLASS64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	GElf_Chdr compressed;

	if (!data || !data->d_buf || data->d_size <= skip || !gelf_getchdr(section, &compressed) ||
	    compressed.ch_size == 0)
		return 0;
	if (compressed.ch_type != ELFCOMPRESS_ZLIB)
		return expand_by_libelf(section, copy);
	*copy = calloc(1, compressed.ch_size + PADDING);
	if (!*copy)
		return -ENOMEM;
	if (inflate_all((const char *)data->d_buf + skip, data->d_size - skip, *copy,
			compressed.ch_size)) {
		/* From now on it is one that was never compressed. */
		header->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
		header->sh_size = compressed.ch_size;
		gelf_update_shdr(section, header);
		replace_contents(section, *copy, compressed.ch_size);
		return 0;
	}
	free(*copy);
	*copy = NULL;
	return 0; /* damaged: libdw will do without */
}

/* Expands the sections that are wanted, and hides the others: libdw would
 * expand them all. */
static int prepare_sections(struct elf_file *file)
{
	Elf_Scn *section = NULL;
	size_t sections = 0, names, count = 0;
	int error = 0;

	if (elf_getshdrnum(file->elf, &sections) || elf_getshdrstrndx(file->elf, &names))
		return 0;
	file->expanded = calloc(sections + 1, sizeof(void *));
	if (!file->expanded)
		return -ENOMEM;
	while (!error && (section = elf_nextscn(file->elf, section)) && count < sections) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || elf_ndxscn(section) == names)
			continue;
		if (!section_is_wanted(file, names, &header)) {
			header.sh_type = SHT_NOBITS;
			gelf_update_shdr(section, &header);
		} else if (header.sh_flags & SHF_COMPRESSED) {
			error = expand_section(file, section, &header, &file->expanded[count]);
			count += file->expanded[count] != NULL;
		}
	}
	return error;
}

int elf_file_load(const struct elf_file *file, struct elf_file **result)
{
	size_t page = (size_t)getpagesize();
	size_t mapped = (file->size + 2 * page - 1) / page * page;
	void *image = file->size > COPY_MAX ? map_file(file, mapped) : copy_file(file, mapped);
	struct elf_file *loaded = image ? calloc(1, sizeof(*loaded)) : NULL;
	int error = -ENOMEM;

	*result = NULL;
	if (!loaded) {
		if (image)
			munmap(image, mapped);
		return -ENOMEM;
	}
	loaded->fd = -1;
	loaded->memory = image;
	loaded->mapped = mapped;
	loaded->size = file->size;
	loaded->path = strdup(file->path);
	loaded->elf = elf_memory(image, file->size);
	if (loaded->path)
		error = elf_file_begin(loaded);
	if (!error)
		error = prepare_sections(loaded);
	if (error)
		elf_file_close(loaded);
	else
		*result = loaded;
	return error;
}
