/* SPDX-License-Identifier: MIT */
/* Text by write(2) alone; see print.h.  The shape is that of AddressSanitizer's reports without symbols. */
#include "allocators/stomp/print.h"

#include "agent/initial.h"
#include "agent/rt/mem.h"
#include "agent/rt/sys.h"

static char text[8192];
static size_t used;

static void flush(void)
{
	size_t done = 0;

	while (done < used) {
		long n = rt_syscall3(SYS_write, 2, (long)text + (long)done, (long)(used - done));

		if (n == -4 /* EINTR */)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	used = 0;
}

static void put_bytes(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (used == sizeof(text))
			flush();
		text[used++] = bytes[i];
	}
}

static void put(const char *string)
{
	put_bytes(string, rt_length(string));
}

static void put_number(uint64_t value, unsigned base)
{
	char digits[24];
	size_t n = sizeof(digits);

	do {
		digits[--n] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	if (base == 16)
		put("0x");
	put_bytes(digits + n, sizeof(digits) - n);
}

/* "1 byte", "2 bytes" */
static void put_bytes_of(uint64_t count)
{
	put_number(count, 10);
	put(count == 1 ? " byte" : " bytes");
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[STOMP_BUFFER_OVERFLOW] = "heap-buffer-overflow",
		[STOMP_BUFFER_UNDERFLOW] = "heap-buffer-underflow",
		[STOMP_USE_AFTER_FREE] = "heap-use-after-free",
		[STOMP_DOUBLE_FREE] = "double-free",
		[STOMP_INVALID_FREE] = "invalid-free",
		[STOMP_CORRUPTION] = "heap-corruption",
	};

	return kind < sizeof(names) / sizeof(*names) && names[kind] ? names[kind] : "error";
}

static void put_module(const struct stomp_error *e, const struct stomp_module *m)
{
	long count;
	const char *const *arguments = initial_arguments(&count);

	if (m->path_size)
		put_bytes((const char *)e + m->path, m->path_size);
	else if (arguments && count)
		put(arguments[0]);
	else
		put("program");
}

static void put_frame(const struct stomp_error *e, uint32_t index, const struct stomp_frame *f)
{
	const struct stomp_module *modules =
		(const struct stomp_module *)((const char *)e + e->modules);

	put("    #");
	put_number(index, 10);
	put(" ");
	put_number(f->address, 16);
	if (f->module) {
		put(" (");
		put_module(e, &modules[f->module - 1]);
		put("+");
		put_number(f->address - modules[f->module - 1].bias, 16);
		put(")");
	}
	put("\n");
}

static void put_stack(const struct stomp_error *e, const struct stomp_stack *stack)
{
	const struct stomp_frame *frames =
		(const struct stomp_frame *)((const char *)e + stack->offset);

	if (!stack->count)
		put("    (unknown)\n");
	for (uint32_t i = 0; i < stack->count; i++)
		put_frame(e, i, &frames[i]);
}

static void put_thread(const char *before, uint32_t thread)
{
	put(before);
	if (thread) {
		put(" by thread ");
		put_number(thread, 10);
	}
}

static void put_place(const struct stomp_error *e)
{
	uint64_t start = e->block_address, end = start + e->block_size;

	put_number(e->address, 16);
	put(" is ");
	if (e->address < start) {
		put_bytes_of(start - e->address);
		put(" before");
	} else if (e->address >= end) {
		put_bytes_of(e->address - end);
		put(" after");
	} else {
		put_bytes_of(e->address - start);
		put(" inside");
	}
	put(e->flags & STOMP_HAS_FREED ? " a freed block of " : " a block of ");
	put_bytes_of(e->block_size);
	put(" [");
	put_number(start, 16);
	put(",");
	put_number(end, 16);
	put(")\n");
}

static void put_block(const struct stomp_error *e)
{
	if (!(e->flags & STOMP_HAS_BLOCK)) {
		put("no block of the heap is known there\n");
		return;
	}
	put_place(e);
	if (e->flags & STOMP_HAS_FREED) {
		put_thread("freed", e->freed_thread);
		put(" here:\n");
		put_stack(e, &e->freed);
	}
	put_thread(e->flags & STOMP_HAS_FREED ? "previously allocated" : "allocated",
		   e->allocated_thread);
	put(" here:\n");
	put_stack(e, &e->allocated);
}

void print_error(const struct stomp_error *e)
{
	put("=================================================================\n==");
	put_number((uint64_t)e->pid, 10);
	put("==ERROR: memtrack stomp: ");
	put(kind_name(e->kind));
	put(" on address ");
	put_number(e->address, 16);
	if (e->access != STOMP_NO_ACCESS)
		put(e->access == STOMP_WRITE ? " (write)" : " (read)");
	if (e->flags & STOMP_BY_REALLOC)
		put(" (by realloc)");
	put_thread("", e->thread);
	put("\n");
	put_stack(e, &e->stack);
	if (e->kind == STOMP_CORRUPTION) {
		put_bytes_of(e->corrupt_bytes);
		put(" overwritten, noticed here when the block was freed; the first:\n");
	}
	put_block(e);
	if (e->flags & STOMP_CONTINUED)
		put("the program goes on; this place in it is not told of again\n");
	flush();
}

void print_warning(const char *message, const char *word)
{
	size_t size = 0;

	while (word[size] && word[size] != ',' && word[size] != ':')
		size++;
	put("memtrack stomp: ");
	put(message);
	put(": ");
	put_bytes(word, size);
	put("\n");
	flush();
}
