/* SPDX-License-Identifier: MIT */
/*
 * Programs without an error that an allocator may take for one, or break: correct MODE says "fine", status 0; correct list names the
 * modes.  Each checks its bytes.
 *   zero       blocks of no bytes, realloc(p, 0), free(NULL)
 *   resize     realloc to more and to less, by small and by large steps, contents kept
 *   aligned    all ways to ask for an alignment, 16 to 2 MiB
 *   refused    what must fail: too much, overflows, bad alignments; errno, and a block that survives a failed realloc
 *   huge       blocks of 300 MiB, grown, shrunk, cleared by calloc
 *   exact      each byte of blocks of 1 to 5000 bytes written and read
 *   strings    string functions that end on the last byte of a block, for 1 to 300 bytes
 *   kernel     read and write into the whole of a block
 *   usable     all of malloc_usable_size written
 *   handover   freed and resized by another thread
 *   fork       a child frees what it inherited and makes its own, the parent's blocks are untouched
 *   spawn      vfork, posix_spawn and system while blocks live
 *   barrier    a SIGSEGV handler that opens a page of the program's own and goes on, 1000 times
 *   overflow   a stack overflow, caught on another stack and jumped out of, 20 times
 *   null       a null pointer touched, and jumped out of the handler, 1000 times
 *   threads    eight threads, 4000 blocks each
 *   short      2000 threads that leave a block to the next one
 *   signal     a handler that allocates, while nothing else does
 *   libc       streams, directories, qsort, getline, locale, environment: what the C library allocates
 *   many       30000 blocks live at once
 *   limited    a limit of 512 MiB on its own address space, read back, and 2000 blocks under it
 *   locked     all of its memory locked, now and in future: less than 1 GiB of it; nothing where that is not allowed
 *   sparse     2 GiB of which two bytes are used: less than 64 MiB resident, before the free and after
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "prog.h"

extern char **environ;

#define MIB (1ul << 20)

static void *made(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	REQUIRE(p);
	return p;
}

static void fill(void *p, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++)
		((volatile unsigned char *)p)[i] = (unsigned char)(seed + i * 7);
}

static void check(const void *p, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++)
		REQUIRE(((const volatile unsigned char *)p)[i] == (unsigned char)(seed + i * 7));
}

static void zero(void)
{
	void *blocks[100];
	for (int i = 0; i < 100; i++) {
		blocks[i] = i % 3 == 0 ? malloc(0) : i % 3 == 1 ? calloc(0, 10) : realloc(NULL, 0);
		KEEP(blocks[i]);
		REQUIRE(blocks[i]);
		for (int k = 0; k < i; k++)
			REQUIRE(blocks[k] != blocks[i]);
	}
	for (int i = 0; i < 100; i++) {
		if (i % 2) {
			free(blocks[i]);
			continue;
		}
		char *p = realloc(blocks[i], 10);
		REQUIRE(p);
		fill(p, 10, 1);
		free(p);
	}
	for (int i = 0; i < 100; i++) {
		void *p = made((size_t)i);
		p = realloc(p, 0);
		REQUIRE(!p);
	}
	free(NULL);
}

static void resize(void)
{
	unsigned char *p = NULL;
	size_t had = 0;
	for (size_t size = 1; size < 3000; size += 1 + size / 40) {
		p = realloc(p, size);
		REQUIRE(p);
		check(p, had, 3);
		fill(p, size, 3);
		had = size;
	}
	for (size_t size = had; size > 1; size -= 1 + size / 40) {
		p = realloc(p, size);
		REQUIRE(p);
		check(p, size, 3);
	}
	static const size_t steps[] = { 10,   100000, 16,	5 * MIB,      4096, 4097,
					4095, 1,      64 * MIB, 64 * MIB + 1, 3 };
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		p = realloc(p, steps[i]);
		REQUIRE(p);
		fill(p, 1, 9);
		p[steps[i] - 1] = 9;
	}
	p = reallocarray(p, 10, 20);
	REQUIRE(p);
	fill(p, 200, 1);
	free(p);
}

static void aligned(void)
{
	for (size_t alignment = 16; alignment <= 2 * MIB; alignment *= 2) {
		for (size_t size = 1; size < 10000; size = size * 3 + 1) {
			void *blocks[3] = { NULL };
			REQUIRE(posix_memalign(&blocks[0], alignment, size) == 0);
			blocks[1] = memalign(alignment, size);
			blocks[2] = aligned_alloc(alignment,
						  (size + alignment - 1) / alignment * alignment);
			for (int i = 0; i < 3; i++) {
				REQUIRE(blocks[i] && (uintptr_t)blocks[i] % alignment == 0);
				fill(blocks[i], size, (unsigned)i);
			}
			for (int i = 0; i < 3; i++)
				check(blocks[i], size, (unsigned)i);
			blocks[1] = realloc(blocks[1], size + 100);
			REQUIRE(blocks[1]);
			check(blocks[1], size, 1);
			for (int i = 0; i < 3; i++)
				free(blocks[i]);
		}
	}
	void *p = NULL;
	REQUIRE(posix_memalign(&p, sizeof(void *), 24) == 0 && (uintptr_t)p % sizeof(void *) == 0);
	fill(p, 24, 1);
	free(p);
	p = valloc(10);
	REQUIRE(p && (uintptr_t)p % 4096 == 0);
	fill(p, 10, 1);
	free(p);
	p = pvalloc(10);
	REQUIRE(p && (uintptr_t)p % 4096 == 0);
	fill(p, 4096, 1);
	free(p);
	for (size_t size = 16; size < 4096; size += 16) {
		p = made(size);
		REQUIRE((uintptr_t)p % 16 == 0);
		free(p);
	}
}

static void refused(void)
{
	volatile size_t too_much = PTRDIFF_MAX, half = SIZE_MAX / 2 + 2;
	void *p = made(100), *other = p;
	fill(p, 100, 5);
	errno = 0;
	REQUIRE(!malloc(too_much) && errno == ENOMEM);
	errno = 0;
	REQUIRE(!malloc(too_much + too_much) && errno == ENOMEM);
	errno = 0;
	REQUIRE(!calloc(half, 2) && errno == ENOMEM);
	errno = 0;
	REQUIRE(!realloc(p, too_much) && errno == ENOMEM);
	errno = 0;
	REQUIRE(!reallocarray(p, half, 2) && errno == ENOMEM);
	REQUIRE(posix_memalign(&other, 3, 10) == EINVAL && other == p);
	REQUIRE(posix_memalign(&other, 2, 10) == EINVAL && other == p);
	REQUIRE(posix_memalign(&other, 64, too_much) == ENOMEM && other == p);
	errno = 0;
	REQUIRE(!memalign(4096, too_much) && errno == ENOMEM);
	check(p, 100, 5);
	errno = EDOM;
	free(p);
	REQUIRE(errno == EDOM);
}

static void huge(void)
{
	const size_t size = 300 * MIB;
	unsigned char *p = made(size), *q = calloc(300, MIB);
	REQUIRE(q);
	fill(p, 10000, 1);
	p[size - 1] = 77;
	for (size_t i = 0; i < size; i += 1000)
		REQUIRE(q[i] == 0);
	REQUIRE(q[size - 1] == 0);
	free(q);
	p = realloc(p, size + 50 * MIB);
	REQUIRE(p);
	check(p, 10000, 1);
	REQUIRE(p[size - 1] == 77);
	p[size + 50 * MIB - 1] = 1;
	p = realloc(p, 5000);
	REQUIRE(p);
	check(p, 5000, 1);
	free(p);
	for (int i = 0; i < 20; i++) {
		p = made(size);
		p[0] = p[size - 1] = 1;
		free(p);
	}
}

static void exact(void)
{
	for (size_t size = 1; size <= 5000; size += size < 300 ? 1 : 37) {
		void *p = made(size), *q = calloc(1, size);
		REQUIRE(q);
		fill(p, size, (unsigned)size);
		for (size_t i = 0; i < size; i++)
			REQUIRE(((volatile char *)q)[i] == 0);
		check(p, size, (unsigned)size);
		memmove(q, p, size);
		REQUIRE(memcmp(p, q, size) == 0);
		free(p);
		check(q, size, (unsigned)size);
		free(q);
	}
}

static void strings(void)
{
	char room[512];
	for (size_t size = 1; size <= 300; size++) {
		char *p = made(size), *q = made(size);
		memset(p, 'x', size - 1);
		p[size - 1] = 0;
		REQUIRE(strlen(p) == size - 1 && strnlen(p, size) == size - 1);
		REQUIRE(strcpy(q, p) == q && strcmp(p, q) == 0 && strncmp(p, q, size) == 0);
		REQUIRE(!strchr(p, 'y') && !memchr(p, 'y', size) && !strrchr(p, 'y') &&
			!strstr(p, "yz"));
		REQUIRE(strcpy(room, p) == room && stpcpy(q, room) == q + size - 1);
		REQUIRE(strspn(p, "x") == size - 1 && strcspn(p, "y") == size - 1 &&
			strcasecmp(p, q) == 0);
		char *copy = strdup(p), *part = strndup(p, size / 2);
		REQUIRE(copy && part &&
			strlen(part) == (size / 2 < size - 1 ? size / 2 : size - 1));
		free(copy);
		free(part);
		/* Without an end, but within bounds. */
		memset(q, 'x', size);
		REQUIRE(strnlen(q, size) == size && memcmp(p, q, size - 1) == 0 &&
			!memrchr(q, 'y', size));
		free(p);
		free(q);
	}
}

static void kernel(void)
{
	int ends[2];
	REQUIRE(pipe(ends) == 0);
	for (size_t size = 1; size <= 9000; size += 89) {
		void *p = made(size), *q = made(size);
		fill(p, size, 1);
		REQUIRE(write(ends[1], p, size) == (ssize_t)size);
		REQUIRE(read(ends[0], q, size) == (ssize_t)size);
		check(q, size, 1);
		free(p);
		free(q);
	}
	close(ends[0]);
	close(ends[1]);
}

static void usable(void)
{
	REQUIRE(malloc_usable_size(NULL) == 0);
	for (size_t size = 0; size <= 6000; size += size < 200 ? 1 : 61) {
		void *p = made(size);
		size_t all = malloc_usable_size(p);
		REQUIRE(all >= size);
		fill(p, all, 2);
		p = realloc(p, all + 10);
		REQUIRE(p);
		check(p, all, 2);
		free(p);
	}
}

static void *take_over(void *of_blocks)
{
	void **blocks = (void **)of_blocks;
	for (int i = 0; i < 2000; i++) {
		check(blocks[i], (size_t)(i % 100), 4);
		if (i % 3) {
			free(blocks[i]);
			blocks[i] = NULL;
		} else {
			blocks[i] = realloc(blocks[i], 200);
			REQUIRE(blocks[i]);
			fill(blocks[i], 200, 6);
		}
	}
	return NULL;
}

static void handover(void)
{
	static void *blocks[2000];
	for (int i = 0; i < 2000; i++) {
		blocks[i] = made((size_t)(i % 100));
		fill(blocks[i], (size_t)(i % 100), 4);
	}
	pthread_t thread;
	REQUIRE(pthread_create(&thread, NULL, take_over, blocks) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	for (int i = 0; i < 2000; i += 3) {
		check(blocks[i], 200, 6);
		free(blocks[i]);
	}
}

static void fork_(void)
{
	void *blocks[1000];
	for (int i = 0; i < 1000; i++) {
		blocks[i] = made(100);
		fill(blocks[i], 100, (unsigned)i);
	}
	for (int round = 0; round < 5; round++) {
		pid_t pid = fork();
		REQUIRE(pid >= 0);
		if (pid == 0) {
			for (int i = 0; i < 1000; i++) {
				check(blocks[i], 100, (unsigned)i);
				fill(blocks[i], 100, 1);
				free(blocks[i]);
			}
			for (int i = 0; i < 1000; i++) {
				blocks[i] = made(100);
				fill(blocks[i], 100, 2);
			}
			for (int i = 0; i < 1000; i++) {
				check(blocks[i], 100, 2);
				free(blocks[i]);
			}
			exit(7);
		}
		int status;
		REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
			WEXITSTATUS(status) == 7);
		for (int i = 0; i < 1000; i++)
			check(blocks[i], 100, (unsigned)i);
		free(made(50));
	}
	for (int i = 0; i < 1000; i++)
		free(blocks[i]);
}

static void spawn(void)
{
	char *p = made(100), *words[] = { strdup("true"), NULL };
	int status;
	fill(p, 100, 1);
	for (int i = 0; i < 3; i++) {
		pid_t pid;
		REQUIRE(posix_spawnp(&pid, "true", NULL, NULL, words, environ) == 0);
		REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
		REQUIRE(system("exit 3") == 3 << 8);
		pid = vfork();
		if (pid == 0) {
			execvp(words[0], words);
			_exit(1);
		}
		REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
		check(p, 100, 1);
	}
	free(words[0]);
	free(p);
}

static char *page;
static volatile int faults;

static void open_page(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (number != SIGSEGV || (char *)info->si_addr < page ||
	    (char *)info->si_addr >= page + 4096)
		_exit(97);
	faults++;
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void barrier(void)
{
	struct sigaction action = { .sa_sigaction = open_page, .sa_flags = SA_SIGINFO }, was;
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(page != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
	for (int i = 0; i < 1000; i++) {
		void *p = made((size_t)i);
		((volatile char *)page)[i] = (char)i;
		REQUIRE(faults == i + 1 && page[i] == (char)i);
		mprotect(page, 4096, PROT_NONE);
		free(p);
	}
	REQUIRE(sigaction(SIGSEGV, NULL, &was) == 0 && was.sa_sigaction == open_page &&
		was.sa_flags & SA_SIGINFO);
	action = (struct sigaction){ .sa_handler = SIG_DFL };
	REQUIRE(sigaction(SIGSEGV, &action, &was) == 0 && was.sa_sigaction == open_page);
	REQUIRE(sigaction(SIGSEGV, NULL, &was) == 0 && was.sa_handler == SIG_DFL);
}

static sigjmp_buf back;

static void jump_back(int number)
{
	siglongjmp(back, number);
}

SITE static int deeper(volatile char *from)
{
	volatile char room[4096];
	room[0] = *from;
	return deeper(room) + room[0];
}

static void overflow(void)
{
	stack_t stack = { .ss_sp = made(65536), .ss_size = 65536 }, was;
	struct sigaction action = { .sa_handler = jump_back, .sa_flags = SA_ONSTACK };
	REQUIRE(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
	for (volatile int i = 0; i < 20; i++) {
		char start = 0;
		if (sigsetjmp(back, 1) == 0)
			deeper(&start);
		free(made(100));
	}
	REQUIRE(sigaltstack(NULL, &was) == 0 && was.ss_sp == stack.ss_sp && was.ss_flags == 0);
	stack_t none = { .ss_flags = SS_DISABLE };
	REQUIRE(sigaltstack(&none, NULL) == 0);
	free(stack.ss_sp);
}

static void null(void)
{
	struct sigaction action = { .sa_handler = jump_back }, was;
	volatile int caught = 0;
	int *volatile nowhere = NULL;
	REQUIRE(sigaction(SIGSEGV, NULL, &was) == 0 && was.sa_handler == SIG_DFL);
	REQUIRE(sigaction(SIGSEGV, &action, NULL) == 0);
	for (volatile int i = 0; i < 1000; i++) {
		void *p = made((size_t)i);
		if (sigsetjmp(back, 1) == 0)
			*(volatile int *)nowhere = 1;
		else
			caught++;
		free(p);
	}
	REQUIRE(caught == 1000);
	/* As old programs do it. */
	REQUIRE(signal(SIGSEGV, SIG_DFL) == jump_back && signal(SIGSEGV, jump_back) == SIG_DFL);
	if (sigsetjmp(back, 1) == 0)
		*(volatile int *)nowhere = 1;
}

static void *busy(void *of_seed)
{
	unsigned seed = (unsigned)(uintptr_t)of_seed;
	void *held[64] = { NULL };
	size_t sizes[64] = { 0 };
	for (int i = 0; i < 4000; i++) {
		seed = seed * 1664525 + 1013904223;
		int k = seed >> 26;
		check(held[k], sizes[k], (unsigned)k);
		free(held[k]);
		sizes[k] = (seed >> 8) % 300;
		held[k] = made(sizes[k]);
		fill(held[k], sizes[k], (unsigned)k);
	}
	for (int k = 0; k < 64; k++)
		free(held[k]);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[8];
	for (uintptr_t i = 0; i < 8; i++)
		REQUIRE(pthread_create(&thread[i], NULL, busy, (void *)(i + 1)) == 0);
	for (int i = 0; i < 8; i++)
		REQUIRE(pthread_join(thread[i], NULL) == 0);
}

static void *pass_on(void *p)
{
	check(p, 40, 8);
	free(p);
	p = made(40);
	fill(p, 40, 8);
	return p;
}

static void short_(void)
{
	void *p = made(40);
	fill(p, 40, 8);
	for (int i = 0; i < 2000; i++) {
		pthread_t thread;
		REQUIRE(pthread_create(&thread, NULL, pass_on, p) == 0);
		REQUIRE(pthread_join(thread, &p) == 0);
	}
	free(p);
}

static void *volatile left;

static void allocate(int number)
{
	void *p = made((size_t)number * 10);
	fill(p, (size_t)number * 10, 1);
	free(left);
	left = p;
}

static void signal_(void)
{
	struct sigaction action = { .sa_handler = allocate };
	REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0);
	for (int i = 0; i < 2000; i++) {
		void *p = made(100);
		REQUIRE(raise(SIGUSR1) == 0);
		free(p);
	}
	free(left);
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void libc(void)
{
	char *text = NULL, *line = NULL;
	size_t size = 0, room = 0;
	FILE *stream = open_memstream(&text, &size);
	REQUIRE(stream);
	for (int i = 0; i < 3000; i++)
		fprintf(stream, "line %d %s\n", i, i % 7 ? "x" : "long long long long long");
	REQUIRE(fclose(stream) == 0 && size > 30000);
	stream = fmemopen(text, size, "r");
	REQUIRE(stream);
	int lines = 0;
	while (getline(&line, &room, stream) > 0)
		lines++;
	REQUIRE(lines == 3000 && fclose(stream) == 0);
	free(line);
	free(text);
	int *numbers = made(sizeof(int) * 50000);
	for (int i = 0; i < 50000; i++)
		numbers[i] = i * 7919 % 50000;
	qsort(numbers, 50000, sizeof(int), by_value);
	for (int i = 1; i < 50000; i++)
		REQUIRE(numbers[i - 1] <= numbers[i]);
	free(numbers);
	struct dirent **names;
	int count = scandir("/proc/self", &names, NULL, alphasort);
	REQUIRE(count > 10);
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	char *resolved = realpath("/proc/self/exe", NULL), *here = getcwd(NULL, 0);
	REQUIRE(resolved && here);
	free(resolved);
	free(here);
	setlocale(LC_ALL, "C.UTF-8");
	setlocale(LC_ALL, "C");
	for (int i = 0; i < 100; i++) {
		char name[20];
		snprintf(name, sizeof(name), "NAME%d", i);
		REQUIRE(setenv(name, name, 1) == 0);
	}
	REQUIRE(asprintf(&text, "%s %d %f", "x", 5, 1e300) > 300);
	free(text);
}

static void many(void)
{
	static void *blocks[30000];
	for (int i = 0; i < 30000; i++) {
		blocks[i] = made((size_t)(i % 50));
		fill(blocks[i], (size_t)(i % 50), (unsigned)i);
	}
	for (int i = 0; i < 30000; i++) {
		int k = i * 7 % 30000; /* each once */
		check(blocks[k], (size_t)(k % 50), (unsigned)k);
		free(blocks[k]);
		blocks[k] = made(20);
		fill(blocks[k], 20, (unsigned)k);
	}
	for (int i = 0; i < 30000; i++)
		free(blocks[i]);
}

static void limited(void)
{
	struct rlimit limit = { 512 * MIB, 512 * MIB }, seen;
	REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
	REQUIRE(getrlimit(RLIMIT_AS, &seen) == 0);
	REQUIRE(seen.rlim_cur == 512 * MIB && seen.rlim_max == 512 * MIB);
	REQUIRE(prlimit(0, RLIMIT_AS, NULL, &seen) == 0 && seen.rlim_cur == 512 * MIB);
	for (int i = 0; i < 2000; i++)
		fill(made(100), 100, (unsigned)i);
}

/* A line of /proc/self/status, in KiB. */
static unsigned long status_kib(const char *name)
{
	char line[256];
	unsigned long kib = 0;
	FILE *file = fopen("/proc/self/status", "re");
	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			kib = strtoul(line + strlen(name), NULL, 10);
	fclose(file);
	return kib;
}

static void locked(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		return;
	for (int i = 0; i < 1000; i++)
		fill(made(100), 100, (unsigned)i);
	REQUIRE(status_kib("VmRSS:") < 1 << 20);
}

static void sparse(void)
{
	volatile char *p = made(2048 * MIB);
	p[0] = p[1024 * MIB] = 1;
	REQUIRE(status_kib("VmRSS:") < 64 << 10);
	free((void *)p);
	REQUIRE(status_kib("VmHWM:") < 64 << 10);
}

static const struct mode {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "zero", zero },	  { "resize", resize },	    { "aligned", aligned },
	{ "refused", refused },	  { "huge", huge },	    { "exact", exact },
	{ "strings", strings },	  { "kernel", kernel },	    { "usable", usable },
	{ "handover", handover }, { "fork", fork_ },	    { "spawn", spawn },
	{ "barrier", barrier },	  { "overflow", overflow }, { "null", null },
	{ "threads", threads },	  { "short", short_ },	    { "signal", signal_ },
	{ "libc", libc },	  { "many", many },	    { "limited", limited },
	{ "locked", locked },	  { "sparse", sparse },
};

int main(int argc, char **argv)
{
	const char *wanted = argc > 1 ? argv[1] : "";
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(wanted, "list") == 0)
			say("%s\n", modes[i].name);
		if (strcmp(wanted, modes[i].name) == 0) {
			modes[i].run();
			say("fine\n");
			return 0;
		}
	}
	return strcmp(wanted, "list") == 0 ? 0 : 98;
}
