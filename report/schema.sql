-- SPDX-License-Identifier: MIT
-- The memtrack recording, version 1.  memtrack-dat(5) describes it for users.
--
-- Units: bytes, blocks (counts), nanoseconds.  t_ns counts from the process's start, start_time_ns from
-- the Unix epoch.  Ids are dense from 1 in order of insertion; 0 means none or unknown.
-- The views at the end are the stable interface for queries; tables only ever gain columns at their end.
-- A reader accepts a file whose meta row min_readable_version is not above its own version.

PRAGMA application_id = 0x6d74726b; -- "mtrk"
PRAGMA user_version = 1;

CREATE TABLE meta (
	key TEXT PRIMARY KEY, -- memtrack_version, min_readable_version, host, options, created_ns
	value
) WITHOUT ROWID;

-- Each text once: paths, commands and names, as the bytes they were.
CREATE TABLE string (
	id INTEGER PRIMARY KEY,
	value TEXT NOT NULL
);

-- One process image: an exec starts a new one under the same pid.
CREATE TABLE process (
	id INTEGER PRIMARY KEY,
	pid INTEGER NOT NULL,
	parent_pid INTEGER NOT NULL,
	parent INTEGER NOT NULL,           -- process.id it was forked or exec'ed from
	executable INTEGER NOT NULL,       -- string.id, absolute path
	start_time_ns INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL,
	exit_code INTEGER NOT NULL,        -- -1 unknown or killed by a signal
	exit_signal INTEGER NOT NULL,      -- 0 none
	complete INTEGER NOT NULL,         -- 0: the end of the process was not seen
	exec_ended INTEGER NOT NULL,       -- 1: another image goes on under the pid
	allocator INTEGER NOT NULL,        -- string.id, the library that served malloc
	peak_bytes INTEGER NOT NULL,
	peak_blocks INTEGER NOT NULL,
	peak_time_ns INTEGER NOT NULL,
	peak_error_bytes INTEGER NOT NULL, -- bound of the error of peak figures; 0 exact
	unknown_frees INTEGER NOT NULL,
	double_frees INTEGER NOT NULL,
	dropped_events INTEGER NOT NULL,   -- not counted at all
	unattributed INTEGER NOT NULL,     -- allocations counted without a stack
	truncated_events INTEGER NOT NULL, -- allocations whose stack is truncated
	threads INTEGER NOT NULL,          -- that allocated or freed
	peak_rss_bytes INTEGER NOT NULL,
	notes INTEGER NOT NULL             -- string.id, one line a note
);

CREATE TABLE process_argv (
	process INTEGER NOT NULL,
	seq INTEGER NOT NULL,  -- from 0
	value INTEGER NOT NULL, -- string.id
	PRIMARY KEY (process, seq)
) WITHOUT ROWID;

CREATE TABLE module (
	id INTEGER PRIMARY KEY,
	path INTEGER NOT NULL,   -- string.id
	build_id BLOB,           -- NULL: none
	symbols INTEGER NOT NULL -- string.id: dwarf, elf, none, missing, replaced, unreadable
);

-- A place in the code.  module 0: code of no file (JIT), address absolute; else a link-time address.
CREATE TABLE location (
	id INTEGER PRIMARY KEY,
	module INTEGER NOT NULL,
	address INTEGER NOT NULL
);

-- The source-level frames of a location, from the innermost (inlined) outward.  None: neither name nor file is known.
CREATE TABLE location_frame (
	location INTEGER NOT NULL,
	seq INTEGER NOT NULL,      -- from 0
	function INTEGER NOT NULL, -- string.id
	file INTEGER NOT NULL,     -- string.id
	line INTEGER NOT NULL,
	inlined INTEGER NOT NULL,  -- 1: its body stands inside the next frame
	PRIMARY KEY (location, seq)
) WITHOUT ROWID;

-- The stack tree.  parent: the caller's node, always a smaller id; 0: this is the outermost frame.
-- location 0: frames were left out here.
CREATE TABLE node (
	id INTEGER PRIMARY KEY,
	parent INTEGER NOT NULL,
	location INTEGER NOT NULL
);

-- What one stack cost one process.  Sums over a process are its totals.
CREATE TABLE stack (
	process INTEGER NOT NULL,
	node INTEGER NOT NULL, -- the innermost frame; 0: no stack is known
	end INTEGER NOT NULL,  -- 0 complete; truncated: 1 depth, 2 no unwind information,
	                       -- 3 unreadable memory, 4 implausible frame, 5 no room for a stack
	allocations INTEGER NOT NULL,
	allocated_bytes INTEGER NOT NULL,
	frees INTEGER NOT NULL,
	freed_bytes INTEGER NOT NULL,
	temporary_allocations INTEGER NOT NULL,
	reallocations INTEGER NOT NULL,
	peak_blocks INTEGER NOT NULL,
	peak_bytes INTEGER NOT NULL,
	leaked_blocks INTEGER NOT NULL,
	leaked_bytes INTEGER NOT NULL,
	site INTEGER NOT NULL, -- site.id; 0 when nothing is known of the stack
	PRIMARY KEY (process, node, end)
) WITHOUT ROWID;

CREATE TABLE sample (
	process INTEGER NOT NULL,
	t_ns INTEGER NOT NULL,
	heap_bytes INTEGER NOT NULL,
	blocks INTEGER NOT NULL,
	rss_bytes INTEGER NOT NULL
);

-- Of processes whose allocations were sampled only: bytes per sample.  Their costs are estimates.
CREATE TABLE sampling (
	process INTEGER PRIMARY KEY,
	mean_bytes INTEGER NOT NULL
);

-- The variances of these estimates, one row for each row of stack.  What is 0 is exact.
CREATE TABLE variance (
	process INTEGER NOT NULL,
	node INTEGER NOT NULL,
	end INTEGER NOT NULL,
	allocations REAL NOT NULL,
	allocated_bytes REAL NOT NULL,
	frees REAL NOT NULL,
	freed_bytes REAL NOT NULL,
	temporary_allocations REAL NOT NULL,
	reallocations REAL NOT NULL,
	peak_blocks REAL NOT NULL,
	peak_bytes REAL NOT NULL,
	leaked_blocks REAL NOT NULL,
	leaked_bytes REAL NOT NULL,
	PRIMARY KEY (process, node, end)
) WITHOUT ROWID;

-- What was found wrong in a program's use of its heap, in order of finding.
CREATE TABLE error (
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL,      -- 0: it could not be told which image of pid
	pid INTEGER NOT NULL,
	source INTEGER NOT NULL,       -- 1 stomp, the guard-page allocator; 2 agent, the block map
	kind INTEGER NOT NULL,         -- 1 heap-buffer-overflow, 2 heap-buffer-underflow, 3 heap-use-after-free,
	                               -- 4 double-free, 5 invalid-free, 6 heap-corruption
	access INTEGER NOT NULL,       -- 0 none or unknown, 1 read, 2 write
	address INTEGER NOT NULL,      -- accessed or freed; of a corruption the first bad byte
	block_address INTEGER,         -- of the nearest block; NULL, all three: not known
	block_size INTEGER,
	block_offset INTEGER,          -- address - block_address
	block_freed INTEGER NOT NULL,  -- 1: it had been freed before
	corrupt_bytes INTEGER,         -- of a corruption: how many bytes were overwritten
	thread INTEGER NOT NULL,       -- from 1, in order of first allocation; 0 unknown
	allocated_thread INTEGER NOT NULL,
	freed_thread INTEGER NOT NULL,
	tid INTEGER NOT NULL,          -- of thread, as the kernel counts; 0 unknown
	t_ns INTEGER,                  -- NULL: not known
	count INTEGER NOT NULL,        -- how often; addresses, sizes and threads are of the first
	continued INTEGER NOT NULL,    -- 1: the program was let go on
	by_realloc INTEGER NOT NULL,   -- 1: a free that was part of realloc
	node INTEGER NOT NULL,         -- stack of the access or free
	end INTEGER NOT NULL,          -- as in stack
	allocated_node INTEGER NOT NULL, -- of the block's allocation; 0 unknown
	allocated_end INTEGER NOT NULL,
	freed_node INTEGER NOT NULL,   -- of its free; 0 not freed or unknown
	freed_end INTEGER NOT NULL
);

-- Of processes that the guard-page allocator served only.
CREATE TABLE guard (
	process INTEGER PRIMARY KEY,
	method INTEGER NOT NULL,         -- in force at the end: 0 none, 1 madvise, 2 mprotect, 3 canary
	madvise_blocks INTEGER NOT NULL, -- blocks that got a guard page by MADV_GUARD_INSTALL,
	mprotect_blocks INTEGER NOT NULL, -- or by mprotect,
	canary_blocks INTEGER NOT NULL,  -- or only patterns that are checked when they are freed,
	unguarded_blocks INTEGER NOT NULL, -- or nothing
	budget INTEGER NOT NULL,         -- most blocks with guard pages at a time; 0 no limit
	refused INTEGER NOT NULL,        -- guard pages that the kernel refused
	errors INTEGER NOT NULL,         -- that were found
	errors_lost INTEGER NOT NULL     -- of these, without a row in error
);

-- Locations whose address is that of an instruction that a signal interrupted, and not the one that a call returns to.
CREATE TABLE interrupted (
	location INTEGER PRIMARY KEY
);

-- What stands for a stack: its innermost frame that is not allocation plumbing.
CREATE TABLE site (
	id INTEGER PRIMARY KEY,
	function INTEGER NOT NULL, -- string.id
	file INTEGER NOT NULL,     -- string.id
	line INTEGER NOT NULL,
	module INTEGER NOT NULL,   -- string.id, its path
	address INTEGER NOT NULL   -- as in location, where no function is known; else 0
);

-- Who made and freed: a thread, or several one after the other that shared a place; see the view threads.
CREATE TABLE thread (
	process INTEGER NOT NULL,
	number INTEGER NOT NULL,    -- from 1
	tid INTEGER NOT NULL,       -- as the kernel counts, of the last of several; 0 unknown
	name INTEGER NOT NULL,      -- string.id, likewise
	holders INTEGER NOT NULL,   -- how many threads; 0: signal handlers, late destructors
	inherited INTEGER NOT NULL, -- 1: nobody; blocks that the parent process had at the fork
	PRIMARY KEY (process, number)
) WITHOUT ROWID;

-- The costs of a process divided in other ways than by stack: the sums over a kind are its totals, too.
CREATE TABLE part (
	process INTEGER NOT NULL,
	kind INTEGER NOT NULL, -- 1 by thread, 2 by size
	key INTEGER NOT NULL,  -- thread.number; the smallest size of a class: 0, 1, 9, 17, 33, ..., 4294967297
	allocations INTEGER NOT NULL,
	allocated_bytes INTEGER NOT NULL,
	frees INTEGER NOT NULL,
	freed_bytes INTEGER NOT NULL,
	temporary_allocations INTEGER NOT NULL,
	reallocations INTEGER NOT NULL,
	peak_blocks INTEGER NOT NULL,
	peak_bytes INTEGER NOT NULL,
	leaked_blocks INTEGER NOT NULL,
	leaked_bytes INTEGER NOT NULL,
	PRIMARY KEY (process, kind, key)
) WITHOUT ROWID;

-- As variance, one row for each row of part of a sampled process.
CREATE TABLE part_variance (
	process INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	key INTEGER NOT NULL,
	allocations REAL NOT NULL,
	allocated_bytes REAL NOT NULL,
	frees REAL NOT NULL,
	freed_bytes REAL NOT NULL,
	temporary_allocations REAL NOT NULL,
	reallocations REAL NOT NULL,
	peak_blocks REAL NOT NULL,
	peak_bytes REAL NOT NULL,
	leaked_blocks REAL NOT NULL,
	leaked_bytes REAL NOT NULL,
	PRIMARY KEY (process, kind, key)
) WITHOUT ROWID;

-- What the allocator lost to rounding up sizes: one row for each row of stack, of processes recorded so only.
CREATE TABLE slack (
	process INTEGER NOT NULL,
	node INTEGER NOT NULL,
	end INTEGER NOT NULL,
	allocated_bytes INTEGER NOT NULL,
	peak_bytes INTEGER NOT NULL,
	leaked_bytes INTEGER NOT NULL,
	PRIMARY KEY (process, node, end)
) WITHOUT ROWID;

-- Moments of a run at which it was seen which stacks had live blocks; those of a process in the order of time.
CREATE TABLE moment (
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL,
	t_ns INTEGER NOT NULL
);

-- What a stack had live at a moment: only where that is something else than at the process's moment before.
CREATE TABLE moment_stack (
	moment INTEGER NOT NULL,
	node INTEGER NOT NULL, -- (process, node, end) is a row of stack
	end INTEGER NOT NULL,
	blocks INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	PRIMARY KEY (moment, node, end)
) WITHOUT ROWID;

-- One row a process image: who it was and what it cost.
CREATE VIEW totals AS
SELECT p.id AS process, p.pid, x.value AS executable, p.start_time_ns, p.duration_ns, p.exit_code, p.exit_signal,
       p.peak_bytes, p.peak_blocks, p.peak_time_ns, p.peak_error_bytes, p.peak_rss_bytes, p.threads,
       count(s.node) AS stacks, coalesce(sum(s.allocations), 0) AS allocations,
       coalesce(sum(s.allocated_bytes), 0) AS allocated_bytes,
       coalesce(sum(s.frees), 0) AS frees, coalesce(sum(s.freed_bytes), 0) AS freed_bytes,
       coalesce(sum(s.temporary_allocations), 0) AS temporary_allocations,
       coalesce(sum(s.reallocations), 0) AS reallocations,
       coalesce(sum(s.leaked_blocks), 0) AS leaked_blocks,
       coalesce(sum(s.leaked_bytes), 0) AS leaked_bytes,
       p.unknown_frees, p.double_frees, p.dropped_events, p.unattributed, p.truncated_events
FROM process p LEFT JOIN string x ON x.id = p.executable LEFT JOIN stack s ON s.process = p.id
GROUP BY p.id;

-- Source-level frames by location: one row for each, or one without names.
CREATE VIEW frames AS
SELECT l.id AS location, coalesce(f.seq, 0) AS seq, fn.value AS function, fl.value AS file,
       nullif(f.line, 0) AS line, m.value AS module, printf('0x%llx', l.address) AS address,
       coalesce(f.inlined, 0) AS inlined
FROM location l LEFT JOIN location_frame f ON f.location = l.id LEFT JOIN string fn ON fn.id = f.function
     LEFT JOIN string fl ON fl.id = f.file LEFT JOIN module o ON o.id = l.module
     LEFT JOIN string m ON m.id = o.path;

-- Costs by stack, with the innermost frame's names.
CREATE VIEW stacks AS
SELECT s.process, s.node AS stack, s.end, fn.value AS function, fl.value AS file, nullif(f.line, 0) AS line,
       m.value AS module, s.allocations, s.allocated_bytes, s.frees, s.freed_bytes, s.temporary_allocations,
       s.reallocations, s.peak_blocks, s.peak_bytes, s.leaked_blocks, s.leaked_bytes, s.site
FROM stack s LEFT JOIN node n ON n.id = s.node LEFT JOIN location l ON l.id = n.location
     LEFT JOIN location_frame f ON f.location = l.id AND f.seq = 0
     LEFT JOIN string fn ON fn.id = f.function LEFT JOIN string fl ON fl.id = f.file
     LEFT JOIN module o ON o.id = l.module LEFT JOIN string m ON m.id = o.path;

-- Costs by site, as `memtrack report` shows them: allocation plumbing such as xmalloc or std::vector is passed over.
CREATE VIEW sites AS
SELECT c.process, fn.value AS function, fl.value AS file, nullif(s.line, 0) AS line, m.value AS module, c.stacks,
       c.allocations, c.allocated_bytes, c.frees, c.freed_bytes, c.temporary_allocations, c.reallocations,
       c.peak_blocks, c.peak_bytes, c.leaked_blocks, c.leaked_bytes,
       iif(s.function = 0, printf('0x%llx', s.address), NULL) AS address
FROM (SELECT process, site, count(*) AS stacks, sum(allocations) AS allocations,
             sum(allocated_bytes) AS allocated_bytes, sum(frees) AS frees, sum(freed_bytes) AS freed_bytes,
             sum(temporary_allocations) AS temporary_allocations, sum(reallocations) AS reallocations,
             sum(peak_blocks) AS peak_blocks, sum(peak_bytes) AS peak_bytes,
             sum(leaked_blocks) AS leaked_blocks, sum(leaked_bytes) AS leaked_bytes
      FROM stack GROUP BY process, site) c
     LEFT JOIN site s ON s.id = c.site LEFT JOIN string fn ON fn.id = s.function
     LEFT JOIN string fl ON fl.id = s.file LEFT JOIN string m ON m.id = s.module;

-- Costs by the function that called the allocator, plumbing or not.
CREATE VIEW callers AS
SELECT process, function, file, module, count(*) AS stacks, sum(allocations) AS allocations,
       sum(allocated_bytes) AS allocated_bytes, sum(temporary_allocations) AS temporary_allocations,
       sum(peak_blocks) AS peak_blocks, sum(peak_bytes) AS peak_bytes, sum(leaked_blocks) AS leaked_blocks,
       sum(leaked_bytes) AS leaked_bytes
FROM stacks GROUP BY process, function, file, module;

-- One row a process image, with its command.
CREATE VIEW processes AS
SELECT t.process, t.pid, nullif(p.parent, 0) AS parent, p.parent_pid,
       (SELECT group_concat(value, ' ')
        FROM (SELECT s.value FROM process_argv a JOIN string s ON s.id = a.value
              WHERE a.process = t.process ORDER BY a.seq)) AS command,
       t.executable, t.start_time_ns / 1e9 AS start_time_s, t.duration_ns / 1e9 AS duration_s,
       iif(t.exit_code >= 0, t.exit_code, NULL) AS exit_code, nullif(t.exit_signal, 0) AS exit_signal,
       p.complete, m.value AS allocator, t.peak_bytes, t.leaked_bytes, t.allocations
FROM totals t JOIN process p ON p.id = t.process LEFT JOIN string m ON m.id = p.allocator;

-- Standard errors of the costs by stack, of sampled processes.
CREATE VIEW stack_errors AS
SELECT process, node AS stack, end, sqrt(allocations) AS allocations, sqrt(allocated_bytes) AS allocated_bytes,
       sqrt(frees) AS frees, sqrt(freed_bytes) AS freed_bytes,
       sqrt(temporary_allocations) AS temporary_allocations, sqrt(reallocations) AS reallocations,
       sqrt(peak_blocks) AS peak_blocks, sqrt(peak_bytes) AS peak_bytes, sqrt(leaked_blocks) AS leaked_blocks,
       sqrt(leaked_bytes) AS leaked_bytes
FROM variance;

-- Costs by the size of the blocks.  max_bytes NULL: no limit.
CREATE VIEW sizes AS
SELECT process, key AS min_bytes, CASE key WHEN 0 THEN 0 WHEN 1 THEN 8 WHEN 4294967297 THEN NULL ELSE 2 * (key - 1) END
       AS max_bytes, allocations, allocated_bytes, frees, freed_bytes, temporary_allocations, reallocations,
       peak_blocks, peak_bytes, leaked_blocks, leaked_bytes
FROM part WHERE kind = 2;

-- What each thread made and freed; peak and leaked are what it made less what it freed, of whichever thread's making.
CREATE VIEW threads AS
SELECT t.process, t.number AS thread, nullif(t.tid, 0) AS tid, x.value AS name, t.holders, t.inherited,
       coalesce(p.allocations, 0) AS allocations, coalesce(p.allocated_bytes, 0) AS allocated_bytes,
       coalesce(p.frees, 0) AS frees, coalesce(p.freed_bytes, 0) AS freed_bytes,
       coalesce(p.temporary_allocations, 0) AS temporary_allocations, coalesce(p.reallocations, 0) AS reallocations,
       coalesce(p.peak_blocks, 0) AS peak_blocks, coalesce(p.peak_bytes, 0) AS peak_bytes,
       coalesce(p.leaked_blocks, 0) AS leaked_blocks, coalesce(p.leaked_bytes, 0) AS leaked_bytes
FROM thread t LEFT JOIN part p ON p.process = t.process AND p.kind = 1 AND p.key = t.number
     LEFT JOIN string x ON x.id = t.name;

-- Slack by stack, with the innermost frame's names, beside the bytes asked for.
CREATE VIEW slacks AS
SELECT k.process, k.node AS stack, k.end, s.function, s.file, s.line, s.module,
       k.allocated_bytes AS allocated_slack, k.peak_bytes AS peak_slack, k.leaked_bytes AS leaked_slack,
       s.allocated_bytes, s.peak_bytes, s.leaked_bytes
FROM slack k JOIN stacks s ON s.process = k.process AND s.stack = k.node AND s.end = k.end;

-- Heap over time, times in seconds.
CREATE VIEW timeline AS
SELECT process, t_ns / 1e9 AS t_s, heap_bytes, blocks, rss_bytes FROM sample;

-- Errors with names, and the innermost frames of their stacks.
CREATE VIEW errors AS
WITH innermost AS (
	SELECT n.id AS node, f.function, f.file, f.line, f.module
	FROM node n JOIN frames f ON f.location = n.location AND f.seq = 0
	WHERE n.id IN (SELECT node FROM error UNION SELECT allocated_node FROM error UNION SELECT freed_node FROM error)
)
SELECT e.id AS error, nullif(e.process, 0) AS process, e.pid,
       CASE e.source WHEN 1 THEN 'stomp' WHEN 2 THEN 'agent' END AS source,
       CASE e.kind WHEN 1 THEN 'heap-buffer-overflow' WHEN 2 THEN 'heap-buffer-underflow'
                   WHEN 3 THEN 'heap-use-after-free' WHEN 4 THEN 'double-free'
                   WHEN 5 THEN 'invalid-free' WHEN 6 THEN 'heap-corruption' END AS kind,
       CASE e.access WHEN 1 THEN 'read' WHEN 2 THEN 'write' END AS access,
       printf('0x%llx', e.address) AS address, iif(e.block_address IS NULL, NULL, printf('0x%llx', e.block_address))
       AS block_address, e.block_size, e.block_offset, e.corrupt_bytes, nullif(e.thread, 0) AS thread,
       nullif(e.allocated_thread, 0) AS allocated_thread, nullif(e.freed_thread, 0) AS freed_thread,
       e.t_ns / 1e9 AS t_s, e.count, e.continued,
       f.function, f.file, f.line, f.module,
       a.function AS allocated_function, a.file AS allocated_file, a.line AS allocated_line,
       r.function AS freed_function, r.file AS freed_file, r.line AS freed_line
FROM error e LEFT JOIN innermost f ON f.node = e.node LEFT JOIN innermost a ON a.node = e.allocated_node
     LEFT JOIN innermost r ON r.node = e.freed_node;
