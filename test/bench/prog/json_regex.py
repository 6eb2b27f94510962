# SPDX-License-Identifier: MIT
# JSON and regular expressions, with PYTHONMALLOC=malloc: about 3.8 million allocations, at all depths of the interpreter.
import json
import re

total = 0
for turn in range(4):
    rows = [{"id": i, "name": "n%d" % i, "tags": ["a", "b", str(i % 7)], "pair": [i, i * 0.5]} for i in range(13000)]
    text = json.dumps(rows)
    back = json.loads(text)
    words = re.findall(r'"name": "(n\d+)"', text)
    short = re.sub(r"[0-9]+", lambda m: m.group()[:1], text)
    total += len(back) + len(words) + len(short)
print(total)
