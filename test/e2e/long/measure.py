#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""measure.py N COMMAND...: each command (a word for sh) N times in turn, after once to warm up; stdout and stderr go nowhere.
Prints a line for each: the seconds of the fastest (other work on the machine only ever makes it slower), their median, and the MiB
that it or a child of it had resident at most."""
import os
import statistics
import subprocess
import sys
import time

rounds, commands = int(sys.argv[1]), sys.argv[2:]
seconds = [[] for _ in commands]
largest = [0] * len(commands)
for turn in range(rounds + 1):
    for i, command in enumerate(commands):
        start = time.perf_counter()
        process = subprocess.Popen(["sh", "-c", "exec " + command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit("'%s' failed with status %d" % (command, os.waitstatus_to_exitcode(status)))
        if turn or rounds == 1:
            seconds[i].append(time.perf_counter() - start)
        largest[i] = max(largest[i], usage.ru_maxrss / 1024)
for i in range(len(commands)):
    print("%.4f %.4f %.1f" % (min(seconds[i]), statistics.median(seconds[i]), largest[i]))
