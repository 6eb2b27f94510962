/* SPDX-License-Identifier: MIT */
/*
 * target PROGRAM ARG...: runs it and appends to the file $BENCH_TARGET, in one line: its highest resident memory (KiB), when
 * it started and ended (ns, CLOCK_MONOTONIC), its CPU time (ns) and its status as of waitpid.  Exits as the program did.
 *
 * It is what every tool of the benchmarks is given to run, since only a parent learns these things for certain, and the
 * tools are not to be asked about themselves.  Linked statically, so that what a tool preloads does not enter here
 * but passes on to the program.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long ns_of(struct timeval t)
{
	return t.tv_sec * 1000000000ll + t.tv_usec * 1000ll;
}

static void note(const char *path, long long start, long long end, const struct rusage *usage,
		 int status)
{
	char line[200];
	int length = snprintf(line, sizeof(line), "%ld %lld %lld %lld %d\n", usage->ru_maxrss,
			      start, end, ns_of(usage->ru_utime) + ns_of(usage->ru_stime), status);
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, (size_t)length) != length) {
		perror(path);
		exit(125);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	const char *path = getenv("BENCH_TARGET");
	struct rusage usage;
	int status;
	pid_t pid;
	long long start;

	if (argc < 2 || !path) {
		fputs("usage: BENCH_TARGET=FILE target PROGRAM ARG...\n", stderr);
		return 125;
	}
	signal(SIGINT, SIG_IGN); /* the program decides */
	start = now_ns();
	pid = fork();
	if (pid == 0) {
		signal(SIGINT, SIG_DFL);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
		perror("target");
		return 125;
	}
	note(path, start, now_ns(), &usage, status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
