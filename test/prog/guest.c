/* SPDX-License-Identifier: MIT */
/*
 * A program with habits that a guest in its address space must not be upset by.  Each argument names one.  A round of work
 * makes 200 blocks of 64 bytes (12800) at work_site, of which 20 (1280) stay; there is one before the first habit, one after
 * each, and as many more inside a habit as stated there: R rounds give 200 R allocations, 12800 R bytes, 20 R blocks and
 * 1280 R bytes leaked.  The program ends with status 3 and says "guest done".
 *   close      closes all descriptors above 2, then has 30 files of its own on them, which must stay empty: 50 rounds
 *   lowest     the next descriptor is 3; with this file on all of 4..1100 nothing may be written into it: 50 rounds
 *   files      has used up all descriptors under RLIMIT_NOFILE 64: 50 rounds
 *   chdir      works in a directory that was removed, and in /: 2 rounds
 *   chroot     makes an empty root (as root only)
 *   clearenv   clears the environment by all means
 *   fsize      RLIMIT_FSIZE 4096
 *   fsize0     RLIMIT_FSIZE 0
 *   nofile     RLIMIT_NOFILE 3
 *   as         RLIMIT_AS at what it has now and 16 MiB: malloc(64 MiB) fails, small ones work
 *   stack      runs a thread with the smallest stack (PTHREAD_STACK_MIN + 8 KiB) that makes small_stack 10 x 20, freed
 *   seccomp    kills at all but read write brk mmap munmap mremap futex exit exit_group rt_sigreturn; ends by exit_group
 *   seccomp_enosys  the same with ENOSYS instead of death: 50 rounds each
 *   errno      errno is the same after each malloc and free, over many sizes: errno_site 12 * 30 allocations, freed
 *   dlerror    a failed dlsym's message survives malloc, and so does "no message": dlerror_site 100 x 10, freed
 *   umask      umask 0777
 *   drop       setuid to 65534 (as root only)
 *   threads    20 threads make thread_site 50 x 10 each, all stay: 1000 allocations, 10000 bytes
 *   grow       2^14 stacks of 15 calls of branch, each with one block: grown 16384 allocations, 131072 bytes, freed
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "prog.h"

extern char **environ;

#define DEFINE_SITE(name)            \
 SITE static void *name(size_t size) \
 {                                   \
  void *p = malloc(size);            \
  KEEP(p);                           \
  return p;                          \
 }

DEFINE_SITE(work_site)
DEFINE_SITE(small_stack)
DEFINE_SITE(errno_site)
DEFINE_SITE(dlerror_site)
DEFINE_SITE(thread_site)
DEFINE_SITE(grown)

SITE static void work(void)
{
	void *block[200];
	for (int i = 0; i < 200; i++)
		block[i] = work_site(64);
	for (int i = 20; i < 200; i++)
		free(block[i]);
	BARRIER();
}

static off_t size_of(int fd)
{
	struct stat st;
	REQUIRE(fstat(fd, &st) == 0);
	return st.st_size;
}

static int open_empty(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0666);
	return fd;
}

static void habit_close(void)
{
	int fd[30];
	closefrom(3);
	for (int i = 0; i < 30; i++) {
		fd[i] = open_empty("mine");
		REQUIRE(fd[i] == i + 3);
	}
	for (int i = 0; i < 50; i++)
		work();
	for (int i = 0; i < 30; i++) {
		REQUIRE(size_of(fd[i]) == 0);
		close(fd[i]);
	}
}

static void habit_lowest(void)
{
	int fd = open_empty("mine");
	REQUIRE(fd == 3);
	for (int i = 4; i <= 1100; i++) {
		if (fcntl(i, F_GETFD) == -1 && dup2(fd, i) != i)
			break;
	}
	for (int i = 0; i < 50; i++)
		work();
	REQUIRE(size_of(fd) == 0);
	closefrom(3);
}

static void habit_files(void)
{
	struct rlimit limit;
	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = 64;
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	int fd, opened = 0;
	while ((fd = open_empty("mine")) >= 0)
		opened++;
	REQUIRE(errno == EMFILE && opened >= 30);
	for (int i = 0; i < 50; i++)
		work();
	closefrom(3);
}

static void habit_chdir(void)
{
	char old[4096];
	REQUIRE(getcwd(old, sizeof(old)));
	REQUIRE(mkdir("gone", 0777) == 0 && chdir("gone") == 0);
	REQUIRE(rmdir("../gone") == 0);
	work();
	REQUIRE(chdir("/") == 0);
	work();
	REQUIRE(chdir(old) == 0);
}

static void habit_chroot(void)
{
	REQUIRE(mkdir("empty", 0777) == 0 || errno == EEXIST);
	REQUIRE(chroot("empty") == 0 && chdir("/") == 0);
}

static void habit_clearenv(void)
{
	static char *none[] = { NULL };
	unsetenv("LD_PRELOAD");
	clearenv();
	environ = none;
}

static void limit_to(int what, rlim_t most)
{
	struct rlimit limit;
	REQUIRE(getrlimit(what, &limit) == 0);
	limit.rlim_cur = most;
	REQUIRE(setrlimit(what, &limit) == 0);
}

static void habit_fsize(void)
{
	limit_to(RLIMIT_FSIZE, 4096);
}

static void habit_fsize0(void)
{
	limit_to(RLIMIT_FSIZE, 0);
}

static void habit_nofile(void)
{
	limit_to(RLIMIT_NOFILE, 3);
}

static void habit_as(void)
{
	char text[64] = { 0 };
	int fd = open("/proc/self/statm", O_RDONLY);
	REQUIRE(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	limit_to(RLIMIT_AS, strtoul(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + (16 << 20));
	volatile size_t large = 64 << 20;
	void *p = malloc(large);
	REQUIRE(p == NULL);
}

static void *small_stack_body(void *unused)
{
	for (int i = 0; i < 10; i++)
		free(small_stack(20));
	return unused;
}

static void habit_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	REQUIRE(pthread_attr_init(&attributes) == 0);
	REQUIRE(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + 8192) == 0);
	REQUIRE(pthread_create(&thread, &attributes, small_stack_body, NULL) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	pthread_attr_destroy(&attributes);
}

static void filter(unsigned otherwise)
{
#define ALLOW(call) \
 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read),
		ALLOW(write),
		ALLOW(brk),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(futex),
		ALLOW(exit),
		ALLOW(exit_group),
		ALLOW(rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void habit_seccomp(void)
{
	filter(SECCOMP_RET_KILL_PROCESS);
	for (int i = 0; i < 50; i++)
		work();
}

static void habit_seccomp_enosys(void)
{
	filter(SECCOMP_RET_ERRNO | ENOSYS);
	for (int i = 0; i < 50; i++)
		work();
}

static void habit_errno(void)
{
	for (int i = 0; i < 30; i++) {
		size_t size = 3;
		for (int k = 0; k < 12; k++, size *= 3) {
			errno = 77;
			void *p = errno_site(size);
			REQUIRE(p && errno == 77);
			free(p);
			REQUIRE(errno == 77);
			errno = 0;
			free(NULL);
			REQUIRE(errno == 0);
		}
	}
}

static void habit_dlerror(void)
{
	for (int i = 0; i < 50; i++) {
		REQUIRE(dlsym(RTLD_DEFAULT, "there_is_no_such_name") == NULL);
		free(dlerror_site(10));
		char *text = dlerror();
		REQUIRE(text && strstr(text, "there_is_no_such_name"));
		free(dlerror_site(10));
		REQUIRE(dlerror() == NULL);
	}
}

static void habit_umask(void)
{
	umask(0777);
}

static void habit_drop(void)
{
	REQUIRE(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
}

static void *thread_body(void *unused)
{
	for (int i = 0; i < 50; i++)
		thread_site(10);
	return unused;
}

static void habit_threads(void)
{
	pthread_t thread[20];
	for (int i = 0; i < 20; i++)
		REQUIRE(pthread_create(&thread[i], NULL, thread_body, NULL) == 0);
	for (int i = 0; i < 20; i++)
		REQUIRE(pthread_join(thread[i], NULL) == 0);
}

SITE static void branch(int left, int unused)
{
	if (left == 0) {
		free(grown(8));
	} else {
		branch(left - 1, unused);
		branch(left - 1, unused + 1);
	}
	BARRIER();
}

static void habit_grow(void)
{
	branch(14, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} habits[] = {
		{ "close", habit_close },
		{ "lowest", habit_lowest },
		{ "files", habit_files },
		{ "chdir", habit_chdir },
		{ "chroot", habit_chroot },
		{ "clearenv", habit_clearenv },
		{ "fsize", habit_fsize },
		{ "fsize0", habit_fsize0 },
		{ "nofile", habit_nofile },
		{ "as", habit_as },
		{ "stack", habit_stack },
		{ "seccomp", habit_seccomp },
		{ "seccomp_enosys", habit_seccomp_enosys },
		{ "errno", habit_errno },
		{ "dlerror", habit_dlerror },
		{ "umask", habit_umask },
		{ "drop", habit_drop },
		{ "threads", habit_threads },
		{ "grow", habit_grow },
	};
	work();
	for (int i = 1; i < argc; i++) {
		int found = 0;
		for (size_t k = 0; k < sizeof(habits) / sizeof(habits[0]); k++) {
			if (strcmp(habits[k].name, argv[i]) == 0) {
				habits[k].run();
				found = 1;
			}
		}
		if (!found) {
			say_to(2, "guest: no habit %s\n", argv[i]);
			return 98;
		}
		work();
	}
	say("guest done\n");
	return 3;
}
