/* SPDX-License-Identifier: MIT */
/* What the agent counted of its own troubles, in words; see notes.h. */
#include "cmd/notes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
	enum seg_drop drop;
	const char *text;
};

static const struct line lines[] = {
	{ SEG_NO_ROOM,
	  "the session directory ran full or memory was limited: new stacks were not recorded from then on "
	  "(see allocations without a stack)" },
	{ SEG_LOST_CHILDREN,
	  "forked children are missing: they could not reach the session directory" },
	{ SEG_DEEPBOUND,
	  "libraries opened with RTLD_DEEPBIND call the C library's malloc directly: not recorded" },
	{ SEG_UNSEEN_FREES,
	  "blocks were freed without a call of free that can be seen; they count as freed when their "
	  "address was given out again" },
	{ SEG_TRUTH_CHECKED, "truth mode: stacks compared with an independent unwinder" },
	{ SEG_TRUTH_DIFFERENT, "truth mode: stacks that differ" },
	{ SEG_UNTRACKED_BLOCKS,
	  "blocks for which there was no memory to remember them: they count as leaked" },
};

/* Allocators whose operator new and delete do not go by way of malloc and free. */
static bool has_own_operators(const char *allocator)
{
	static const char *const names[] = { "jemalloc", "tcmalloc", "mimalloc", "tbbmalloc",
					     "snmalloc" };
	const char *base = strrchr(allocator, '/');

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strstr(base ? base : allocator, names[i]))
			return true;
	return false;
}

char *notes_of(const struct seg_header *header, const char *allocator)
{
	char *text = NULL;
	size_t size = has_own_operators(allocator);
	FILE *out;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		size += header->drops[lines[i].drop] != 0;
	if (!size)
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	if (has_own_operators(allocator))
		fprintf(out,
			"the C++ operators new and delete of '%s' bypass malloc and free: what they do is not recorded, and "
			"a block that is allocated by one and freed by the other seems leaked or unknown\n",
			allocator);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (header->drops[lines[i].drop])
			fprintf(out, "%s (%" PRIu64 ")\n", lines[i].text,
				header->drops[lines[i].drop]);
	fclose(out);
	return text;
}
