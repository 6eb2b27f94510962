#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a C++ program with very many call sites and stacks: UNITS files of 3 * N functions in three layers.

Each function allocates at some places, half of them through inlined functions; each of the first two layers calls three of the next.
So there are N * UNITS * (6 + 3 * 6 + 9 * 5) stacks over N * UNITS * 23 return addresses."""
import os
import sys

folder, units, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.makedirs(folder, exist_ok=True)

with open(folder + "/take.h", "w") as f:
    f.write("""#include <cstdlib>
extern void *volatile kept;
static inline __attribute__((always_inline)) void take(std::size_t size)
{
	void *p = std::malloc(size);
	kept = p;
	std::free(p);
}
template <int N> struct box {
	static inline __attribute__((always_inline)) void fill(std::size_t size)
	{
		take(size + N);
	}
};
""")

for u in range(units):
    with open("%s/u%d.cpp" % (folder, u), "w") as f:
        f.write('#include "take.h"\nnamespace unit%d {\n' % u)
        for layer in (2, 1, 0):
            for i in range(n):
                f.write("static __attribute__((noinline)) void f%d_%d(unsigned long size)\n{\n" % (layer, i))
                for k in range(6 if layer < 2 else 5):
                    f.write("\t%s(size + %d);\n" % ("take" if k % 2 else "box<%d>::fill" % (i % 7), k))
                    if layer < 2 and k < 3:
                        f.write("\tf%d_%d(size);\n" % (layer + 1, (i + k * 37) % n))
                f.write("\tkept = &size;\n}\n")
        f.write("void run()\n{\n")
        for i in range(n):
            f.write("\tf0_%d(%d);\n" % (i, i % 50 + 1))
        f.write("}\n}\n")

with open(folder + "/main.cpp", "w") as f:
    f.write('#include "take.h"\nvoid *volatile kept;\n')
    for u in range(units):
        f.write("namespace unit%d {\nvoid run();\n}\n" % u)
    f.write("int main(int argc, char **argv)\n{\n\tfor (int i = argc > 1 ? std::atoi(argv[1]) : 1; i > 0; i--) {\n")
    for u in range(units):
        f.write("\t\tunit%d::run();\n" % u)
    f.write("\t}\n}\n")
