# SPDX-License-Identifier: MIT
"""What the tools are run on.

Loops measure themselves and print `name=value`, in ns; how often they loop is their own matter, so that a slow tool can be
given fewer turns.  Programs are the same work for every tool.
"""
import os
import re
import shutil
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def source(name):
    return os.path.join(HERE, "prog", name)


class Workload:
    """`command` is a program and its arguments; {build} stands for the folder of the built programs, {count} for `count`
    divided by the slowness of the tool.  `figures`: what it prints, the time of a pair first where it has one.  `rounds`: in a
    quick run."""

    def __init__(self, name, group, title, command, figures=(), count=0, environment=None, rounds=3):
        self.name, self.group, self.title = name, group, title
        self.words, self.count = command, count
        self.figures = list(figures)
        self.more_environment = environment or {}
        self.pair = self.figures[0] if self.figures and self.figures[0] in ("typical_ns", "ns_per_pair") else None
        self.rounds = rounds
        self.build = "."

    def missing(self):
        """Why it cannot be run here; None: it can."""
        return None if self.executable() else "no %s" % os.path.basename(self.words[0])

    def executable(self):
        return shutil.which(self.words[0].format(build=self.build))

    def command(self, slowness):
        return [word.format(build=self.build, count=self.count // slowness) for word in self.words]

    def same_work(self, slowness):
        return slowness == 1 or self.count == 0

    def environment(self):
        return self.more_environment

    def drive(self, directory, run):
        """Is called when the command runs.  May return figures of its own."""
        return {}


class Redis(Workload):
    """The server is measured, the client is not."""

    def __init__(self):
        super().__init__("redis", "redis", "redis-server: 4 x 150 000 requests by redis-benchmark -P 16",
                         ["redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no"],
                         figures=["requests_s"])

    def missing(self):
        for program in ("redis-server", "redis-benchmark", "redis-cli"):
            if not shutil.which(program):
                return "no " + program
        return None

    def ask(self, directory, *words):
        return subprocess.run(["redis-cli", "-s", "socket"] + list(words), cwd=directory, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout.strip()

    def drive(self, directory, run):
        started = time.monotonic()
        while self.ask(directory, "ping") != "PONG":
            if time.monotonic() > started + run.limit:
                return {}
            time.sleep(0.02)
        try:
            answer = subprocess.run(
                ["redis-benchmark", "-s", "socket", "-P", "16", "-c", "20", "-n", "150000", "-r", "100000", "--csv", "-t",
                 "set,get,lpush,hset"], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                timeout=run.limit)
        except subprocess.TimeoutExpired:
            return {}
        self.ask(directory, "shutdown", "nosave")
        rates = [float(rate) for rate in re.findall(r'^"[A-Z]+[^"]*","([0-9.]+)"', answer.stdout, re.M)]
        # The requests of all kinds together, per second.
        return {"requests_s": len(rates) / sum(1 / rate for rate in rates)} if rates else {}


class Compiler(Workload):
    def __init__(self):
        super().__init__("cc1plus", "cc1plus", "cc1plus -O0 on a source with <regex> (1.6 M allocations, 378 000 nodes)",
                         ["cc1plus"])

    def where(self):
        if not shutil.which("g++"):
            return ""
        return subprocess.run(["g++", "-print-prog-name=cc1plus"], stdout=subprocess.PIPE, text=True).stdout.strip()

    def missing(self):
        return None if os.access(self.where(), os.X_OK) else "no cc1plus"

    def executable(self):
        return self.where()

    def command(self, slowness):
        architecture = subprocess.run(["g++", "-print-multiarch"], stdout=subprocess.PIPE, text=True).stdout.strip()
        return [self.where(), "-quiet", "-imultiarch", architecture, "-O0", source("regex.cpp"), "-o", "out.s"]


def python():
    """The system's, so that figures of different machines mean the same; else any."""
    return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else "python3"


def pairs(depth, threads, shape=""):
    name = "pairs-%d-%d" % (depth, threads) if not shape else "leaves-%d" % depth
    title = "malloc and free in a loop, depth %d, %d thread%s" % (depth, threads, "s" if threads > 1 else "")
    if shape:
        title += ", callers that take turns"
    command = ["{build}/pairs", str(depth), str(threads), "{count}"] + ([shape] if shape else [])
    return Workload(name, "pairs", title, command, ["typical_ns", "ns_per_pair", "typical_cpu_ns"], 2000000 // threads, rounds=5)


def all_workloads():
    loops = [pairs(depth, threads) for depth in (5, 20, 50) for threads in (1, 2)]
    loops += [
        pairs(20, 1, "leaves"),
        Workload("rust", "rust", "Rust: Vec::with_capacity(64), made and dropped", ["{build}/vec_loop", "{count}"],
                 ["typical_ns", "ns_per_pair"], 2000000, rounds=5),
        Workload("live", "live", "1 M live blocks, replaced by chance (one free, one malloc)",
                 ["{build}/live", "1000000", "1000000"], ["ns_per_pair", "fill_ns", "clear_ns"]),
        Workload("handoff", "handoff", "one thread allocates, another one frees", ["{build}/handoff", "{count}"],
                 ["ns_per_pair", "cpu_ns_per_pair"], 1000000, rounds=5),
        Workload("paths", "paths", "65 536 different stacks: new, the same again, by chance", ["{build}/paths", "65536", "4"],
                 ["fresh_ns", "again_ns", "chance_ns"]),
    ]
    programs = [
        Workload("python", "python", "python3: JSON and regular expressions (3.8 M allocations)",
                 [python(), source("json_regex.py")], environment={"PYTHONMALLOC": "malloc"}),
        Compiler(),
        Workload("sqlite", "sqlite", "sqlite3: inserts, an index, a join (3.2 M allocations)",
                 ["sqlite3", "-batch", ":memory:", ".read '%s'" % source("join.sql")]),
        Redis(),
        Workload("perl", "perl", "perl: counting words (1.5 M allocations)", ["perl", source("words.pl")]),
        Workload("threads", "threads", "C++: maps and strings in four threads (4 M allocations)", ["{build}/threads"]),
        Workload("idle", "idle", "a program that sleeps for 0.2 s", ["{build}/idle"], rounds=5),
        Workload("true", "true", "true: what starting costs", ["true"], rounds=15),
    ]
    return loops + programs
