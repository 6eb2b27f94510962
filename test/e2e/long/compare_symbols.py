#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_symbols.py OURS LLVM: how often two look-ups of the same addresses agree.

OURS is what symbolize.c prints, LLVM what llvm-symbolizer --inlines --no-demangle --functions=linkage does.  They agree on an
address when all frames do: function, file and line.  A function is what c++filt makes of its linkage name, without what compilers
append for parts and clones of it: llvm-symbolizer prefers names of symbols, where a constructor may go by that of its alias.
Prints the percentage; with -v, the differences too.
"""
import os.path
import subprocess
import sys


def blocks(path):
    with open(path, errors="surrogateescape") as f:
        block = []
        for line in f:
            line = line.rstrip("\n")
            if line:
                block.append(line)
            else:
                yield block
                block = []


def file_name(name):
    return os.path.normpath(name) if name and name != "??" else None


def our_frames(block):
    frames = []
    for line in block:
        function, linkage, file, number = line.split("\t")
        frames.append((linkage or function or None, file_name(file), int(number)))
    return frames


def llvm_frames(block):
    frames = []
    for function, place in zip(block[::2], block[1::2]):
        file, number, _ = place.rsplit(":", 2)
        # Symbols of .symtab and .dynsym may have a version.
        function = None if function == "??" else function.split("@")[0]
        frames.append((function, file_name(file), int(number)))
    return [] if frames == [(None, None, 0)] else frames


def demangle(addresses):
    """Replaces the linkage names in a list of lists of frames."""
    names = sorted({name for frames in addresses for name, _, _ in frames if name})
    plain = "\n".join(name.split(".")[0] or name for name in names)
    readable = subprocess.run(["c++filt"], input=plain, capture_output=True, text=True, check=True).stdout.split("\n")
    table = dict(zip(names, readable))
    return [[(table.get(name), file, line) for name, file, line in frames] for frames in addresses]


def difference(ours, theirs):
    if len(ours) != len(theirs):
        return "frames"
    for a, b in zip(ours, theirs):
        for what, x, y in zip(("function", "file", "line"), a, b):
            if x != y:
                return what
    return None


def main():
    verbose = sys.argv[1] == "-v"
    ours, theirs = (list(blocks(path)) for path in sys.argv[-2:])
    ours, theirs = demangle(list(map(our_frames, ours))), demangle(list(map(llvm_frames, theirs)))
    if len(ours) != len(theirs):
        sys.exit("%d addresses here, %d there" % (len(ours), len(theirs)))
    agreed = 0
    for number, (a, b) in enumerate(zip(ours, theirs), 1):
        what = difference(a, b)
        agreed += what is None
        if what and verbose:
            print("address %d: %s\n  ours %s\n  llvm %s" % (number, what, a, b))
    print("%.3f" % (100 * agreed / max(1, len(ours))))


main()
