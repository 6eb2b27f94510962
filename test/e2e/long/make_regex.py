#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_regex.py FOLDER UNITS: a C++ program of that many files with <regex>, each with traits of its own, so that none shares code
with another.  With -O2 -g, 24 of them make 3.4 MB of code with calls inlined into calls and 70 MB of debug information."""
import os
import sys

folder, units = sys.argv[1], int(sys.argv[2])
os.makedirs(folder, exist_ok=True)

UNIT = r"""#include <regex>
#include <string>
namespace unit@ {
struct traits : std::regex_traits<char> { static int tag() { return @; } };
struct wtraits : std::regex_traits<wchar_t> { static int tag() { return @; } };
using re = std::basic_regex<char, traits>;
using wre = std::basic_regex<wchar_t, wtraits>;
using text = std::string::const_iterator;
bool match(const std::string &s) { return std::regex_match(s, re("a+(b|c)*@")); }
bool search(const std::string &s) { std::match_results<text> m; return std::regex_search(s, m, re("x[0-9]+")); }
std::string replace(const std::string &s) { return std::regex_replace(s, re("b+"), "$&-"); }
bool wmatch(const std::wstring &s) { return std::regex_match(s, wre(L"a+(b|c)*@")); }
long iterate(const std::string &s)
{
	using words = std::regex_iterator<text, char, traits>;
	re word("\\w+");
	return std::distance(words(s.begin(), s.end(), word), words());
}
}
long run@(const std::string &s)
{
	using namespace unit@;
	return match(s) + search(s) + replace(s).size() + wmatch(L"abc") + iterate(s);
}
"""

for unit in range(units):
    with open("%s/u%d.cpp" % (folder, unit), "w") as f:
        f.write(UNIT.replace("@", str(unit)))

with open(folder + "/main.cpp", "w") as f:
    f.write("#include <string>\n")
    for unit in range(units):
        f.write("long run%d(const std::string &);\n" % unit)
    f.write('int main(int argc, char **argv)\n{\n\tstd::string s = argc > 1 ? argv[1] : "abc x12";\n\tlong n = 0;\n')
    for unit in range(units):
        f.write("\tn += run%d(s);\n" % unit)
    f.write("\treturn n == 0;\n}\n")
