/* SPDX-License-Identifier: MIT */
/* What the agent counted of its own troubles, in words; see notes.h. */
#include "cmd/notes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* The same file, whatever its name; unless one has gone, that is by name. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat s, t;

	if (strcmp(a, b) == 0)
		return true;
	return stat(a, &s) == 0 && stat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

static void note_allocator(FILE *out, const struct notes_of_allocator *a)
{
	if (a->asked && *a->served && !is_same_file(a->asked, a->served))
		fprintf(out, "asked for '%s' (--malloc), but '%s' serves malloc in this program\n",
			a->asked, a->served);
	if (has_own_operators(a->served) && !a->our_operators)
		fprintf(out,
			"the C++ operators new and delete of '%s' bypass malloc and free: what they do is not recorded, and "
			"a block that is allocated by one and freed by the other seems leaked or unknown\n",
			a->served);
}

static void note_session(FILE *out, const struct seg_header *header)
{
	if (header->flags & SEG_NOT_RECORDED)
		fputs("allocations were not recorded (--trace=none)\n", out);
	else if (header->flags & SEG_WITHOUT_STACKS)
		fputs("recorded without stacks (--trace without callstack, as in --trace=memory_light)\n",
		      out);
}

char *notes_of(const struct seg_header *header, const struct notes_of_allocator *allocator)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	note_session(out, header);
	if (header->flags & SEG_NO_USABLE_SIZE)
		fprintf(out,
			"slack was not recorded: the allocator '%s' has no malloc_usable_size to tell it\n",
			allocator->served);
	note_allocator(out, allocator);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (header->drops[lines[i].drop])
			fprintf(out, "%s (%" PRIu64 ")\n", lines[i].text,
				header->drops[lines[i].drop]);
	if (fclose(out) || !size) {
		free(text);
		return NULL;
	}
	return text;
}
