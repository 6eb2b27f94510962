#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# memtrack-tutorial(7) is true: its commands are run as they stand there, and say what it says; and the figures are those
# that the programs are built to have (prog/tutorial/).

load helper

page=$top/man/memtrack-tutorial.7

setup() {
	case_setup
	cp "$B"/orders* "$B"/pages* "$B"/words* .
	mkdir bin
	ln -s "$MEMTRACK" bin/memtrack
}

# The literal blocks of a section in which commands are typed.
typed() {
	awk -v section="$1" '
		/^\.S[hs]/ { inside = $0 == ".Ss " section }
		/^\.Bd/ { literal = inside; next }
		/^\.Ed/ { literal = 0 }
		literal' "$page"
}

# From a line of the page: what is worth comparing, a piece a line.  Places, figures with what they count, and sentences.
pieces() {
	printf '%s\n' "$1" | grep -oE '[a-z_]+\.c:[0-9]+|[0-9][0-9.,]*( (B|KiB|MiB|blocks|allocations|temporary)|%( temporary)?)?|[a-z]+_[a-z]+|nothing|^[A-Z][a-z ]+\.$'
}

# follow SECTION: runs its commands; each has to say what stands below it, one line of the page on one of its own.
follow() {
	local line piece commands=0
	while IFS= read -r line; do
		if [[ $line == '$ '* ]]; then
			((++commands))
			PATH=$PWD/bin:$PATH call 0 sh -c "${line#'$ '}"
			cat out err >said
			continue
		fi
		cp said left
		while IFS= read -r piece; do
			grep -F -- "$piece" left >fewer || fail "'${line}': no line has '$piece' with the rest:" "$(cat said)"
			mv fewer left
		done < <(pieces "$line")
	done < <(typed "$1")
	[ "$commands" = 4 ] || fail "$1: $commands commands"
}

# place FILE TEXT: "FILE:LINE" of the only line that has the text.
place() {
	[ "$(grep -cF -- "$2" "$top/test/prog/tutorial/$1")" = 1 ] || fail "$1: '$2' is not in one line"
	echo "$1:$(grep -nF -- "$2" "$top/test/prog/tutorial/$1" | cut -d : -f 1)"
}

# blamed FILE: the first site of the JSON report in ./out.
blamed() {
	jq -r '.sites[0] | "\(.function) \(.file | sub(".*/"; "")):\(.line) \(.allocations) \(.leaked_blocks) \(.leaked_bytes) \(.peak_bytes) \(.temporary_allocations)"' out
}

@test "tutorial: a leak in an error path" {
	follow "A leak in an error path"
	memtrack 0 report --format json --sort leaked orders.dat.old
	assert_eq "$(blamed)" "parse_order $(place orders.c '= malloc(') 1000 100 4800 48000 0"
	memtrack 0 report --format json --sort leaked orders.dat
	assert_eq "$(jq -c '.totals | [.allocations, .leaked_blocks]' out)" '[1000,0]'
}

@test "tutorial: a cache that only grows" {
	follow "A cache that only grows"
	memtrack 0 report --format json pages.dat.old
	assert_eq "$(blamed | cut -d ' ' -f 1-6)" "make_page $(place pages.c '= malloc(') 2000 0 0 1024000"
	memtrack 0 report --format json pages.dat
	assert_eq "$(blamed | cut -d ' ' -f 1-6)" "make_page $(place pages.c '= malloc(') 2000 0 0 32768"
}

@test "tutorial: a storm of temporary allocations" {
	follow "A storm of temporary allocations"
	memtrack 0 report --format json --sort temporary words.dat.old
	assert_eq "$(blamed | cut -d ' ' -f 1-5,7)" "lower_case $(place words.c '= malloc(') 50100 0 0 50000"
	memtrack 0 report --format json --filter function~is_known words.dat
	assert_eq "$(jq -c '[.totals.allocations, (.sites | length)]' out)" '[100,0]'
}
