/* SPDX-License-Identifier: MIT */
/*
 * Serves pages, and keeps what it has made.  For memtrack-tutorial(7): the cache only grows.
 *
 * 4000 requests are for 2000 pages of 512 bytes, each asked for twice in a row.  All 2000 are kept, 1,024,000 bytes at
 * the peak in make_page, and all are freed at the end.  With -DFIXED at most 64 are kept, 32,768 bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REQUESTS = 4000, BUCKETS = 256, KEPT = 64 };

struct page {
	long id;
	struct page *next; /* of the same bucket */
	char text[496];
};

_Static_assert(sizeof(struct page) == 512, "see above");

static struct page *cache[BUCKETS];

static struct page *find_page(long id)
{
	struct page *page = cache[id % BUCKETS];

	while (page && page->id != id)
		page = page->next;
	return page;
}

static struct page *make_page(long id)
{
	struct page *page = malloc(sizeof(*page));

	if (!page)
		exit(98);
	page->id = id;
	snprintf(page->text, sizeof(page->text), "<p>This is page %ld.</p>", id);
	return page;
}

static void drop_page(long id)
{
	struct page **link = &cache[id % BUCKETS];
	struct page *page;

	while (*link && (*link)->id != id)
		link = &(*link)->next;
	page = *link;
	if (!page)
		return;
	*link = page->next;
	free(page);
}

static const char *serve(long id)
{
	struct page *page = find_page(id);

	if (page)
		return page->text;
#ifdef FIXED
	drop_page(id - KEPT);
#endif
	page = make_page(id);
	page->next = cache[id % BUCKETS];
	cache[id % BUCKETS] = page;
	return page->text;
}

/* Not by printf, whose buffer would be in the figures. */
static void say(const char *format, long a, long b)
{
	char text[128];
	int length = snprintf(text, sizeof(text), format, a, b);

	if (write(STDOUT_FILENO, text, (size_t)length) != length)
		exit(98);
}

int main(void)
{
	long sent = 0;

	for (long i = 0; i < REQUESTS; i++) {
		for (const char *c = serve(KEPT + i / 2); *c; c++)
			sent++;
	}
	say("%ld requests, %ld bytes sent\n", REQUESTS, sent);
	for (long id = KEPT; id < KEPT + REQUESTS / 2; id++)
		drop_page(id);
	return 0;
}
