/* SPDX-License-Identifier: MIT */
/* Claiming, mapping and growing the segment; see segment.h. */
#include "agent/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "agent/arch.h"
#include "agent/growth.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"

struct seg_header *segment;
struct rt_lock growth_lock;

enum { PATH_SIZE = 4400, OPEN_FLAGS = O_RDWR | O_CLOEXEC | O_NOFOLLOW };

/* The newest window: [low, high) of the region is mapped at `address`. */
static struct {
	char *address;
	uint64_t low, high;
} window;

static uint64_t region_limit; /* the size of a region, less in a file that had to be shorter */
static uint32_t region;	      /* which one of the file we have */
static bool is_private;	      /* no file: each window is a mapping of its own */
static struct seg_header *region_zero;

static char *append(char *to, const char *text)
{
	size_t n = rt_length(text);

	memcpy(to, text, n + 1);
	return to + n;
}

static char *append_number(char *to, uint64_t value, unsigned base)
{
	char digits[24];
	int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	while (n)
		*to++ = digits[--n];
	*to = 0;
	return to;
}

/* Renames any spare to `path`; true when one was had. */
static bool take_spare(const char *directory, int32_t pid, const char *path)
{
	static char spare[PATH_SIZE]; /* static: the stack may be a small one */
	char *end = append(append(append(spare, directory), "/"), SEG_SPARE_PREFIX);

	for (unsigned i = 0; i < SEG_SPARES; i++) {
		append_number(end, ((unsigned)pid + i) % SEG_SPARES, 10);
		if (!rt_failed(rt_syscall3(SYS_rename, (long)spare, (long)path, 0)))
			return true;
	}
	return false;
}

/* The size for a file of our own making: to ask for more than RLIMIT_FSIZE would kill the target by SIGXFSZ.  0: none. */
static uint64_t allowed_size(void)
{
	struct rlimit limit;

	if (rt_failed(rt_syscall3(SYS_getrlimit, RLIMIT_FSIZE, (long)&limit, 0)))
		return 0;
	if (limit.rlim_cur >= SEG_FILE_SIZE)
		return SEG_FILE_SIZE;
	return limit.rlim_cur >= SEG_SMALLEST ? limit.rlim_cur & ~(RT_PAGE - 1) : 0;
}

/* Without a launcher to make spares in time the agent makes its own file. */
static int open_file(const char *directory, int32_t pid, const char *path)
{
	uint64_t size;
	long fd;

	if (take_spare(directory, pid, path))
		return (int)rt_syscall3(SYS_open, (long)path, OPEN_FLAGS, 0);
	size = allowed_size();
	fd = size ? rt_syscall3(SYS_open, (long)path, OPEN_FLAGS | O_CREAT | O_EXCL, 0600) : -1;
	if (!rt_failed(fd) && rt_failed(rt_syscall3(SYS_ftruncate, fd, (long)size, 0))) {
		rt_syscall3(SYS_close, fd, 0, 0);
		rt_syscall3(SYS_unlink, (long)path, 0, 0);
		return -1;
	}
	return (int)fd;
}

static bool map_first_window(int fd)
{
	long size = rt_syscall3(SYS_lseek, fd, 0, 2 /* SEEK_END */);
	uint64_t length = SEG_WINDOW;
	long p;

	if (rt_failed(size) || size < (long)SEG_SMALLEST)
		return false;
	if (size < (long)SEG_WINDOW)
		length = (uint64_t)size;
	p = rt_syscall6(SYS_mmap, 0, (long)length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rt_failed(p))
		return false;
	window.address = (char *)p;
	window.low = 0;
	window.high = length;
	region = 0;
	region_zero = (struct seg_header *)p;
	region_limit = (uint64_t)size < SEG_REGION_SIZE ? (uint64_t)size : SEG_REGION_SIZE;
	return true;
}

/* Maps `length` bytes of the file that begin `distance` after the page at `page` (of a shared mapping), without a
 * descriptor: an old size of 0 makes mremap duplicate the mapping, and a longer new size reaches on into the file. */
static char *map_further(char *page, uint64_t distance, uint64_t length)
{
	long p = rt_syscall6(SYS_mremap, (long)page, 0, (long)(distance + length), MREMAP_MAYMOVE,
			     0, 0);

	if (rt_failed(p))
		return NULL;
	rt_unmap((char *)p, distance);
	return (char *)p + distance;
}

/* In a forked child: the next free region of the parent's file. */
static bool map_own_region(const struct seg_header *parent)
{
	uint32_t next;
	char *p;

	if (region_limit < SEG_REGION_SIZE)
		return false;
	next = __atomic_fetch_add(&region_zero->regions_taken, 1, __ATOMIC_RELAXED);
	if (next >= SEG_REGIONS)
		return false;
	/* The parent's header is the first page of its region. */
	p = map_further((char *)parent, (next - region) * SEG_REGION_SIZE, SEG_WINDOW);
	if (!p)
		return false;
	window.address = p;
	window.low = 0;
	window.high = SEG_WINDOW;
	region = next;
	return true;
}

static uint64_t clock_ns(int clock)
{
	struct timespec t = { 0 };

	rt_syscall3(SYS_clock_gettime, clock, (long)&t, 0);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fill_identity(struct seg_header *h, const struct segment_request *request, int32_t pid)
{
	h->magic = SEG_MAGIC;
	h->layout_version = SEG_LAYOUT_VERSION;
	h->header_size = sizeof(*h);
	h->regions_taken = region ? 0 : 1;
	h->origin = request->origin;
	h->pid = pid;
	h->parent_pid = (int32_t)rt_syscall3(SYS_getppid, 0, 0, 0);
	h->start_tsc = arch_cycles();
	h->start_realtime_ns = clock_ns(CLOCK_REALTIME);
	h->start_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	h->image = h->start_tsc ^ (uint64_t)pid << 40;
	h->parent_image = request->parent_image;
	h->depth = request->depth;
	h->sample_mean = request->sample_mean;
	h->flags = request->flags;
	h->node_count = SEG_FIRST_NODE;
	h->module_count = 1;
	h->used = (sizeof(*h) + RT_PAGE - 1) & ~(RT_PAGE - 1);
	__atomic_store_n(&h->state, SEG_CLAIMED, __ATOMIC_RELEASE);
}

/* A file of our own, found by path. */
static bool claim_file(const struct segment_request *request, int32_t pid)
{
	static char path[PATH_SIZE];
	bool mapped;
	char *end;
	int fd;

	if (rt_length(request->directory) > PATH_SIZE - 100)
		return false;
	end = append(append(append(path, request->directory), "/"), SEG_IMAGE_PREFIX);
	end = append(append_number(end, (uint64_t)pid, 10), ".");
	append_number(end, arch_cycles(), 16);
	fd = open_file(request->directory, pid, path);
	if (fd < 0)
		return false;
	mapped = map_first_window(fd);
	rt_syscall3(SYS_close, fd, 0, 0);
	return mapped;
}

bool segment_claim(const struct segment_request *request, struct seg_header *parent)
{
	int32_t pid = (int32_t)rt_syscall3(SYS_getpid, 0, 0, 0);

	segment = NULL;
	if (!(parent && map_own_region(parent)) && !claim_file(request, pid))
		return false;
	if (!rt_touch((uintptr_t)window.address)) {
		rt_unmap(window.address, window.high - window.low);
		return false;
	}
	segment = (struct seg_header *)window.address;
	fill_identity(segment, request, pid);
	return true;
}

bool segment_claim_private(const struct segment_request *request)
{
	segment = NULL;
	window.address = rt_map(SEG_WINDOW);
	if (!window.address)
		return false;
	window.low = 0;
	window.high = SEG_WINDOW;
	region_limit = SEG_REGION_SIZE;
	is_private = true;
	segment = (struct seg_header *)window.address;
	fill_identity(segment, request, (int32_t)rt_syscall3(SYS_getpid, 0, 0, 0));
	return true;
}

void segment_activate(void)
{
	__atomic_store_n(&segment->state, SEG_ACTIVE, __ATOMIC_RELEASE);
}

/* Maps the part of the region after the current window, at least `size` bytes of it. */
static bool next_window(size_t size)
{
	uint64_t length = 2 * (window.high - window.low);
	char *p;

	while (length < size)
		length *= 2;
	if (length > region_limit - window.high)
		return false;
	p = is_private ? rt_map(length)
		       : map_further(window.address + (window.high - window.low) - RT_PAGE, RT_PAGE,
				     length);
	if (!p)
		return false;
	window.address = p;
	window.low = window.high;
	window.high += length;
	return true;
}

bool segment_back(const void *address, size_t size)
{
	uintptr_t page = (uintptr_t)address & ~(RT_PAGE - 1);
	uintptr_t end = (uintptr_t)address + size;

	for (; page < end; page += RT_PAGE)
		if (!rt_touch(page)) {
			segment_drop(SEG_NO_ROOM, 1);
			return false;
		}
	return true;
}

void *segment_alloc(size_t size, size_t backed, uint64_t *offset)
{
	uint64_t start = (segment->used + 63) & ~63ull;
	char *address;

	if (start + size > window.high) {
		start = window.high;
		if (!next_window(size)) {
			segment_drop(SEG_NO_ROOM, 1);
			return NULL;
		}
	}
	address = window.address + (start - window.low);
	if (!segment_back(address, backed))
		return NULL;
	__atomic_store_n(&segment->used, start + size, __ATOMIC_RELEASE);
	*offset = start;
	return address;
}

void segment_drop(enum seg_drop what, uint64_t count)
{
	if (segment)
		__atomic_fetch_add(&segment->drops[what], count, __ATOMIC_RELAXED);
}
