/* SPDX-License-Identifier: MIT */
/*
 * Ways to end.  kept makes 100 x 100 that stay, then the argument picks the end; "12" is the status where one can be given:
 *   return exit _exit _Exit quick_exit exit_group pthread_exit (status 0, another thread goes on and makes 10 x 100 more)
 *   abort sigkill sigterm sigsegv (a wild write) overflow (of the stack) trap  - die of the signal
 *   wait FILE      makes FILE, then waits for signals for at most 20 s (status 13 after that)
 *   graceful FILE  the same, but SIGINT and SIGTERM end it with status 5, after kept made 1 more
 *   counting FILE  maps FILE (8 bytes) and counts in it each call of counted(16), forever, until it is killed;
 *                  every second block is freed
 *   busy           main returns (status 12) while 3 threads are in a loop of malloc(33), free at the site restless
 *   echo           copies stdin to stdout and says "to stderr" on stderr
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "prog.h"

SITE static void *kept(void)
{
	void *p = malloc(100);
	KEEP(p);
	return p;
}

SITE static void *counted(void)
{
	void *p = malloc(16);
	KEEP(p);
	return p;
}

static void *last_thread(void *unused)
{
	usleep(100000);
	for (int i = 0; i < 10; i++)
		kept();
	say("last thread\n");
	return unused;
}

SITE static int overflow(volatile char *from)
{
	volatile char room[4096];
	room[0] = *from;
	return overflow(room) + room[0];
}

SITE static void *restless(void)
{
	void *p = malloc(33);
	KEEP(p);
	return p;
}

static void *restless_thread(void *unused)
{
	for (;;)
		free(restless());
	return unused;
}

static volatile sig_atomic_t told;

static void on_signal(int number)
{
	told = number;
}

static void mark(const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT, 0666);
	REQUIRE(fd >= 0);
	say_to(fd, "%d\n", (int)getpid());
	close(fd);
}

static void await_signal(void)
{
	for (int i = 0; i < 2000 && !told; i++)
		usleep(10000);
}

static void count_forever(const char *file)
{
	int fd = open(file, O_RDWR);
	REQUIRE(fd >= 0);
	volatile uint64_t *count = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(count != MAP_FAILED);
	close(fd);
	for (;;) {
		void *p = counted();
		++*count;
		if (*count % 2 == 0)
			free(p);
	}
}

static void at_exit(void)
{
	say("at exit\n");
}

static void at_quick_exit_(void)
{
	say("at quick exit\n");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "return";
	if (strcmp(what, "echo") == 0) {
		char text[4096];
		ssize_t n;
		while ((n = read(0, text, sizeof(text))) > 0)
			REQUIRE(write(1, text, (size_t)n) == n);
		say_to(2, "to stderr\n");
		return 12;
	}
	for (int i = 0; i < 100; i++)
		kept();
	if (strcmp(what, "return") == 0)
		return 12;
	if (strcmp(what, "exit") == 0) {
		atexit(at_exit);
		exit(12);
	}
	if (strcmp(what, "_exit") == 0)
		_exit(12);
	if (strcmp(what, "_Exit") == 0)
		_Exit(12);
	if (strcmp(what, "quick_exit") == 0) {
		at_quick_exit(at_quick_exit_);
		quick_exit(12);
	}
	if (strcmp(what, "exit_group") == 0)
		syscall(SYS_exit_group, 12);
	if (strcmp(what, "pthread_exit") == 0) {
		pthread_t thread;
		REQUIRE(pthread_create(&thread, NULL, last_thread, NULL) == 0);
		pthread_exit(NULL);
	}
	if (strcmp(what, "busy") == 0) {
		pthread_t thread;
		for (int i = 0; i < 3; i++)
			REQUIRE(pthread_create(&thread, NULL, restless_thread, NULL) == 0);
		usleep(5000);
		return 12;
	}
	if (strcmp(what, "abort") == 0)
		abort();
	if (strcmp(what, "sigkill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(what, "sigterm") == 0)
		kill(getpid(), SIGTERM);
	if (strcmp(what, "sigsegv") == 0) {
		int *volatile wild = (int *)8;
		*wild = 1;
	}
	if (strcmp(what, "overflow") == 0) {
		char start = 0;
		return overflow(&start);
	}
	if (strcmp(what, "trap") == 0)
		__builtin_trap();
	if (strcmp(what, "wait") == 0) {
		mark(argv[2]);
		await_signal();
		return 13;
	}
	if (strcmp(what, "graceful") == 0) {
		struct sigaction action = { .sa_handler = on_signal };
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		mark(argv[2]);
		await_signal();
		kept();
		return told ? 5 : 13;
	}
	if (strcmp(what, "counting") == 0)
		count_forever(argv[2]);
	return 98;
}
