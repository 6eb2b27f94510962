/* SPDX-License-Identifier: MIT */
/* Start-up, fork, and the session's options; see lifecycle.h. */
#include "agent/lifecycle.h"

#include <stddef.h>
#include <sys/mman.h>

#include "agent/bad_frees.h"
#include "agent/blocks.h"
#include "agent/counters.h"
#include "agent/growth.h"
#include "agent/initial.h"
#include "agent/layout.h"
#include "agent/modules.h"
#include "agent/peak.h"
#include "agent/real.h"
#include "agent/record.h"
#include "agent/record_slack.h"
#include "agent/rt/mem.h"
#include "agent/rules.h"
#include "agent/sample.h"
#include "agent/segment.h"
#include "agent/stack_cache.h"
#include "agent/stack_tree.h"
#include "agent/thread_names.h"
#include "agent/threads.h"

#ifndef MADV_WIPEONFORK
# define MADV_WIPEONFORK 18
#endif

_Alignas(RT_PAGE) union live_page agent_live;

enum phase { NEW, STARTING, RUNNING, SILENT };
static uint32_t phase;

enum { DIRECTORY_SIZE = 4200 };

static struct {
	char directory[DIRECTORY_SIZE];
	uint32_t depth, buckets;
	uint32_t only; /* record just the process of this pid; 0: all */
	uint64_t sample;
	bool follow;
	bool trace;  /* false: show that the process is there, and only pass calls on */
	bool stacks; /* false: count events without them */
	bool slack;  /* of allocators that tell it */
} session = { .depth = 256, .buckets = 16384, .follow = true, .trace = true, .stacks = true };

static bool key_is(const char **at, const char *key)
{
	size_t n = rt_length(key);

	for (size_t i = 0; i < n; i++)
		if ((*at)[i] != key[i])
			return false;
	*at += n;
	return true;
}

static uint64_t read_number(const char **at)
{
	uint64_t value = 0;

	for (; **at >= '0' && **at <= '9'; ++*at)
		value = 10 * value + (uint64_t)(**at - '0');
	return value;
}

/* "depth=N,buckets=N,follow=N,only=PID,sample=N,slack=N,trace=N,stacks=N:/directory" */
static bool read_session(const char *text)
{
	if (!text)
		return false;
	while (*text && *text != ':') {
		if (key_is(&text, "depth="))
			session.depth = (uint32_t)read_number(&text);
		else if (key_is(&text, "buckets="))
			session.buckets = (uint32_t)read_number(&text);
		else if (key_is(&text, "follow="))
			session.follow = read_number(&text) != 0;
		else if (key_is(&text, "only="))
			session.only = (uint32_t)read_number(&text);
		else if (key_is(&text, "sample="))
			session.sample = read_number(&text);
		else if (key_is(&text, "slack="))
			session.slack = read_number(&text) != 0;
		else if (key_is(&text, "trace="))
			session.trace = read_number(&text) != 0;
		else if (key_is(&text, "stacks="))
			session.stacks = read_number(&text) != 0;
		else
			text++;
	}
	if (*text != ':' || text[1] != '/' || rt_length(text + 1) >= sizeof(session.directory))
		return false;
	memcpy(session.directory, text + 1, rt_length(text + 1) + 1);
	if (session.only && session.only != (uint32_t)rt_syscall3(SYS_getpid, 0, 0, 0))
		return false;
	return session.sample <= SEG_SAMPLE_MOST && session.depth >= 1 && session.buckets >= 64 &&
	       !(session.buckets & (session.buckets - 1));
}

static uint64_t store(const char *bytes, size_t size, uint32_t *stored)
{
	uint64_t offset = 0;
	char *to = size ? segment_alloc(size, size, &offset) : NULL;

	*stored = to ? (uint32_t)size : 0;
	if (to)
		memcpy(to, bytes, size);
	return offset;
}

/* The command line's bytes lie one after the other, each ended by NUL. */
static void store_arguments(void)
{
	long count;
	const char *const *arguments = initial_arguments(&count);
	const char *end;

	if (!arguments || count < 1)
		return;
	end = arguments[count - 1] + rt_length(arguments[count - 1]) + 1;
	if (end > arguments[0])
		segment->arguments =
			store(arguments[0], (size_t)(end - arguments[0]), &segment->arguments_size);
}

/* The object that serves malloc: the one we stand before, unless the program's own comes before ours. */
static bool serving_object(struct object *object)
{
	const struct real_hook *hook = real_hook_of("malloc");
	struct object own;

	if (hook && object_find(hook->hook, object) &&
	    object_find((uintptr_t)serving_object, &own) && object->start != own.start)
		return true;
	return object_find((uintptr_t)real.malloc, object);
}

static void store_paths(void)
{
	static char path[DIRECTORY_SIZE];
	struct object object;
	long n = rt_syscall3(SYS_readlink, (long)"/proc/self/exe", (long)path, sizeof(path));

	if (n > 0)
		segment->executable = store(path, (size_t)n, &segment->executable_size);
	n = rt_syscall3(SYS_getcwd, (long)path, sizeof(path), 0);
	if (n > 1)
		segment->directory = store(path, (size_t)n - 1, &segment->directory_size);
	if (!serving_object(&object))
		return;
	if (*object.name) {
		segment->allocator =
			store(object.name, rt_length(object.name), &segment->allocator_size);
	} else { /* the loader has no name for the program itself */
		segment->allocator = segment->executable;
		segment->allocator_size = segment->executable_size;
	}
}

/* A forked child is the same program; it may have lost sight of /proc and of the directory by now. */
static void inherit_texts(const struct seg_header *parent)
{
	const char *base =
		(const char *)parent; /* texts are stored first, in the window that begins there */

	segment->executable = store(base + parent->executable, parent->executable_size,
				    &segment->executable_size);
	segment->arguments =
		store(base + parent->arguments, parent->arguments_size, &segment->arguments_size);
	segment->directory =
		store(base + parent->directory, parent->directory_size, &segment->directory_size);
	segment->allocator =
		store(base + parent->allocator, parent->allocator_size, &segment->allocator_size);
}

static const char *base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

/* What the next malloc is matters when it is the guard-page allocator. */
static void look_at_allocator(void)
{
	static const char name[] = "libmemtrack-stomp.so";
	uint64_t base = 0, size = 0;
	uint32_t bits = 0;
	struct object object;

	if (!object_find((uintptr_t)real.malloc, &object) ||
	    rt_length(base_name(object.name)) != sizeof(name) - 1 ||
	    memcmp(base_name(object.name), name, sizeof(name)) != 0)
		return;
	real_least = 0;
	real_find_sparse_heap()(&base, &size, &bits);
	if (size)
		blocks_sparse(base, size, bits);
}

static uint64_t flags_of_session(void)
{
	uint64_t slack = !session.slack		       ? 0
			 : record_mode == RECORD_SLACK ? SEG_WITH_SLACK
						       : SEG_NO_USABLE_SIZE;

	return (session.stacks ? 0 : SEG_WITHOUT_STACKS) | (session.trace ? 0 : SEG_NOT_RECORDED) |
	       slack;
}

/* An allocator that has no malloc_usable_size leaves us that of the next library, which knows nothing of its blocks. */
static bool tells_usable_size(void)
{
	struct object allocator, teller;

	return object_find((uintptr_t)real.malloc, &allocator) &&
	       object_find((uintptr_t)real.malloc_usable_size, &teller) &&
	       allocator.start == teller.start;
}

static void choose_mode(void)
{
	sample_mean = session.sample;
	if (session.sample)
		record_mode = RECORD_SAMPLED;
	else if (session.slack && tells_usable_size()) {
		record_mode = RECORD_SLACK;
		record_slack_start();
	}
}

static bool start_parts(void)
{
	struct segment_request request = {
		.directory = session.directory,
		.depth = session.depth,
		.origin = SEG_ORIGIN_EXEC,
		.sample_mean = session.sample,
	};

	if (rt_failed(rt_syscall3(SYS_madvise, (long)&agent_live, sizeof(agent_live),
				  MADV_WIPEONFORK)))
		return false;
	initial_look();
	look_at_allocator();
	choose_mode();
	request.flags = flags_of_session();
	stack_cache_start(session.stacks ? session.depth : 0);
	if (!rules_start() || !segment_claim(&request, NULL))
		return false;
	if (!stack_tree_start(session.buckets))
		return false;
	store_paths();
	store_arguments();
	threads_start();
	thread_names_start();
	return true;
}

static void go(bool good)
{
	if (!good) {
		__atomic_store_n(&phase, SILENT, __ATOMIC_RELEASE);
		return;
	}
	segment_activate();
	__atomic_store_n(&phase, RUNNING, __ATOMIC_RELEASE);
	__atomic_store_n(session.trace ? &agent_live.active : &agent_live.resting, 1,
			 __ATOMIC_RELEASE);
}

static void enter_early(const void *block, size_t size, uintptr_t caller)
{
	record_early_alloc(block, size, session.stacks ? caller : 0);
}

static bool start(void)
{
	uint32_t expected = NEW;

	if (!__atomic_compare_exchange_n(&phase, &expected, STARTING, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	real_resolve();
	go(read_session(initial_variable(SEG_SESSION_VARIABLE)) && start_parts());
	if (agent_live.active)
		bootstrap_visit(enter_early);
	return agent_live.active;
}

static void inherit_block(const struct block *block, void *context)
{
	record_inherited(context, block);
}

/* Blocks that lived at the fork live in the child as well.  `slack`: theirs; see record_slack_gather. */
static bool inherit_blocks(const int64_t *slack, uint32_t nodes)
{
	struct shard *shard = shard_new();

	if (!shard)
		return false;
	shard->counts->inherited = 1;
	blocks_visit(inherit_block, shard);
	if (slack)
		record_slack_inherit(shard, slack, nodes);
	segment->single_max = shard->counts->live_bytes;
	segment->single_at_max = 1;
	segment->peak_tsc = segment->start_tsc;
	peak_go_common(shard->counts);
	return true;
}

/* The first event in a forked child. */
static bool restart_parts(struct seg_header *parent)
{
	struct segment_request request = {
		.directory = session.directory,
		.depth = session.depth,
		.origin = SEG_ORIGIN_FORK,
		.sample_mean = session.sample,
		.flags = flags_of_session(),
		.parent_image = parent->image,
	};
	/* The parent goes on: more nodes than at the fork do no harm, they are just not used. */
	uint32_t nodes = parent->node_count;
	int64_t *slack = record_mode == RECORD_SLACK ? record_slack_gather(nodes) : NULL;
	bool good;

	growth_lock = (struct rt_lock){ 0 };
	modules_state = (uint32_t)modules_state;
	threads_forget();
	bad_frees_forget();
	/* Children that all went on with their parent's numbers would all sample the same. */
	thread_self.sample_left = 0;
	thread_self.sample_random = 0;
	good = segment_claim(&request, parent) && stack_tree_inherit(nodes) && modules_inherit() &&
	       inherit_blocks(slack, nodes);
	record_slack_release(slack, nodes);
	if (!good)
		return false;
	thread_names_restart();
	inherit_texts(parent);
	return true;
}

static bool restart(void)
{
	uint32_t expected = RUNNING;
	struct seg_header *parent = segment;
	bool good;

	if (!__atomic_compare_exchange_n(&phase, &expected, STARTING, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	good = session.follow && restart_parts(parent);
	if (session.follow && !good) /* the one thing a child writes into its parent's segment */
		__atomic_fetch_add(&parent->drops[SEG_LOST_CHILDREN], 1, __ATOMIC_RELAXED);
	go(good);
	return agent_live.active;
}

bool agent_wake(void)
{
	if (!real_relocated())
		return false;
	switch (__atomic_load_n(&phase, __ATOMIC_ACQUIRE)) {
	case NEW:
		return start();
	case RUNNING: /* a child, unless we only rest */
		return !__atomic_load_n(&agent_live.resting, __ATOMIC_ACQUIRE) && restart();
	default:
		return false;
	}
}

/* A program that never allocates before main, or at all, is a process image too. */
__attribute__((constructor)) static void at_load(void)
{
	agent_is_on();
}
