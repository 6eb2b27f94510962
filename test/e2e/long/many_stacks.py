# SPDX-License-Identifier: MIT
# Many different stacks of CPython: each level of a recursion goes through another function written in C.
import functools
import json
import re
import sys

depth = int(sys.argv[1])
word = re.compile("[a-z]+")
text = json.dumps({"rows": [{"id": i, "name": "n%d" % i, "tags": ["a", "b"]} for i in range(3)]})


class Walk:
    def __init__(self, rest):
        self.rest = rest

    def __getattr__(self, name):
        descend(self.rest)
        return name

    def __len__(self):
        descend(self.rest)
        return 1

    def __lt__(self, other):
        descend(self.rest)
        return True


def plain(rest):
    json.loads(text)
    word.findall(text[:60])
    return [str(rest)] * 3


ways = [
    lambda rest: list(map(descend, [rest])),
    lambda rest: word.sub(lambda m: descend(rest) and "", "a"),
    lambda rest: json.dumps([Walk], default=lambda o: descend(rest) and None),
    lambda rest: functools.reduce(lambda a, b: descend(rest), [1, 2]),
    lambda rest: Walk(rest).name,
    lambda rest: len(Walk(rest)),
    lambda rest: sorted([Walk(rest), Walk(0)]),
]


def descend(rest):
    if rest <= 0:
        return plain(rest)
    for way in ways:
        way(rest - 1)
    return "x"


descend(depth)
