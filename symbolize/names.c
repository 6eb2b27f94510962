/* SPDX-License-Identifier: MIT */
/*
 * Interned strings and demangled names.
 */
#include "symbolize/names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/demangle.h"
#include "symbolize/symbolize.h"

/* Longer texts are cut: a damaged file may have names of any length. */
#define TEXT_MAX 65535

struct name {
	uint64_t hash;
	const char *readable; /* interned, or NULL; meaningful once `tried` */
	bool tried;
	char text[];
};

static uint64_t hash_text(const char *text, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return hash ^ (hash >> 29);
}

static int names_grow(struct names *names)
{
	size_t count = names->slots_count ? names->slots_count * 2 : 256;
	struct name **slots = calloc(count, sizeof(struct name *));

	if (!slots)
		return -1;
	for (size_t i = 0; i < names->slots_count; i++) {
		struct name *name = names->slots[i];
		size_t at;

		if (!name)
			continue;
		for (at = name->hash & (count - 1); slots[at]; at = (at + 1) & (count - 1))
			;
		slots[at] = name;
	}
	free(names->slots);
	names->slots = slots;
	names->slots_count = count;
	return 0;
}

static struct name *names_get(struct names *names, const char *text)
{
	size_t size = strnlen(text, TEXT_MAX), mask, at;
	uint64_t hash = hash_text(text, size);
	struct name *name;

	if (names->used * 4 >= names->slots_count * 3 && names_grow(names))
		return NULL;
	mask = names->slots_count - 1;
	for (at = hash & mask; names->slots[at]; at = (at + 1) & mask) {
		name = names->slots[at];
		if (name->hash == hash && strncmp(name->text, text, size) == 0 &&
		    name->text[size] == '\0')
			return name;
	}
	name = malloc(sizeof(*name) + size + 1);
	if (!name)
		return NULL;
	*name = (struct name){ .hash = hash };
	memcpy(name->text, text, size);
	name->text[size] = '\0';
	names->slots[at] = name;
	names->used++;
	return name;
}

const char *names_intern(struct names *names, const char *text)
{
	struct name *name = names_get(names, text);

	return name ? name->text : NULL;
}

const char *names_readable(struct names *names, const char *linkage)
{
	struct name *name;
	char *readable;

	if (!demangle_candidate(linkage))
		return NULL;
	name = names_get(names, linkage);
	if (!name || name->tried)
		return name ? name->readable : NULL;
	name->tried = true;
	readable = sym_demangle(linkage);
	if (readable)
		name->readable = names_intern(names, readable);
	free(readable);
	return name->readable;
}

void names_release(struct names *names)
{
	for (size_t i = 0; i < names->slots_count; i++)
		free(names->slots[i]);
	free(names->slots);
	memset(names, 0, sizeof(*names));
}
