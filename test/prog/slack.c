/* SPDX-License-Identifier: MIT */
/*
 * What the allocator lost to rounding up, in the program's own account: for each block what malloc_usable_size says less
 * what was asked for, summed up by site.  C and C++; in C++, s4 is operator new.  The argument picks:
 *   random N SEED  N pseudo-random operations over the sites s0 ... s4: malloc, calloc, memalign, realloc and free.  Says
 *                  for each site "NAME PEAK LEAKED ALLOCATED", slack each, PEAK being that at the highest sum of bytes
 *                  asked for.  Fails by itself (99) if two moments tie.
 *   sizes          by_two makes a block of 0 bytes, and blocks of 1, 3, 5 ... 4095, which stay: where sizes are rounded up to
 *                  powers of two, of at least 16, the slack is known beforehand
 *   threads        8 threads in turn and at once: each makes 300 blocks by early, frees those of the thread before it but
 *                  every third, which stay, and makes 100 blocks by late, which stay and raise the heap to its peak.  Says
 *                  "early ALLOCATED LEAKED" and the same of late.
 *   fork           100 blocks by before, of 200 to 695 bytes (what a thread may hold back of the peak is less), the first
 *                  30 of which a thread frees; a child frees 20 more and makes 40 by in_child, of 1000 to 1039 bytes, its
 *                  peak; another child only frees 20.  The parent frees 10.
 *                  Says for each process "WHO PEAK LEAKED" of before, and of in_child; in the order of their starts.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "prog.h"

#ifdef __cplusplus
# include <new>
# define NEW(size) operator new(size)
# define DELETE(p) operator delete(p)
#else
# define NEW(size) calloc(1, size)
# define DELETE(p) free(p)
#endif

static long slack_of(void *p, size_t size)
{
	return (long)malloc_usable_size(p) - (long)size;
}

#define DEFINE_SITE(name, expression)           \
 SITE static void *name(void *old, size_t size) \
 {                                              \
  (void)old;                                    \
  void *p = (expression);                       \
  KEEP(p);                                      \
  REQUIRE(p);                                   \
  return p;                                     \
 }

DEFINE_SITE(s0, old ? realloc(old, size) : malloc(size))
DEFINE_SITE(s1, calloc(1, size))
DEFINE_SITE(s2, realloc(old, size))
DEFINE_SITE(s3, memalign(64, size))
DEFINE_SITE(s4, NEW(size))
DEFINE_SITE(by_two, malloc(size))
DEFINE_SITE(early, malloc(size))
DEFINE_SITE(late, malloc(size))
DEFINE_SITE(before, malloc(size))
DEFINE_SITE(in_child, malloc(size))

/* -- random --------------------------------------------------------------------------------------- */

enum { SLOTS = 3000, SITES = 5 };

struct slot {
	void *block;
	size_t size;
	int site;
};

static struct account {
	long live, peak, allocated;
} accounts[SITES];
static long total, highest;
static bool tie;

static void account_free(struct slot *s)
{
	accounts[s->site].live -= slack_of(s->block, s->size);
	total -= (long)s->size;
}

static void account_alloc(struct slot *s)
{
	long slack = slack_of(s->block, s->size);
	accounts[s->site].live += slack;
	accounts[s->site].allocated += slack;
	total += (long)s->size;
	if (total == highest && s->size)
		tie = true;
	if (total <= highest)
		return;
	highest = total;
	tie = false;
	for (int i = 0; i < SITES; i++)
		accounts[i].peak = accounts[i].live;
}

static void drop(struct slot *s)
{
	account_free(s);
	if (s->site == 4)
		DELETE(s->block);
	else
		free(s->block);
	s->block = NULL;
}

static void do_random(long operations, uint64_t seed)
{
	static void *(*const sites[SITES])(void *, size_t) = { s0, s1, s2, s3, s4 };
	static struct slot slots[SLOTS];
	for (long i = 0; i < operations; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		struct slot *s = &slots[(seed >> 33) % SLOTS];
		size_t size = (seed >> 24) % (seed & 1 << 22 ? 97 : 5003);
		int site = (int)((seed >> 20) % SITES);
		if (site == 4 && !size) /* for which operator new asks for a byte */
			size = 1;
		bool growing = (i / 1500) % 3 != 2;
		if (!s->block && growing && site != 2) {
			s->site = site;
			s->size = size;
			s->block = sites[site](NULL, size);
			account_alloc(s);
		} else if (s->block && growing && site == 2 && s->site != 4 && size) {
			account_free(s);
			s->block = s2(s->block, size);
			s->site = site;
			s->size = size;
			account_alloc(s);
		} else if (s->block && !growing) {
			drop(s);
		}
	}
	REQUIRE(!tie);
	for (int i = 0; i < SITES; i++)
		say("s%d %ld %ld %ld\n", i, accounts[i].peak, accounts[i].live,
		    accounts[i].allocated);
}

/* -- sizes ---------------------------------------------------------------------------------------- */

static void do_sizes(void)
{
	by_two(NULL, 0);
	for (size_t size = 1; size < 4096; size += 2)
		by_two(NULL, size);
}

/* -- threads -------------------------------------------------------------------------------------- */

enum { THREADS = 8, EARLY = 300, LATE = 100 };

static pthread_barrier_t barrier;
static void *made[THREADS][EARLY];

struct share {
	int number;
	long early_allocated, early_freed, late_allocated;
};

static size_t early_size(int thread, int i)
{
	return (size_t)(thread * 13 + i * 7) % 500;
}

static void *thread_body(void *argument)
{
	struct share *s = (struct share *)argument;
	int former = (s->number + THREADS - 1) % THREADS;
	for (int i = 0; i < EARLY; i++) {
		made[s->number][i] = early(NULL, early_size(s->number, i));
		s->early_allocated += slack_of(made[s->number][i], early_size(s->number, i));
	}
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < EARLY; i++) {
		if (i % 3 == 0)
			continue;
		s->early_freed += slack_of(made[former][i], early_size(former, i));
		free(made[former][i]);
	}
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < LATE; i++) {
		size_t size = 10000 + (size_t)(i * 31 % 977);
		s->late_allocated += slack_of(late(NULL, size), size);
	}
	return NULL;
}

/* slack_of(late(...)) reads a block that nobody else keeps: it stays. */
static void do_threads(void)
{
	static struct share shares[THREADS];
	struct share sum = { 0, 0, 0, 0 };
	pthread_t threads[THREADS];
	REQUIRE(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++) {
		shares[i].number = i;
		REQUIRE(pthread_create(&threads[i], NULL, thread_body, &shares[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++) {
		REQUIRE(pthread_join(threads[i], NULL) == 0);
		sum.early_allocated += shares[i].early_allocated;
		sum.early_freed += shares[i].early_freed;
		sum.late_allocated += shares[i].late_allocated;
	}
	say("early %ld %ld\nlate %ld %ld\n", sum.early_allocated,
	    sum.early_allocated - sum.early_freed, sum.late_allocated, sum.late_allocated);
}

/* -- fork ----------------------------------------------------------------------------------------- */

enum { BEFORE = 100, BY_THREAD = 30, BY_CHILD = 20, BY_PARENT = 10, IN_CHILD = 40 };

static struct slot blocks[BEFORE];
static long live;

static void drop_some(int first, int count)
{
	for (int i = first; i < first + count; i++) {
		live -= slack_of(blocks[i].block, blocks[i].size);
		free(blocks[i].block);
	}
}

static void *drop_by_thread(void *unused)
{
	drop_some(0, BY_THREAD);
	return unused;
}

/* Its status says that all is well. */
static void child(const char *who, int count)
{
	long peak = live, own = 0;
	drop_some(BY_THREAD, BY_CHILD);
	for (int i = 0; i < count; i++) {
		size_t size = 1000 + (size_t)i;
		own += slack_of(in_child(NULL, size), size);
	}
	if (count)
		peak = live;
	say("%s %ld %ld %ld\n", who, peak, live, own);
	_exit(0);
}

static void await(pid_t pid)
{
	int status;
	REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
}

static void do_fork(void)
{
	pthread_t thread;
	long peak;
	for (int i = 0; i < BEFORE; i++) {
		blocks[i].size = 200 + (size_t)i * 5;
		blocks[i].block = before(NULL, blocks[i].size);
		live += slack_of(blocks[i].block, blocks[i].size);
	}
	peak = live;
	REQUIRE(pthread_create(&thread, NULL, drop_by_thread, NULL) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		REQUIRE(pid >= 0);
		if (pid == 0)
			child(i ? "second" : "first", i ? 0 : IN_CHILD);
		await(pid);
	}
	drop_some(BY_THREAD, BY_PARENT);
	say("parent %ld %ld 0\n", peak, live);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "random") == 0 && argc > 3)
		do_random(atol(argv[2]), (uint64_t)atol(argv[3]));
	else if (strcmp(what, "sizes") == 0)
		do_sizes();
	else if (strcmp(what, "threads") == 0)
		do_threads();
	else if (strcmp(what, "fork") == 0)
		do_fork();
	else
		return 98;
	return 0;
}
