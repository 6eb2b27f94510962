/* SPDX-License-Identifier: MIT */
/*
 * Where libraries lie: LD_LIBRARY_PATH, the loader's cache, the usual directories.  The cache is read here instead of
 * asking the loader, since that would execute the library's constructors in memtrack.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocators/allocators.h"

#define CACHE	    "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

enum {
	CACHE_HEADER = 48,
	CACHE_ENTRY = 24,
	CACHE_X86_64 = 0x0303, /* a library of libc 6, 64 bits */
	CACHE_LARGEST = 64 << 20,
};

static uint32_t word_at(const char *cache, size_t offset)
{
	uint32_t word;

	memcpy(&word, cache + offset, sizeof(word));
	return word;
}

/* A string that ends within the file; NULL: it does not. */
static const char *string_at(const char *cache, size_t size, uint32_t offset)
{
	return offset < size && memchr(cache + offset, 0, size - offset) ? cache + offset : NULL;
}

/* Libraries for special processors (hwcap, the last 8 bytes) are left out: there is a plain one as well. */
bool allocator_search_cache(const char *cache, size_t size, const char *soname,
			    allocator_visit visit, void *context)
{
	uint32_t count;

	if (size < CACHE_HEADER || memcmp(cache, CACHE_MAGIC, strlen(CACHE_MAGIC)) != 0)
		return false;
	count = word_at(cache, strlen(CACHE_MAGIC));
	if (count > (size - CACHE_HEADER) / CACHE_ENTRY)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		size_t entry = CACHE_HEADER + (size_t)i * CACHE_ENTRY;
		const char *key = string_at(cache, size, word_at(cache, entry + 4));
		const char *path = string_at(cache, size, word_at(cache, entry + 8));

		if (word_at(cache, entry) != CACHE_X86_64 || word_at(cache, entry + 16) ||
		    word_at(cache, entry + 20) || !key || !path || *path != '/' ||
		    strcmp(key, soname) != 0)
			continue;
		if (access(path, F_OK) == 0 && visit(path, context))
			return true;
	}
	return false;
}

static bool search_system_cache(const char *soname, allocator_visit visit, void *context)
{
	int fd = open(CACHE, O_RDONLY | O_CLOEXEC);
	bool found = false;
	struct stat st;
	char *cache;
	ssize_t n;

	if (fd < 0)
		return false;
	/* Read, not mapped: it may be cut short meanwhile. */
	if (fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= CACHE_LARGEST &&
	    (cache = malloc((size_t)st.st_size))) {
		n = pread(fd, cache, (size_t)st.st_size, 0);
		if (n > 0)
			found = allocator_search_cache(cache, (size_t)n, soname, visit, context);
		free(cache);
	}
	close(fd);
	return found;
}

/* Directories separated by `separators`; an empty one is the current directory. */
static bool search_directories(const char *list, const char *separators, const char *soname,
			       allocator_visit visit, void *context)
{
	while (list) {
		size_t length = strcspn(list, separators);
		char path[PATH_MAX];
		int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)length, list,
				 length ? "/" : "./", soname);

		if (n > 0 && n < (int)sizeof(path) && access(path, F_OK) == 0 &&
		    visit(path, context))
			return true;
		list = list[length] ? list + length + 1 : NULL;
	}
	return false;
}

void allocator_search(const char *soname, allocator_visit visit, void *context)
{
	const char *first = getenv("LD_LIBRARY_PATH");

	if (first && *first && search_directories(first, ":;", soname, visit, context))
		return;
	if (search_system_cache(soname, visit, context))
		return;
	search_directories("/usr/local/lib:/usr/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu:"
			   "/usr/lib64:/lib64:/usr/lib:/lib",
			   ":", soname, visit, context);
}
