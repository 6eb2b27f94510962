/* SPDX-License-Identifier: MIT */
/* Channels; see channels.h. */
#include "cmd/channels.h"

#include <errno.h>
#include <string.h>

static const struct channel {
	const char *name;
	unsigned channels;
	const char *help;
} known[] = {
	{ "callstack", CHANNEL_CALLSTACK, "the call stack of each allocation" },
	{ "memtag", CHANNEL_MEMTAG, "the tags that a program gives to its allocations" },
	{ "memalloc", CHANNEL_MEMALLOC, "each allocation as an event, for a trace" },
	{ "memory", CHANNELS_MEMORY, "all of these" },
	{ "memory_light", CHANNELS_MEMORY_LIGHT,
	  "all but callstack: exact totals without stacks, for less cost" },
	{ "none", CHANNELS_NONE,
	  "nothing: the program runs on the allocator of --malloc, and no "
	  "recording is written, but that of stomp's errors" },
};

int channels_parse(const char *text, unsigned *channels, struct diag *diag)
{
	unsigned all = 0;

	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ","), i = 0;

		while (i < sizeof(known) / sizeof(*known) &&
		       (strlen(known[i].name) != length || strncmp(known[i].name, at, length) != 0))
			i++;
		if (i == sizeof(known) / sizeof(*known)) {
			diag_set(diag, -EINVAL, "unknown channel '%.*s' in --trace=%s", (int)length,
				 at, text);
			diag_hint(diag, "'memtrack help channels' lists those there are");
			return -EINVAL;
		}
		if (known[i].channels == CHANNELS_NONE && strchr(text, ',')) {
			diag_set(diag, -EINVAL, "--trace=%s: 'none' goes with no other channel",
				 text);
			return -EINVAL;
		}
		all |= known[i].channels;
		at += length;
		if (!*at)
			break;
	}
	*channels = all;
	return 0;
}

void channels_list(FILE *out)
{
	fputs("What run --trace=CHANNELS records, a comma list of:\n", out);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		fprintf(out, "  %-14s%s\n", known[i].name, known[i].help);
	fputs("Without --trace: callstack,memtag\n", out);
}
