/* SPDX-License-Identifier: MIT */
/*
 * Threads.  The argument picks:
 *   short        4000 threads one after the other, each 2 x 48 bytes, one of which stays in every tenth thread:
 *                in_short 8000 allocations, 384000 bytes, 400 stay (19200)
 *   storm        10000 threads, 50 alive at once, detached, each 1 x 32 bytes freed and 1 x 16 bytes that stays:
 *                in_storm 20000 allocations, 480000 bytes, 10000 stay (160000)
 *   handover     3 producers hand 20000 blocks of 16 + i % 100 bytes each to 3 consumers, which free all but those with
 *                i % 1000 == 0 (16 bytes): produced 60000 allocations, 3 * 200 * (100 * 16 + 4950) = 3930000 bytes,
 *                60 stay (960); never temporary
 *   destructors  200 threads with a key whose destructor frees the block of the thread and allocates anew, until it has been
 *                called three times: for_key 200 x 64 bytes; in_destructor 200 x 2 x 24 bytes; all freed
 *   cancel       40 threads in a loop of malloc(24), free, pthread_testcancel are cancelled; none of their blocks stays;
 *                then main makes 100 x 8 that stay: after_cancel 100 allocations, 800 bytes
 *   everywhere   10 threads get a request to cancel before a loop of 20000 x malloc(24), free.  These are no cancellation
 *                points, so the loop must run to its end, and it says "ok":
 *                in_loop 200000 allocations, 4800000 bytes, none stays
 *   parallel     4 threads, each 50000 x 40 freed at once at the one site in_parallel: 200000 allocations, 8000000 bytes,
 *                all temporary; and each leaves 10 x 40 at left: 40 allocations, 1600 bytes stay
 */
#include <pthread.h>
#include <semaphore.h>

#include "prog.h"

#define DEFINE_SITE(name)            \
 SITE static void *name(size_t size) \
 {                                   \
  void *p = malloc(size);            \
  KEEP(p);                           \
  return p;                          \
 }

DEFINE_SITE(in_short)
DEFINE_SITE(in_storm)
DEFINE_SITE(produced)
DEFINE_SITE(for_key)
DEFINE_SITE(in_destructor)
DEFINE_SITE(in_cancelled)
DEFINE_SITE(after_cancel)
DEFINE_SITE(in_loop)
DEFINE_SITE(in_parallel)
DEFINE_SITE(left)

static void start(pthread_t *thread, void *body(void *), void *argument)
{
	REQUIRE(pthread_create(thread, NULL, body, argument) == 0);
}

static void join(pthread_t thread)
{
	REQUIRE(pthread_join(thread, NULL) == 0);
}

static sem_t room, finished;

static void *short_body(void *keeps)
{
	void *a = in_short(48);
	free(in_short(48));
	if (!keeps)
		free(a);
	return NULL;
}

static void do_short(void)
{
	for (long i = 0; i < 4000; i++) {
		pthread_t thread;
		start(&thread, short_body, i % 10 == 0 ? (void *)&room : NULL);
		join(thread);
	}
}

static void *storm_body(void *unused)
{
	free(in_storm(32));
	in_storm(16);
	sem_post(&room);
	sem_post(&finished);
	return unused;
}

static void do_storm(void)
{
	pthread_attr_t detached;
	REQUIRE(pthread_attr_init(&detached) == 0);
	REQUIRE(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED) == 0);
	REQUIRE(pthread_attr_setstacksize(&detached, 128 << 10) == 0);
	sem_init(&room, 0, 50);
	sem_init(&finished, 0, 0);
	for (int i = 0; i < 10000; i++) {
		pthread_t thread;
		while (sem_wait(&room) != 0)
			;
		int error;
		while ((error = pthread_create(&thread, &detached, storm_body, NULL)) == EAGAIN)
			usleep(1000);
		REQUIRE(error == 0);
	}
	for (int i = 0; i < 10000; i++)
		while (sem_wait(&finished) != 0)
			;
	pthread_attr_destroy(&detached);
}

struct pipe_of_blocks {
	void *_Atomic cell[256];
};

static struct pipe_of_blocks pipes[3];

static void *produce(void *at)
{
	struct pipe_of_blocks *pipe = at;
	for (int i = 0; i < 20000; i++) {
		char *p = produced(16 + (size_t)i % 100);
		p[0] = i % 1000 == 0;
		while (pipe->cell[i % 256])
			sched_yield();
		pipe->cell[i % 256] = p;
	}
	return NULL;
}

static void *consume(void *at)
{
	struct pipe_of_blocks *pipe = at;
	for (int i = 0; i < 20000; i++) {
		char *p;
		while (!(p = pipe->cell[i % 256]))
			sched_yield();
		pipe->cell[i % 256] = NULL;
		if (!p[0])
			free(p);
	}
	return NULL;
}

static void do_handover(void)
{
	pthread_t thread[6];
	for (int i = 0; i < 3; i++) {
		start(&thread[i], produce, &pipes[i]);
		start(&thread[3 + i], consume, &pipes[i]);
	}
	for (int i = 0; i < 6; i++)
		join(thread[i]);
}

static pthread_key_t key;

static void destructor(void *at)
{
	char *block = at;
	int round = block[0];
	free(block);
	if (round == 2)
		return;
	block = in_destructor(24);
	block[0] = (char)(round + 1);
	pthread_setspecific(key, block);
}

static void *destructor_body(void *unused)
{
	char *block = for_key(64);
	block[0] = 0;
	pthread_setspecific(key, block);
	return unused;
}

static void do_destructors(void)
{
	REQUIRE(pthread_key_create(&key, destructor) == 0);
	for (int i = 0; i < 200; i++) {
		pthread_t thread;
		start(&thread, destructor_body, NULL);
		join(thread);
	}
}

static void *cancelled_body(void *unused)
{
	for (;;) {
		free(in_cancelled(24));
		pthread_testcancel();
	}
	return unused;
}

static void do_cancel(void)
{
	for (int i = 0; i < 40; i++) {
		pthread_t thread;
		void *result;
		start(&thread, cancelled_body, NULL);
		usleep(500);
		pthread_cancel(thread);
		REQUIRE(pthread_join(thread, &result) == 0);
		REQUIRE(result == PTHREAD_CANCELED);
	}
	for (int i = 0; i < 100; i++)
		after_cancel(8);
}

static volatile int asked;

static void *loop_body(void *through)
{
	while (!asked)
		sched_yield();
	for (int i = 0; i < 20000; i++)
		free(in_loop(24));
	*(int *)through = 1;
	return NULL;
}

static void do_everywhere(void)
{
	for (int i = 0; i < 10; i++) {
		pthread_t thread;
		int through = 0;
		asked = 0;
		start(&thread, loop_body, &through);
		pthread_cancel(thread);
		asked = 1;
		join(thread);
		REQUIRE(through);
	}
	say("ok\n");
}

static void *parallel_body(void *unused)
{
	for (int i = 0; i < 50000; i++)
		free(in_parallel(40));
	for (int i = 0; i < 10; i++)
		left(40);
	return unused;
}

static void do_parallel(void)
{
	pthread_t thread[4];
	for (int i = 0; i < 4; i++)
		start(&thread[i], parallel_body, NULL);
	for (int i = 0; i < 4; i++)
		join(thread[i]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "short", do_short },		 { "storm", do_storm },
		{ "handover", do_handover },	 { "cancel", do_cancel },
		{ "everywhere", do_everywhere }, { "destructors", do_destructors },
		{ "parallel", do_parallel },
	};
	for (int i = 1; i < argc; i++) {
		int found = 0;
		for (size_t k = 0; k < sizeof(modes) / sizeof(modes[0]); k++) {
			if (strcmp(modes[k].name, argv[i]) == 0) {
				modes[k].run();
				found = 1;
			}
		}
		REQUIRE(found);
	}
	return 0;
}
