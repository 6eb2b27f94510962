/* SPDX-License-Identifier: MIT */
/* Names of threads from outside; see thread_names.h. */
#include "cmd/thread_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/image_private.h"

enum {
	MOST_WATCHED = 1 << 12, /* shards; names of later threads are not worth the time */
	FIRST_INTERVAL_NS = 5 * 1000 * 1000,
};

/* The part of a shard's record that tells who holds it. */
struct holder {
	uint32_t held, holders, tid;
	bool named; /* the agent knows the name */
};

static struct holder read_holder(struct image_source source, const struct seg_header *header,
				 uint32_t index)
{
	struct seg_place place = seg_chunk_of(index, SEG_SHARD_FIRST);
	struct seg_shard shard;

	if (place.chunk >= SEG_SHARD_CHUNKS || !header->shard_chunks[place.chunk] ||
	    !read_at(source,
		     header->shard_chunks[place.chunk] + place.position * sizeof(struct seg_shard),
		     &shard, offsetof(struct seg_shard, chunks)))
		return (struct holder){ 0 };
	return (struct holder){ shard.held, shard.holders, shard.tid, shard.name[0] != 0 };
}

/* What it is called now; what was known stays when it has just ended. */
static void read_name(struct thread_name *name, int pid)
{
	char path[64], text[SEG_NAME_SIZE + 1];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", pid, name->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	snprintf(name->text, sizeof(name->text), "%.*s", SEG_NAME_SIZE - 1, text);
}

static bool make_room(struct thread_names *names, uint32_t count)
{
	struct thread_name *more;

	if (count <= names->count)
		return true;
	more = realloc(names->names, count * sizeof(*more));
	if (!more)
		return false;
	memset(more + names->count, 0, (count - names->count) * sizeof(*more));
	names->names = more;
	names->count = count;
	return true;
}

static void look(struct thread_name *name, struct holder holder, int pid, uint64_t now_ns)
{
	if (!holder.held || !holder.tid || holder.named)
		return;
	if (name->holders != holder.holders || name->tid != holder.tid)
		*name = (struct thread_name){ .holders = holder.holders,
					      .tid = holder.tid,
					      .every_ns = FIRST_INTERVAL_NS };
	else if (now_ns < name->next_ns)
		return;
	read_name(name, pid);
	name->next_ns = now_ns + name->every_ns;
	name->every_ns *= 2;
}

void thread_names_look(struct thread_names *names, struct image_source source,
		       const struct seg_header *header, uint64_t now_ns)
{
	uint32_t count = at_most(image_shard_count(source, header), MOST_WATCHED);

	if (!make_room(names, count))
		return;
	for (uint32_t i = 0; i < count; i++)
		look(&names->names[i], read_holder(source, header, i), header->pid, now_ns);
}

const char *thread_names_find(const struct thread_names *names, uint32_t index, uint32_t holders,
			      uint32_t tid)
{
	const struct thread_name *name;

	if (index >= names->count)
		return "";
	name = &names->names[index];
	return name->holders == holders && name->tid == tid ? name->text : "";
}

void thread_names_release(struct thread_names *names)
{
	free(names->names);
	*names = (struct thread_names){ 0 };
}
