#!/bin/bash
# SPDX-License-Identifier: MIT
# Who may include whom (the table in memtrack-internals(7)), and that each header compiles alone.
# Prints TAP; status 1 when something is wrong.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0 n=0

verdict() { # DESCRIPTION COMPLAINTS
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$2" | sed 's/^/# /'
		bad=1
	fi
}

# allowed FOLDER REGEX: quoted includes of its files match the regex.
allowed() {
	verdict "$1/ includes only what it may" \
		"$(grep -rnE '^#[ ]*include "' "$1" --include='*.[ch]' | grep -vE "include \"($2)\"")"
}
allowed cmd 'cmd/[a-z0-9_]+\.h|report/[a-z0-9_]+\.h|symbolize/symbolize\.h|agent/layout\.h|allocators/(allocators|stomp/layout)\.h'
allowed report 'report/[a-z0-9_]+\.h|symbolize/symbolize\.h'
allowed symbolize 'symbolize/[a-z0-9_]+\.h'
allowed allocators 'allocators/([a-z]+/)?[a-z0-9_]+\.h|agent/[a-z0-9_]+\.h|agent/rt/[a-z]+\.h|report/(diag|units)\.h'
verdict 'what of allocators/ lives in the target includes nothing of the tool' \
	"$(grep -nE '^#[ ]*include "(report/|allocators/allocators\.h)' allocators/operators.c allocators/*/*.[ch])"
allowed agent 'agent/[a-z0-9_]+\.h|agent/rt/[a-z]+\.h'

verdict 'the runtime of the agent includes nothing else of ours' \
	"$(grep -nE '^#[ ]*include "' agent/rt/*.[ch] | grep -vE 'include "agent/(rt/[a-z]+|arch)\.h"')"
verdict 'only real.c looks up symbols' "$(grep -lE '\bdlsym\b *\(' agent/*.c agent/rt/*.c | grep -v '^agent/real.c$')"
verdict 'only symbolize/ sees libdw and libelf, and cmd/program.c and allocators/library.c the latter' \
	"$(grep -lE 'include <(elfutils/|dwarf\.h|gelf\.h|libelf\.h)' -r cmd report agent allocators |
		grep -vx -e cmd/program.c -e allocators/library.c)"
verdict 'the layers below cmd/ do not print or exit' \
	"$(grep -nE '\b(printf|puts|perror|exit|abort) *\(' report/*.c symbolize/*.c allocators/*.c | grep -vE '(fprintf|[sv]n?printf|_exit|snprintf)' )"

broken=
for header in $(git ls-files '*.h' | grep -vE '^test/'); do
	${CC:-cc} -std=gnu17 -D_GNU_SOURCE -iquote . -fsyntax-only -x c "$header" 2>/dev/null || broken="$broken $header"
done
verdict 'each header compiles alone' "$broken"
verdict 'each source names its licence' "$(git ls-files '*.c' '*.h' '*.cpp' '*.S' '*.sh' '*.bash' '*.sql' Makefile '*.mk' |
	xargs grep -L 'SPDX-License-Identifier: MIT')"
if command -v clang-format >/dev/null && clang-format --version | grep -q 'version 14\.'; then
	verdict 'formatted' "$(git ls-files 'agent/*.[ch]' 'cmd/*.[ch]' 'report/*.[ch]' 'symbolize/*.[ch]' 'allocators/*.[ch]' |
		xargs clang-format --dry-run 2>&1 | grep -E 'warning:' | head -5)"
else
	n=$((n + 1))
	echo "ok $n - formatted # SKIP clang-format 14 is not here"
fi
echo "1..$n"
exit $bad
