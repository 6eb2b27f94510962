#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_stacks.py REPORT.json WITNESS DEPTH: the stacks of a report against those of libwitness.so in the same process.

Both count the allocations of each stack.  Prints the share of allocations (in percent) that stand under the same stack in both,
then the worst differences.  Stacks of the witness start inside the agent, whose frames are dropped.  Both sides may know a
little of what the other has not seen: the allocations of the unwinder itself, and those after the witness has closed.
"""
import collections
import json
import sys


def base(path):
    return path.rsplit("/", 1)[-1] if path else None


def from_report(name):
    report = json.load(open(name))
    program = base(report["process"]["executable"])
    counts = collections.Counter()
    names = {}
    for site in report["sites"]:
        for stack in site["stacks"]:
            frames = []
            for frame in stack["frames"]:
                if frame["inlined"]:
                    continue
                module = base(frame["module"])
                key = ("main" if module == program else module, int(frame["address"], 16))
                names[key] = frame["function"]
                frames.append(key)
            counts[tuple(frames), bool(stack["truncated"])] += stack["allocations"]
    return counts, names


def from_witness(name):
    counts = collections.Counter()
    for line in open(name):
        fields = line.split()
        frames = []
        for field in fields[4:]:
            module, _, offset = field.rpartition("+")
            frames.append((None if module == "?" else module, int(offset, 16)))
        while frames and frames[0][0] == "libmemtrack.so":
            frames.pop(0)
        counts[tuple(frames)] += int(fields[0])
    return counts


def main():
    report, names = from_report(sys.argv[1])
    witness = from_witness(sys.argv[2])
    depth = int(sys.argv[3])
    cut = collections.Counter()
    for frames, n in witness.items():
        cut[frames[:depth]] += n
    mine = collections.Counter()
    for (frames, _), n in report.items():
        mine[frames] += n
    total = sum(cut.values())
    common = sum(min(n, mine[frames]) for frames, n in cut.items())
    print("%.4f" % (100.0 * common / total if total else 0))
    print("witness: %d allocations in %d stacks; report: %d in %d" % (total, len(cut), sum(mine.values()), len(mine)))

    def show(title, counts):
        rest = sorted(counts.items(), key=lambda item: -item[1])[:6]
        for frames, n in rest:
            if n > 0:
                print("%s %d: %s" % (title, n, " < ".join("%s+%#x(%s)" % (m, a, names.get((m, a), "?")) for m, a in frames)))

    show("only the witness", cut - mine)
    show("only the report", mine - cut)


main()
