/* SPDX-License-Identifier: MIT */
/* Blocks with patterns around them; see canary.h. */
#include "allocators/stomp/canary.h"

#include "agent/blocks.h"
#include "agent/real.h"
#include "agent/rt/lock.h"
#include "agent/rt/mem.h"
#include "allocators/stomp/fork_lock.h"
#include "allocators/stomp/options.h"

enum {
	FRONT_PATTERN = 16,
	REAR_PATTERN = 16,
	FILLED_MOST =
		64 << 10, /* of a freed block: memory that was never used must not become so */
	WAITING_MOST = 64 << 20, /* bytes that freed blocks may keep */
	NODE_BITS = 0x7fffffff,
	INSIDE_MOST = 1 << 16, /* granules that an address may lie inside a block */
};

/* Right before the block. */
struct canary {
	void *raw;	     /* what the next malloc returned */
	struct canary *next; /* freed after this one */
	uint32_t allocated_by, freed_by;
	uint32_t allocated, freed; /* stack nodes */
	uint64_t check;		   /* of the fields that do not change */
	uint64_t size_freed;	   /* once it is freed */
	unsigned char pattern[FRONT_PATTERN];
};
_Static_assert(sizeof(struct canary) == 64, "keeps the alignment of the next malloc");

/* Guards the queue of freed blocks. */
static struct rt_lock lock;
static struct {
	struct canary *oldest, *newest;
	uint64_t size;
} waiting;

static bool held_for_fork;

void canary_before_fork(void)
{
	held_for_fork = fork_lock(&lock);
}

void canary_after_fork(bool in_child)
{
	if (in_child)
		fork_unlock_child(&lock);
	else
		fork_unlock_parent(&lock, held_for_fork);
}

static struct canary *canary_of(const void *block)
{
	return (struct canary *)block - 1;
}

static unsigned char *block_of(struct canary *c)
{
	return (unsigned char *)(c + 1);
}

static uint64_t check_of(const struct canary *c)
{
	return ~((uintptr_t)c->raw ^ (uintptr_t)c << 7 ^ (uint64_t)c->allocated << 32 ^
		 c->allocated_by);
}

/* Room before a block of this alignment. */
static size_t front_of(size_t alignment)
{
	return alignment > sizeof(struct canary) ? alignment : sizeof(struct canary);
}

static void *raw_alloc(size_t size, size_t alignment, bool zeroed)
{
	size_t total;

	if (__builtin_add_overflow(size, front_of(alignment) + REAR_PATTERN, &total))
		return real.malloc(size); /* fails as that does */
	if (alignment <= 16)
		return zeroed ? real.calloc(1, total) : real.malloc(total);
	return real.memalign(alignment, total);
}

void *canary_alloc(size_t size, size_t alignment, struct stomp_caller caller, bool zeroed)
{
	char *raw = raw_alloc(size, alignment, zeroed);
	struct block former;
	struct canary *c;

	if (!raw)
		return NULL;
	c = canary_of(raw + front_of(alignment));
	if (zeroed && alignment > 16)
		memset(block_of(c), 0, size);
	*c = (struct canary){
		.raw = raw,
		.allocated = caller.node & NODE_BITS,
		.allocated_by = caller.thread,
	};
	c->check = check_of(c);
	memset(c->pattern, STOMP_PATTERN, sizeof(c->pattern));
	memset(block_of(c) + size, STOMP_PATTERN, REAR_PATTERN);
	if (!block_put(block_of(c), c->allocated, size, &former)) {
		real.free(raw);
		return NULL;
	}
	return block_of(c);
}

static void tell_block(struct stomp_finding *f, const struct canary *c, uint64_t size, bool freed)
{
	f->block = (struct stomp_block){
		.address = (uintptr_t)(c + 1),
		.size = size,
		.was_freed = freed,
		.allocated = c->allocated,
		.allocated_by = c->allocated_by,
		.freed = freed ? c->freed : 0,
		.freed_by = freed ? c->freed_by : 0,
	};
}

/* Is what lies around the block as it was made?  With a damaged head the block cannot be given back. */
static bool is_sound(struct canary *c, uint64_t size, bool *head_sound, struct stomp_finding *f)
{
	unsigned char *block = block_of(c);
	uintptr_t before = 0, after = 0;

	*head_sound = c->check == check_of(c);
	f->corrupt_bytes = stomp_smashed(c->pattern, block, &before);
	f->corrupt_bytes += stomp_smashed(block + size, block + size + REAR_PATTERN, &after);
	if (*head_sound && !f->corrupt_bytes)
		return true;
	if (!f->corrupt_bytes) {
		f->corrupt_bytes = 1; /* at least */
		before = (uintptr_t)&c->check;
	}
	f->kind = STOMP_CORRUPTION;
	f->access = STOMP_WRITE;
	f->address = after ? after : before;
	tell_block(f, c, size, false);
	if (!*head_sound)
		f->block.allocated = f->block.allocated_by = 0;
	return false;
}

static uint64_t filled(uint64_t size)
{
	return size < FILLED_MOST ? size : FILLED_MOST;
}

/* Was a freed block written to? */
static bool is_untouched(struct canary *c, uint64_t size, struct stomp_finding *f)
{
	uintptr_t first = 0;

	f->corrupt_bytes = stomp_smashed(block_of(c), block_of(c) + filled(size), &first);
	if (!f->corrupt_bytes)
		return true;
	f->kind = STOMP_CORRUPTION;
	f->access = STOMP_WRITE;
	f->address = first;
	tell_block(f, c, size, true);
	return false;
}

static bool is_too_much(void)
{
	uint64_t most =
		stomp_options.quarantine < WAITING_MOST ? stomp_options.quarantine : WAITING_MOST;

	return waiting.size > most;
}

static void push(struct canary *c)
{
	if (!rt_lock_try(&lock))
		return; /* it is lost, nothing else */
	if (waiting.newest)
		waiting.newest->next = c;
	else
		waiting.oldest = c;
	waiting.newest = c;
	waiting.size += c->size_freed + sizeof(*c);
	rt_unlock(&lock);
}

/* What has waited longest, when it has waited long enough. */
static struct canary *take_oldest(void)
{
	struct canary *oldest = NULL;

	if (!rt_lock_try(&lock))
		return NULL;
	if (is_too_much() && waiting.oldest) {
		oldest = waiting.oldest;
		waiting.oldest = oldest->next;
		waiting.size -= oldest->size_freed + sizeof(*oldest);
		if (!waiting.oldest)
			waiting.newest = NULL;
	}
	rt_unlock(&lock);
	return oldest;
}

/* Gives back what has waited long enough.  False: something of it was written to. */
static bool give_back(struct stomp_finding *f)
{
	struct canary *oldest;
	bool good = true;

	while ((oldest = take_oldest())) {
		if (good)
			good = is_untouched(oldest, oldest->size_freed, f);
		real.free(oldest->raw);
	}
	return good;
}

/* Is the freed block still in the queue, so that its head can be read? */
static bool still_waits(const struct canary *wanted)
{
	bool found = false;

	if (!rt_lock_try(&lock))
		return false;
	for (const struct canary *c = waiting.oldest; c && !found; c = c->next)
		found = c == wanted;
	rt_unlock(&lock);
	return found;
}

/* The live block that an address lies inside. */
static bool find_around(uintptr_t address, struct stomp_finding *f)
{
	uintptr_t at = address & ~(uintptr_t)15;

	for (unsigned i = 0; i < INSIDE_MOST; i++, at -= 16) {
		const uint64_t *entry = block_entry(at);
		uint64_t word = entry ? __atomic_load_n(entry, __ATOMIC_RELAXED) : 0;

		if (!word || word & BLOCK_WAS_FREED)
			continue;
		if (address - at >= (word & BLOCK_HUGE))
			return false;
		tell_block(f, canary_of((void *)at), word & BLOCK_HUGE, false);
		return true;
	}
	return false;
}

/* What no live block begins at. */
static void explain_free(void *block, const struct block *b, struct stomp_finding *f)
{
	f->kind = STOMP_INVALID_FREE;
	f->access = STOMP_NO_ACCESS;
	f->address = (uintptr_t)block;
	if (b->state != BLOCK_FREED) {
		find_around((uintptr_t)block, f);
		return;
	}
	f->kind = STOMP_DOUBLE_FREE;
	if (still_waits(canary_of(block)))
		tell_block(f, canary_of(block), b->size, true);
	else
		f->block = (struct stomp_block){ .address = (uintptr_t)block,
						 .size = b->size,
						 .was_freed = true,
						 .allocated = b->node };
}

bool canary_free(void *block, struct stomp_caller caller, struct stomp_finding *f)
{
	struct block b = { .state = BLOCK_UNKNOWN };
	struct canary *c = canary_of(block);
	bool good, head_sound;

	if (!((uintptr_t)block & 15))
		b = block_take(block);
	if (b.state != BLOCK_LIVE) {
		explain_free(block, &b, f);
		return false;
	}
	good = is_sound(c, b.size, &head_sound, f);
	if (!head_sound)
		return good;
	c->freed = caller.node & NODE_BITS;
	c->freed_by = caller.thread;
	c->next = NULL;
	c->size_freed = b.size;
	memset(block, STOMP_PATTERN, filled(b.size));
	push(c);
	return give_back(good ? f : &(struct stomp_finding){ 0 }) && good;
}

bool canary_size(const void *block, size_t *size)
{
	const uint64_t *entry = block_entry((uintptr_t)block);
	uint64_t word = entry ? __atomic_load_n(entry, __ATOMIC_RELAXED) : 0;

	if (!word || word & BLOCK_WAS_FREED)
		return false;
	*size = word & BLOCK_HUGE;
	return *size != BLOCK_HUGE;
}
