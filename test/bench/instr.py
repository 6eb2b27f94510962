#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the agent's instructions per pair of malloc and free, with callgrind: a figure that the load of the machine
does not change.  It may not exceed the ceiling in instr.ceiling by more than 2 %.  Prints TAP.

instr.py --update writes the ceilings anew.  Environment: MEMTRACK (the agent lies beside it), O (the build folder),
CC and CFLAGS (what the agent was built with).
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CEILINGS = os.path.join(HERE, "instr.ceiling")
SLACK = 1.02
WORTH_LOWERING = 0.95

# Name, command, argument that is doubled (by its index), pairs that come with it.  The cost of a pair is the difference of the
# two runs, so what happens once does not count.
FIGURES = [
    ("pair-depth-5", ["pairs", "5", "1", "8192"], 3, 8192),
    ("pair-depth-20", ["pairs", "20", "1", "8192"], 3, 8192),
    ("pair-depth-50", ["pairs", "50", "1", "8192"], 3, 8192),
    ("leaves-depth-20", ["pairs", "20", "1", "8192", "leaves"], 3, 8192),
    ("fresh-stack", ["paths", "4096"], 1, 4096),
    ("known-stack", ["paths", "2048", "1"], 2, 2 * 2048),  # in order, and by chance
]


def self_cost(path, name):
    """The instructions in an object of the program itself, without those it calls, from callgrind's output."""
    objects, here, total, skip = {}, None, 0, False
    with open(path) as lines:
        for line in lines:
            if line.startswith("ob="):
                number, text = re.match(r"ob=(\(\d+\)) ?(.*)", line).groups()
                here = objects.setdefault(number, text)
            elif line.startswith("cob="):
                number, text = re.match(r"cob=(\(\d+\)) ?(.*)", line).groups()
                objects.setdefault(number, text)
            elif line.startswith("calls="):
                skip = True  # the next line is what the callee cost
            elif line[0] in "0123456789+-*":
                if not skip and here and os.path.basename(here) == name:
                    total += int(line.split()[1])
                skip = False
    return total


def agent_instructions(agent, command, session, out):
    os.makedirs(session)
    environment = dict(os.environ, LD_PRELOAD=agent,
                       MEMTRACK_SESSION="depth=256,buckets=16384,follow=1:" + session)
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + out] + command,
                   env=environment, stdout=subprocess.DEVNULL, check=True)
    return self_cost(out, os.path.basename(agent))


def measure(agent, programs, work, figure):
    name, command, doubled, pairs = figure
    costs = []
    for factor in (1, 2):
        arguments = [str(int(a) * factor) if i == doubled else a for i, a in enumerate(command)]
        arguments[0] = os.path.join(programs, command[0])
        place = os.path.join(work, "%s-%d" % (name, factor))
        costs.append(agent_instructions(agent, arguments, place, place + ".out"))
    if costs[0] == 0:
        sys.exit("instr.py: no instruction of %s was counted" % agent)
    return (costs[1] - costs[0]) / pairs


def compiler():
    """What makes the figures comparable: the compiler and its flags."""
    cc = os.environ.get("CC", "cc").split()
    answer = subprocess.run(cc + ["-dumpfullversion"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    version = "gcc " + answer.stdout.strip() if answer.returncode == 0 else cc[0]
    return "%s %s" % (version, os.environ.get("CFLAGS", "-O2 -g"))


def read_ceilings():
    built_by, ceilings = None, {}
    with open(CEILINGS) as lines:
        for line in lines:
            if line.startswith("# built by: "):
                built_by = line[len("# built by: "):].strip()
            elif not line.startswith("#"):
                name, value = line.split()
                ceilings[name] = float(value)
    return built_by, ceilings


def write_ceilings(figures):
    with open(CEILINGS, "w") as out:
        out.write("# Instructions of the agent per pair of malloc and free.  `make bench-instr UPDATE=1` writes this file.\n")
        out.write("# built by: %s\n" % compiler())
        for name, value in figures:
            out.write("%-16s %.1f\n" % (name, value))


def judge(number, name, value, ceiling):
    """Prints a line of TAP; false for a figure that is too high."""
    good = ceiling is not None and value <= ceiling * SLACK
    limit = "no ceiling" if ceiling is None else "ceiling %.1f" % ceiling
    print("%s %d - %s: %.1f instructions (%s)" % ("ok" if good else "not ok", number, name, value, limit), flush=True)
    if good and value < ceiling * WORTH_LOWERING:
        print("# %s: lower the ceiling (make bench-instr UPDATE=1)" % name, flush=True)
    return good


def reason_to_skip(update):
    if subprocess.run(["sh", "-c", "command -v valgrind"], stdout=subprocess.DEVNULL).returncode != 0:
        return "valgrind is not here"
    if not update and compiler() != read_ceilings()[0]:
        return "the ceilings are for %s, this is %s" % (read_ceilings()[0], compiler())
    return None


def main():
    update = sys.argv[1:] == ["--update"]
    reason = reason_to_skip(update)
    if reason:
        print("1..0 # SKIP " + reason)
        return 0
    memtrack = os.path.abspath(os.environ.get("MEMTRACK", os.path.join(TOP, "memtrack")))
    agent = os.path.join(os.path.dirname(memtrack), "libmemtrack.so")
    programs = os.path.join(os.environ.get("O", os.path.join(TOP, "build")), "bench")
    ceilings = {} if update else read_ceilings()[1]
    figures, bad = [], 0
    print("1..%d" % len(FIGURES))
    with tempfile.TemporaryDirectory(prefix="memtrack-instr-") as work:
        for number, figure in enumerate(FIGURES, 1):
            value = measure(agent, programs, work, figure)
            figures.append((figure[0], value))
            bad += not judge(number, figure[0], value, value if update else ceilings.get(figure[0]))
    if update:
        write_ceilings(figures)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
