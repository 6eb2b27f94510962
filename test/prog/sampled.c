/* SPDX-License-Identifier: MIT */
/*
 * Blocks of very different sizes, for sampling one allocation per 4096 bytes or so.  In this order:
 *   empty      400 of 0 bytes, then 300 of them are freed
 *   tiny       4000 of 24, 3000 freed
 *   near       200 of 4000, 150 freed
 *   huge       20 of 100000, 15 freed
 *   first      300 of 200, which then grow by realloc, one by one, to
 *   grown      300 of 3000, 200 freed
 *   cleared    600 of 10 x 50 by calloc, which stay
 *   aligned    300 of 700 by memalign, which stay
 *   passing    3000 of 200, each freed at once: temporary
 *   burst      300 of 5000: the peak; then all are freed, the last of which counts as temporary
 *   threaded   500 of 120 by each of two threads, which stay
 * With the argument "fork" a child then frees 500 of those of tiny that stay, and makes
 *   only_child 300 of 600, which stay.
 * The parent waits for it.
 */
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

#include "prog.h"

#define DEFINE_SITE(name, expression) \
 SITE static void *name(size_t size)  \
 {                                    \
  void *p = (expression);             \
  KEEP(p);                            \
  return p;                           \
 }

DEFINE_SITE(empty, malloc(size))
DEFINE_SITE(tiny, malloc(size))
DEFINE_SITE(near, malloc(size))
DEFINE_SITE(huge, malloc(size))
DEFINE_SITE(first, malloc(size))
DEFINE_SITE(cleared, calloc(10, size / 10))
DEFINE_SITE(aligned, memalign(64, size))
DEFINE_SITE(passing, malloc(size))
DEFINE_SITE(burst, malloc(size))
DEFINE_SITE(threaded, malloc(size))
DEFINE_SITE(only_child, malloc(size))

SITE static void *grown(void *block, size_t size)
{
	void *p = realloc(block, size);
	KEEP(p);
	return p;
}

static void *blocks[4000];

static void make(int count, void *site(size_t), size_t size)
{
	for (int i = 0; i < count; i++)
		blocks[i] = site(size);
}

static void drop(int count)
{
	for (int i = 0; i < count; i++)
		free(blocks[i]);
}

static void *thread_body(void *unused)
{
	for (int i = 0; i < 500; i++)
		threaded(120);
	return unused;
}

int main(int argc, char **argv)
{
	static void *stay[1000];
	pthread_t threads[2];

	make(400, empty, 0);
	drop(300);
	make(4000, tiny, 24);
	drop(3000);
	memcpy(stay, blocks + 3000, sizeof(stay));
	make(200, near, 4000);
	drop(150);
	make(20, huge, 100000);
	drop(15);
	make(300, first, 200);
	for (int i = 0; i < 300; i++)
		blocks[i] = grown(blocks[i], 3000);
	drop(200);
	make(600, cleared, 500);
	make(300, aligned, 700);
	for (int i = 0; i < 3000; i++)
		free(passing(200));
	make(300, burst, 5000);
	drop(300);
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_create(&threads[i], NULL, thread_body, NULL) == 0);
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	if (argc > 1 && strcmp(argv[1], "fork") == 0) {
		int status;
		pid_t pid = fork();
		REQUIRE(pid >= 0);
		if (pid == 0) {
			for (int i = 0; i < 500; i++)
				free(stay[i]);
			make(300, only_child, 600);
			return 0;
		}
		REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
	}
	return 0;
}
