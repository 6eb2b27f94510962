/* SPDX-License-Identifier: MIT */
/*
 * The segment: a region of a sparse file, mapped shared by the agent of one process image; read by memtrack.
 * The only header both sides see.  Both must be of the same layout version: it lives as long as a run.
 *
 * Rules: fixed-width integers only; offsets from the start of the region, never pointers; 0 = none; reserved fields
 * zero.  The agent of the process is the only writer, but for two counts that forked children raise: regions_taken and
 * SEG_LOST_CHILDREN.  The reader treats all of it as hostile (a wild write of the target may have hit it): copy,
 * bounds-check, then use.
 *
 * Arrays that grow are *segmented*: chunk k holds FIRST << k records, so that a record never moves and the
 * directory of chunk offsets is short.  seg_chunk_of() maps an index to (chunk, position).
 *
 * Memory order: counts (node_count, counter_count, ...) are stored with release after the records they cover and
 * loaded with acquire by the reader; counters themselves are plain 64-bit stores by one owner and may be read
 * at any time (each is exact on its own; a set of them is, once the process has ended).
 */
#ifndef MEMTRACK_AGENT_LAYOUT_H
#define MEMTRACK_AGENT_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define SEG_MAGIC	   0x3130474553544d4dull /* "MMTSEG01" */
#define SEG_LAYOUT_VERSION 4u

/* The variable by which the agent finds its session: "OPTIONS:DIRECTORY".  OPTIONS is a comma list of key=number
 * (depth, buckets, follow: record forked children, only: the one pid to record, sample: see sample_mean, slack: see
 * seg_slack); the directory is absolute. */
#define SEG_SESSION_VARIABLE "MEMTRACK_SESSION"
#define SEG_SPARE_PREFIX     "spare." /* unclaimed segments: spare.0 ... spare.(SEG_SPARES - 1) */
#define SEG_IMAGE_PREFIX     "image." /* claimed: image.PID.TSC-in-hex */
#define SEG_SPARES	     8

/*
 * A segment file is sparse and holds SEG_REGIONS regions.  Region 0 belongs to the program that was started; a
 * forked child takes the next free one (`regions_taken` of region 0), which it maps out of its parent's mapping: it
 * needs no path, no descriptor and no right to create files.  Offsets count from the start of the region.
 */
#define SEG_REGION_SIZE (16ull << 30)
#define SEG_REGIONS	64u
#define SEG_FILE_SIZE	(SEG_REGION_SIZE * SEG_REGIONS)
#define SEG_SMALLEST \
 (1ull << 20) /* a file may be shorter, under a file size limit, but not than this */
#define SEG_WINDOW (32ull << 20) /* mapped at once by the agent; more is mapped on need */

/* Node ids below SEG_FIRST_NODE are roots: the parent of a stack's outermost frame says why it is outermost. */
enum seg_root {
	SEG_ROOT_NONE = 0,	 /* no stack was recorded */
	SEG_ROOT_COMPLETE = 1,	 /* the unwind information says: outermost */
	SEG_ROOT_DEPTH = 2,	 /* more frames than the limit */
	SEG_ROOT_NO_UNWIND = 3,	 /* code without unwind information, no usable frame pointer */
	SEG_ROOT_UNREADABLE = 4, /* the next frame lies in memory that cannot be read */
	SEG_ROOT_BAD_FRAME = 5,	 /* the unwind information leads to no plausible frame */
	SEG_UNATTRIBUTED = 15,	 /* not a root: blocks counted in a shard's `none` */
	SEG_FIRST_NODE = 16,
};

/* A stack is a node of a tree, named by its index.  `address` is a return address, or for a frame that a signal
 * interrupted, the interrupted address with SEG_INTERRUPTED set.  Code is looked up at a return address minus one (the
 * call), and at an interrupted address itself. */
struct seg_node {
	uint64_t address; /* 0: an abandoned record */
	uint32_t parent;
	uint32_t module; /* index into modules; 0: no file (JIT code) */
};
#define SEG_INTERRUPTED (1ull << 63)
#define SEG_ADDRESS_CUT 1ull /* "frames were left out here": the mark of --depth inside a stack */

struct seg_module {
	uint64_t bias;	     /* runtime address minus link-time address */
	uint64_t start, end; /* runtime address range */
	uint64_t
		path; /* offset of the path as the loader names it, not terminated; see path_size */
	uint32_t path_size; /* 0: the executable */
	uint32_t unloaded;  /* non-zero: gone since (the number of the generation) */
	uint32_t build_id_size;
	uint8_t build_id[32];
	uint32_t reserved;
};

/* What one thread did to blocks of one stack.  A free is counted by the freeing thread against the stack that
 * allocated, so only sums over all shards mean something: live = allocations - frees. */
struct seg_counter {
	uint32_t node;
	uint32_t epoch; /* of the saved peak figures */
	uint64_t allocations, bytes, frees, freed_bytes;
	uint64_t temporary, reallocations;
	int64_t peak_blocks,
		peak_bytes; /* live values when epoch `epoch` began: at the last maximum */
};

/*
 * In a sampled recording (seg_header.sample_mean): estimated variances of a counter's sums.  The units are those of
 * the sums, squared, and scaled by seg_sample_blocks_bits or seg_sample_bytes_unit.  Variances of what is live are the differences.
 */
struct seg_variance {
	uint64_t allocations, bytes, frees, freed_bytes;
	uint64_t temporary, reallocations;
	uint64_t peak_blocks, peak_bytes; /* saved with those of the counter */
};

/*
 * With SEG_WITH_SLACK: what the allocator's rounding up cost a counter's blocks, in bytes: the usable size less that asked
 * for.  What is live is allocated - freed.
 */
struct seg_slack {
	uint64_t allocated, freed;
	int64_t peak;	/* live when epoch `epoch` began, as in the counter */
	uint32_t epoch; /* the counter's when this was changed last */
	uint32_t reserved;
};

#define SEG_COUNTER_FIRST  32u
#define SEG_COUNTER_CHUNKS 24

/* Counters by the size of the blocks, as asked for, under the highest bit of size - 1: 2 for 1 to 8 bytes, 3 to 16, 4 to 32,
 * and so on; the last for 0. */
#define SEG_SIZES      64u
#define SEG_SIZE_FIRST 2u
static inline unsigned seg_size_index(uint64_t size)
{
	return 63u ^ (unsigned)__builtin_clzll((size - 1) | 7);
}

/* The first SEG_OWN_SHARDS threads have one each, and so has each thread alive at a time; taken over by later threads. */
#define SEG_OWN_SHARDS 32u
#define SEG_NAME_SIZE  16 /* of a thread's name, with its end; as the kernel has it */
struct seg_shard {
	uint32_t held; /* 1 while a thread has it */
	uint32_t counter_count;
	int64_t live_bytes; /* net of all that was counted here: may be negative */
	int64_t published;  /* the part of live_bytes that is in the common total */
	uint32_t holders;   /* threads that had it; 0: it was only borrowed, or see `inherited` */
	uint32_t tid;	    /* of the last of them; 0 unknown */
	uint64_t name[SEG_NAME_SIZE / 8]; /* that it gave itself or was given; 0 unknown */
	uint64_t chunks[SEG_COUNTER_CHUNKS];
	struct seg_counter none; /* events whose stack could not be recorded */
	/* Sampled recordings only: of struct seg_variance, one for each counter, under the same index. */
	uint64_t variance_chunks[SEG_COUNTER_CHUNKS];
	struct seg_variance none_variance;
	uint32_t
		inherited; /* 1: its allocations are blocks that lived when this process was forked */
	uint32_t reserved;
	uint64_t size_variances; /* offset of SEG_SIZES records of struct seg_variance; 0: none */
	struct seg_counter sizes[SEG_SIZES]; /* every event once more; their `node` is 0 */
	/* With SEG_WITH_SLACK only: of struct seg_slack, as variance_chunks. */
	uint64_t slack_chunks[SEG_COUNTER_CHUNKS];
	struct seg_slack none_slack;
};

/* Why something is not in the counters, or not as it should be. */
enum seg_drop {
	SEG_UNKNOWN_FREES = 0, /* pointers the agent has no record of */
	SEG_DOUBLE_FREES,      /* pointers whose last record is a free */
	SEG_DROPPED_ALLOCS,    /* allocations not counted at all */
	SEG_DROPPED_FREES,     /* frees not counted at all */
	SEG_DROPPED_BYTES,     /* bytes of SEG_DROPPED_ALLOCS */
	SEG_LOST_CHILDREN,     /* forked children that could not get a segment */
	SEG_NO_ROOM,	       /* growth that failed: file system full, limits, sandbox */
	SEG_UNTRACKED_BLOCKS,  /* counted as allocated, but their free will not be (no block map) */
	SEG_SECONDARY, /* events counted through a borrowed shard (in signal handlers, late in a thread) */
	SEG_DEEPBOUND, /* libraries whose calls could not be turned to the hooks (RTLD_DEEPBIND) */
	SEG_UNSEEN_FREES, /* blocks that were freed past the hooks: their address was given out again */
	SEG_TRUTH_CHECKED, /* truth mode: stacks compared with the independent unwinder */
	SEG_TRUTH_DIFFERENT,
	SEG_DROP_COUNT = 16,
};

/*
 * Frees of one stack of what is no live block, of which the map remembers one allocating stack or none.  A table by hash:
 * places without a count are free ones.  When it is full, frees are only counted (SEG_UNKNOWN_FREES, SEG_DOUBLE_FREES).
 */
struct seg_bad_free {
	uint64_t
		key; /* low half: node of the free's stack; high: the one that had allocated, 0 unknown */
	uint64_t count;	  /* how often */
	uint64_t address; /* of the first */
	uint64_t size;	  /* of its block, when that is known to have been freed before */
	uint32_t
		state; /* 1: the last that is known of the address is a free; 0: nothing is known of it */
	uint32_t thread; /* of the first, from 1 */
	uint64_t reserved;
};
#define SEG_BAD_FREES	  1024u

#define SEG_NODE_FIRST	  1024u
#define SEG_NODE_CHUNKS	  20
#define SEG_MODULE_FIRST  64u
#define SEG_MODULE_CHUNKS 12
#define SEG_SHARD_FIRST	  4u
#define SEG_SHARD_CHUNKS  20

enum seg_state {
	SEG_EMPTY = 0,	 /* a spare */
	SEG_CLAIMED = 1, /* being set up: hold nothing against it */
	SEG_ACTIVE = 2,
};

enum seg_origin {
	SEG_ORIGIN_EXEC = 0, /* a program start */
	SEG_ORIGIN_FORK = 1, /* the continuation of parent_image in a forked child */
};

struct seg_header {
	/* What it is; set once while CLAIMED, as are the fields that say who. */
	uint64_t magic;
	uint32_t layout_version;
	uint32_t header_size;

	/* Who. */
	uint32_t state; /* enum seg_state; release store */
	uint32_t origin;
	int32_t pid, parent_pid;
	uint64_t image, parent_image; /* random-enough ids, unique in the session */
	uint64_t start_realtime_ns, start_monotonic_ns, start_tsc;
	uint64_t executable, arguments,
		directory;  /* offsets of bytes; arguments are NUL-separated */
	uint64_t allocator; /* path of the object that the next malloc lies in */
	uint32_t executable_size, arguments_size, directory_size, allocator_size;
	uint32_t depth;
	uint32_t regions_taken; /* of the file, this one included; in region 0 only */

	/* Growth. */
	uint64_t used; /* bump pointer */
	uint32_t node_count, module_count, shard_count;
	uint32_t thread_count; /* threads that ever took a shard */
	uint64_t node_chunks[SEG_NODE_CHUNKS];
	uint64_t module_chunks[SEG_MODULE_CHUNKS];
	uint64_t shard_chunks[SEG_SHARD_CHUNKS];

	/*
	 * The peak.  Until a second shard is taken (several == 0) the total is the first shard's live_bytes, and
	 * single_* hold its maximum, exactly.  From then on `packed` holds total, maximum and epoch, changed
	 * together: from the low end 48 bits total (signed), 48 bits maximum, 1 bit "at maximum", 31 bits epoch.
	 */
	_Alignas(64) uint32_t several;
	uint32_t single_epoch;
	uint32_t single_at_max; /* the total is at its maximum now: no epoch was begun since */
	uint32_t held_shards;
	int64_t single_max;
	uint64_t peak_tsc; /* when the maximum was reached */
	_Alignas(16) uint64_t packed[2];
	uint64_t
		peak_error; /* bound of what packed may be off by: the threads' unpublished quanta */
	uint64_t quantum;   /* a thread publishes when its own change exceeds this */

	uint64_t drops[SEG_DROP_COUNT];
	/*
	 * Bytes per sample, as in sample.h; 0: every allocation was recorded.  Otherwise all sums of bytes are estimates,
	 * and so are all numbers of blocks and events in counters and shards, in units of 1 / 2^SEG_SAMPLE_BITS.
	 */
	uint64_t sample_mean;
	uint64_t
		bad_frees; /* offset of SEG_BAD_FREES records of struct seg_bad_free; 0: there was none */
	uint64_t flags; /* enum seg_flags */
	uint64_t reserved[5];
};

/* What the session left out on purpose, and what it has besides. */
enum seg_flags {
	SEG_WITHOUT_STACKS = 1, /* every event counts in its shard's `none` */
	SEG_NOT_RECORDED = 2,	/* no event was counted at all */
	SEG_WITH_SLACK = 4,	/* see struct seg_slack */
	SEG_NO_USABLE_SIZE =
		8, /* that was asked for, but the allocator does not tell usable sizes */
};

#define SEG_SAMPLE_MOST	  (1ull << 38)
#define SEG_SAMPLE_BITS	  10
#define SEG_VARIANCE_BITS 4

/* One unit of a variance of blocks is 2^-N blocks squared, for this N, which may be below zero: as fine as it can be while a
 * sum has room for 2^44 bytes allocated in the smallest blocks. */
static inline int seg_sample_blocks_bits(uint64_t mean)
{
	return 27 - (mean > 1 ? 64 - __builtin_clzll(mean - 1) : 0);
}

/* One unit of a variance of bytes is the square of this, divided by 2^SEG_VARIANCE_BITS. */
static inline uint64_t seg_sample_bytes_unit(uint64_t mean)
{
	return mean >> 16 ? mean >> 16 : 1;
}

#define SEG_PACKED_BITS 48
#define SEG_EPOCH_MASK	0x7fffffffu

static_assert(sizeof(struct seg_node) == 16, "node");
static_assert(sizeof(struct seg_module) == 80, "module");
static_assert(sizeof(struct seg_counter) == 72, "counter");
static_assert(sizeof(struct seg_variance) == 64, "variance");
static_assert(sizeof(struct seg_bad_free) == 48, "bad free");
static_assert(sizeof(struct seg_slack) == 32, "slack");
static_assert(sizeof(struct seg_shard) == 808 + 72 * SEG_SIZES, "shard");
static_assert(offsetof(struct seg_header, packed) % 16 == 0, "cmpxchg16b needs alignment");
static_assert(sizeof(struct seg_header) <= 2048, "header");

/* What `packed` holds. */
struct seg_account {
	int64_t total, max;
	uint32_t epoch;
	uint32_t at_max; /* 1: nothing changed since the maximum was set */
};

static inline struct seg_account seg_unpack(const uint64_t word[2])
{
	return (struct seg_account){
		.total = (int64_t)(word[0] << (64 - SEG_PACKED_BITS)) >> (64 - SEG_PACKED_BITS),
		.max = (int64_t)(word[0] >> SEG_PACKED_BITS | (word[1] & 0xffffffff) << 16),
		.at_max = word[1] >> 32 & 1,
		.epoch = (uint32_t)(word[1] >> 33),
	};
}

/* Where record `index` of a segmented array lies. */
struct seg_place {
	uint32_t chunk;
	uint32_t position;
};

static inline struct seg_place seg_chunk_of(uint32_t index, uint32_t first)
{
	uint64_t x = (uint64_t)index + first;
	uint32_t log = 63u - (uint32_t)__builtin_clzll(x);
	uint32_t chunk = log - (uint32_t)__builtin_ctz(first);

	return (struct seg_place){ chunk, (uint32_t)(x - ((uint64_t)first << chunk)) };
}

#endif
