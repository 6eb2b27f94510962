#!/bin/bash
# SPDX-License-Identifier: MIT
# The agent is a guest: what it takes from and gives to the target's process is listed here, and nothing else.
# Usage: agent.sh MEMTRACK.  Prints TAP; status 1 when something differs.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
agent=$(dirname "$1")/libmemtrack.so
bad=0 n=0

check() { # DESCRIPTION WANTED GOT
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		diff <(echo "$2") <(echo "$3") | sed 's/^/# /'
		bad=1
	fi
}

imports='_ITM_deregisterTMCloneTable
_ITM_registerTMCloneTable
__cxa_finalize
__gmon_start__
__libc_stack_end
dlerror
dlsym'
check 'calls by name: only the look-up functions' "$imports" \
	"$(nm -D --undefined-only "$agent" | awk '{print $NF}' | sed 's/@.*//' | sort)"

exports=$(sed -n '/global:/,/local:/p' "$top/agent/libmemtrack.map" | tr -d '\t ' | tr ';' '\n' |
	grep -vE '^(global:|local:|)$' | sort)
check 'exports: the hooks' "$exports" "$(nm -D --defined-only "$agent" | awk '{print $NF}' | sed 's/@.*//' | sort)"

check 'all symbols are bound at start' 'BIND_NOW NODELETE' \
	"$(readelf -dW "$agent" | grep -oE 'BIND_NOW|NODELETE' | sort -u | tr '\n' ' ' | sed 's/ $//')"
check 'needs no library but libc' 'libc.so.6' "$(readelf -dW "$agent" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')"
check 'thread-local storage is at most 256 bytes' yes \
	"$(size=$(readelf -lW "$agent" | awk '$1 == "TLS" { print $6 }'); [ $((size)) -le 256 ] && echo yes)"
check 'no relocation in code, no writable code' '' "$(readelf -dW "$agent" | grep TEXTREL; readelf -lW "$agent" | grep 'RWE')"
echo "1..$n"
exit $bad
