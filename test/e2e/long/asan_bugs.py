#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the table of bugs with what AddressSanitizer says of the same programs.

asan_bugs.py TABLE DIRECTORY: runs the builds in DIRECTORY, each under the name that the table has for it; a line for each
difference, status 1 when there is one.  What AddressSanitizer sees at another place, since it knows the bytes beside a
block, is compared as that.
"""
import os
import re
import subprocess
import sys

# Their kinds, by the first words of a report.
KINDS = (("attempting double-free", "double-free"),
         ("attempting free on address which was not malloc()-ed", "invalid-free"),
         ("heap-use-after-free", "heap-use-after-free"),
         ("heap-buffer-overflow", "heap-buffer-overflow"))
# What it cannot tell: it gives blocks of no bytes one, and beyond its red zones it knows no block, or no error.
UNKNOWN = ("zero_read", "under_read_4096")
FAR = 2048
FRAME = re.compile(r"\s*#\d+ 0x[0-9a-f]+ in ([^\s(]+)")


def rows(path):
    with open(path) as table:
        lines = table.read().splitlines()
    heading = next(line for line in reversed(lines) if line.startswith("# program")).split()[1:]
    return [dict(zip(heading, line.split())) for line in lines if line and not line.startswith("#")]


def report_of(program, mode):
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:symbolize=1:exitcode=99:fast_unwind_on_malloc=0:detect_odr_violation=0")
    return subprocess.run([program, mode], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60).stdout


def parse(text):
    """kind, access, size, offset and the stacks by their headings."""
    found = {"kind": None, "access": "null", "size": "-", "offset": "-", "stacks": {}, "thread": None}
    name = "stack"
    for line in text.splitlines():
        if "ERROR: AddressSanitizer" in line:
            found["kind"] = next((ours for theirs, ours in KINDS if theirs in line), line.split(":", 2)[-1][:60])
        access = re.match(r"(READ|WRITE) of size \d+ at 0x[0-9a-f]+ thread T(\d+)", line)
        if access:
            found["access"], found["thread"] = access.group(1).lower(), str(int(access.group(2)) + 1)
        place = re.search(r"is located (\d+) bytes (to the right of|to the left of|inside of|after|before) (\d+)-byte", line)
        if place and found["offset"] == "-":
            distance, where, size = int(place.group(1)), place.group(2), int(place.group(3))
            found["size"] = str(size)
            found["offset"] = str(size + distance if where in ("to the right of", "after") else
                                  distance if where == "inside of" else -distance)
        if line.startswith("freed by"):
            name = "freed"
        elif line.startswith(("previously allocated by", "allocated by")):
            name = "allocated"
        elif line.startswith("Thread T"):
            name = "thread"
        frame = FRAME.match(line)
        if frame:
            found["stacks"].setdefault(name, []).append(frame.group(1))
    return found


def in_stack(wanted, mode, frames):
    if wanted == "-":
        return True
    names = wanted.lstrip("~").split("<")
    names += [mode] if len(names) == 1 else []
    # Theirs begin with their own functions.
    return any(frames[i:i + len(names)] == names for i in range(len(frames)))


def as_seen_by_asan(row):
    """The row with what AddressSanitizer can tell earlier, or has no word for."""
    row = dict(row)
    if row["kind"] == "heap-corruption":
        row.update(kind="heap-buffer-overflow", access="write", stack="bug_write")
    if row["kind"] == "heap-buffer-underflow":
        row.update(kind="heap-buffer-overflow")
    if row["offset"].isdigit() and row["kind"] == "heap-buffer-overflow" and int(row["offset"]) > int(row["size"]) + FAR:
        row.update(size="-", offset="-", allocated="-")
    return row


def differences(row, found):
    for field in ("kind", "access", "size"):
        if row[field] != found[field]:
            yield "%s: %s, not %s" % (field, found[field], row[field])
    low, _, high = row["offset"].partition("..")
    if row["offset"] != found["offset"] and not (high and int(low) <= int(found["offset"]) <= int(high)):
        yield "offset: %s, not %s" % (found["offset"], row["offset"])
    if found["thread"] and found["thread"] != row["thread"]:
        yield "thread: %s, not %s" % (found["thread"], row["thread"])
    for name in ("stack", "allocated", "freed"):
        if not in_stack(row[name], row["mode"], found["stacks"].get(name, [])):
            yield "%s: %s, not %s" % (name, "<".join(found["stacks"].get(name, ["none"])), row[name])


def main():
    table, directory = sys.argv[1:]
    failed = False
    for row in rows(table):
        if row["mode"] in UNKNOWN:
            continue
        text = report_of(os.path.join(directory, row["program"]), row["mode"])
        for difference in differences(as_seen_by_asan(row), parse(text)):
            print("%s: %s" % (row["mode"], difference))
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
