#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs run --malloc=stomp and other finders of heap errors on the same bugs and on correct programs, and prints what each
caught and cost.

Each tool has the settings that it needs to see bytes of odd blocks and those before a block; one setting after the other is
tried until one catches the bug.  Runs are interleaved: every round runs each tool once.  Printed are medians.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[1:1] = [os.path.join(TOP, "test", "e2e", "long")]
import asan_bugs  # noqa: E402
import bench  # noqa: E402
import measure  # noqa: E402
import table  # noqa: E402
import tools  # noqa: E402
import workloads  # noqa: E402

BUILD = bench.BUILD
PROGRAMS = os.path.join(os.path.dirname(BUILD), "test", "prog")
TABLE = os.path.join(TOP, "test", "prog", "bugs.table")


class Outcome:
    """What one run left."""

    def __init__(self, answer, directory):
        self.directory = directory
        self.wall, self.late = answer.get("wall"), answer.get("late")
        self.rss, self.status = None, None
        if os.path.exists(os.path.join(directory, "target")) and not self.late:
            target = bench.read_target(os.path.join(directory, "target"))
            self.rss, self.status = target["rss"], target["status"]
        self.out, self.err = self.text("stdout"), self.text("stderr")

    def text(self, name):
        with open(os.path.join(self.directory, name), errors="replace") as file:
            return file.read()

    def died_of(self):
        """The name of the signal, also where a tool in between passes it on as a status."""
        number = 0
        if self.status is not None:
            number = os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else os.WEXITSTATUS(self.status) - 128
        return signal.Signals(number).name if 0 < number < 64 else None


def offset_is(row, offset):
    low, _, high = row["offset"].partition("..")
    return str(offset) == row["offset"] or bool(high) and int(low) <= int(offset) <= int(high)


class Tool:
    """`settings`: names and what they stand for, in the order in which they are tried.  A verdict is whether the bug was
    caught, and a word on how."""

    name = ""
    settings = (("", ""),)
    for_programs = None  # settings to try on correct programs; None: the first of the others
    rebuilds = False  # works on programs that were compiled for it only

    def missing(self):
        return None

    def version(self):
        return ""

    def command(self, setting, program, directory):
        return program

    def environment(self, setting):
        return {}

    def executable(self, path):
        return path

    def verdict(self, row, outcome):
        name = outcome.died_of()
        return bool(name), name or "no"


class Native(Tool):
    name = "native"


class Stomp(Tool):
    name = "stomp"
    settings = (("", ""), ("align=1", "align=1"), ("under", "under"))

    def __init__(self, memtrack):
        self.memtrack = memtrack

    def missing(self):
        return None if "--malloc" in tools.output_of(self.memtrack, "run", "-h") else "run has no --malloc"

    def version(self):
        return (tools.output_of(self.memtrack, "--version").split("\n") + [""])[0]

    def command(self, setting, program, directory):
        name = "stomp:" + setting if setting else "stomp"
        return [self.memtrack, "run", "-q", "--malloc=" + name, "--trace=none", "-o",
                os.path.join(directory, "recording.dat"), "--"] + program

    def verdict(self, row, outcome):
        recording = os.path.join(outcome.directory, "recording.dat")
        try:
            errors = json.loads(tools.output_of(self.memtrack, "report", "--format", "json", "--all", recording))["errors"]
        except (ValueError, KeyError):
            return False, "no report"
        if not errors:
            return False, "no"
        kind, block = errors[0]["kind"], errors[0]["block"]
        if kind != row["kind"]:
            # In a block of an odd size align=1 tells at the access what is told at the free else.
            return True, "yes" if row["kind"] == "heap-corruption" and kind.startswith("heap-buffer") else kind
        if row["size"] == "-":
            return True, "yes"
        if not block or str(block["size"]) != row["size"]:
            return True, "other block"
        return True, "yes" if offset_is(row, block["offset"]) else "other place"


class StompPreloaded(Tool):
    """The library alone, which tells what it found on stderr."""

    name = "stomp, preloaded"
    settings = Stomp.settings

    def __init__(self, memtrack):
        self.path = os.path.join(os.path.dirname(memtrack), "libmemtrack-stomp.so")

    def missing(self):
        return None if os.path.exists(self.path) else "no libmemtrack-stomp.so"

    def environment(self, setting):
        return dict({"LD_PRELOAD": self.path}, **({"MEMTRACK_STOMP": setting} if setting else {}))

    def verdict(self, row, outcome):
        name = outcome.died_of()
        if row["kind"] in outcome.err:
            return True, "yes"
        return bool(name), name or "no"


class Fence(Tool):
    """What Electric Fence and DUMA have in common: a signal, and a line when a free was wrong."""

    def verdict(self, row, outcome):
        if row["kind"] not in ("double-free", "invalid-free") and re.search(r"not from|before first malloc", outcome.err):
            return False, "breaks free"  # of a block that it does not know: without the bug as well
        return super().verdict(row, outcome)


class ElectricFence(Fence):
    name = "Electric Fence"
    for_programs = (("", {}), ("PROTECT_FREE=0", {"EF_PROTECT_FREE": "0"}))
    settings = (("", {}), ("align=1", {"EF_ALIGNMENT": "1"}), ("below", {"EF_PROTECT_BELOW": "1"}))

    def path(self):
        return tools.library("libefence.so.0")

    def missing(self):
        return None if self.path() else "no libefence.so.0"

    def version(self):
        return "electric-fence " + tools.package_version("electric-fence")

    def environment(self, setting):
        return dict({"EF_PROTECT_FREE": "1"}, LD_PRELOAD=self.path(), EF_ALLOW_MALLOC_0="1", EF_DISABLE_BANNER="1", **setting)


class Duma(Fence):
    name = "DUMA"
    for_programs = (("", {}), ("PROTECT_FREE=0", {"DUMA_PROTECT_FREE": "0"}))
    settings = (("", {}), ("align=1", {"DUMA_ALIGNMENT": "1"}), ("below", {"DUMA_PROTECT_BELOW": "1"}))

    def path(self):
        return tools.library("libduma.so.0.0.0")

    def missing(self):
        return None if self.path() else "no libduma.so.0.0.0"

    def version(self):
        return "duma " + tools.package_version("duma")

    def environment(self, setting):
        return dict({"DUMA_PROTECT_FREE": "1"}, LD_PRELOAD=self.path(), DUMA_ALLOW_MALLOC_0="1", DUMA_DISABLE_BANNER="1", **setting)


class Memcheck(Tool):
    name = "memcheck"

    def missing(self):
        return None if shutil.which("valgrind") else "no valgrind"

    def version(self):
        return tools.output_of("valgrind", "--version").strip()

    def command(self, setting, program, directory):
        return ["valgrind", "-q"] + program

    PLACE = re.compile(r"is (\d+) bytes (after|before|inside) (?:a|an unallocated) block of size ([\d,]+)")

    def verdict(self, row, outcome):
        lines = [line for line in outcome.err.splitlines() if line.startswith("==")]
        if not any("Invalid" in line or "Mismatched" in line for line in lines):
            return False, "no"
        place = next(filter(None, map(self.PLACE.search, lines)), None)
        if row["size"] == "-":
            return True, "yes"
        if not place:
            return True, "no block"
        distance, where, size = int(place.group(1)), place.group(2), int(place.group(3).replace(",", ""))
        offset = size + distance if where == "after" else -distance if where == "before" else distance
        if str(size) != row["size"]:
            return True, "other block"
        return True, "yes" if offset_is(row, offset) else "other place"


class AddressSanitizer(Tool):
    name = "ASan"
    rebuilds = True

    def missing(self):
        return None if os.path.exists(self.executable(os.path.join(PROGRAMS, "bugs"))) else "the compiler has none"

    def version(self):
        return "AddressSanitizer of " + tools.output_of(os.environ.get("CC", "cc"), "--version").split("\n")[0]

    def executable(self, path):
        return os.path.join(BUILD, "asan", os.path.basename(path))

    def environment(self, setting):
        # A null pointer for what is too large and the program's own handlers, as without it.
        return {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=1:allow_user_segv_handler=1"}

    def verdict(self, row, outcome):
        found = asan_bugs.parse(outcome.err)
        if not found["kind"]:
            return False, "no"
        wanted = asan_bugs.as_seen_by_asan(row)
        if found["kind"] != wanted["kind"]:
            return True, "wild address" if "SEGV" in found["kind"] else found["kind"]
        if row["size"] == "-":
            return True, "yes"
        if found["size"] == "-":
            return True, "no block"
        if found["size"] != row["size"]:
            return True, "other block"
        return True, "yes" if offset_is(row, found["offset"]) else "other place"


PYTHON = """
import json, re
rows = [{"id": i, "name": "n%d" % i, "tags": ["a", "b", str(i % 7)]} for i in range(4000)]
text = json.dumps(rows)
assert json.loads(text) == rows
print(len(re.findall('"name": "(n[0-9]+)"', text)), len(re.sub("[0-9]+", "#", text)))
"""

PERL = """
my %h; my $t = join(" ", map { "w" . ($_ % 5000) } 1 .. 20000);
$h{$1}++ while $t =~ /(w\\d+)/g;
my @s = sort { $h{$b} <=> $h{$a} || $a cmp $b } keys %h;
print scalar(@s), " $s[0]\\n";
"""

SQL = """
CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT);
CREATE TABLE b (id INTEGER, w INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO a SELECT i, 'value ' || i FROM n;
INSERT INTO b SELECT id, id * 7 % 1000 FROM a;
SELECT count(*), sum(w), max(v) FROM a JOIN b USING (id) WHERE w < 500;
"""


def correct_programs():
    return [("a C loop: 300 000 x malloc, free", [os.path.join(BUILD, "pairs"), "5", "1", "300000"], True),
            ("a C program: 20 000 live blocks, 200 000 replaced", [os.path.join(BUILD, "live"), "20000", "200000"], True),
            ("python3: JSON and regular expressions", [workloads.python(), "-c", PYTHON], False),
            ("sqlite3: 20 000 inserts, a join", ["sqlite3", "-batch", ":memory:", SQL], False),
            ("perl: counting words", ["perl", "-e", PERL], False)]


class Comparison:
    def __init__(self, options, chosen):
        self.options, self.tools = options, chosen
        self.work = tempfile.mkdtemp(prefix="memtrack-bench-")
        self.unsound = {}  # (tool, setting, program): how its control failed

    def run(self, tool, setting, program, limit):
        """An outcome, whose folder is there until the next run."""
        directory = os.path.join(self.work, "run")
        shutil.rmtree(directory, ignore_errors=True)
        os.mkdir(directory)
        environment = measure.clean_environment()
        environment.pop("MEMTRACK_OPTIONS", None)
        environment.update(tool.environment(setting), PYTHONMALLOC="malloc", BENCH_TARGET=os.path.join(directory, "target"))
        # Outermost, so that the memory of a tool's own processes counts as well.
        command = [os.path.join(BUILD, "target")] + tool.command(setting, program, directory)
        return Outcome(measure.Run(command, environment, directory, limit).wait(), directory)

    def sound(self, tool, setting_name, setting, name):
        """Whether the program without a bug goes through: a tool that breaks it has caught nothing."""
        key = (tool.name, setting_name, name)
        if key not in self.unsound:
            outcome = self.run(tool, setting, [tool.executable(os.path.join(PROGRAMS, name)), "control"], self.options.limit)
            done = outcome.status == 0 and outcome.out.strip() == "done"
            self.unsound[key] = "" if done else "hangs" if outcome.late else last_words(outcome) or outcome.died_of() or "wrong output"
        return not self.unsound[key]

    def settle(self, tool, row):
        """The first setting that catches the bug, with the word on it; else the first, and no."""
        program = [tool.executable(os.path.join(PROGRAMS, row["program"])), row["mode"]]
        word = None
        for name, setting in tool.settings:
            if not self.sound(tool, name, setting, row["program"]):
                word = word or "unusable"
                continue
            outcome = self.run(tool, setting, program, self.options.limit)
            if outcome.late:
                word = "hangs"
                continue
            caught, how = tool.verdict(row, outcome)
            if caught:
                return True, how + (" (%s)" % name if name else ""), setting, outcome
            word = how
        return False, word or "no", tool.settings[0][1], None

    def bugs(self, rows):
        """{(mode, tool): (caught, word, seconds, bytes)}"""
        results = {}
        for row in rows:
            settled, samples = {}, {tool.name: [] for tool in self.tools}
            for turn in range(self.options.rounds):
                for tool in self.tools:
                    bench.say("%s, round %d: %s" % (row["mode"], turn + 1, tool.name))
                    if turn == 0:
                        settled[tool.name] = self.settle(tool, row)
                    outcome = settled[tool.name][3]
                    if turn > 0 or not outcome:
                        program = [tool.executable(os.path.join(PROGRAMS, row["program"])), row["mode"]]
                        outcome = self.run(tool, settled[tool.name][2], program, self.options.limit)
                    if not outcome.late and outcome.rss:
                        samples[tool.name].append((outcome.wall, outcome.rss))
            for tool in self.tools:
                walls, sizes = zip(*samples[tool.name]) if samples[tool.name] else ((), ())
                results[row["mode"], tool.name] = settled[tool.name][:2] + (
                    statistics.median(walls) if walls else None, statistics.median(sizes) if sizes else None)
        bench.say("")
        return results

    def one_program(self, tool, title, program, ours, native_out):
        """An outcome, or a word on how it failed with each of the settings."""
        words = [tool.executable(program[0]) if ours else program[0]] + program[1:]
        failure = None
        for name, setting in self.program_settings(tool, title):
            outcome = self.run(tool, setting, words, self.options.program_limit)
            if outcome.late:
                failure = "> %d s" % self.options.program_limit
            elif outcome.status or not ours and native_out not in (None, outcome.out):
                failure = "fails: " + (last_words(outcome) or outcome.died_of() or "other output")
            else:
                self.chosen[title, tool.name] = [(name, setting)]
                return outcome
        return failure

    def program_settings(self, tool, title):
        return self.chosen.get((title, tool.name)) or tool.for_programs or tool.settings[:1]

    def programs(self):
        """{(title, tool): (seconds, bytes, setting) or a word}"""
        results, self.chosen = {}, {}
        for title, program, ours in correct_programs():
            if not shutil.which(program[0]):
                continue
            samples, native_out = {tool.name: [] for tool in self.tools}, None
            for tool in self.tools * self.options.rounds:
                key = (title, tool.name)
                if key in results:
                    continue
                if tool.rebuilds and not ours:
                    results[key] = "not rebuilt"
                    continue
                bench.say("%s: %s" % key)
                outcome = self.one_program(tool, title, program, ours, native_out)
                if isinstance(outcome, str):
                    results[key] = outcome
                    continue
                native_out = outcome.out if tool.name == "native" else native_out
                samples[tool.name].append((outcome.wall, outcome.rss))
            for tool in self.tools:
                key = (title, tool.name)
                if samples[tool.name] and key not in results:
                    walls, sizes = zip(*samples[tool.name])
                    results[key] = (statistics.median(walls), statistics.median(sizes), self.chosen[key][0][0])
        bench.say("")
        return results

    def modes_of_correct(self):
        """How many modes of correct.c go through, and which do not; [(tool, count, names)]"""
        path = os.path.join(PROGRAMS, "correct")
        modes = tools.output_of(path, "list").split()
        rows = [["", "of %d" % len(modes), "not"]]
        for tool in self.tools:
            failed = []
            for mode in modes:
                bench.say("correct %s: %s" % (mode, tool.name))
                outcome = self.run(tool, tool.settings[0][1], [tool.executable(path), mode], self.options.limit)
                if outcome.late or outcome.out.strip() != "fine" or outcome.status:
                    failed.append(mode)
            rows.append([tool.name, str(len(modes) - len(failed)), " ".join(failed)])
        bench.say("")
        return rows


def last_words(outcome):
    lines = [line.strip() for line in outcome.err.splitlines() if line.strip()]
    return re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b", "...", lines[-1])[:60] if lines else ""


def summary_rows(chosen, rows, results):
    out = [["", "caught of %d" % len(rows), "with kind and place", "time, median", "longest", "peak RSS, median", "largest"]]
    for tool in chosen:
        mine = [results[row["mode"], tool.name] for row in rows]
        walls, sizes = [r[2] for r in mine if r[2]], [r[3] for r in mine if r[3]]
        told = sum(r[0] and (r[1] + " ").startswith("yes ") for r in mine)
        out.append([tool.name, str(sum(r[0] for r in mine)), str(told) if tool.name != "native" else "-",
                    table.seconds(statistics.median(walls)), table.seconds(max(walls)),
                    table.size(statistics.median(sizes)), table.size(max(sizes))])
    return out


def bug_rows(chosen, rows, results, show):
    return [[""] + [tool.name for tool in chosen]] + [
        [row["mode"]] + [show(results[row["mode"], tool.name]) for tool in chosen] for row in rows]


def program_rows(chosen, results):
    out = [[""] + [tool.name for tool in chosen]]
    for title, _, _ in correct_programs():
        if (title, "native") not in results:
            continue
        base = results[title, "native"]
        cells = {"time": [], "peak RSS": []}
        for tool in chosen:
            got = results.get((title, tool.name), "-")
            for i, (what, show) in enumerate((("time", table.seconds), ("peak RSS", table.size))):
                if isinstance(got, str):
                    cells[what].append(got if what == "time" else "-")
                else:
                    more = "" if tool.name == "native" or isinstance(base, str) else ", " + table.ratio(got[i], base[i])
                    cells[what].append(show(got[i]) + more + (" (%s)" % got[2] if got[2] and what == "time" else ""))
        out += [["%s: %s" % (title, what)] + cells[what] for what in cells]
    return out


METHOD = """\
Each bug of `test/prog/bugs.table` is one small program; `test/e2e/stomp.bats` holds stomp to every line of it. A tool catches a bug
when it says so or when the program dies of a signal; the same program without a bug has to go through. *yes*: with the kind of error,
the block and the distance from it. *no block*, *other block*, *other place*: caught, but that is what was said of it. A signal's name:
that is all there was. *breaks free*: it dies of a block that it does not
know, with the bug and without. Bytes past a block of an odd size, and those before a block, are beyond a guard page where it usually lies: each of
the tools that have such pages is given all three of its settings, and the one is named that was needed, `align=1` (`stomp:align=1`,
`EF_ALIGNMENT=1`, `DUMA_ALIGNMENT=1`) or `under`/`below` (`stomp:under`, `EF_PROTECT_BELOW=1`, `DUMA_PROTECT_BELOW=1`). Electric
Fence and DUMA run with `*_PROTECT_FREE=1`, so that they see uses after free, and `*_ALLOW_MALLOC_0=1`.

Time is that of the whole command, with the report: stomp as `memtrack run --malloc=stomp --trace=none`, with names of functions and
a recording; *preloaded* the library by itself. Memory is that of the largest process. Medians of interleaved runs. The correct
programs run with the first setting, Electric Fence and DUMA also with `*_PROTECT_FREE=0` when they fail with it; *what may not be
taken for an error* are the modes of `test/prog/correct.c`; python3 with `PYTHONMALLOC=malloc`. AddressSanitizer needs programs that are compiled for it.
"""


def heading(comparison, missing):
    lines = ["date      " + time.strftime("%Y-%m-%d %H:%M"),
             "machine   " + bench.machine(),
             "load      %s at the start" % bench.number_of_load(),
             "tools     " + ", ".join(filter(None, (tool.version() for tool in comparison.tools))),
             "rounds    %d, limit of a run %d s (bugs), %d s (programs)" % (
                 comparison.options.rounds, comparison.options.limit, comparison.options.program_limit)]
    return lines + ["missing   %s: %s" % pair for pair in missing]


def parse():
    parser = argparse.ArgumentParser(prog="make bench-stomp BENCH_FLAGS=...", description=__doc__)
    parser.add_argument("--only", metavar="MODE,...", help="these bugs")
    parser.add_argument("--tools", metavar="TOOL,...", help="these tools, by the first words of their names; native always runs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="of a run with a bug")
    parser.add_argument("--program-limit", type=float, default=60, metavar="SECONDS", help="of a run of a correct program")
    parser.add_argument("--memtrack", metavar="PATH", default=os.path.join(TOP, "memtrack"))
    parser.add_argument("--markdown", metavar="FILE", help="write the tables there too")
    return parser.parse_args()


ASAN_FLAGS = "-O2 -g -fno-builtin -fno-optimize-sibling-calls -fno-omit-frame-pointer -D_GNU_SOURCE -pthread -fsanitize=address -w"


def build_for_asan():
    """What cannot be built is missing then."""
    directory = os.path.join(BUILD, "asan")
    os.makedirs(directory, exist_ok=True)
    for name, source, compiler in (("bugs", "test/prog/bugs.c", os.environ.get("CC", "gcc")),
                                   ("bugs++", "test/prog/bugs.cpp", os.environ.get("CXX", "g++")),
                                   ("correct", "test/prog/correct.c", os.environ.get("CC", "gcc")),
                                   ("pairs", "test/bench/prog/pairs.c", os.environ.get("CC", "gcc")),
                                   ("live", "test/bench/prog/live.c", os.environ.get("CC", "gcc"))):
        subprocess.run(shlex.split(compiler) + ASAN_FLAGS.split() + ["-iquote", ".", "-o", os.path.join(directory, name), source],
                       cwd=TOP, check=False)


def main():
    options = parse()
    options.memtrack = os.path.abspath(options.memtrack)
    build_for_asan()
    every = [Native(), Stomp(options.memtrack), StompPreloaded(options.memtrack), ElectricFence(), Duma(), Memcheck(), AddressSanitizer()]
    if options.tools:
        wanted = tuple(options.tools.split(","))
        every = [tool for tool in every if tool.name == "native" or tool.name.startswith(wanted)]
    missing = [(tool.name, tool.missing()) for tool in every if tool.missing()]
    chosen = [tool for tool in every if not tool.missing()]
    rows = [row for row in asan_bugs.rows(TABLE) if not options.only or row["mode"] in options.only.split(",")]
    comparison = Comparison(options, chosen)
    try:
        lines = heading(comparison, missing)
        print("\n".join(lines))
        found = comparison.bugs(rows)
        sections = [("Bugs: all", summary_rows(chosen, rows, found)),
                    ("Bugs: caught", bug_rows(chosen, rows, found, lambda r: r[1])),
                    ("Bugs: time", bug_rows(chosen, rows, found, lambda r: table.seconds(r[2]))),
                    ("Bugs: peak RSS", bug_rows(chosen, rows, found, lambda r: table.size(r[3])))]
        for title, part in sections:
            print("\n%s\n%s" % (title, table.as_text(part)), flush=True)
        for title, part in (("Correct programs: what may not be taken for an error", comparison.modes_of_correct()),
                            ("Correct programs: time and memory", program_rows(chosen, comparison.programs()))):
            sections.append((title, part))
            print("\n%s\n%s" % (title, table.as_text(part)), flush=True)
        for (tool, setting, program), how in sorted(comparison.unsound.items()):
            if how:
                lines.append("unusable  %s%s: %s without a bug: %s" % (tool, setting and " " + setting, program, how))
                print(lines[-1])
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(comparison.work, ignore_errors=True)
    if options.markdown:
        with open(options.markdown, "w") as out:
            out.write("# Results of `make bench-stomp`\n\n```\n%s\n```\n\n%s" % ("\n".join(lines), METHOD))
            for title, part in sections:
                out.write("\n## %s\n\n%s\n" % (title, table.as_markdown(part)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
