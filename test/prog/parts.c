/* SPDX-License-Identifier: MIT */
/*
 * Costs by size and by thread.  The argument picks:
 *   sizes    in this order: 3 x malloc(0) and 60 x malloc(1000) that stay, 5 x malloc(8); 7 x malloc(9), each freed at once;
 *            malloc(16); 40 x malloc(1000).  This is the peak: 3 blocks of 0, 5 of 8, 1 of 16, 100 of 1000 bytes,
 *            100056 bytes.  Then the 40 are freed, malloc(8) once more, the 16 bytes become 4096 by realloc and are freed at
 *            once (temporary), and so are, not at once, all blocks of 8
 *   many     20000 x malloc(100) and 5000 x malloc(3000) that stay
 *   threads  one after the other, each joined before the next:
 *            "maker" names itself, then makes 10 x 100 bytes; "taker" is named by prctl, frees 4 of these and makes 5 x 50;
 *            "brief" is named by main before its first event, makes 7 bytes and lives a millisecond; a thread that changes its
 *            name past the C library to "raw" makes 9 bytes and lives a third of a second.  What is made stays otherwise.
 *            Says the threads' ids in this order, main's first
 *   turns    60 threads one after the other, each with a malloc(24) that stays
 *   fork     main makes 10 x 100 bytes and forks; the child frees 3 of them and makes 2 x 40 that stay
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "prog.h"

SITE static void *make(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	return p;
}

static void *made[100];

static void fill(int from, int count, size_t size)
{
	for (int i = from; i < from + count; i++)
		made[i] = make(size);
}

static void drop(int from, int count)
{
	for (int i = from; i < from + count; i++)
		free(made[i]);
}

static void sizes(void)
{
	void *p;

	for (int i = 0; i < 3; i++)
		make(0);
	for (int i = 0; i < 60; i++)
		make(1000);
	fill(0, 5, 8);
	for (int i = 0; i < 7; i++)
		free(make(9));
	p = make(16);
	fill(6, 40, 1000);
	drop(6, 40);
	fill(5, 1, 8);
	p = realloc(p, 4096);
	KEEP(p);
	free(p);
	drop(0, 6);
}

static void many(void)
{
	for (int i = 0; i < 20000; i++)
		make(100);
	for (int i = 0; i < 5000; i++)
		make(3000);
}

static pid_t tid;
static sem_t named;

static void *maker(void *unused)
{
	(void)unused;
	tid = (pid_t)syscall(SYS_gettid);
	REQUIRE(pthread_setname_np(pthread_self(), "maker") == 0);
	fill(0, 10, 100);
	return NULL;
}

static void *taker(void *unused)
{
	(void)unused;
	tid = (pid_t)syscall(SYS_gettid);
	prctl(PR_SET_NAME, "taker", 0, 0, 0);
	drop(0, 4);
	fill(10, 5, 50);
	return NULL;
}

static void *brief(void *unused)
{
	(void)unused;
	tid = (pid_t)syscall(SYS_gettid);
	sem_wait(&named);
	make(7);
	usleep(1000);
	return NULL;
}

static void *raw(void *unused)
{
	(void)unused;
	tid = (pid_t)syscall(SYS_gettid);
	make(9);
	syscall(SYS_prctl, PR_SET_NAME, "raw", 0, 0, 0);
	usleep(333 * 1000);
	return NULL;
}

static void run(void *(*body)(void *), const char *name)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, body, NULL) == 0);
	if (name) {
		REQUIRE(pthread_setname_np(thread, name) == 0);
		sem_post(&named);
	}
	REQUIRE(pthread_join(thread, NULL) == 0);
	say(" %d", tid);
}

static void threads(void)
{
	say("%d", getpid());
	run(maker, NULL);
	run(taker, NULL);
	run(brief, "brief");
	run(raw, NULL);
	say("\n");
}

static void *turn(void *unused)
{
	(void)unused;
	make(24);
	return NULL;
}

static void turns(void)
{
	pthread_t thread;

	for (int i = 0; i < 60; i++) {
		REQUIRE(pthread_create(&thread, NULL, turn, NULL) == 0);
		REQUIRE(pthread_join(thread, NULL) == 0);
	}
}

static void forks(void)
{
	pid_t child;

	fill(0, 10, 100);
	child = fork();
	if (child == 0) {
		drop(0, 3);
		fill(0, 2, 40);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "sizes", sizes },
		      { "many", many },
		      { "threads", threads },
		      { "turns", turns },
		      { "fork", forks } };

	sem_init(&named, 0, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			modes[i].run();
	return 0;
}
