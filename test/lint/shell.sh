#!/bin/bash
# SPDX-License-Identifier: MIT
# All shell scripts pass shellcheck.  Prints TAP.
cd "$(dirname "$0")/../.." || exit 1
if ! command -v shellcheck >/dev/null; then
	echo '1..0 # SKIP shellcheck is not here'
	exit 0
fi
echo 1..1
# shellcheck disable=SC2046 # names without blanks
if complaints=$(shellcheck -x $(git ls-files '*.sh' '*.bash' .ci/run | grep -v '^completions/')); then
	echo 'ok 1 - shell scripts'
else
	echo 'not ok 1 - shell scripts'
	printf '%s\n' "$complaints" | head -40 | sed 's/^/# /'
	exit 1
fi
