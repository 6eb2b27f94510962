/* SPDX-License-Identifier: MIT */
/* What `run --trace` records: a comma list of channels and presets, as Unreal's tools name them. */
#ifndef MEMTRACK_CMD_CHANNELS_H
#define MEMTRACK_CMD_CHANNELS_H

#include <stdio.h>

#include "report/diag.h"

enum channels {
	CHANNEL_CALLSTACK = 1 << 0, /* the stack of each allocation */
	CHANNEL_MEMTAG = 1 << 1,    /* tags that a program gives to its allocations */
	CHANNEL_MEMALLOC = 1 << 2,  /* each allocation as an event of its own, in a trace */
	CHANNELS_NONE = 0,
	CHANNELS_MEMORY_LIGHT = CHANNEL_MEMTAG | CHANNEL_MEMALLOC,
	CHANNELS_MEMORY = CHANNELS_MEMORY_LIGHT | CHANNEL_CALLSTACK,
	CHANNELS_DEFAULT = CHANNEL_CALLSTACK | CHANNEL_MEMTAG,
};

/* For completion: names with a comma can be parts of a list. */
#define CHANNEL_NAMES "callstack,|memtag,|memalloc,|memory,|memory_light,|none"

/* 0 and *channels, or -EINVAL with *diag filled. */
int channels_parse(const char *text, unsigned *channels, struct diag *diag)
	__attribute__((warn_unused_result));
/* What there is, for people. */
void channels_list(FILE *out);

#endif
