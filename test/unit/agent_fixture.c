/* SPDX-License-Identifier: MIT */
/* The agent inside a test program; see agent_fixture.h. */
#include "test/unit/agent_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/modules.h"
#include "agent/rules.h"
#include "agent/segment.h"
#include "agent/stack_cache.h"
#include "agent/stack_memory.h"
#include "agent/stack_tree.h"
#include "agent/threads.h"

static char directory[64];
static const char *view; /* the region, read-only */
static struct seg_header *real_header;

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "agent_fixture: %s: %s\n", what, strerror(errno));
	abort();
}

uint64_t fixture_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

uint64_t fixture_below(uint64_t *state, uint64_t count)
{
	return (fixture_random(state) >> 11) % count;
}

static void make_directory(void)
{
	static const char *const bases[] = { "/dev/shm", "/tmp" };

	for (size_t i = 0; i < 2; i++) {
		snprintf(directory, sizeof(directory), "%s/memtrack-unit-XXXXXX", bases[i]);
		if (mkdtemp(directory))
			return;
	}
	must(0, "mkdtemp");
}

/* Calls `act` with the path of each file in the folder. */
static void each_file(void (*act)(const char *path))
{
	DIR *d = opendir(directory);
	const struct dirent *entry;
	char path[512];

	while (d && (entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (entry->d_name[0] != '.')
			act(path);
	}
	if (d)
		closedir(d);
}

static void map_view(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *p = MAP_FAILED;

	if (fd >= 0)
		p = mmap(NULL, SEG_REGION_SIZE, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	must(p != MAP_FAILED, "mmap");
	close(fd);
	view = p;
}

static void remove_file(const char *path)
{
	unlink(path);
}

/* The main thread's stack, as the kernel shows it. */
static void find_stack(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct rlimit limit = { 0 };
	unsigned long low, high, top = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[stack]") && sscanf(line, "%lx-%lx", &low, &high) == 2)
			top = high;
	must(top != 0, "/proc/self/maps");
	fclose(maps);
	getrlimit(RLIMIT_STACK, &limit);
	if (limit.rlim_cur > 1 << 30)
		limit.rlim_cur = 1 << 30;
	stack_memory_start(top, limit.rlim_cur & ~4095ul);
}

static void find_program(void)
{
	static unsigned long auxiliary[256];
	int fd = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && read(fd, auxiliary, sizeof(auxiliary) - 16) > 0, "/proc/self/auxv");
	close(fd);
	modules_start(auxiliary);
}

void fixture_start(uint32_t depth, uint32_t buckets)
{
	struct segment_request request = { .directory = directory, .depth = depth };

	make_directory();
	find_stack();
	find_program();
	stack_cache_start(depth);
	must(rules_start(), "rules_start");
	must(segment_claim(&request, NULL), "segment_claim");
	must(stack_tree_start(buckets), "stack_tree_start");
	threads_start();
	segment_activate();
	each_file(map_view);
	must(view != NULL, "no segment in the folder");
	real_header = segment;
}

void fixture_stop(void)
{
	each_file(remove_file);
	rmdir(directory);
}

void fixture_use_header(struct seg_header *header)
{
	segment = header ? header : real_header;
}

const void *fixture_at(uint64_t offset)
{
	must(offset < SEG_REGION_SIZE, "offset out of the region");
	return view + offset;
}

const void *fixture_record(const uint64_t *chunks, uint32_t first, size_t size, uint32_t index)
{
	uint64_t position = index, length = first;
	unsigned chunk = 0;

	while (position >= length) {
		position -= length;
		length *= 2;
		chunk++;
	}
	return chunks[chunk] ? fixture_at(chunks[chunk] + position * size) : NULL;
}

const struct seg_node *fixture_node(uint32_t id)
{
	const struct seg_header *h = fixture_at(0);

	must(id < h->node_count, "node id out of range");
	return fixture_record(h->node_chunks, SEG_NODE_FIRST, sizeof(struct seg_node), id);
}

unsigned fixture_path(uint32_t node, uintptr_t *addresses, unsigned room, uint32_t *root)
{
	unsigned count = 0;

	while (node >= SEG_FIRST_NODE) {
		const struct seg_node *n = fixture_node(node);

		must(n && n->parent < node, "a node's parent is not older than the node");
		if (count < room)
			addresses[count] = n->address;
		count++;
		node = n->parent;
	}
	*root = node;
	return count;
}

void *fixture_guarded(size_t size)
{
	size_t pages = (size + 4095) & ~4095ul;
	char *p = mmap(NULL, pages + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED && mprotect(p + 4096, pages, PROT_READ | PROT_WRITE) == 0, "mmap");
	return p + 4096 + pages - size;
}
