#!/bin/bash
# SPDX-License-Identifier: MIT
# What is loaded into the target is a guest there: what it takes from and gives to the process is listed here, and nothing
# else.  Usage: agent.sh MEMTRACK.  Prints TAP; status 1 when something differs.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
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

symbols() { # LIBRARY OPTION
	nm -D "$2" "$1" | awk '{print $NF}' | sed 's/@.*//' | sort
}

# guest LIBRARY MAP IMPORT...
guest() {
	local file=$1 name=${1##*/} map=$2
	shift 2
	check "$name: calls by name: only the look-up functions" "$(printf '%s\n' "$@" | sort)" "$(symbols "$file" --undefined-only)"
	check "$name: exports: the hooks" \
		"$(sed -n '/global:/,/local:/p' "$top/$map" | tr -d '\t ' | tr ';' '\n' | grep -vE '^(global:|local:|)$' | sort)" \
		"$(symbols "$file" --defined-only)"
	check "$name: all symbols are bound at start" 'BIND_NOW NODELETE' \
		"$(readelf -dW "$file" | grep -oE 'BIND_NOW|NODELETE' | sort -u | tr '\n' ' ' | sed 's/ $//')"
	check "$name: needs no library but libc" 'libc.so.6' "$(readelf -dW "$file" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')"
	check "$name: thread-local storage is at most 256 bytes" yes \
		"$(size=$(readelf -lW "$file" | awk '$1 == "TLS" { print $6 }'); [ $((size)) -le 256 ] && echo yes)"
	check "$name: no relocation in code, no writable code" '' \
		"$(readelf -dW "$file" | grep TEXTREL; readelf -lW "$file" | grep 'RWE')"
}

compiler='_ITM_deregisterTMCloneTable _ITM_registerTMCloneTable __cxa_finalize __gmon_start__'
# shellcheck disable=SC2086 # a list
guest "$(dirname "$1")/libmemtrack.so" agent/libmemtrack.map $compiler __libc_stack_end dlerror dlsym
# shellcheck disable=SC2086
guest "$(dirname "$1")/libmemtrack-stomp.so" allocators/stomp/libmemtrack-stomp.map \
	$compiler __libc_stack_end dlerror dlsym __errno_location __register_atfork
# shellcheck disable=SC2086
guest "$(dirname "$1")/libmemtrack-operators.so" allocators/operators.map $compiler dlsym free malloc posix_memalign
echo "1..$n"
exit $bad
