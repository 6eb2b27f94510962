/* SPDX-License-Identifier: MIT */
/*
 * Finding files.  Nothing is used on the strength of its name: a module must
 * have the build-id seen in the target's memory, a debug file the module's
 * build-id (or, where there is none, the checksum the module names).
 */
#include "symbolize/locate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolize/debuginfod.h"

#define DELETED " (deleted)"

/* How a candidate proves that it belongs to the module. */
struct proof {
	const struct build_id *build_id; /* size 0: by checksum */
	uint32_t crc;
	bool has_crc;
	const struct elf_file *other; /* must not be this file; NULL: may be any */
};

/* A debug file often has the name of its module: then the module lies first on
 * the way to it. */
static bool is_same_file(const struct elf_file *a, const struct elf_file *b)
{
	struct stat x, y;

	return a && b && !fstat(a->fd, &x) && !fstat(b->fd, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static struct elf_file *accept(struct elf_file *file, const struct proof *proof)
{
	struct build_id found;
	uint32_t crc;
	bool good;

	elf_file_build_id(file, &found);
	if (is_same_file(file, proof->other))
		good = false;
	else if (found.size > 0 && proof->build_id->size > 0)
		good = build_id_equal(&found, proof->build_id);
	else
		good = proof->has_crc && !elf_file_crc(file, &crc) && crc == proof->crc;
	if (good)
		return file;
	elf_file_close(file);
	return NULL;
}

/* Opens the formatted path if it is the right file. */
__attribute__((format(printf, 2, 3))) static struct elf_file *try_path(const struct proof *proof,
								       const char *format, ...)
{
	struct elf_file *file = NULL;
	char *path;
	va_list list;
	int size;

	va_start(list, format);
	size = vasprintf(&path, format, list);
	va_end(list);
	if (size < 0)
		return NULL;
	if (elf_file_open(path, &file))
		file = NULL;
	free(path);
	return file ? accept(file, proof) : NULL;
}

static void hex(const uint8_t *bytes, size_t size, char *text)
{
	for (size_t i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	text[2 * size] = '\0';
}

/* ROOT/.build-id/xx/yyyy.debug in every debug folder. */
static struct elf_file *find_by_build_id(const struct locate_places *places,
					 const struct build_id *build_id)
{
	struct proof proof = { .build_id = build_id };
	char text[2 * sizeof(build_id->bytes) + 1];
	struct elf_file *file = NULL;

	if (build_id->size < 2)
		return NULL;
	hex(build_id->bytes, build_id->size, text);
	for (size_t i = 0; i < places->debug_paths_count && !file; i++) {
		file = try_path(&proof, "%s/.build-id/%.2s/%s.debug", places->debug_paths[i], text,
				text + 2);
		if (!file && places->sysroot[0])
			file = try_path(&proof, "%s%s/.build-id/%.2s/%s.debug", places->sysroot,
					places->debug_paths[i], text, text + 2);
	}
	if (!file)
		file = try_path(&proof, "%s/usr/lib/debug/.build-id/%.2s/%s.debug", places->sysroot,
				text, text + 2);
	return file;
}

/* The length of a path's folder, without the slash; 0 for the root or a bare
 * name. */
static int folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) : 0;
}

/* A debug folder's own copy of the module's place, or its top. */
static struct elf_file *find_link_under(const char *sysroot, const char *root, const char *path,
					const char *name, const struct proof *proof)
{
	struct elf_file *file =
		try_path(proof, "%s%s%.*s/%s", sysroot, root, folder_length(path), path, name);

	return file ? file : try_path(proof, "%s%s/%s", sysroot, root, name);
}

static struct elf_file *find_link(const struct locate_places *places, const char *path,
				  const char *name, const struct proof *proof)
{
	const char *sysroot = places->sysroot;
	int length = folder_length(path);
	struct elf_file *file = try_path(proof, "%s%.*s/%s", sysroot, length, path, name);

	if (!file)
		file = try_path(proof, "%s%.*s/.debug/%s", sysroot, length, path, name);
	for (size_t i = 0; i < places->debug_paths_count && !file; i++) {
		file = find_link_under("", places->debug_paths[i], path, name, proof);
		if (!file && sysroot[0])
			file = find_link_under(sysroot, places->debug_paths[i], path, name, proof);
	}
	return file ? file : find_link_under(sysroot, "/usr/lib/debug", path, name, proof);
}

/* The path with symbolic links followed, as debug folders mirror real places;
 * malloc'ed or NULL. */
static char *real_module_path(const struct locate_places *places, const char *path)
{
	char *full, *real;

	if (places->sysroot[0])
		return NULL; /* links in there lead out of it */
	if (asprintf(&full, "%s%s", places->sysroot, path) < 0)
		return NULL;
	real = realpath(full, NULL);
	free(full);
	return real;
}

/* By the module's .gnu_debuglink: a file name, padding to four bytes, a
 * checksum. */
static struct elf_file *find_by_link(const struct locate_places *places, const char *path,
				     const struct located *located)
{
	struct proof proof = { .build_id = &located->build_id, .other = located->module };
	size_t rest_size, padding;
	const uint8_t *rest;
	const char *name = elf_file_link(located->module, ".gnu_debuglink", &rest, &rest_size);
	struct elf_file *file;
	char *real;

	if (!name || strchr(name, '/'))
		return NULL;
	padding = -(strlen(name) + 1) % 4;
	if (rest_size >= padding + sizeof(proof.crc)) {
		memcpy(&proof.crc, rest + padding, sizeof(proof.crc));
		proof.has_crc = true;
	}
	file = find_link(places, path, name, &proof);
	real = file ? NULL : real_module_path(places, path);
	if (real && strcmp(real, path) != 0)
		file = find_link(places, real, name, &proof);
	free(real);
	return file;
}

static struct elf_file *find_by_debuginfod(const struct locate_places *places,
					   const struct build_id *build_id)
{
	struct proof proof = { .build_id = build_id };
	struct elf_file *file;
	char *path;

	if (!places->debuginfod || build_id->size == 0)
		return NULL;
	path = debuginfod_fetch(places->debuginfod, build_id);
	if (!path)
		return NULL;
	file = try_path(&proof, "%s", path);
	free(path);
	return file;
}

static void find_debug(const struct locate_places *places, const char *path,
		       struct located *located)
{
	if (located->module && elf_file_has_dwarf(located->module))
		return;
	located->debug = find_by_build_id(places, &located->build_id);
	if (!located->debug && located->module)
		located->debug = find_by_link(places, path, located);
	if (!located->debug)
		located->debug = find_by_debuginfod(places, &located->build_id);
}

/* Next to the file that names it, or where it says, or below the debug folders
 * (Debian: .dwz). */
static struct elf_file *find_supplement_by_name(const struct locate_places *places,
						const struct elf_file *from, const char *name,
						const struct proof *proof)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	struct elf_file *file = NULL;

	if (name[0] == '/') {
		file = try_path(proof, "%s%s", places->sysroot, name);
	} else {
		char *real = realpath(from->path, NULL);

		file = try_path(proof, "%.*s/%s", folder_length(from->path), from->path, name);
		if (!file && real)
			file = try_path(proof, "%.*s/%s", folder_length(real), real, name);
		free(real);
	}
	for (size_t i = 0; i < places->debug_paths_count && !file; i++)
		file = try_path(proof, "%s/.dwz/%s", places->debug_paths[i], base);
	return file ? file : try_path(proof, "%s/usr/lib/debug/.dwz/%s", places->sysroot, base);
}

static void find_supplement(const struct locate_places *places, struct located *located)
{
	const struct elf_file *from = located->debug ? located->debug : located->module;
	struct build_id build_id = { 0 };
	struct proof proof = { .build_id = &build_id };
	size_t size = 0;
	const uint8_t *bytes;
	const char *name = from ? elf_file_link(from, ".gnu_debugaltlink", &bytes, &size) : NULL;

	if (!name || size == 0 || size > sizeof(build_id.bytes))
		return;
	build_id.size = size;
	memcpy(build_id.bytes, bytes, size);
	located->supplement = find_supplement_by_name(places, from, name, &proof);
	if (!located->supplement)
		located->supplement = find_by_build_id(places, &build_id);
	if (!located->supplement)
		located->supplement = find_by_debuginfod(places, &build_id);
}

static enum locate_result open_module(const char *path, const struct build_id *wanted,
				      struct located *located)
{
	struct build_id found;
	int error = elf_file_open(path, &located->module);

	if (error == -ENOEXEC)
		return LOCATE_UNREADABLE;
	if (error)
		return LOCATE_MISSING;
	elf_file_build_id(located->module, &found);
	if (wanted->size == 0 || build_id_equal(&found, wanted)) {
		located->build_id = found;
		return LOCATE_FOUND;
	}
	elf_file_close(located->module);
	located->module = NULL;
	return LOCATE_REPLACED;
}

/* A deleted file's name may be in use again, by the same build if a package was
 * installed anew. */
static enum locate_result open_deleted(char *path, const struct build_id *wanted,
				       struct located *located)
{
	size_t length = strlen(path), tail = strlen(DELETED);
	enum locate_result result;

	if (wanted->size == 0 || length <= tail || strcmp(path + length - tail, DELETED) != 0)
		return LOCATE_MISSING;
	path[length - tail] = '\0';
	result = open_module(path, wanted, located);
	return result == LOCATE_FOUND ? result : LOCATE_MISSING;
}

static enum locate_result find_module(const struct locate_places *places, const char *path,
				      const struct build_id *wanted, struct located *located)
{
	enum locate_result result;
	char *full;

	/* No file: [vdso], linux-vdso.so.1, //anon; or relative to a folder we
	 * do not know. */
	if (!strchr(path, '/') || (path[0] != '/' && wanted->size == 0))
		return LOCATE_MISSING;
	if (asprintf(&full, "%s%s", places->sysroot, path) < 0)
		return LOCATE_MISSING;
	result = open_module(full, wanted, located);
	if (result == LOCATE_MISSING)
		result = open_deleted(full, wanted, located);
	free(full);
	return result;
}

void locate_module(const struct locate_places *places, const char *path,
		   const struct build_id *build_id, struct located *located)
{
	memset(located, 0, sizeof(*located));
	located->build_id = *build_id;
	located->module_result = find_module(places, path, build_id, located);
	find_debug(places, path, located);
	find_supplement(places, located);
}

void located_release(struct located *located)
{
	elf_file_close(located->module);
	elf_file_close(located->debug);
	elf_file_close(located->supplement);
	memset(located, 0, sizeof(*located));
}
