/* SPDX-License-Identifier: MIT */
/* The classic errors with heap blocks, one a mode: see bugs.h and bugs.table.  Each makes its error once, in main's thread
 * unless it says otherwise, and the block that it is about is the only one of its size. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

#include "bugs.h"

/* -- past the end ---------------------------------------------------------------------------------- */

SITE static void over_read_1(void)
{
	void *p = bug_alloc(48);
	bug_read(p, 48);
	bug_free(p);
}

SITE static void over_write_1(void)
{
	void *p = bug_alloc(48);
	bug_write(p, 48);
	bug_free(p);
}

SITE static void over_read_4096(void)
{
	void *p = bug_alloc(48);
	bug_read(p, 48 + 4095);
	bug_free(p);
}

SITE static void over_write_4096(void)
{
	void *p = bug_alloc(48);
	bug_write(p, 48 + 4095);
	bug_free(p);
}

/* Two pages on. */
SITE static void over_read_8192(void)
{
	void *p = bug_alloc(48);
	bug_read(p, 48 + 8191);
	bug_free(p);
}

SITE static void bug_fill(void *p, size_t size)
{
	memset(p, 0x5a, size);
	BARRIER();
}

SITE static void memset_over(void)
{
	void *p = bug_alloc(48);
	bug_fill(p, 48 + 4096);
	bug_free(p);
}

SITE static void bug_copy(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	BARRIER();
}

SITE static void memcpy_over(void)
{
	char from[64];
	memset(from, 'x', sizeof(from));
	void *p = bug_alloc(48);
	bug_copy(p, from, 64);
	bug_free(p);
}

SITE static void memcpy_read(void)
{
	char to[64];
	void *p = bug_alloc(48);
	memset(p, 'x', 48);
	bug_copy(to, p, 64);
	bug_free(p);
}

SITE static void bug_strcpy(char *to, const char *from)
{
	strcpy(to, from);
	BARRIER();
}

/* 48 characters and the end. */
SITE static void strcpy_over(void)
{
	char *p = bug_alloc(48);
	bug_strcpy(p, "0123456789abcdef0123456789abcdef0123456789abcdef");
	bug_free(p);
}

SITE static void bug_strlen(const char *p)
{
	sink = (unsigned char)strlen(p);
	BARRIER();
}

SITE static void strlen_over(void)
{
	char *p = bug_alloc(48);
	memset(p, 'x', 48);
	bug_strlen(p);
	bug_free(p);
}

SITE static void *bug_calloc(size_t count, size_t size)
{
	void *p = calloc(count, size); /* bug_calloc */
	KEEP(p);
	return p;
}

SITE static void calloc_over(void)
{
	void *p = bug_calloc(6, 8);
	bug_write(p, 48);
	bug_free(p);
}

SITE static void *bug_realloc(void *p, size_t size)
{
	void *q = realloc(p, size); /* bug_realloc */
	KEEP(q);
	return q;
}

/* The end that the block had before it was shrunk. */
SITE static void realloc_over(void)
{
	void *p = bug_realloc(bug_alloc(4000), 2000);
	bug_read(p, 3999);
	bug_free(p);
}

SITE static void realloc_old(void)
{
	void *p = bug_alloc(48), *q = bug_realloc(p, 4000);
	bug_write(p, 5);
	bug_free(q);
}

SITE static void *bug_posix_memalign(size_t alignment, size_t size)
{
	void *p = NULL;
	REQUIRE(posix_memalign(&p, alignment, size) == 0);
	KEEP(p);
	return p;
}

SITE static void posix_memalign_over(void)
{
	void *p = bug_posix_memalign(64, 192);
	bug_write(p, 192);
	bug_free(p);
}

SITE static void *bug_aligned_alloc(size_t alignment, size_t size)
{
	void *p = aligned_alloc(alignment, size);
	KEEP(p);
	return p;
}

SITE static void aligned_alloc_over(void)
{
	void *p = bug_aligned_alloc(4096, 8192);
	bug_read(p, 8192);
	bug_free(p);
}

SITE static void huge_over(void)
{
	void *p = bug_alloc(64 << 20);
	bug_write(p, 64 << 20);
	bug_free(p);
}

SITE static void zero_read(void)
{
	void *p = bug_alloc(0);
	bug_read(p, 0);
	bug_free(p);
}

/* Sizes that end in the middle of a word. */
SITE static void odd_read(void)
{
	void *p = bug_alloc(13);
	bug_read(p, 13);
	bug_free(p);
}

SITE static void odd_write(void)
{
	void *p = bug_alloc(37);
	bug_write(p, 37);
	bug_free(p);
}

/* -- before the beginning -------------------------------------------------------------------------- */

SITE static void under_read(void)
{
	void *p = bug_alloc(48);
	bug_read(p, -1);
	bug_free(p);
}

SITE static void under_write(void)
{
	void *p = bug_alloc(48);
	bug_write(p, -1);
	bug_free(p);
}

SITE static void under_read_4096(void)
{
	void *p = bug_alloc(48);
	bug_read(p, -4096);
	bug_free(p);
}

/* -- beside the block, where nothing faults: found when it is freed ------------------------------- */

SITE static void smash_slack(void)
{
	void *p = bug_alloc(37);
	bug_write(p, 37);
	bug_write(p, 39);
	bug_free(p);
}

SITE static void smash_before(void)
{
	void *p = bug_alloc(48);
	bug_write(p, -1);
	bug_free(p);
}

SITE static void smash_after(void)
{
	void *p = bug_alloc(48);
	bug_write(p, 48);
	bug_free(p);
}

SITE static void smash_realloc(void)
{
	void *p = bug_alloc(37);
	bug_write(p, 37);
	bug_free(bug_realloc(p, 100));
}

/* -- after the free -------------------------------------------------------------------------------- */

SITE static void uaf_read(void)
{
	void *p = bug_alloc(48);
	bug_free(p);
	bug_read(p, 8);
}

SITE static void uaf_write(void)
{
	void *p = bug_alloc(48);
	bug_free(p);
	bug_write(p, 16);
}

SITE static void uaf_later(void)
{
	void *p = bug_alloc(48);
	bug_free(p);
	traffic(10000);
	bug_read(p, 0);
}

SITE static void uaf_huge(void)
{
	void *p = bug_alloc(64 << 20);
	bug_free(p);
	bug_read(p, 10000000);
}

SITE static void uaf_strlen(void)
{
	char *p = bug_alloc(48);
	memset(p, 0, 48);
	bug_free(p);
	bug_strlen(p);
}

static atomic_int ready, freed;

SITE static void *thread_reader(void *p)
{
	free(malloc(100));
	ready = 1;
	for (int left = 1000; left; left -= freed)
		bug_read(p, 8);
	return NULL;
}

SITE static void thread_uaf(void)
{
	pthread_t thread;
	void *p = bug_alloc(48);
	REQUIRE(pthread_create(&thread, NULL, thread_reader, p) == 0);
	while (!ready)
		usleep(100);
	bug_free(p);
	freed = 1;
	pthread_join(thread, NULL);
}

/* -- wrong frees ----------------------------------------------------------------------------------- */

SITE static void double_free(void)
{
	void *p = bug_alloc(48);
	bug_free(p);
	bug_free_again(p);
}

/* Not in the table: five overflows and three double frees, each in one place, for stomp:continue. */
SITE static void repeated(void)
{
	for (volatile int i = 0; i < 5; i++) {
		void *p = bug_alloc(48);
		bug_write(p, 48);
		bug_free(p);
	}
	for (volatile int i = 0; i < 3; i++)
		double_free();
}

SITE static void double_free_later(void)
{
	void *p = bug_alloc(48);
	bug_free(p);
	traffic(10000);
	bug_free_again(p);
}

SITE static void double_free_huge(void)
{
	void *p = bug_alloc(64 << 20);
	bug_free(p);
	bug_free_again(p);
}

SITE static void *thread_freer(void *p)
{
	bug_free(p);
	return NULL;
}

SITE static void thread_double_free(void)
{
	pthread_t thread;
	void *p = bug_alloc(48);
	REQUIRE(pthread_create(&thread, NULL, thread_freer, p) == 0);
	pthread_join(thread, NULL);
	bug_free_again(p);
}

SITE static void free_stack(void)
{
	char room[256] __attribute__((aligned(16)));
	memset(room, 0, sizeof(room));
	void *p = room + 64;
	KEEP(p);
	bug_free(p);
}

SITE static void free_static(void)
{
	static char room[256] __attribute__((aligned(16)));
	void *p = room + 64;
	KEEP(p);
	bug_free(p);
}

SITE static void free_interior(void)
{
	char *p = bug_alloc(48);
	bug_free(p + 16);
}

SITE static void free_misaligned(void)
{
	char *p = bug_alloc(48);
	bug_free(p + 3);
}

SITE static void realloc_freed(void)
{
	void *p = bug_alloc(48);
	bug_free(p);
	bug_realloc(p, 100);
}

SITE static void realloc_interior(void)
{
	char *p = bug_alloc(48);
	bug_realloc(p + 16, 100);
}

/* -- none ------------------------------------------------------------------------------------------ */

SITE static void control(void)
{
	pthread_t thread;
	char *p = bug_alloc(48);
	memset(p, 'x', 48);
	bug_read(p, 47);
	traffic(10000);
	REQUIRE(pthread_create(&thread, NULL, thread_freer, bug_realloc(p, 64)) == 0);
	pthread_join(thread, NULL);
	bug_free(bug_calloc(6, 8));
	bug_free(bug_posix_memalign(64, 192));
}

#define BUG(name) \
 {                \
#  name, name     \
 }

static const struct bug bugs[] = {
	BUG(over_read_1),	BUG(over_write_1),	  BUG(over_read_4096),
	BUG(over_write_4096),	BUG(over_read_8192),	  BUG(memset_over),
	BUG(memcpy_over),	BUG(memcpy_read),	  BUG(strcpy_over),
	BUG(strlen_over),	BUG(calloc_over),	  BUG(realloc_over),
	BUG(realloc_old),	BUG(posix_memalign_over), BUG(aligned_alloc_over),
	BUG(huge_over),		BUG(zero_read),		  BUG(odd_read),
	BUG(odd_write),		BUG(under_read),	  BUG(under_write),
	BUG(under_read_4096),	BUG(smash_slack),	  BUG(smash_before),
	BUG(smash_after),	BUG(smash_realloc),	  BUG(uaf_read),
	BUG(uaf_write),		BUG(uaf_later),		  BUG(uaf_huge),
	BUG(uaf_strlen),	BUG(thread_uaf),	  BUG(double_free),
	BUG(repeated), BUG(double_free_later), BUG(double_free_huge),	  BUG(thread_double_free),
	BUG(free_stack),	BUG(free_static),	  BUG(free_interior),
	BUG(free_misaligned),	BUG(realloc_freed),	  BUG(realloc_interior),
	BUG(control),		{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return bug_main(bugs, argc, argv);
}
