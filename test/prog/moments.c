/* SPDX-License-Identifier: MIT */
/*
 * moments swap: at about 0.0 s `first` makes 100 x 1000; at 0.4 s another thread makes as many at `second` and frees the former:
 * bytes and blocks are what they were.  At 0.8 s, one at `left` and one freed of `second`: 100000 bytes in 100 blocks still, of
 * which `left` has 1000 in 1.  At 1.2 s it ends.  Leaks all of it.
 *
 * moments fork: the parent makes 100 x 1000 at `first` and forks at 0.0 s.  The child makes 50 x 1000 at `second`, frees what it
 * inherited at 0.4 s and ends at 0.8 s; the parent frees its own at 1.0 s and ends at 1.2 s.
 *
 * moments short: 1000 at `first`, which stay for 50 ms.
 *
 * moments flicker: 4096 stacks (a binary tree of calls, 12 deep) with a block of 24 bytes at `leaf` at the end of each; all of
 * them live for 20 ms, then none for 20 ms, 30 times.
 *
 * All say the seconds on CLOCK_MONOTONIC since their own start at which they changed something.  Stacks of `first` and `second`
 * are one each.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

#include "prog.h"

enum { BLOCKS = 100, SIZE = 1000 };

static void *blocks[2][BLOCKS];
static double start;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9 - start;
}

SITE static void *first(void)
{
	void *p = malloc(SIZE);
	KEEP(p);
	return p;
}

SITE static void *second(void)
{
	void *p = malloc(SIZE);
	KEEP(p);
	return p;
}

SITE static void *left(void)
{
	void *p = malloc(SIZE);
	KEEP(p);
	return p;
}

static void make(int which, int count)
{
	for (int i = 0; i < count; i++)
		blocks[which][i] = which ? second() : first();
}

static void drop(int which, int count)
{
	for (int i = 0; i < count; i++)
		free(blocks[which][i]);
}

static void *exchange(void *unused)
{
	usleep(400000);
	drop(0, BLOCKS);
	make(1, BLOCKS);
	return unused;
}

static void swap(void)
{
	static void *kept;
	pthread_t thread;
	REQUIRE(pthread_create(&thread, NULL, exchange, NULL) == 0);
	make(0, BLOCKS);
	REQUIRE(pthread_join(thread, NULL) == 0);
	say("%.3f\n", now());
	usleep(400000);
	drop(1, 1);
	kept = left();
	KEEP(kept);
	say("%.3f\n", now());
	usleep(400000);
}

static void child(void)
{
	make(1, BLOCKS / 2);
	usleep(400000);
	drop(0, BLOCKS);
	say("%.3f\n", now());
	usleep(400000);
	_exit(0);
}

static void parent(void)
{
	make(0, BLOCKS);
	pid_t pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0)
		child();
	usleep(1000000);
	drop(0, BLOCKS);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	usleep(200000);
}

enum { TURNS = 12, LEAVES = 1 << TURNS };
static void *leaves[LEAVES];

SITE static void *leaf(void)
{
	void *p = malloc(24);
	KEEP(p);
	return p;
}

SITE static void grow(unsigned way, int turns);

SITE static void go_left(unsigned way, int turns)
{
	grow(2 * way, turns - 1);
	BARRIER();
}

SITE static void go_right(unsigned way, int turns)
{
	grow(2 * way + 1, turns - 1);
	BARRIER();
}

SITE static void grow(unsigned way, int turns)
{
	if (turns == 0) {
		leaves[way] = leaf();
	} else {
		go_left(way, turns);
		go_right(way, turns);
	}
	BARRIER();
}

static void flicker(void)
{
	for (int round = 0; round < 30; round++) {
		grow(0, TURNS);
		usleep(20000);
		for (int i = 0; i < LEAVES; i++)
			free(leaves[i]);
		usleep(20000);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	start = now();
	if (strcmp(mode, "swap") == 0) {
		swap();
	} else if (strcmp(mode, "fork") == 0) {
		parent();
	} else if (strcmp(mode, "flicker") == 0) {
		flicker();
	} else if (strcmp(mode, "short") == 0) {
		void *p = first();
		KEEP(p);
		usleep(50000);
		free(p);
	} else {
		return 99;
	}
	return 0;
}
