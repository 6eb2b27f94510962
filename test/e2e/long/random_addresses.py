#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""random_addresses.py FILE N: that many addresses in the .text of an ELF file, the same ones each time."""
import random
import re
import subprocess
import sys

sections = subprocess.run(["readelf", "-SW", sys.argv[1]], capture_output=True, text=True, check=True).stdout
address, size = re.search(r"\] \.text +PROGBITS +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+)", sections).groups()
numbers = random.Random(1)
for _ in range(int(sys.argv[2])):
    print("0x%x" % (int(address, 16) + numbers.randrange(int(size, 16))))
