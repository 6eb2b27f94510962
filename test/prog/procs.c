/* SPDX-License-Identifier: MIT */
/*
 * Processes.  The argument picks:
 *   fork        before 100 x 10 by before_fork, 20 of which the parent frees and 50 of which the child frees;
 *               then only_parent 30 x 20 stay, only_child 40 x 30 stay.  The parent waits.
 *               parent: before_fork 100 allocations, 80 (800) stay; only_parent 30 (600) stay
 *               child:  before_fork 0 allocations, 50 (500) stay; only_child 40 (1200) stay
 *   exec SELF   fork + exec of "procs leaf": parent parent_site 10 x 100 stay; child leaf_site 7 x 50 stay
 *   leaf        leaf_site 7 x 50 bytes that stay
 *   vfork SELF  parent_site 10 x 100 stay; 20 x vfork + exec of "procs leaf" after a malloc in the child (in_vfork, 1 x 33,
 *               freed there: 20 x 33 in the parent, all freed), and 5 x vfork with a failing exec
 *   spawn SELF  parent_site 10 x 100; 20 x posix_spawn of "procs leaf": 20 images of leaf_site 7 x 50
 *   chain N     exec of itself N more times with the same pid: each image chain_site 3 x (100 + N); the last ends with status 6
 *   daemon FILE double fork; parent_site 10 x 100 in the first process, which ends at once after the daemon has made
 *               daemon_site 5 x 40 that stay; the daemon makes 5 x 40 more 0.7 s later, writes FILE and ends
 *   raw         clone by a bare system call, without exec: the parent makes parent_site 10 x 100, the child
 *               only_child 40 x 30; nothing of the child may be found in the parent
 *   forks N     N children in turn, each only_child 40 x 30, and parent_site 10 x 100
 *   threads     fork while 3 threads allocate; 60 children each make 40 x 30 (only_child) and end; parent_site 10 x 100
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "prog.h"

extern char **environ;

#define DEFINE_SITE(name)            \
 SITE static void *name(size_t size) \
 {                                   \
  void *p = malloc(size);            \
  KEEP(p);                           \
  return p;                          \
 }

DEFINE_SITE(before_fork)
DEFINE_SITE(only_parent)
DEFINE_SITE(only_child)
DEFINE_SITE(parent_site)
DEFINE_SITE(leaf_site)
DEFINE_SITE(in_vfork)
DEFINE_SITE(chain_site)
DEFINE_SITE(daemon_site)
DEFINE_SITE(busy)

static void times(int count, void *site(size_t), size_t size)
{
	for (int i = 0; i < count; i++)
		site(size);
}

static void await(pid_t pid)
{
	int status;
	REQUIRE(waitpid(pid, &status, 0) == pid);
	REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int do_fork(void)
{
	void *block[100];
	for (int i = 0; i < 100; i++)
		block[i] = before_fork(10);
	pid_t pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < 50; i++)
			free(block[i]);
		times(40, only_child, 30);
		return 0;
	}
	for (int i = 0; i < 20; i++)
		free(block[i]);
	times(30, only_parent, 20);
	await(pid);
	return 0;
}

static int do_exec(char *self)
{
	times(10, parent_site, 100);
	pid_t pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		execl(self, self, "leaf", (char *)NULL);
		_exit(98);
	}
	await(pid);
	return 0;
}

static int do_vfork(char *self)
{
	times(10, parent_site, 100);
	for (int i = 0; i < 25; i++) {
		pid_t pid = vfork();
		REQUIRE(pid >= 0);
		if (pid == 0) {
			if (i < 20) {
				free(in_vfork(33));
				execl(self, self, "leaf", (char *)NULL);
				_exit(98);
			}
			execl("/does/not/exist", "x", (char *)NULL);
			_exit(0);
		}
		await(pid);
	}
	return 0;
}

static int do_spawn(char *self)
{
	times(10, parent_site, 100);
	char *args[] = { self, (char *)"leaf", NULL };
	for (int i = 0; i < 20; i++) {
		pid_t pid;
		REQUIRE(posix_spawn(&pid, self, NULL, NULL, args, environ) == 0);
		await(pid);
	}
	return 0;
}

static int do_chain(char *self, int left)
{
	times(3, chain_site, 100 + (size_t)left);
	if (left == 0)
		return 6;
	char number[16];
	snprintf(number, sizeof(number), "%d", left - 1);
	execl(self, self, "chain", number, (char *)NULL);
	return 98;
}

static int do_daemon(const char *file)
{
	int ready[2];
	char byte;
	REQUIRE(pipe(ready) == 0);
	times(10, parent_site, 100);
	pid_t pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		setsid();
		pid = fork();
		if (pid != 0)
			_exit(0);
		times(5, daemon_site, 40);
		REQUIRE(write(ready[1], "x", 1) == 1);
		usleep(700000);
		times(5, daemon_site, 40);
		int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
		REQUIRE(fd >= 0);
		say_to(fd, "daemon done\n");
		close(fd);
		_exit(0);
	}
	await(pid);
	REQUIRE(read(ready[0], &byte, 1) == 1);
	return 4;
}

static int do_raw(void)
{
	times(5, parent_site, 100);
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	REQUIRE(pid >= 0);
	if (pid == 0) {
		times(40, only_child, 30);
		_exit(0);
	}
	await(pid);
	times(5, parent_site, 100);
	return 0;
}

static int do_forks(int count)
{
	times(10, parent_site, 100);
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		REQUIRE(pid >= 0);
		if (pid == 0) {
			times(40, only_child, 30);
			_exit(0);
		}
		await(pid);
	}
	return 0;
}

static volatile int stop;

static void *busy_body(void *unused)
{
	for (int i = 0; !stop; i++) {
		free(busy(20 + (size_t)i % 500));
		if (i % 64 == 0)
			usleep(50);
	}
	return unused;
}

static int do_threads(void)
{
	pthread_t thread[3];
	for (int i = 0; i < 3; i++)
		REQUIRE(pthread_create(&thread[i], NULL, busy_body, NULL) == 0);
	do_forks(60);
	stop = 1;
	for (int i = 0; i < 3; i++)
		REQUIRE(pthread_join(thread[i], NULL) == 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char *more = argc > 2 ? argv[2] : NULL;
	if (strcmp(what, "fork") == 0)
		return do_fork();
	if (strcmp(what, "exec") == 0)
		return do_exec(more);
	if (strcmp(what, "vfork") == 0)
		return do_vfork(more);
	if (strcmp(what, "spawn") == 0)
		return do_spawn(more);
	if (strcmp(what, "chain") == 0)
		return do_chain(argv[0], atoi(more));
	if (strcmp(what, "daemon") == 0)
		return do_daemon(more);
	if (strcmp(what, "raw") == 0)
		return do_raw();
	if (strcmp(what, "forks") == 0)
		return do_forks(atoi(more));
	if (strcmp(what, "threads") == 0)
		return do_threads();
	if (strcmp(what, "leaf") == 0) {
		times(7, leaf_site, 50);
		return 0;
	}
	return 98;
}
