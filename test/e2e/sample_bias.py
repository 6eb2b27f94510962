# SPDX-License-Identifier: MIT
"""sample_bias.py MEMTRACK PROGRAM RUNS BYTES: records test/prog/sampled.c that many times, one allocation per BYTES.

For each figure, of the whole and of each site: the mean over the runs against what the program is known to do, and the
standard errors that were reported against how much the runs differ.  Prints what is wrong; status 1 when something is.
With --list it prints every figure.
"""

import json
import math
import os
import subprocess
import sys

# By site: allocations and their size, how many are freed in all, temporary, live at the peak.
SITES = {
    "empty": (400, 0, 300, 0, 100),
    "tiny": (4000, 24, 3000, 0, 1000),
    "near": (200, 4000, 150, 0, 50),
    "huge": (20, 100000, 15, 0, 5),
    "first": (300, 200, 300, 0, 0),
    "grown": (300, 3000, 200, 0, 100),
    "cleared": (600, 500, 0, 0, 600),
    "aligned": (300, 700, 0, 0, 300),
    "passing": (3000, 200, 3000, 3000, 0),
    "burst": (300, 5000, 300, 1, 300),
    "threaded": (1000, 120, 0, 0, 0),
}
REALLOCATIONS = 300
CHILD = (300, 600)
CHILD_FREES = (500, 24)
SIGMAS = 4.5


def expected_costs(count, size, freed, temporary, peak):
    return {
        "allocations": count,
        "allocated_bytes": count * size,
        "frees": freed,
        "freed_bytes": freed * size,
        "temporary_allocations": temporary,
        "leaked_blocks": count - freed,
        "leaked_bytes": (count - freed) * size,
        "peak_blocks": peak,
        "peak_bytes": peak * size,
    }


def expected():
    """Figure by (process, site, name); the site of the whole is ''."""
    figures = {}
    total = {}
    for site, row in SITES.items():
        for name, value in expected_costs(*row).items():
            total[name] = total.get(name, 0) + value
            if name not in ("frees", "freed_bytes"):
                figures[1, site, name] = value
    total["reallocations"] = REALLOCATIONS
    for name, value in total.items():
        figures[1, "", name] = value
    left = total["leaked_blocks"] - CHILD_FREES[0] + CHILD[0]
    left_bytes = total["leaked_bytes"] - CHILD_FREES[0] * CHILD_FREES[1] + CHILD[0] * CHILD[1]
    child = {
        "allocations": CHILD[0],
        "allocated_bytes": CHILD[0] * CHILD[1],
        "frees": CHILD_FREES[0],
        "freed_bytes": CHILD_FREES[0] * CHILD_FREES[1],
        "leaked_blocks": left,
        "leaked_bytes": left_bytes,
        "peak_blocks": left,
        "peak_bytes": left_bytes,
    }
    for name, value in child.items():
        figures[2, "", name] = value
    figures[2, "only_child", "leaked_bytes"] = CHILD[0] * CHILD[1]
    figures[2, "tiny", "leaked_blocks"] = 1000 - CHILD_FREES[0]
    return figures


def site_of(stack):
    names = [frame["function"] for frame in stack["frames"]]
    for name in names:
        if name in SITES or name == "only_child":
            return name
    return None


def read(memtrack, process, exact):
    """Estimates and variances by (process, site, name)."""
    command = [memtrack, "report", "--format", "json", "--top", "0", "--process", str(process), "x.dat"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert report["sampled"] is not exact
    found = {}

    def add(site, costs):
        errors = costs.get("standard_errors", {})
        assert exact or errors
        for name in errors or costs:
            if isinstance(costs[name], int):
                value, variance = found.get((process, site, name), (0, 0))
                found[process, site, name] = (value + costs[name], variance + errors.get(name, 0) ** 2)

    add("", report["totals"])
    for site in report["sites"]:
        for stack in site["stacks"]:
            name = site_of(stack)
            if name:
                add(name, stack)
    return found


def record(memtrack, program, options):
    command = [memtrack, "run", "-q", *options, "-o", "x.dat", program, "fork"]
    said = subprocess.run(command, check=True, capture_output=True).stderr
    assert not said, said
    exact = not options
    found = read(memtrack, 1, exact)
    found.update(read(memtrack, 2, exact))
    return found


def rounding(size, mean):
    """A sampled block counts for a whole number of bytes: by how much that is wrong on average."""
    p = -math.expm1(-max(size, 16) / mean)
    return abs(p * round(size / p) - size)


def slack(key, mean):
    """For the whole, what the C library allocates for the threads, a block of some hundred bytes each, which the child has
    too; and what is rounded."""
    process, site, name = key
    rows = SITES | {"only_child": (*CHILD, 0, 0, 0)}
    rounded = sum(
        row[0] * rounding(row[1], mean) for other, row in rows.items() if name.endswith("bytes") and site in ("", other)
    )
    if site:
        return rounded + 0.5
    return rounded + (4 * 400 if name.endswith("bytes") else 4)


def judge(key, truth, results, mean_bytes, verbose):
    runs = len(results)
    values = [result.get(key, (0, 0))[0] for result in results]
    variance = sum(result.get(key, (0, 0))[1] for result in results) / runs
    mean = sum(values) / runs
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (runs - 1))
    deviation = (mean - truth) / (spread / math.sqrt(runs)) if spread else 0
    error = math.sqrt(variance)
    ratio = error / spread if spread else 1
    problems = []
    if abs(mean - truth) > SIGMAS * spread / math.sqrt(runs) + slack(key, mean_bytes):
        problems.append("biased")
    # Of a sum of many samples the spread is known to 1/sqrt(2 runs); of a few, rare ones to less.
    samples = mean * mean / variance if variance else math.inf
    tolerance = SIGMAS / 2 * math.sqrt(2 / (runs - 1) + (1.5 / (samples * runs) if samples else 0))
    if spread > 2 and samples * runs >= 50 and abs(ratio - 1) > tolerance:
        problems.append("wrong standard error")
    if verbose or problems:
        print(
            f"{key[0]} {key[1] or 'all':10} {key[2]:21} true {truth:9} mean {mean:12.1f} ({deviation:+.2f} sigma)"
            f"  spread {spread:10.1f}  reported {error:10.1f} ({ratio:.2f})  {' '.join(problems)}"
        )
    return not problems


def main():
    memtrack, program, runs, size = sys.argv[1:5]
    verbose = "--list" in sys.argv
    truth = expected()
    exact = record(memtrack, program, [])
    good = True
    for key, value in truth.items():
        got = exact.get(key, (0, 0))[0]
        if abs(got - value) > (slack(key, 1) if not key[1] else 0):
            print(key, "of an exact run: expected", value, "got", got)
            good = False
    results = [record(memtrack, program, ["--sample", size]) for _ in range(int(runs))]
    for key, value in truth.items():
        good = judge(key, value, results, int(size), verbose) and good
    os.unlink("x.dat")
    sys.exit(not good)


main()
