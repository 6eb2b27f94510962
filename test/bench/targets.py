# SPDX-License-Identifier: MIT
"""What memtrack wants to keep to, as limits on the figures of a run."""
import table

MIB = 1 << 20
DEPTHS = (5, 20, 50)

PAIR_SHARE = 20          # of heaptrack's added time
THREADS_RATIO = 1.15     # the added cost with two threads to that with one
PYTHON_CPU_SHARE = 12    # of heaptrack's added CPU time
WALL_RATIO = 1.35
CC1PLUS_EXTRA_S = 2
RSS_RATIO, RSS_EXTRA = 1.5, 16 * MIB
IDLE_EXTRA = 2 * MIB
BYTES_PER_NODE = 40
START_MS = 15
RUST_NS = 70
SAMPLED_NS = 4            # added to a pair by --sample 512K
FINISH_S, REPORT_S = 1, 0.1  # python3, 40 000 stacks


class Target:
    """figure and limit as text; met: True, False, or None when there is no limit or no figure."""

    def __init__(self, what, figure, limit, met):
        self.what, self.figure, self.limit, self.met = what, figure, limit, met

    def verdict(self):
        return {True: "met", False: "MISSED", None: "-"}[self.met]


class Figures:
    """The medians of a run."""

    def __init__(self, results):
        self.results = results

    def get(self, workload, tool, field):
        result = self.results.get((workload, tool))
        return result.median(field) if result else None

    def added(self, workload, tool, field):
        value, native = self.get(workload, tool, field), self.get(workload, "native", field)
        return None if value is None or native is None else value - native

    def workloads(self):
        return list(dict.fromkeys(workload for workload, _ in self.results))


def at_most(what, value, limit, show):
    return Target(what, show(value), "<= " + show(limit), value <= limit)


def share_of_heaptrack(figures, what, workload, field, share):
    ours, theirs = figures.added(workload, "memtrack", field), figures.added(workload, "heaptrack", field)
    if ours is None or theirs is None:
        return None
    # What cannot be told from nothing is as good as nothing.
    times = theirs / max(ours, 1e-9)
    return Target(what, "1/%s" % table.number(times), "<= 1/%d" % share, times >= share)


def pair_targets(figures):
    for depth in DEPTHS:
        for threads in (1, 2):
            yield share_of_heaptrack(figures, "pair, depth %d, %d thread%s: added time to heaptrack's" % (
                depth, threads, "s" if threads > 1 else ""), "pairs-%d-%d" % (depth, threads), "typical_ns", PAIR_SHARE)
    for depth in DEPTHS:
        one, two = (figures.added("pairs-%d-%d" % (depth, threads), "memtrack", "typical_cpu_ns") for threads in (1, 2))
        if one and two is not None:
            yield at_most("pair, depth %d: added CPU time, two threads to one" % depth, two / one, THREADS_RATIO, table.number)
    total = figures.get("rust", "memtrack", "typical_ns")
    if total is not None:
        yield at_most("Rust, Vec::with_capacity(64): ns in all", total, RUST_NS, table.number)
    for depth in DEPTHS:
        sampled = figures.added("pairs-%d-1" % depth, "memtrack-sample", "typical_ns")
        if sampled is not None:
            yield at_most("pair, depth %d, --sample 512K: added ns" % depth, sampled, SAMPLED_NS, table.number)


def program_targets(figures):
    yield share_of_heaptrack(figures, "python3: added CPU time to heaptrack's", "python", "cpu", PYTHON_CPU_SHARE)
    native, ours = (figures.get("python", tool, "wall") for tool in ("native", "memtrack"))
    if native and ours:
        yield at_most("python3: wall time to native", ours / native, WALL_RATIO, table.number)
    native, ours = (figures.get("cc1plus", tool, "wall") for tool in ("native", "memtrack"))
    if native and ours:
        yield at_most("cc1plus: wall time", ours, WALL_RATIO * native + CC1PLUS_EXTRA_S, table.seconds)


def memory_targets(figures):
    """Of the many that are met only the one closest to its limit."""
    kept = []
    for workload in figures.workloads():
        native, ours = (figures.get(workload, tool, "rss") for tool in ("native", "memtrack"))
        if native and ours:
            limit = native + IDLE_EXTRA if workload == "idle" else RSS_RATIO * native + RSS_EXTRA
            kept.append((ours / limit, workload, at_most("%s: peak RSS of the target" % workload, ours, limit, table.size)))
    closest = max((closeness for closeness, workload, _ in kept if workload != "idle"), default=0)
    for closeness, workload, target in kept:
        if closeness == closest or workload == "idle" or not target.met:
            yield target


def recording_targets(figures):
    for workload in ("paths", "cc1plus"):
        each = figures.get(workload, "memtrack", "bytes_per_node")
        if each is not None:
            yield at_most("%s: bytes of the recording for each node, without names" % workload, each, BYTES_PER_NODE, table.number)
    for field, what, limit in (("finish", "from the target's end to the finished file", FINISH_S),
                               ("report", "report --top 20", REPORT_S)):
        # The limit is for some ten thousand stacks; cc1plus has more.
        worst = max(((figures.get(w, "memtrack", field) or 0, w) for w in figures.workloads() if w != "cc1plus"), default=(0, ""))
        if worst[0]:
            yield at_most("%s: the longest (%s)" % (what, worst[1]), worst[0], limit, table.seconds)
    start = figures.added("true", "memtrack", "wall")
    if start is not None:
        yield at_most("true: added wall time", start, START_MS / 1e3, table.seconds)


def judge(results):
    """All targets of which there are figures.  `results`: by workload and tool."""
    figures = Figures(results)
    found = []
    for part in (pair_targets, program_targets, memory_targets, recording_targets):
        found += [target for target in part(figures) if target]
    return found


def rows(targets):
    return [["target", "figure", "limit", ""]] + [[t.what, t.figure, t.limit, t.verdict()] for t in targets]
