# SPDX-License-Identifier: MIT
"""The tools that are compared: how each is started, where it leaves its recording, how that is read."""
import contextlib
import glob
import os
import re
import shutil
import sqlite3
import subprocess

# The tables of a recording that hold names and places in the code: as large as the program is, not as its stacks are many.
SYMBOL_TABLES = ("string", "module", "location", "location_frame")


def output_of(*command, **environment):
    """stdout and stderr of a command; empty when it cannot be run."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=60, env=dict(os.environ, **environment))
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def package_version(name):
    return output_of("dpkg-query", "-W", "-f", "${Version}", name).strip() if shutil.which("dpkg-query") else ""


def library(name):
    """The path of a shared library that the loader knows."""
    for line in output_of("/sbin/ldconfig", "-p").splitlines():
        found = re.match(r"\s*%s .*x86-64.* => (\S+)" % re.escape(name), line)
        if found:
            return found.group(1)
    return None


def available_memory():
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))


def bytes_per_node(path):
    """The size of a recording of memtrack without its names, by the nodes of its stack tree; None: cannot be told."""
    try:
        with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % path, uri=True)) as recording:
            nodes = recording.execute("SELECT count(*) FROM node").fetchone()[0]
            symbols = recording.execute("SELECT sum(pgsize) FROM dbstat WHERE name IN (%s)" % ",".join(
                "?" * len(SYMBOL_TABLES)), SYMBOL_TABLES).fetchone()[0]
    except sqlite3.Error:
        return None
    return (os.path.getsize(path) - (symbols or 0)) / nodes if nodes else None


class Tool:
    name = ""
    fast = False   # runs in every round; the others, which are slow and here for orientation, once
    slowness = 1   # counts of loops are divided by it, since the time of a pair does not depend on the count
    memory = None  # most address space for each of its processes

    def missing(self):
        """Why it cannot be used here; None: it can."""
        return None

    def version(self):
        return ""

    def command(self, program, directory):
        return program

    def environment(self, directory):
        return {}

    def recording(self, directory):
        """The files that it left."""
        return sorted(glob.glob(os.path.join(directory, "recording*")))

    def report(self, executable, recording):
        """The command that shows the 20 costliest call sites; None: there is none for the terminal."""
        return None


class Native(Tool):
    name = "native"
    fast = True


class Memtrack(Tool):
    fast = True
    group = "memtrack"  # by which --tools chooses all entries

    def __init__(self, path, options=(), name="memtrack"):
        self.path = path
        self.options = list(options)
        self.name = name

    def missing(self):
        return None if os.access(self.path, os.X_OK) else "%s is not there; make" % self.path

    def version(self):
        return (output_of(self.path, "--version").split("\n") + [""])[0]

    def command(self, program, directory):
        return [self.path, "run", "-o", os.path.join(directory, "recording.dat")] + self.options + ["--"] + program

    def report(self, executable, recording):
        return [self.path, "report", "--top", "20", recording[0]]


class Heaptrack(Tool):
    name = "heaptrack"
    fast = True

    def __init__(self):
        # Its interpreter has been seen to take 19 GB where there was much debug information.
        self.memory = available_memory() * 6 // 10

    def missing(self):
        return None if shutil.which("heaptrack") else "no heaptrack"

    def version(self):
        return output_of("heaptrack", "--version").strip()

    def command(self, program, directory):
        return ["heaptrack", "-o", os.path.join(directory, "recording")] + program

    def report(self, executable, recording):
        return ["heaptrack_print", "-n", "20", "-f", recording[0]]


class Dhat(Tool):
    name = "dhat"
    slowness = 4

    def missing(self):
        return None if shutil.which("valgrind") else "no valgrind"

    def version(self):
        return output_of("valgrind", "--version").strip()

    def command(self, program, directory):
        out = "--dhat-out-file=" + os.path.join(directory, "recording.%p")
        return ["valgrind", "-q", "--tool=dhat", "--trace-children=yes", out] + program


class Jemalloc(Tool):
    """Its profiler, without sampling.  The library has to be built with --enable-prof."""

    name = "jemalloc"
    slowness = 15

    def __init__(self):
        self.path = library("libjemalloc.so.2")

    def missing(self):
        if not self.path:
            return "no libjemalloc.so.2"
        complaint = output_of("/bin/true", LD_PRELOAD=self.path, MALLOC_CONF="prof:true")
        return "built without profiling" if "Invalid conf" in complaint else None

    def version(self):
        return "jemalloc " + package_version("libjemalloc2")

    def environment(self, directory):
        prefix = os.path.join(directory, "recording")
        return {"LD_PRELOAD": self.path, "MALLOC_CONF": "prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:" + prefix}

    def report(self, executable, recording):
        return ["jeprof", "--text", executable, recording[-1]] if shutil.which("jeprof") else None


class Gperftools(Tool):
    name = "gperftools"
    slowness = 200

    def __init__(self):
        self.path = library("libtcmalloc.so.4")

    def missing(self):
        return None if self.path else "no libtcmalloc.so.4"

    def version(self):
        return "gperftools " + package_version("libgoogle-perftools4")

    def environment(self, directory):
        return {"LD_PRELOAD": self.path, "HEAPPROFILE": os.path.join(directory, "recording")}

    def report(self, executable, recording):
        return ["google-pprof", "--text", executable, recording[-1]] if shutil.which("google-pprof") else None


def all_tools(memtrack, options):
    """The tools in the order of the tables.  `options`: of a second entry for memtrack, when it knows them."""
    tools = [Native(), Memtrack(memtrack)]
    known = re.findall(r"--[a-z-]+", output_of(memtrack, "run", "-h"))
    wanted = [word.partition("=")[0] for word in options if word.startswith("--")]
    if options and all(word in known for word in wanted):
        name = "memtrack-" + "-".join(word.strip("-") for word in wanted)
        tools.append(Memtrack(memtrack, options, name))
    return tools + [Heaptrack(), Dhat(), Jemalloc(), Gperftools()]
