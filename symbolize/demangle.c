/* SPDX-License-Identifier: MIT */
/*
 * Readable names for linkage names, by libiberty.
 *
 * Names come from files nobody vouches for.  A short one can stand for
 * gigabytes (each argument twice the one before), so what libiberty writes is
 * taken piece by piece and it is stopped when that is too much; it keeps
 * nothing on the heap meanwhile.  And its depth of recursion grows with the
 * length of the name, so there is a limit to that.
 */
#include "symbolize/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/symbolize.h"

/* libiberty's own limit gives names of 1024 letters up, which template
 * libraries exceed.  Up to here its recursion stays within 2 MB of stack;
 * longer names are shown as they are. */
#define LINKAGE_MAX	8192
#define LINKAGE_LIMITED 1000

/* What is longer helps nobody. */
#define READABLE_MAX 65536

/* D has no way to stop it: back references double what is written two by
 * two. */
#define D_LINKAGE_MAX	 2048
#define D_REFERENCES_MAX 32

struct sink {
	jmp_buf stop;
	char *text;
	size_t size;
	size_t capacity;
};

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool demangle_candidate(const char *linkage)
{
	return starts_with(linkage, "_Z") || starts_with(linkage, "_R") ||
	       starts_with(linkage, "_D") || starts_with(linkage, "_GLOBAL_");
}

/* Called by libiberty with the next piece. */
static void sink_write(const char *piece, size_t size, void *context)
{
	struct sink *sink = context;

	if (sink->size + size >= READABLE_MAX)
		longjmp(sink->stop, 1);
	if (sink->size + size >= sink->capacity) {
		size_t capacity = 2 * (sink->size + size) + 128;
		char *text = realloc(sink->text, capacity);

		if (!text)
			longjmp(sink->stop, 1);
		sink->text = text;
		sink->capacity = capacity;
	}
	memcpy(sink->text + sink->size, piece, size);
	sink->size += size;
	sink->text[sink->size] = '\0';
}

typedef int demangler(const char *linkage, int options, demangle_callbackref write, void *context);

static char *run(demangler *demangle, const char *linkage, int options)
{
	struct sink sink = { .text = NULL };

	if (setjmp(sink.stop) || !demangle(linkage, options, sink_write, &sink) || sink.size == 0) {
		free(sink.text);
		return NULL;
	}
	return sink.text;
}

/* libiberty lets the hash of a legacy Rust name through when it is of an
 * unusual form. */
static char *cut_rust_hash(char *name)
{
	size_t size = strlen(name);
	char *hash = name + size - 19;

	if (size > 19 && starts_with(hash, "::h") && strspn(hash + 3, "0123456789abcdef") == 16)
		*hash = '\0';
	return name;
}

static char *demangle_d(const char *linkage, size_t size)
{
	size_t references = 0;
	char *name;

	for (const char *at = linkage; *at; at++)
		references += *at == 'Q';
	if (size > D_LINKAGE_MAX || references > D_REFERENCES_MAX)
		return NULL;
	name = dlang_demangle(linkage, DMGL_PARAMS | DMGL_ANSI);
	if (name && strlen(name) < READABLE_MAX)
		return name;
	free(name);
	return NULL;
}

char *sym_demangle(const char *linkage)
{
	int options = DMGL_PARAMS | DMGL_ANSI;
	size_t size = linkage ? strnlen(linkage, LINKAGE_MAX + 1) : 0;
	char *name;

	if (size == 0 || size > LINKAGE_MAX || !demangle_candidate(linkage))
		return NULL;
	if (starts_with(linkage, "_D"))
		return demangle_d(linkage, size);
	name = run(rust_demangle_callback, linkage, options);
	if (name)
		return cut_rust_hash(name);
	if (size > LINKAGE_LIMITED)
		options |= DMGL_NO_RECURSE_LIMIT;
	return run(cplus_demangle_v3_callback, linkage, options);
}
