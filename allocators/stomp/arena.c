/* SPDX-License-Identifier: MIT */
/* Spans, slots and their records; see arena.h. */
#include "allocators/stomp/arena.h"

#include <sys/mman.h>

#include "agent/rt/sys.h"
#include "allocators/stomp/guard.h"

#define SPAN_BITS   22
#define ARENA_MOST  (1ull << 40)
#define ARENA_LEAST (1ull << 30)

enum {
	SMALL_CLASSES = 8, /* of 1, 2, ... pages; then four to each doubling */
	CLASSES = SMALL_CLASSES + 4 * 27,
	RECORDS_AT_ONCE = 1 << 20, /* bytes */
};

/* Of each 4 MiB of the arena. */
struct span {
	uint32_t class_plus_1; /* 0: not given out */
	uint32_t first;	       /* the span that its slot begins in */
	struct stomp_record *records;
};

/* Where a class takes its slots from. */
struct class
{
	struct stomp_record *free; /* the one that was given back last */
	uint32_t span, next_slot;  /* span 0: none yet */
};

struct arena stomp_arena;
static struct span *spans;
static uint32_t span_count, spans_used = 1; /* before the first there must be a guard */
static struct class classes[CLASSES];
static char *record_room, *record_end;

static size_t capacity_of(uint32_t class)
{
	uint32_t group, step;

	if (class < SMALL_CLASSES)
		return class + 1;
	group = (class - SMALL_CLASSES) / 4;
	step = (class - SMALL_CLASSES) % 4 + 1;
	return ((size_t)8 << group) + step * ((size_t)2 << group);
}

static uint32_t class_of(size_t pages)
{
	uint32_t class;

	if (pages <= SMALL_CLASSES)
		return pages ? (uint32_t)pages - 1 : 0;
	class = SMALL_CLASSES + 4u * (60u - (uint32_t)__builtin_clzll(pages - 1));
	while (class < CLASSES && capacity_of(class) < pages)
		class ++;
	return class;
}

static size_t slot_size(uint32_t class)
{
	return (capacity_of(class) + STOMP_GAP) * RT_PAGE;
}

bool arena_start(void)
{
	long p = -1;

	for (uint64_t size = ARENA_MOST; rt_failed(p) && size >= ARENA_LEAST; size /= 4) {
		p = rt_syscall6(SYS_mmap, 0, (long)size, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		stomp_arena.size = size;
	}
	if (rt_failed(p)) {
		stomp_arena.size = 0;
		return false;
	}
	stomp_arena.base = ((uintptr_t)p + (1ul << SPAN_BITS) - 1) & ~((1ul << SPAN_BITS) - 1);
	stomp_arena.size -= 1ul << SPAN_BITS;
	rt_syscall3(SYS_madvise, (long)stomp_arena.base, (long)stomp_arena.size, MADV_NOHUGEPAGE);
	span_count = (uint32_t)(stomp_arena.size >> SPAN_BITS);
	spans = rt_map_sparse(span_count * sizeof(*spans));
	if (!spans)
		stomp_arena.size = 0;
	return spans != NULL;
}

char *arena_spare_page(void)
{
	return (char *)stomp_arena.base;
}

static char *span_start(uint32_t span)
{
	return (char *)stomp_arena.base + ((uintptr_t)span << SPAN_BITS);
}

static struct stomp_record *new_records(uint32_t count)
{
	size_t size = count * sizeof(struct stomp_record);
	struct stomp_record *records;

	if (record_end - record_room < (ptrdiff_t)size) {
		record_room = rt_map(RECORDS_AT_ONCE);
		record_end = record_room ? record_room + RECORDS_AT_ONCE : NULL;
	}
	if (!record_room)
		return NULL;
	records = (struct stomp_record *)record_room;
	record_room += size;
	return records;
}

static uint32_t slots_in_span(uint32_t class)
{
	uint32_t n = (uint32_t)(((size_t)1 << SPAN_BITS) / slot_size(class));

	return n ? n : 1;
}

static enum stomp_guard guard_of(uint32_t class)
{
	return slot_size(class) > 1ul << SPAN_BITS ? STOMP_GUARD_MPROTECT : guard_method();
}

/* One or, for a large slot, several new spans. */
static bool new_span(uint32_t class)
{
	struct class *c = &classes[class];
	size_t size = slot_size(class);
	uint32_t count = (uint32_t)((size + (1ul << SPAN_BITS) - 1) >> SPAN_BITS);
	struct stomp_record *records;

	if (count > span_count - spans_used)
		return false;
	records = new_records(slots_in_span(class));
	if (!records ||
	    !guard_prepare(guard_of(class), span_start(spans_used), (size_t)count << SPAN_BITS))
		return false;
	c->span = spans_used;
	c->next_slot = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct span *s = &spans[spans_used + i];

		s->first = spans_used;
		s->records = records;
		__atomic_store_n(&s->class_plus_1, class + 1, __ATOMIC_RELEASE);
	}
	spans_used += count;
	return true;
}

static void fill_slot(struct arena_slot *slot, uint32_t span, uint32_t class, uint32_t index)
{
	slot->data = span_start(span) + index * slot_size(class);
	slot->end = slot->data + capacity_of(class) * RT_PAGE;
	slot->record = &spans[span].records[index];
}

bool arena_take(size_t pages, struct arena_slot *slot)
{
	uint32_t class = class_of(pages);
	struct class *c = &classes[class];

	if (class >= CLASSES)
		return false;
	if (c->free) {
		struct stomp_record *record = c->free;

		c->free = record->next;
		return arena_find(record->address, slot);
	}
	if ((!c->span || c->next_slot == slots_in_span(class)) && !new_span(class))
		return false;
	fill_slot(slot, c->span, class, c->next_slot++);
	return true;
}

static struct span *span_at(uintptr_t address)
{
	uintptr_t offset = address - stomp_arena.base;

	return offset < stomp_arena.size ? &spans[offset >> SPAN_BITS] : NULL;
}

void arena_give(const struct arena_slot *slot)
{
	struct class *c = &classes[span_at((uintptr_t)slot->data)->class_plus_1 - 1];

	slot->record->next = c->free;
	c->free = slot->record;
}

bool arena_find(uintptr_t address, struct arena_slot *slot)
{
	const struct span *s = span_at(address);
	uint32_t class, index;

	if (!s)
		return false;
	/* Acquire: the rest is written before. */
	class = __atomic_load_n(&s->class_plus_1, __ATOMIC_ACQUIRE);
	if (!class --)
		return false;
	index = (uint32_t)((address - (uintptr_t)span_start(s->first)) / slot_size(class));
	if (index >= slots_in_span(class))
		return false;
	fill_slot(slot, s->first, class, index);
	return true;
}

enum stomp_guard arena_guard(const struct arena_slot *slot)
{
	return guard_of(span_at((uintptr_t)slot->data)->class_plus_1 - 1);
}

enum stomp_guard arena_guard_at(uintptr_t address)
{
	uint32_t class = span_at(address)->class_plus_1;

	return class ? guard_of(class - 1) : STOMP_GUARD_MPROTECT; /* only reserved so far */
}

bool arena_following(const struct arena_slot *slot, struct arena_slot *next)
{
	return arena_find((uintptr_t)slot->data + arena_slot_size(slot), next);
}
