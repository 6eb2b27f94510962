#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs memtrack and other heap profilers on the same work and prints what they cost.

The runs of a workload are interleaved: every round runs each tool once, in an order that rotates.  Printed are medians.
CPU and wall time are those of all processes that the tool's command starts; the peak RSS is the target's own.
"""
import argparse
import itertools
import os
import platform
import re
import shlex
import shutil
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import measure  # noqa: E402
import table  # noqa: E402
import targets  # noqa: E402
import tools  # noqa: E402
import workloads  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(os.environ.get("O", os.path.join(TOP, "build")), "bench")


class Result:
    """What one tool cost on one workload, over all rounds."""

    def __init__(self, tool):
        self.tool = tool
        self.samples = []
        self.failure = None

    def median(self, field):
        values = [sample[field] for sample in self.samples if sample.get(field) is not None]
        return statistics.median(values) if values else None


def say(text):
    """Progress, beside the results."""
    sys.stderr.write("\r\033[K" + text if sys.stderr.isatty() else text + "\n" if text else "")
    sys.stderr.flush()


def read_target(path):
    """The line of the wrapper: peak RSS, start, end, CPU time, status."""
    with open(path) as lines:
        rss, start, end, cpu, status = (int(word) for word in lines.readline().split())
    return {"rss": rss * 1024, "end": end / 1e9, "status": status}


def figures_in(path, names):
    """name=value in what the program printed."""
    with open(path, errors="replace") as out:
        found = dict(re.findall(r"\b([a-z_]+)=([0-9.]+)", out.read()))
    return {name: float(found[name]) for name in names if name in found}


def what_failed(answer, directory):
    """The last line of stderr says most."""
    if "error" in answer:
        return "failed: " + answer["error"]
    with open(os.path.join(directory, "stderr"), errors="replace") as err:
        lines = [line.strip() for line in err if line.strip()]
    return "failed, status %s: %s" % (answer["status"], (lines or ["no message"])[-1][:80])


class Bench:
    def __init__(self, options, chosen_tools, chosen_workloads):
        self.options = options
        self.tools = chosen_tools
        self.workloads = chosen_workloads
        self.limit = options.limit or (600 if options.full else 10)
        self.work = tempfile.mkdtemp(prefix="memtrack-bench-")

    def rounds(self, tool, workload):
        if not tool.fast:
            return 1
        return self.options.rounds or max(workload.rounds, 9 if self.options.full else 0)

    def time_limit(self, tool):
        """Those that run in every round are given more: they are the ones to compare with."""
        return self.limit * (10 if tool.fast and not self.options.full else 1)

    def start(self, tool, workload, directory):
        environment = measure.clean_environment()
        environment.update(workload.environment())
        environment.update(tool.environment(directory))
        environment["BENCH_TARGET"] = os.path.join(directory, "target")
        command = tool.command([os.path.join(BUILD, "target")] + workload.command(tool.slowness), directory)
        return measure.Run(command, environment, directory, self.time_limit(tool), tool.memory)

    def report_seconds(self, tool, workload, recording, directory):
        command = tool.report(workload.executable(), recording)
        if not command:
            return None
        answer = measure.Run(command, measure.clean_environment(), directory, self.limit).wait()
        return answer["wall"] if answer.get("status") == 0 else None

    def sample(self, tool, workload, result, directory):
        """One run.  A failure is noted in the result, which then has no figures."""
        run = self.start(tool, workload, directory)
        driven = workload.drive(directory, run)
        answer = run.wait()
        if answer.get("late"):
            result.failure = "> %d s" % run.limit
            return
        if answer.get("status") != 0 or not os.path.exists(os.path.join(directory, "target")):
            result.failure = what_failed(answer, directory)
            return
        target = read_target(os.path.join(directory, "target"))
        sample = dict(rss=target["rss"], finish=answer["end"] - target["end"], **driven)
        if workload.same_work(tool.slowness):
            sample.update(wall=answer["wall"], cpu=answer["cpu"])
        sample.update(figures_in(os.path.join(directory, "stdout"), workload.figures))
        if tool.name == "native":
            sample["finish"] = None
        else:
            self.look_at_recording(tool, workload, result, sample, directory)
        result.samples.append(sample)

    def wants_report(self, tool, result):
        """Each of memtrack's; of another tool one, and of a slow one only when there is time."""
        return isinstance(tool, tools.Memtrack) or (not result.samples and (tool.fast or self.options.full))

    def look_at_recording(self, tool, workload, result, sample, directory):
        recording = tool.recording(directory)
        if not recording:
            result.failure = "left no recording"
            return
        sample["size"] = sum(os.path.getsize(path) for path in recording)
        if self.wants_report(tool, result):
            sample["report"] = self.report_seconds(tool, workload, recording, directory)
        sample["bytes_per_node"] = tools.bytes_per_node(recording[0])

    def run_round(self, turn, workload, results):
        first = turn % len(self.tools)
        for tool in self.tools[first:] + self.tools[:first]:
            result = results[tool.name]
            if turn >= self.rounds(tool, workload) or result.failure:
                continue
            say("%s, round %d: %s" % (workload.name, turn + 1, tool.name))
            directory = tempfile.mkdtemp(dir=self.work)
            try:
                self.sample(tool, workload, result, directory)
            finally:
                shutil.rmtree(directory)

    def run_group(self, group):
        """All rounds of workloads that are compared with each other, interleaved.  Their results, in the order of the tools."""
        results = {workload.name: {tool.name: Result(tool.name) for tool in self.tools} for workload in group}
        for turn in range(max(self.rounds(tool, workload) for tool in self.tools for workload in group)):
            for workload in group:
                self.run_round(turn, workload, results[workload.name])
        say("")
        return [(workload, list(results[workload.name].values())) for workload in group]

    def clean_up(self):
        shutil.rmtree(self.work, ignore_errors=True)


def machine():
    """What the figures depend on."""
    def field(path, name):
        with open(path) as lines:
            for line in lines:
                if line.startswith(name):
                    return line.partition(":")[2].strip()
        return "?"
    memory = int(field("/proc/meminfo", "MemTotal").split()[0]) >> 20
    return "%d x %s, %d GiB, Linux %s, %s" % (os.cpu_count(), field("/proc/cpuinfo", "model name"), memory,
                                             platform.release(), " ".join(platform.libc_ver()))


def heading(bench, missing):
    lines = ["date      " + time.strftime("%Y-%m-%d %H:%M"),
             "machine   " + machine(),
             "load      %s at the start" % number_of_load(),
             "tools     " + ", ".join(filter(None, (tool.version() for tool in bench.tools))),
             "compiler  " + tools.output_of(os.environ.get("CC", "cc"), "--version").split("\n")[0],
             "method    medians of interleaved runs; limit of a run %d s%s" % (
                 bench.limit, "" if bench.options.full else ", for memtrack and heaptrack ten times as much")]
    return lines + ["missing   %s: %s" % pair for pair in missing]


def number_of_load():
    return "%.1f" % os.getloadavg()[0]


def choose(names, available, what):
    """Those of `available` that are named, by name or by group, in their own order."""
    if not names:
        return available
    wanted = names.split(",")
    known = {name for item in available for name in (item.name, getattr(item, "group", item.name))}
    for name in wanted:
        if name not in known:
            sys.exit("bench.py: no %s '%s'; there are %s" % (what, name, ", ".join(sorted(known))))
    return [item for item in available if item.name in wanted or getattr(item, "group", "") in wanted]


def parse(arguments):
    parser = argparse.ArgumentParser(prog="make bench BENCH_FLAGS=...", description=__doc__)
    parser.add_argument("--full", action="store_true", help="9 rounds, 600 s a run: takes hours")
    parser.add_argument("--only", metavar="WORKLOAD,...", help="these workloads or groups")
    parser.add_argument("--tools", metavar="TOOL,...", help="these tools; native is always run")
    parser.add_argument("--rounds", type=int, help="of native, memtrack and heaptrack (3 to 15); the others run once")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="of a run (10; memtrack and heaptrack: ten times as much)")
    parser.add_argument("--memtrack", metavar="PATH", default=os.path.join(TOP, "memtrack"))
    parser.add_argument("--agent-options", metavar="OPTIONS", default="--sample 512K",
                        help="of a second entry for memtrack, when it knows them (%(default)s)")
    parser.add_argument("--markdown", metavar="FILE", help="write the tables there too")
    parser.add_argument("--strict", action="store_true", help="fail when a target is missed")
    parser.add_argument("--list", action="store_true", help="list workloads and tools")
    return parser.parse_args(arguments)


def print_list(all_tools, all_workloads):
    for workload in all_workloads:
        print("%-16s %s" % (workload.name, workload.title))
    print()
    for tool in all_tools:
        print("%-16s %s" % (tool.name, tool.missing() or tool.version()))


METHOD = """\
Every round runs each tool once, in an order that rotates; the figures are medians over the rounds. Wall and CPU time are those
of all processes that the tool's command starts, until the last of them has ended; after them, and after the peak RSS (the
target's own), stands the ratio to the native run. *recording*: the size of the file. *finish*: from the target's end to the end
of the tool's command, with a finished file. *report*: showing the 20 costliest call sites (`memtrack report --top 20`,
`heaptrack_print -n 20`, `jeprof --text`, `google-pprof --text`).

*ns/pair* of a loop is that of its median portion, *mean* that of all portions, *added* what the tool added to native. DHAT,
jemalloc and gperftools run once, and are given fewer turns of a loop (1/4, 1/15, 1/200), without wall and CPU time then.
`> 10 s`: stopped after that time. Of a stack DHAT keeps the innermost 12 frames, gperftools 32, heaptrack 64, jemalloc 128,
memtrack 256.
"""


def write_markdown(path, lines, sections):
    with open(path, "w") as out:
        out.write("# Results of `make bench`\n\n```\n%s\n```\n\n%s" % ("\n".join(lines), METHOD))
        for title, rows in sections:
            out.write("\n## %s\n\n%s\n" % (title, table.as_markdown(rows)))


def run_all(bench, missing):
    """All tables, printed as they come; the results by workload and tool."""
    lines, sections, results = heading(bench, missing), [], {}
    print("\n".join(lines))
    groups = itertools.groupby(bench.workloads, lambda workload: workload.group)
    for workload, found in itertools.chain.from_iterable(bench.run_group(list(group)) for _, group in groups):
        results.update({(workload.name, result.tool): result for result in found})
        sections.append(("%s: %s" % (workload.name, workload.title), table.workload_rows(workload, found)))
        print("\n%s\n%s" % (sections[-1][0], table.as_text(sections[-1][1])), flush=True)
    return lines, sections, results


def main():
    options = parse(sys.argv[1:])
    all_tools = tools.all_tools(os.path.abspath(options.memtrack), shlex.split(options.agent_options))
    all_workloads = workloads.all_workloads()
    for workload in all_workloads:
        workload.build = BUILD
    if options.list:
        return print_list(all_tools, all_workloads)
    wanted_tools = choose(options.tools and "native," + options.tools, all_tools, "tool")
    wanted_workloads = choose(options.only, all_workloads, "workload")
    missing = [(item.name, item.missing()) for item in wanted_tools + wanted_workloads if item.missing()]
    bench = Bench(options, [tool for tool in wanted_tools if not tool.missing()],
                  [workload for workload in wanted_workloads if not workload.missing()])
    try:
        lines, sections, results = run_all(bench, missing)
    except KeyboardInterrupt:
        return 130
    finally:
        bench.clean_up()
    judged = targets.judge(results)
    rows = targets.rows(judged)
    print("\ntargets\n" + table.as_text(rows))
    if options.markdown:
        write_markdown(options.markdown, lines, [("targets", rows)] + sections)
    return 1 if options.strict and any(target.met is False for target in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
