/* SPDX-License-Identifier: MIT */
/*
 * Stack capture against glibc's backtrace() at the same place, every time: pseudo-random walks of calls and
 * returns over functions whose frames differ in kind, with longjmp, signals on their own stack, fibers and
 * threads.  Links the agent without hooks.o.
 */
#include "agent/stack_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <execinfo.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/rules.h"
#include "test/unit/agent_fixture.h"

#define NOINLINE __attribute__((noinline))
#define INLINE	 static inline __attribute__((always_inline))

enum { MOST = 1024, LANDINGS = 32, FIBERS = 4, FIBER_STACK = 1 << 20, SIGNAL_STACK = 1 << 19 };

/* -- what is compared ----------------------------------------------------------------------------- */

struct list {
	uintptr_t addresses[MOST];
	unsigned count;
	uint32_t root;
};

/* One flow of control: the thread's own or a fiber. */
struct flow {
	ucontext_t context;
	void *stack;
	jmp_buf landings[LANDINGS];
	unsigned landing_depth[LANDINGS];
	unsigned landing_count, landing_base; /* those below belong to what a signal interrupted */
	unsigned depth, goal;
};

struct walker {
	uintptr_t bare_return; /* set by bare_call below; must be first */
	struct list bare_outer;
	bool in_bare;
	struct stack_cache cache;
	uint64_t random;
	unsigned captures, until, limit; /* of depth */
	bool in_handler, unique;	 /* one stack, one node: only while no other thread runs */
	struct flow flows[FIBERS + 1];
	struct flow *flow;
	unsigned flow_count;
	unsigned wrong;
	struct list ours, theirs;
};

static __thread struct walker *self;
static uintptr_t restorer; /* where signal handlers return to */
static uint32_t depth_limit = 256;
static unsigned shown;

/* Stack by hash -> node. */
enum { KNOWN = 1 << 18 };
static struct {
	uint64_t hash;
	uint32_t node;
} known[KNOWN];

static bool is_known_as(const struct list *l, uint32_t node)
{
	uint64_t hash = l->count + 1;
	unsigned at;

	for (unsigned i = 0; i < l->count; i++)
		hash = (hash ^ l->addresses[i]) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 31;
	for (at = hash % KNOWN; known[at].hash && known[at].hash != hash; at = (at + 1) % KNOWN)
		;
	if (!known[at].hash) {
		known[at].hash = hash;
		known[at].node = node;
	}
	return known[at].node == node;
}

static void add(struct list *l, uintptr_t address)
{
	if (l->count < MOST)
		l->addresses[l->count++] = address;
}

static bool is_restorer(uintptr_t address)
{
	return (address & ~SEG_INTERRUPTED) - restorer <= 8;
}

/* backtrace() from the frame that returns to `first` on. */
NOINLINE static void trace(struct list *l, uintptr_t first)
{
	void *addresses[MOST];
	int n = backtrace(addresses, MOST), i = 0;

	while (i < n && (uintptr_t)addresses[i] != first)
		i++;
	for (l->count = 0; i < n; i++) {
		bool interrupted = l->count && is_restorer(l->addresses[l->count - 1]);

		add(l, (uintptr_t)addresses[i] | (interrupted ? SEG_INTERRUPTED : 0));
	}
}

/* What of a full stack should be there under the depth limit. */
static void cut(struct list *l)
{
	unsigned outer = depth_limit >= 64 ? depth_limit / 8 : 0, inner = depth_limit - outer;

	l->root = SEG_ROOT_COMPLETE;
	if (l->count <= depth_limit)
		return;
	if (!outer) {
		l->root = SEG_ROOT_DEPTH;
		l->count = depth_limit;
		return;
	}
	l->addresses[inner] = SEG_ADDRESS_CUT;
	memmove(&l->addresses[inner + 1], &l->addresses[l->count - outer],
		outer * sizeof(uintptr_t));
	l->count = depth_limit + 1;
}

static void show(const struct list *ours, const struct list *theirs)
{
	if (__atomic_fetch_add(&shown, 1, __ATOMIC_RELAXED) >= 3)
		return;
	printf("# recorded %u (root %u), expected %u (root %u)\n", ours->count, ours->root,
	       theirs->count, theirs->root);
	for (unsigned i = 0; i < ours->count || i < theirs->count; i++)
		printf("#   %#14lx %#14lx\n", i < ours->count ? ours->addresses[i] : 0,
		       i < theirs->count ? theirs->addresses[i] : 0);
}

/* The first frame of a fiber returns to code of libc that nothing called.  Whether that counts as a frame is not the
 * question here, nor whether it makes the stack a complete one: see test_fiber_is_complete. */
static void drop_start_of_fiber(struct list *ours, struct list *theirs)
{
	uintptr_t start = theirs->addresses[theirs->count - 1];

	theirs->count--;
	if (ours->count && ours->addresses[ours->count - 1] == start)
		ours->count--;
	if (ours->root == SEG_ROOT_BAD_FRAME)
		ours->root = SEG_ROOT_COMPLETE;
}

static bool is_same(struct list *ours, struct list *theirs, uint32_t node, bool in_fiber)
{
	ours->count = fixture_path(node, ours->addresses, MOST, &ours->root);
	if (in_fiber)
		drop_start_of_fiber(ours, theirs);
	cut(theirs);
	if (ours->count == theirs->count && ours->root == theirs->root &&
	    memcmp(ours->addresses, theirs->addresses, ours->count * sizeof(uintptr_t)) == 0)
		return true;
	show(ours, theirs);
	return false;
}

/* The stack as seen by backtrace(), which ends at code without unwind information. */
static void expect_stack(struct walker *w, uint32_t node, const uintptr_t *frame)
{
	trace(&w->theirs, frame[1]);
	if (w->in_bare) {
		add(&w->theirs, w->bare_return);
		for (unsigned i = 0; i < w->bare_outer.count; i++)
			add(&w->theirs, w->bare_outer.addresses[i]);
	}
	w->captures++;
	w->wrong += !is_same(&w->ours, &w->theirs, node, w->flow != &w->flows[0]);
	w->wrong += w->unique && !is_known_as(&w->ours, node);
}

/* Stands for a hook: has a frame pointer and passes its frame on. */
NOINLINE static void capture(struct walker *w)
{
	const uintptr_t *frame = __builtin_frame_address(0);

	expect_stack(w, stack_capture(&w->cache, frame), frame);
	__asm__ volatile("");
}

/* -- the walk ------------------------------------------------------------------------------------- */

typedef void function(struct walker *w);
enum { FUNCTIONS = 20 };
static function *const volatile functions[FUNCTIONS];

enum action { CALL, CAPTURE, RETURN };

static uint64_t below(struct walker *w, uint64_t count)
{
	return fixture_below(&w->random, count);
}

static void use(volatile void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* To another fiber, or back to the thread's own flow. */
NOINLINE static void yield(struct walker *w, struct flow *to)
{
	struct flow *from = w->flow;

	if (from == to || w->in_handler)
		return;
	w->flow = to;
	swapcontext(&from->context, &to->context);
}

/* To a frame further out, leaving all between. */
static void jump(struct walker *w)
{
	struct flow *f = w->flow;

	if (f->landing_count == f->landing_base)
		return;
	f->landing_count =
		f->landing_base + (unsigned)below(w, f->landing_count - f->landing_base) + 1;
	longjmp(f->landings[f->landing_count - 1], 1);
}

NOINLINE static void event(struct walker *w)
{
	switch (below(w, 40)) {
	case 0:
		if (!w->in_handler && !w->in_bare)
			raise(SIGUSR1);
		break;
	case 1:
		jump(w);
		break;
	case 2:
		yield(w, &w->flows[below(w, w->flow_count)]);
		break;
	default:
		break;
	}
}

/* Deep and shallow by turns. */
NOINLINE static enum action next(struct walker *w)
{
	struct flow *f = w->flow;
	unsigned chance = (unsigned)below(w, 100);

	if (w->captures >= w->until)
		return RETURN;
	if (below(w, 30) == 0)
		f->goal = 1 + (unsigned)below(w, w->limit);
	event(w);
	if (chance < 40)
		return CAPTURE;
	if (f->depth >= w->limit)
		return RETURN;
	return chance < (f->depth < f->goal ? 85 : 55) ? CALL : RETURN;
}

INLINE void walk(struct walker *w)
{
	for (;;) {
		enum action action = next(w);

		if (action == RETURN)
			return;
		if (action == CAPTURE) {
			capture(w);
			continue;
		}
		w->flow->depth++;
		functions[below(w, FUNCTIONS)](w);
		w->flow->depth--;
	}
}

/* -- frames of many kinds ------------------------------------------------------------------------- */

NOINLINE static void plain(struct walker *w)
{
	walk(w);
	use(w);
}

NOINLINE static void array(struct walker *w)
{
	char room[3000];

	use(room);
	walk(w);
	use(room);
}

/* More values than registers: rbp holds data. */
NOINLINE static void pressure(struct walker *w)
{
	uint64_t a = below(w, 1000), b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	walk(w);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	w->wrong += b != a * 3 || c != a * 5 || d != a * 7 || e != a * 11 || f != a * 13;
}

NOINLINE static void with_frame_pointer(struct walker *w)
{
	use(__builtin_frame_address(0));
	walk(w);
	use(w);
}

NOINLINE static void dynamic_small(struct walker *w)
{
	char *room = __builtin_alloca(1 + below(w, 300));

	use(room);
	walk(w);
	use(room);
}

/* The stack pointer moves between two calls from one frame. */
NOINLINE static void dynamic_growing(struct walker *w)
{
	unsigned rounds = 1 + (unsigned)below(w, 5);

	for (unsigned i = 0; i < rounds; i++) {
		use(__builtin_alloca(16 + below(w, 100)));
		walk(w);
	}
	use(w);
}

NOINLINE static void realigned(struct walker *w)
{
	_Alignas(64) char room[128];

	use(room);
	walk(w);
	use(room);
}

NOINLINE static void realigned_dynamic(struct walker *w)
{
	_Alignas(128) char room[128];
	char *more = __builtin_alloca(1 + below(w, 200));

	use(room);
	use(more);
	walk(w);
	use(more);
	use(room);
}

/* Realigned, and with arguments on the stack: the CFA is a word in the frame. */
NOINLINE static void realigned_arguments(struct walker *w, long a, long b, long c, long d, long e,
					 long f, long g, long h)
{
	_Alignas(64) char room[64];

	use(room);
	walk(w);
	w->wrong += a + b + c + d + e + f + g + h != 36;
	use(room);
}

NOINLINE static void call_realigned(struct walker *w)
{
	realigned_arguments(w, 1, 2, 3, 4, 5, 6, 7, 8);
	use(w);
}

NOINLINE static void many_arguments(struct walker *w, long a, long b, long c, long d, long e,
				    long f, long g, long h, long i, long j)
{
	walk(w);
	w->wrong += a + b + c + d + e + f + g + h + i + j != 55;
}

/* Arguments are pushed: the call sites differ in where the CFA is. */
NOINLINE static void call_many_arguments(struct walker *w)
{
	many_arguments(w, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
	walk(w);
	many_arguments(w, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
	use(w);
}

NOINLINE static void recurse(struct walker *w, unsigned count)
{
	if (count)
		recurse(w, count - 1);
	else
		walk(w);
	if (count == 3)
		walk(w);
	use(w);
}

NOINLINE static void recursion(struct walker *w)
{
	recurse(w, (unsigned)below(w, 12));
	use(w);
}

NOINLINE static void take_any(struct walker *w, ...)
{
	va_list arguments;

	va_start(arguments, w);
	walk(w);
	w->wrong += va_arg(arguments, int) != 1;
	va_end(arguments);
}

NOINLINE static void variadic(struct walker *w)
{
	take_any(w, 1, 2.5, 3, "4", 5, 6, 7, 8.5);
	use(w);
}

/* Frames of libc in between. */
static int compare(const void *a, const void *b)
{
	if (*(const int *)a == 2 || *(const int *)b == 2)
		walk(self);
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void by_qsort(struct walker *w)
{
	int numbers[] = { 3, 2, 1 };

	qsort(numbers, 3, sizeof(*numbers), compare);
	use(w);
}

NOINLINE static void by_lfind(struct walker *w)
{
	int numbers[] = { 1, 2, 3 };
	size_t count = 3;

	w->wrong += lfind(&numbers[2], numbers, &count, sizeof(*numbers), compare) != &numbers[2];
}

/* A place for jump(). */
NOINLINE static void landing(struct walker *w)
{
	struct flow *f = w->flow;

	if (f->landing_count == LANDINGS) {
		walk(w);
		return;
	}
	f->landing_depth[f->landing_count] = f->depth;
	if (setjmp(f->landings[f->landing_count++]))
		w->flow->depth = w->flow->landing_depth[w->flow->landing_count - 1];
	walk(w);
	w->flow->landing_count--;
}

static void close_scope(struct walker **w)
{
	use(*w);
}

NOINLINE static void scope(struct walker *w)
{
	__attribute__((cleanup(close_scope))) struct walker *alias = w;

	walk(alias);
}

NOINLINE static void two_sites(struct walker *w)
{
	if (below(w, 2))
		walk(w);
	else
		walk(w);
	use(w);
}

NOINLINE static double floating(struct walker *w, double x)
{
	walk(w);
	return x * 2;
}

NOINLINE static void call_floating(struct walker *w)
{
	w->wrong += floating(w, 4.25) != 8.5;
}

NOINLINE static long shallow(struct walker *w)
{
	capture(w);
	return 7;
}

NOINLINE static void leaves(struct walker *w)
{
	w->wrong += shallow(w) + shallow(w) != 14;
	walk(w);
}

NOINLINE static void array_and_pressure(struct walker *w)
{
	uint64_t a = below(w, 1000), b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5;
	char room[500];

	use(room);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	pressure(w);
	walk(w);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	w->wrong += a + b + c + d + e + f != 6 * a + 15;
	use(room);
}

static function *const volatile functions[FUNCTIONS] = {
	plain,	       array,		pressure,  with_frame_pointer,
	dynamic_small, dynamic_growing, realigned, realigned_dynamic,
	scope,	       call_realigned,	recursion, call_many_arguments,
	variadic,      by_qsort,	by_lfind,  landing,
	two_sites,     call_floating,	leaves,	   array_and_pressure,
};

/* -- signals and fibers --------------------------------------------------------------------------- */

/* Walks on the signal's own stack, then lets go of it. */
static void on_signal(int number)
{
	struct walker *w = self;
	struct flow *f = w->flow;
	unsigned until = w->until, depth = f->depth, base = f->landing_base,
		 count = f->landing_count;

	(void)number;
	w->in_handler = true;
	w->until = w->captures + 10 < until ? w->captures + 10 : until;
	f->landing_base = count;
	f->depth = 0;
	while (w->captures < w->until)
		functions[below(w, FUNCTIONS)](w);
	f->landing_base = base;
	f->landing_count = count;
	f->depth = depth;
	w->until = until;
	w->in_handler = false;
}

static void fiber(unsigned low, unsigned high)
{
	struct walker *w = (struct walker *)((uintptr_t)high << 32 | low);

	while (w->captures < w->until)
		walk(w);
	yield(w, &w->flows[0]); /* for good */
	abort();
}

static void make_fiber(struct walker *w, void *stack, size_t size)
{
	struct flow *f = &w->flows[w->flow_count++];

	memset(f, 0, sizeof(*f));
	f->stack = stack;
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = size;
	f->context.uc_link = NULL;
	makecontext(&f->context, (void (*)(void))fiber, 2, (unsigned)(uintptr_t)w,
		    (unsigned)((uintptr_t)w >> 32));
}

static void use_signal_stack(void)
{
	stack_t stack = { .ss_sp = fixture_guarded(SIGNAL_STACK), .ss_size = SIGNAL_STACK };

	sigaltstack(&stack, NULL);
}

static void set_depth(uint32_t depth)
{
	depth_limit = depth;
	stack_cache_start(depth);
}

static struct walker *new_walker(uint64_t seed, unsigned captures, unsigned limit)
{
	struct walker *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->random = seed;
	w->until = captures;
	w->limit = limit;
	w->flow_count = 1;
	w->flow = &w->flows[0];
	if (depth_limit != 256) /* another test may have left it so */
		set_depth(256);
	self = w;
	return w;
}

NOINLINE static void run(struct walker *w)
{
	while (w->captures < w->until)
		walk(w);
	use(w);
}

static void end_walker(struct walker *w, unsigned captures)
{
	assert_true(w->captures >= captures);
	assert_int_equal(w->wrong, 0);
	self = NULL;
	free(w);
}

/* -- tests ---------------------------------------------------------------------------------------- */

static void test_calls_and_returns(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 8; seed++) {
		struct walker *w = new_walker(seed, 4000, 5 * seed);

		w->unique = true;
		run(w);
		end_walker(w, 4000);
	}
}

static void test_fibers(void **state)
{
	void *stacks[FIBERS];

	(void)state;
	for (unsigned i = 0; i < FIBERS; i++)
		stacks[i] = fixture_guarded(FIBER_STACK);
	for (unsigned seed = 1; seed <= 4; seed++) {
		struct walker *w = new_walker(100 + seed, 4000, 30);

		w->unique = true;
		for (unsigned i = 0; i < FIBERS; i++)
			make_fiber(w, stacks[i], FIBER_STACK);
		run(w);
		end_walker(w, 4000);
	}
}

static uint32_t fiber_node;

static void bare_fiber(void)
{
	fiber_node = stack_capture(&self->cache, (const uintptr_t *)__builtin_frame_address(0));
	yield(self, &self->flows[0]);
}

/* Nothing is missing in a fiber's stack: it ends where makecontext() began it. */
static void test_fiber_is_complete(void **state)
{
	struct walker *w = new_walker(1, 0, 1);
	struct list l;

	(void)state;
	make_fiber(w, fixture_guarded(FIBER_STACK), FIBER_STACK);
	makecontext(&w->flows[1].context, bare_fiber, 0);
	yield(w, &w->flows[1]);
	fixture_path(fiber_node, l.addresses, MOST, &l.root);
	assert_int_equal(l.root, SEG_ROOT_COMPLETE);
	end_walker(w, 0);
}

/* A fiber's stack goes while its frames are kept; another comes to the same place or elsewhere. */
static void test_fiber_stacks_unmapped(void **state)
{
	struct walker *w = new_walker(4242, 0, 20);

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		void *stack = mmap(NULL, FIBER_STACK, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_true(stack != MAP_FAILED);
		w->flow_count = 1;
		make_fiber(w, stack, FIBER_STACK);
		w->until = w->captures + 1 + (unsigned)below(w, 30);
		yield(w, &w->flows[1]);
		munmap(stack, FIBER_STACK);
		w->flow_count = 1;
		if (below(w, 2)) {
			w->until = w->captures + 1 + (unsigned)below(w, 10);
			run(w);
		}
	}
	end_walker(w, 300);
}

struct thread_run {
	pthread_t thread;
	uint64_t seed;
	unsigned wrong, captures;
};

static void *walk_in_thread(void *context)
{
	struct thread_run *r = context;
	struct walker *w = new_walker(r->seed, 6000, 25);

	use_signal_stack();
	for (unsigned i = 0; i < FIBERS; i++)
		make_fiber(w, fixture_guarded(FIBER_STACK), FIBER_STACK);
	run(w);
	r->wrong = w->wrong;
	r->captures = w->captures;
	free(w);
	return NULL;
}

static void test_threads(void **state)
{
	enum { THREADS = 4 };
	struct thread_run runs[THREADS] = { 0 };

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		runs[i].seed = 1000 + i;
		assert_int_equal(pthread_create(&runs[i].thread, NULL, walk_in_thread, &runs[i]),
				 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(runs[i].thread, NULL);
		assert_int_equal(runs[i].wrong, 0);
		assert_true(runs[i].captures >= 6000);
	}
}

static sigjmp_buf out_of_handler;

static void leave_handler(int number)
{
	(void)number;
	capture(self);
	plain(self);
	siglongjmp(out_of_handler, 1);
}

/* Signal handlers that never return. */
static void test_longjmp_out_of_handler(void **state)
{
	struct sigaction action = { .sa_handler = leave_handler, .sa_flags = SA_ONSTACK };
	struct walker *w = new_walker(77, 0, 10);

	(void)state;
	sigaction(SIGUSR2, &action, NULL);
	for (volatile unsigned i = 0; i < 500; i++) {
		w->in_handler = true; /* no other signals, no fibers */
		w->until = w->captures + 1 + (unsigned)below(w, 5);
		if (sigsetjmp(out_of_handler, 1) == 0)
			raise(SIGUSR2);
		w->flow->landing_count = w->flow->depth = 0;
		w->in_handler = false;
		w->until = w->captures + 1 + (unsigned)below(w, 5);
		run(w);
	}
	end_walker(w, 500);
}

/* rbp holds a number, saved below; the caller's frame pointer is a word of this frame. */
NOINLINE static void capture_under_data(struct walker *w)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	capture(w);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	w->wrong += a + b + c + d + e + f != 21;
}

NOINLINE static void mover(struct walker *w, size_t room)
{
	use(__builtin_alloca(room));
	capture_under_data(w);
	use(w);
}

NOINLINE static void move(struct walker *w, size_t room)
{
	use(__builtin_alloca(room));
	switch (room / 16 % 3) {
	case 0:
		mover(w, 960 - room);
		break;
	case 1:
		mover(w, 960 - room);
		use(w);
		break;
	default:
		mover(w, 960 - room);
		use(&room);
	}
	use(w);
}

/* The innermost frames are the same, words and places; the frame outside of them has moved, and where it was its
 * old words still are. */
static void test_frame_moves_outside(void **state)
{
	struct walker *w = new_walker(3, 0, 1);

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		move(w, 16 + 16 * (size_t)below(w, 50));
	end_walker(w, 3000);
}

/* -- the frame pointer register in all its roles ---------------------------------------------------- */

/*
 * Frames that differ in nothing but what they do with the register: hold their own frame's address in it, pass it on,
 * save it and put a number there, realign the stack.  In two sizes each, so that the same inner frames come to lie
 * at the same place under different outer ones.
 */
struct level {
	void (*call)(struct level *self);
	uintptr_t number; /* for the register, if this level wants one */
};

/* rdi: the level itself, the next one follows. */
#define LEVEL_CALL     \
 "	add $16, %rdi\n"    \
 "	mov (%rdi), %rax\n" \
 "	call *%rax\n"
#define LEVEL(name, body)                                                       \
 void name(struct level *self);                                                 \
 __asm__(".text\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" body \
	 "	ret\n.cfi_endproc\n.size " #name ", .-" #name "\n")
#define HOLD(name, size, more)                                             \
 LEVEL(name, "	push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n" \
	     "	mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"               \
	     "	sub $" size ", %rsp\n" more LEVEL_CALL "	leave\n.cfi_def_cfa %rsp, 8\n")
#define PASS(name, size)                                                             \
 LEVEL(name, "	sub $8+" size ", %rsp\n.cfi_def_cfa_offset 16+" size "\n" LEVEL_CALL \
	     "	add $8+" size ", %rsp\n.cfi_def_cfa_offset 8\n")
#define SAVE(name, size)                                                       \
 LEVEL(name, "	push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"     \
	     "	sub $" size ", %rsp\n.cfi_def_cfa_offset 16+" size "\n"        \
	     "	mov 8(%rdi), %rbp\n" LEVEL_CALL "	add $" size ", %rsp\n" \
	     ".cfi_def_cfa_offset 16\n	pop %rbp\n.cfi_def_cfa_offset 8\n")
/* As gcc does it: the canonical frame address is what the word below the saved register says. */
#define REALIGN(name, size, more)                                                                \
 LEVEL(name, "	lea 8(%rsp), %r10\n.cfi_def_cfa %r10, 0\n	and $-64, %rsp\n"                       \
	     "	push -8(%r10)\n	push %rbp\n	mov %rsp, %rbp\n"                                     \
	     ".cfi_escape 0x10, 6, 2, 0x76, 0\n	push %r10\n"                                     \
	     ".cfi_escape 0x0f, 3, 0x76, 0x78, 0x6\n	sub $8+" size ", %rsp\n" more LEVEL_CALL \
	     "	lea -8(%rbp), %rsp\n	pop %r10\n.cfi_def_cfa %r10, 0\n"                            \
	     "	pop %rbp\n	lea -8(%r10), %rsp\n.cfi_def_cfa %rsp, 8\n")

/* Of a size that differs from call to call, as with alloca(). */
#define VARY "	mov 8(%rdi), %r11\n	and $0x30, %r11\n	sub %r11, %rsp\n"

HOLD(level_hold, "0", "");
HOLD(level_hold_big, "32", "");
PASS(level_pass, "0");
PASS(level_pass_big, "32");
SAVE(level_save, "0");
SAVE(level_save_big, "32");
REALIGN(level_realign, "0", "");
REALIGN(level_realign_big, "32", "");

HOLD(level_hold_any, "0", VARY);
REALIGN(level_realign_any, "0", VARY);

enum { LEVELS = 14, FEW_LEVELS = 4 };

NOINLINE static void last_level(struct level *level)
{
	struct walker *w = self;

	for (uintptr_t n = level->number % 4; n--;)
		capture(w);
	capture(w);
	use(level);
}

/* A hook right away. */
NOINLINE static void hook_level(struct level *level)
{
	const uintptr_t *frame = __builtin_frame_address(0);

	expect_stack(self, stack_capture(&self->cache, frame), frame);
	use(level);
}

static void any_level(struct walker *w, struct level *level)
{
	static void (*const kinds[])(struct level *) = {
		level_hold,	level_pass,	   level_save,	   level_realign,
		level_hold_big, level_pass_big,	   level_save_big, level_realign_big,
		level_hold_any, level_realign_any, level_pass,	   level_save,
	};
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	level->call = below(w, 2) ? kinds[below(w, 8)] : kinds[8 + below(w, 4)];
	level->number = below(w, 3) ? here - 8 * below(w, 200) : below(w, 5);
}

/* One level or two change from one capture to the next, or two change places. */
static void change_levels(struct walker *w, struct level *levels, unsigned count)
{
	unsigned a = (unsigned)below(w, count), b = (unsigned)below(w, count);
	struct level level = levels[a];

	switch (below(w, 8)) {
	case 0:
		any_level(w, &levels[b]);
		/* fall through */
	case 1:
		any_level(w, &levels[a]);
		break;
	case 2:
		levels[a] = levels[b];
		levels[b] = level;
		break;
	default: /* where both make room by it, only the frames between them move */
		levels[a].number = levels[b].number;
		levels[b].number = level.number;
		if (below(w, 2))
			any_level(w, &levels[(a + b) / 2]);
	}
	levels[count].call = below(w, 2) ? last_level : hook_level;
	levels[count].number = below(w, 3);
}

static void test_frame_pointer_roles(void **state)
{
	struct walker *w = new_walker(55, 0, 1);
	struct level levels[LEVELS + 1], few[FEW_LEVELS + 1];

	(void)state;
	for (unsigned i = 0; i < LEVELS; i++)
		any_level(w, &levels[i]);
	for (unsigned i = 0; i < FEW_LEVELS; i++)
		any_level(w, &few[i]);
	w->unique = true;
	memset(known, 0, sizeof(known));
	for (unsigned i = 0; i < 60000; i++) {
		/* By turns: it is neighbours that matter to each other. */
		if (i / 1000 % 2) {
			change_levels(w, levels, LEVELS);
			levels[0].call(&levels[0]);
		} else {
			change_levels(w, few, FEW_LEVELS);
			few[0].call(&few[0]);
			few[0].call(&few[0]);
		}
	}
	end_walker(w, 60000);
}

/* -- depth ---------------------------------------------------------------------------------------- */

static void walk_with_depth(uint32_t depth, unsigned limit)
{
	struct walker *w = new_walker(depth, 4000, limit);

	set_depth(depth);
	w->unique = true;
	memset(known, 0, sizeof(known));
	run(w);
	end_walker(w, 4000);
}

static void test_depth(void **state)
{
	static const uint32_t depths[] = { 1, 2, 8, 20, 63, 64, 65, 72, 100 };

	(void)state;
	for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++)
		walk_with_depth(depths[i], depths[i] < 60 ? 40 : 110);
}

NOINLINE static void dive(struct walker *w, unsigned depth)
{
	if (depth)
		dive(w, depth - 1);
	else
		capture(w);
	use(w);
}

/* Around the limit of 256, and far above it: exactly one frame more each time. */
static void test_depth_exactly(void **state)
{
	struct walker *w = new_walker(1, 0, 1);

	(void)state;
	for (unsigned depth = 200; depth < 300; depth++)
		dive(w, depth);
	for (unsigned depth = 800; depth > 50; depth -= 37)
		dive(w, depth);
	end_walker(w, 100);
}

NOINLINE static void dive_unseen(struct walker *w, unsigned depth, uint32_t *node)
{
	if (depth)
		dive_unseen(w, depth - 1, node);
	else
		*node = stack_capture(&w->cache, (const uintptr_t *)__builtin_frame_address(0) + 0);
	use(w);
}

/* More frames than are ever walked: the innermost ones are there, and the root says that frames are missing. */
static void test_endless_recursion(void **state)
{
	struct walker *w = new_walker(1, 0, 1);
	struct list l;

	(void)state;
	for (unsigned depth = 100000; depth > 1000; depth /= 3) {
		uint32_t node = 0;
		unsigned same = 0;

		dive_unseen(w, depth, &node);
		l.count = fixture_path(node, l.addresses, MOST, &l.root);
		assert_int_equal(l.count, 257);
		assert_int_equal(l.addresses[224], SEG_ADDRESS_CUT);
		if (depth > 1 << 16)
			assert_int_equal(l.root, SEG_ROOT_DEPTH);
		else
			assert_int_equal(l.root, SEG_ROOT_COMPLETE);
		for (unsigned i = 1; i < 224; i++)
			same += l.addresses[i] == l.addresses[1];
		assert_int_equal(same, 223);
	}
	end_walker(w, 0);
}

/* -- code without unwind information --------------------------------------------------------------- */

/* void bare_call(struct walker *w, function *f): f(w), in a frame with a frame pointer of which no table
 * tells.  Notes where it returns to. */
void bare_call(struct walker *w, function *f);
__asm__(".text\n"
	".globl bare_call\n"
	".type bare_call, @function\n"
	"bare_call:\n"
	"	mov (%rsp), %rax\n"
	"	mov %rax, (%rdi)\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $48, %rsp\n"
	"	call *%rsi\n"
	"	leave\n"
	"	ret\n"
	".size bare_call, .-bare_call\n");

NOINLINE static void through_bare(struct walker *w)
{
	trace(&w->bare_outer, (uintptr_t)__builtin_return_address(0));
	w->in_bare = true;
	bare_call(w, functions[below(w, FUNCTIONS)]);
	w->in_bare = false;
	use(w);
}

NOINLINE static void deeper_to_bare(struct walker *w, unsigned depth)
{
	uint64_t a = depth, b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	if (depth)
		deeper_to_bare(w, depth - 1);
	else
		through_bare(w);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	w->wrong += b != a * 3 || c != a * 5 || d != a * 7 || e != a * 11 || f != a * 13;
	capture(w);
}

static void test_code_without_tables(void **state)
{
	struct walker *w = new_walker(5, 0, 15);

	(void)state;
	for (unsigned i = 0; i < 500; i++) {
		w->until = w->captures + 5 + (unsigned)below(w, 30);
		deeper_to_bare(w, (unsigned)below(w, 10));
	}
	end_walker(w, 2500);
}

/* -- a call on another stack ------------------------------------------------------------------------ */

/* void call_on(struct walker *w, function *f, void *top): f(w) on the stack that ends at `top`. */
void call_on(struct walker *w, function *f, void *top);
__asm__(".text\n"
	".globl call_on\n"
	".type call_on, @function\n"
	"call_on:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register rbp\n"
	"	mov %rdx, %rsp\n"
	"	call *%rsi\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size call_on, .-call_on\n");

NOINLINE static void deeper_to_switch(struct walker *w, unsigned depth, char *top)
{
	if (depth)
		deeper_to_switch(w, depth - 1, top);
	else
		call_on(w, functions[below(w, FUNCTIONS)], top);
	capture(w);
}

/* One stack of frames over two stacks of memory; now and then another one, and the former is unmapped. */
static void test_switched_stack(void **state)
{
	struct walker *w = new_walker(10, 0, 15);
	char *stack = NULL;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		if (i % 20 == 0) {
			if (stack)
				munmap(stack, FIBER_STACK);
			stack = fixture_guarded(FIBER_STACK);
		}
		w->until = w->captures + 1 + (unsigned)below(w, 20);
		w->flow->landing_count = w->flow->depth = 0;
		deeper_to_switch(w, (unsigned)below(w, 6), stack + FIBER_STACK);
	}
	end_walker(w, 2000);
}

/* -- signals at any instruction -------------------------------------------------------------------- */

static struct {
	struct stack_cache cache;
	struct list ours, theirs;
	unsigned captures, wrong;
} asynchronous;

/* With a cache of its own, as a hook in a handler that interrupted a hook has. */
NOINLINE static void capture_asynchronous(void)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	uint32_t node = stack_capture(&asynchronous.cache, frame);

	if (node == SEG_ROOT_NONE) /* what was interrupted holds the lock */
		return;
	trace(&asynchronous.theirs, frame[1]);
	asynchronous.captures++;
	asynchronous.wrong += !is_same(&asynchronous.ours, &asynchronous.theirs, node, false);
}

/* One alarm at a time: on a busy machine the handlers alone would keep up with a periodic one. */
static void set_alarm(void)
{
	struct itimerval soon = { { 0, 0 }, { 0, 50 + asynchronous.captures % 311 } };

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void on_alarm(int number)
{
	(void)number;
	capture_asynchronous();
	if (asynchronous.captures < 1500)
		set_alarm();
}

static void test_interrupted_anywhere(void **state)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct walker *w = new_walker(6, 0, 25);

	(void)state;
	sigaction(SIGALRM, &action, NULL);
	w->in_handler = true; /* the signal stack is for the alarm */
	set_alarm();
	for (unsigned i = 0; i < 10000 && asynchronous.captures < 1500; i++) {
		w->until = w->captures + 100;
		run(w);
	}
	sigaction(SIGALRM, &ignore, NULL); /* the last one may still be on its way */
	print_message("# %u interrupted\n", asynchronous.captures);
	assert_int_equal(asynchronous.wrong, 0);
	assert_true(asynchronous.captures > 100);
	end_walker(w, 100);
}

/* -- stacks of nonsense ---------------------------------------------------------------------------- */

static void collect_addresses(struct list *l)
{
	trace(l, (uintptr_t)__builtin_return_address(0));
}

static uintptr_t any_word(uint64_t *random, const struct list *real, const uintptr_t *stack,
			  size_t words)
{
	switch (fixture_below(random, 12)) {
	case 0:
		return 0;
	case 1:
		return fixture_random(random);
	case 2:
		return fixture_below(random, 100000);
	case 3:
		return (uintptr_t)stack + fixture_below(random, words * 8);
	case 4:
	case 5:
		return (uintptr_t)functions[fixture_below(random, FUNCTIONS)] +
		       fixture_below(random, 200);
	case 6:
	case 7:
	case 8:
		return (uintptr_t)&stack[fixture_below(random, words)];
	default:
		return real->addresses[fixture_below(random, real->count)];
	}
}

static struct nonsense {
	struct list real; /* return addresses there are */
	uint64_t random;
	const uintptr_t *end; /* of the stack that is scrambled */
	uintptr_t copy[FIBER_STACK / sizeof(uintptr_t)];
	unsigned roots[SEG_FIRST_NODE];
	unsigned wrong;
} nonsense;

static void scramble(uintptr_t *stack, size_t words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		stack[fixture_below(&nonsense.random, words)] =
			any_word(&nonsense.random, &nonsense.real, stack, words);
	if (fixture_below(&nonsense.random, 3))
		stack[1] = nonsense.real
				   .addresses[fixture_below(&nonsense.random, nonsense.real.count)];
}

static bool is_plausible(uint32_t node, uintptr_t innermost)
{
	struct list l;

	l.count = fixture_path(node, l.addresses, MOST, &l.root);
	nonsense.roots[l.root]++;
	return l.count >= 1 && l.count <= 257 && l.addresses[0] == innermost;
}

/* Scrambles its callers' frames for the time of a capture. */
NOINLINE static void capture_nonsense(struct walker *w)
{
	uintptr_t *frame = __builtin_frame_address(0), address;
	size_t words = (size_t)(nonsense.end - frame);
	uint32_t node;

	for (size_t i = 0; i < words; i++)
		nonsense.copy[i] = frame[i];
	scramble(frame, words, words / (1 + fixture_below(&nonsense.random, 40)));
	address = frame[1];
	node = stack_capture(&w->cache, frame);
	for (size_t i = 0; i < words; i++)
		frame[i] = nonsense.copy[i];
	nonsense.wrong += !is_plausible(node, address);
}

NOINLINE static void dive_nonsense(struct walker *w, unsigned depth)
{
	char room[64];

	use(room);
	if (depth)
		dive_nonsense(w, depth - 1);
	for (unsigned i = 0; i < 50 && !depth; i++)
		capture_nonsense(w);
	use(room);
}

static void fiber_of_nonsense(void)
{
	for (unsigned round = 0; round < 600; round++)
		dive_nonsense(self, (unsigned)fixture_below(&nonsense.random, 60));
	yield(self, &self->flows[0]);
}

/* Whatever the bytes: the walk ends, and reads nothing that cannot be read (the stack ends at such memory). */
static void test_nonsense(void **state)
{
	struct walker *w = new_walker(8, 1, 1);
	char *stack = fixture_guarded(FIBER_STACK);

	(void)state;
	nonsense.random = 99;
	nonsense.end = (const uintptr_t *)(stack + FIBER_STACK);
	collect_addresses(&nonsense.real);
	make_fiber(w, stack, FIBER_STACK);
	makecontext(&w->flows[1].context, fiber_of_nonsense, 0);
	yield(w, &w->flows[1]);
	print_message("# complete %u, no unwind %u, unreadable %u, bad frame %u\n",
		      nonsense.roots[SEG_ROOT_COMPLETE], nonsense.roots[SEG_ROOT_NO_UNWIND],
		      nonsense.roots[SEG_ROOT_UNREADABLE], nonsense.roots[SEG_ROOT_BAD_FRAME]);
	assert_int_equal(nonsense.wrong, 0);
	end_walker(w, 0);
}

/* Replaces the return address of the n-th caller that returns to where this one does, for one capture. */
NOINLINE static void capture_cut_off(struct walker *w, unsigned n, uintptr_t value)
{
	volatile uintptr_t *frame = __builtin_frame_address(0), *slot = frame + 1;
	uintptr_t address;

	while (n)
		n -= *++slot == w->bare_return;
	address = *slot;
	*slot = value;
	stack_capture(&w->cache, (const uintptr_t *)frame);
	*slot = address;
	for (unsigned i = 0; i < 2; i++)
		capture(w);
}

NOINLINE static void dive_cut_off(struct walker *w, unsigned depth, unsigned n, uintptr_t value)
{
	w->bare_return = (uintptr_t)__builtin_return_address(0);
	if (depth)
		dive_cut_off(w, depth - 1, n, value);
	else
		capture_cut_off(w, n, value);
	use(w);
}

/* A walk that ended early at a word that was 0 or no address: the next one does not end there when the word is
 * another. */
static void test_former_end_is_not_believed(void **state)
{
	static const uintptr_t values[] = { 0, 1, 0x1000, 1ul << 47, UINTPTR_MAX };
	struct walker *w = new_walker(8, 1, 1);

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		for (unsigned n = 1; n < 12; n++)
			dive_cut_off(w, 15, n, values[i]);
	end_walker(w, 100);
}

/* A hook's frame that cannot be reached from the frames of the agent itself, so that no full walk can begin:
 * what the fast walk found is still there. */
static void test_no_way_to_the_hook(void **state)
{
	enum { WORDS = 2048 };
	static struct stack_cache cache;
	uintptr_t *stack = fixture_guarded(WORDS * sizeof(uintptr_t));

	(void)state;
	nonsense.random = 98;
	collect_addresses(&nonsense.real);
	nonsense.real.addresses[0] = restorer; /* a signal frame needs the full walk */
	for (unsigned round = 0; round < 20000; round++) {
		size_t start = fixture_below(&nonsense.random, WORDS - 1);

		scramble(&stack[start], WORDS - start, WORDS / 50);
		assert_true(is_plausible(stack_capture(&cache, &stack[start]), stack[start + 1]));
	}
}

/* While libraries are being unloaded rules are computed anew, also where one was forgotten: at every 2048th change of the load
 * map all are. */
static void test_rules_while_unloading(void **state)
{
	static struct cfi_work work;
	uintptr_t address = (uintptr_t)__builtin_return_address(0);
	struct return_site *site;
	enum rule_kind kind = rule_kind(rule_of(address, rule_stamp(0), &work, &site));

	(void)state;
	assert_int_not_equal(kind, RULE_UNSET);
	rule_stamp(2048);
	assert_int_equal(rule_kind(rule_of(address, rule_stamp(MODULES_CLOSING), &work, &site)),
			 kind);
	assert_int_equal(rule_kind(rule_of(address, rule_stamp(0), &work, &site)), kind);
}

/* ------------------------------------------------------------------------------------------------- */

/* The kernel's view of a handler, with the restorer that libc gave it. */
static void find_restorer(int number)
{
	struct {
		uintptr_t handler, flags, restorer;
		uint64_t mask;
	} action = { 0 };

	syscall(SYS_rt_sigaction, number, NULL, &action, sizeof(action.mask));
	restorer = action.restorer;
}

static int start(void **state)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	void *first[4];

	(void)state;
	fixture_start(256, 64);
	backtrace(first, 4); /* loads libgcc */
	use_signal_stack();
	sigaction(SIGUSR1, &action, NULL);
	find_restorer(SIGUSR1);
	return restorer ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	fixture_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_and_returns),
		cmocka_unit_test(test_fibers),
		cmocka_unit_test(test_fiber_is_complete),
		cmocka_unit_test(test_fiber_stacks_unmapped),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_longjmp_out_of_handler),
		cmocka_unit_test(test_frame_moves_outside),
		cmocka_unit_test(test_frame_pointer_roles),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_depth_exactly),
		cmocka_unit_test(test_endless_recursion),
		cmocka_unit_test(test_code_without_tables),
		cmocka_unit_test(test_switched_stack),
		cmocka_unit_test(test_interrupted_anywhere),
		cmocka_unit_test(test_former_end_is_not_believed),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_no_way_to_the_hook),
		cmocka_unit_test(test_rules_while_unloading),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, stop);
}
