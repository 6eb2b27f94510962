/* SPDX-License-Identifier: MIT */
/*
 * Temporary: freed by the same thread with no allocation by that thread in between.
 *   at_once       100 x malloc, free                              100 temporary of 100
 *   overtaken     50 x (a = overtaken(), free(at_once2()), free(a)): none of overtaken's 50, all of at_once2's 50
 *   last_in       50 x (a = first_in(), b = last_in(), free(b), free(a)): last_in 50 of 50, first_in 0 of 50
 *                 (between first_in's allocation and its free lies last_in's allocation)
 *   other_thread  20 blocks freed by another thread: 0 of 20
 *   stays         5 blocks that are never freed: 0 of 5
 *   zero          30 x malloc(0), free: 30 of 30
 * Temporary in total (of these sites): 100 + 50 + 50 + 30 = 230.
 */
#include <pthread.h>

#include "prog.h"

#define DEFINE_SITE(name, size) \
 SITE static void *name(void)   \
 {                              \
  void *p = malloc(size);       \
  KEEP(p);                      \
  return p;                     \
 }

DEFINE_SITE(at_once, 10)
DEFINE_SITE(at_once2, 20)
DEFINE_SITE(overtaken, 30)
DEFINE_SITE(first_in, 40)
DEFINE_SITE(last_in, 50)
DEFINE_SITE(other_thread, 60)
DEFINE_SITE(stays, 70)
DEFINE_SITE(zero, 0)

static void *free_it(void *p)
{
	free(p);
	return NULL;
}

int main(void)
{
	for (int i = 0; i < 100; i++)
		free(at_once());
	for (int i = 0; i < 50; i++) {
		void *a = overtaken();
		free(at_once2());
		free(a);
	}
	for (int i = 0; i < 50; i++) {
		void *a = first_in();
		void *b = last_in();
		free(b);
		free(a);
	}
	for (int i = 0; i < 20; i++) {
		void *p = other_thread();
		pthread_t thread;
		REQUIRE(pthread_create(&thread, NULL, free_it, p) == 0);
		REQUIRE(pthread_join(thread, NULL) == 0);
	}
	for (int i = 0; i < 5; i++)
		stays();
	for (int i = 0; i < 30; i++)
		free(zero());
	return 0;
}
