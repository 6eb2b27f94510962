/* SPDX-License-Identifier: MIT */
/* Guarded blocks; see heap.h. */
#include "allocators/stomp/heap.h"

#include "agent/rt/lock.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"
#include "allocators/stomp/fork_lock.h"
#include "allocators/stomp/guard.h"
#include "allocators/stomp/options.h"

/* Guards the arena's lists and the quarantine.  Who cannot have it (a signal handler in the midst of it) does without. */
static struct rt_lock lock;
static struct {
	struct stomp_record *oldest, *newest;
	uint64_t size;
} quarantine;

bool heap_start(void)
{
	if (stomp_options.guard == STOMP_GUARD_CANARY || !arena_start())
		return false;
	guard_start(stomp_options.guard, arena_spare_page());
	return true;
}

static bool held_for_fork;

void heap_before_fork(void)
{
	held_for_fork = fork_lock(&lock);
}

void heap_after_fork(bool in_child)
{
	if (in_child)
		fork_unlock_child(&lock);
	else
		fork_unlock_parent(&lock, held_for_fork);
}

static uintptr_t page_of(uintptr_t address)
{
	return address & ~(RT_PAGE - 1);
}

static uintptr_t page_after(uintptr_t address)
{
	return (address + RT_PAGE - 1) & ~(RT_PAGE - 1);
}

/* The pages that a block touches. */
static char *pages_of(const struct stomp_record *r, size_t *size)
{
	*size = page_after(r->address + r->size) - page_of(r->address);
	if (!r->size)
		*size = 0;
	return (char *)page_of(r->address);
}

/* Data pages of a slot in which such a block has room at either end; 0: too many. */
static size_t pages_for(size_t size, size_t alignment)
{
	if (size > PTRDIFF_MAX / 2 || alignment > PTRDIFF_MAX / 2)
		return 0;
	return (size + RT_PAGE - 1) / RT_PAGE + (alignment > RT_PAGE ? alignment / RT_PAGE : 0) +
	       (size == 0);
}

static uintptr_t place(const struct arena_slot *slot, size_t size, size_t alignment)
{
	uintptr_t mask = ~(uintptr_t)(alignment - 1);

	if (stomp_options.under)
		return ((uintptr_t)slot->data + alignment - 1) & mask;
	return ((uintptr_t)slot->end - size) & mask;
}

static void fill_slack(const struct stomp_record *r, char *pages, size_t size)
{
	char *block = (char *)r->address, *end = block + r->size;

	memset(pages, STOMP_PATTERN, (size_t)(block - pages));
	memset(end, STOMP_PATTERN, (size_t)(pages + size - end));
}

static bool take(size_t pages, struct arena_slot *slot)
{
	bool taken;

	if (!rt_lock_try(&lock))
		return false;
	taken = arena_take(pages, slot);
	rt_unlock(&lock);
	return taken;
}

static void give_back(const struct arena_slot *slot)
{
	if (!rt_lock_try(&lock))
		return; /* the slot is lost, nothing else */
	arena_give(slot);
	rt_unlock(&lock);
}

/* After errors that were let pass: as if there had been none. */
static void close_passed(const struct arena_slot *slot, enum stomp_guard how)
{
	if (slot->record->odd & SLOT_PASSED && guard_close(how, slot->data, arena_slot_size(slot)))
		slot->record->odd = 0;
}

void *heap_alloc(size_t size, size_t alignment, struct stomp_caller caller, enum stomp_guard *how)
{
	size_t count = pages_for(size, alignment), open;
	struct arena_slot slot;
	struct stomp_record *r;
	char *pages;

	if (!stomp_arena.size || !count || !take(count, &slot))
		return NULL;
	r = slot.record;
	r->address = place(&slot, size, alignment);
	r->size = size;
	pages = pages_of(r, &open);
	*how = arena_guard(&slot);
	close_passed(&slot, *how);
	if (open && !r->odd && !guard_open(*how, pages, open)) {
		__atomic_store_n(&r->state, SLOT_UNUSED, __ATOMIC_RELAXED);
		give_back(&slot);
		return NULL;
	}
	if (open)
		fill_slack(r, pages, open);
	r->allocated = caller.node;
	r->allocated_by = (uint16_t)caller.thread;
	r->freed = 0;
	r->freed_by = 0;
	__atomic_store_n(&r->state, SLOT_LIVE, __ATOMIC_RELEASE);
	return (void *)r->address;
}

/* Of the slots that were in the quarantine longest, those that are too many can be used again. */
static void release_oldest(void)
{
	while (quarantine.size > stomp_options.quarantine && quarantine.oldest) {
		struct stomp_record *r = quarantine.oldest;
		struct arena_slot slot;

		quarantine.oldest = r->next;
		if (!arena_find(r->address, &slot))
			continue;
		quarantine.size -= arena_slot_size(&slot);
		arena_give(&slot);
	}
	if (!quarantine.oldest)
		quarantine.newest = NULL;
}

static void put_in_quarantine(const struct arena_slot *slot)
{
	struct stomp_record *r = slot->record;

	if (!rt_lock_try(&lock))
		return;
	r->next = NULL;
	if (quarantine.newest)
		quarantine.newest->next = r;
	else
		quarantine.oldest = r;
	quarantine.newest = r;
	quarantine.size += arena_slot_size(slot);
	release_oldest();
	rt_unlock(&lock);
}

static struct stomp_block block_of(const struct stomp_record *r)
{
	uint32_t state = __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);

	return (struct stomp_block){
		.address = r->address,
		.size = r->size,
		.was_freed = state != SLOT_LIVE,
		.allocated = r->allocated,
		.allocated_by = r->allocated_by,
		.freed = r->freed,
		.freed_by = r->freed_by,
	};
}

static bool has_had_block(const struct stomp_record *r)
{
	return __atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != SLOT_UNUSED;
}

/* Has somebody written beside the block? */
static bool is_smashed(const struct stomp_record *r, struct stomp_finding *f)
{
	size_t size;
	const unsigned char *pages = (unsigned char *)pages_of(r, &size);
	const unsigned char *block = (unsigned char *)r->address, *end = block + r->size;
	uintptr_t before = 0, after = 0;

	if (!size)
		return false;
	f->corrupt_bytes = stomp_smashed(pages, block, &before);
	f->corrupt_bytes += stomp_smashed(end, pages + size, &after);
	if (!f->corrupt_bytes)
		return false;
	f->kind = STOMP_CORRUPTION;
	f->access = STOMP_WRITE;
	f->address = after ? after : before;
	f->block = block_of(r);
	f->block.was_freed = false; /* until now */
	return true;
}

static void close_pages(const struct arena_slot *slot)
{
	size_t size;
	char *pages = pages_of(slot->record, &size);

	if (size && !guard_close(arena_guard(slot), pages, size))
		slot->record->odd |= SLOT_UNCLOSED;
}

bool heap_free(void *block, struct stomp_caller caller, struct stomp_finding *f)
{
	uint32_t live = SLOT_LIVE;
	struct arena_slot slot;
	struct stomp_record *r;
	bool good;

	if (!arena_find((uintptr_t)block, &slot) || slot.record->address != (uintptr_t)block ||
	    !__atomic_compare_exchange_n(&slot.record->state, &live, SLOT_FREEING, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		heap_explain_free((uintptr_t)block, f);
		return false;
	}
	r = slot.record;
	good = !is_smashed(r, f);
	r->freed = caller.node;
	r->freed_by = (uint16_t)caller.thread;
	__atomic_store_n(&r->state, SLOT_FREED, __ATOMIC_RELEASE);
	close_pages(&slot);
	put_in_quarantine(&slot);
	return good;
}

bool heap_size(const void *block, size_t *size)
{
	struct arena_slot slot;

	if (!arena_find((uintptr_t)block, &slot) || slot.record->address != (uintptr_t)block ||
	    __atomic_load_n(&slot.record->state, __ATOMIC_ACQUIRE) != SLOT_LIVE)
		return false;
	*size = slot.record->size;
	return true;
}

/* How far an address is from a block; 0: inside. */
static uint64_t distance(const struct stomp_record *r, uintptr_t address)
{
	if (address < r->address)
		return r->address - address;
	return address < r->address + r->size ? 0 : address - (r->address + r->size) + 1;
}

/* The block that an access beside it was meant for: the one of this slot, or the next one's, when that is nearer and lies
 * within a page. */
static const struct stomp_record *meant_for(const struct arena_slot *slot, uintptr_t address)
{
	const struct stomp_record *here = has_had_block(slot->record) ? slot->record : NULL;
	struct arena_slot next;

	if (address < (uintptr_t)slot->end || !arena_following(slot, &next) ||
	    !has_had_block(next.record))
		return here;
	if (!here || (distance(next.record, address) <= RT_PAGE &&
		      distance(next.record, address) < distance(here, address)))
		return next.record;
	return here;
}

/* The nearest block when no slot was made where the address lies: behind the last slot of a span, or before the first. */
static const struct stomp_record *nearest(uintptr_t address)
{
	const struct stomp_record *found = NULL;
	struct arena_slot slot;

	if (arena_find(address - STOMP_GAP * RT_PAGE, &slot) && has_had_block(slot.record))
		found = slot.record;
	if (arena_find(address + STOMP_GAP * RT_PAGE, &slot) && has_had_block(slot.record) &&
	    (!found || distance(slot.record, address) < distance(found, address)))
		found = slot.record;
	return found;
}

void heap_explain(uintptr_t address, struct stomp_finding *f)
{
	const struct stomp_record *r;
	struct arena_slot slot;

	f->address = address;
	f->kind = STOMP_BUFFER_OVERFLOW;
	r = arena_find(address, &slot) ? meant_for(&slot, address) : nearest(address);
	if (!r)
		return;
	f->block = block_of(r);
	if (f->block.was_freed)
		f->kind = STOMP_USE_AFTER_FREE;
	else if (address < r->address)
		f->kind = STOMP_BUFFER_UNDERFLOW;
}

void heap_explain_free(uintptr_t address, struct stomp_finding *f)
{
	struct arena_slot slot;

	f->kind = STOMP_INVALID_FREE;
	f->access = STOMP_NO_ACCESS;
	f->address = address;
	if (!arena_find(address, &slot) || !has_had_block(slot.record))
		return;
	f->block = block_of(slot.record);
	if (f->block.was_freed && slot.record->address == address)
		f->kind = STOMP_DOUBLE_FREE;
}

bool heap_let_pass(uintptr_t address)
{
	struct arena_slot slot;

	if (!guard_open(arena_guard_at(address), (char *)page_of(address), RT_PAGE))
		return false;
	if (arena_find(address, &slot))
		slot.record->odd |= SLOT_PASSED;
	return true;
}
