# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the end-to-end tests share.  Load it with `load helper` and call case_setup in setup().
#
# MEMTRACK             the binary (default: memtrack at the top of the tree)
# MEMTRACK_TEST_BUILD  where test/prog/build.sh has put the programs (default: build/test/prog)
# MEMTRACK_TIMEOUT     seconds until a command that hangs is a failure (default 60)
#
# Every figure in a test comes from the construction of its program, or from another tool; never from memtrack.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
MEMTRACK=${MEMTRACK:-$top/memtrack}
case $MEMTRACK in
*/*) MEMTRACK=$(cd "$(dirname "$MEMTRACK")" && pwd)/${MEMTRACK##*/} ;;
*) MEMTRACK=$(command -v "$MEMTRACK") ;;
esac
B=${MEMTRACK_TEST_BUILD:-$top/build/test/prog}
B=$(cd "$B" && pwd) || exit 1
home_before=$HOME
export MEMTRACK B home_before

# An empty folder to work in, and no word from the environment of whoever runs the tests.
case_setup() {
	unset DEBUGINFOD_URLS MEMTRACK_OPTIONS NO_COLOR LD_PRELOAD GLIBC_TUNABLES MALLOC_ARENA_MAX XDG_CACHE_HOME
	export LC_ALL=C TZ=UTC HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME" "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return 1
	[ -x "$MEMTRACK" ] || {
		echo "no memtrack at $MEMTRACK"
		return 1
	}
}

# fail MESSAGE...: ends the test with it.
fail() {
	printf '%s\n' "$@" >&2
	return 1
}

# skip_unless_command NAME...
skip_unless_command() {
	local name
	for name in "$@"; do
		command -v "$name" >/dev/null || skip "no $name here"
	done
}

# has_option COMMAND OPTION
has_option() {
	"$MEMTRACK" "$1" -h 2>/dev/null | grep -Eq -- "(^|[ ,])$2([=[ ]|\$)"
}

skip_unless_root() {
	[ "$(id -u)" = 0 ] || skip "only root can do this"
}

# assert_eq ACTUAL EXPECTED WHAT
assert_eq() {
	[ "$1" = "$2" ] && return 0
	fail "${3:-value}: expected '$2', got '$1'" "$(last_words)"
}

# assert_between ACTUAL LOW HIGH WHAT: decimals allowed.
assert_between() {
	awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(x != "" && x + 0 >= low + 0 && x + 0 <= high + 0) }' && return 0
	fail "${4:-value}: expected $2 to $3, got '$1'" "$(last_words)"
}

# assert_match FILE REGEX WHAT: some line of FILE matches (extended, any case).
assert_match() {
	grep -aEiq -- "$2" "$1" && return 0
	fail "${3:-$1}: nothing like /$2/ in:" "$(head -c 2000 "$1")"
}

assert_no_match() {
	grep -aEiq -- "$2" "$1" || return 0
	fail "${3:-$1}: should have nothing like /$2/:" "$(head -c 2000 "$1")"
}

# assert_lines FILE MOST WHAT: not more lines than that, and at least one.
assert_lines() {
	local n
	n=$(grep -c '' "$1")
	[ "$n" -ge 1 ] && [ "$n" -le "$2" ] && return 0
	fail "${3:-$1}: expected 1 to $2 lines, got $n:" "$(head -c 2000 "$1")"
}

assert_empty() {
	[ ! -s "$1" ] && return 0
	fail "${2:-$1}: should be empty, but says:" "$(head -c 2000 "$1")"
}

last_words() {
	[ -s err ] && printf 'stderr was: %s\n' "$(head -c 1000 err)"
	return 0
}

# call STATUS COMMAND...: runs it with stdout in ./out and stderr in ./err; the status must be that ('*': any, kept in $status).
# It sees none of the descriptors of the test runner; a hang is status 124.
call() {
	local wanted=$1
	shift
	status=0
	timeout -k 5 "${MEMTRACK_TIMEOUT:-60}" "$@" >out 2>err 3>&- 4>&- </dev/null || status=$?
	[ "$wanted" = '*' ] && return 0
	[ "$status" = "$wanted" ] && return 0
	fail "status of: $*" "expected $wanted, got $status" "stdout: $(head -c 1000 out)" "stderr: $(head -c 1000 err)"
}

# memtrack STATUS ARG...
memtrack() {
	local wanted=$1
	shift
	call "$wanted" "$MEMTRACK" "$@"
}

# record_status STATUS [OPTION]... [--] PROGRAM...: records quietly into ./memtrack.dat.
record_status() {
	local wanted=$1
	shift
	forget
	rm -f memtrack.dat memtrack.dat.old
	call "$wanted" "$MEMTRACK" run -q -o memtrack.dat "$@" || return 1
	[ -s memtrack.dat ] || fail "no recording by: run $*" "$(last_words)"
}

# record [OPTION]... [--] PROGRAM...: the same for status 0.  Nothing may be said on stderr.
record() {
	record_status 0 "$@" || return 1
	assert_empty err "stderr of run -q $*"
}

# Reports are kept by their options until the next recording.
forget() {
	rm -f .report-*.json
}

# report_file [OPTION]...: the name of a file with the JSON of the report on ./memtrack.dat, all stacks in it.
report_file() {
	local name all=(--by stack --top 100000000)
	name=.report-$(printf '%s' "$*" | tr -c 'A-Za-z0-9' _).json
	if [ ! -s "$name" ]; then
		timeout -k 5 "${MEMTRACK_TIMEOUT:-60}" "$MEMTRACK" report --format json "${all[@]}" "$@" memtrack.dat \
			>"$name.new" 2>report-err 3>&- 4>&- || {
			echo "report $* failed with status $?: $(head -c 500 report-err)" >&2
			return 1
		}
		mv "$name.new" "$name"
	fi
	printf '%s\n' "$name"
}

report_json() {
	local file
	file=$(report_file "$@") && cat "$file"
}

# query FILTER [OPTION]...: jq on the report.
query() {
	local filter=$1 file
	shift
	file=$(report_file "$@") && jq -r "$filter" "$file"
}

# total FIELD [OPTION]...: a figure of the whole process.  Does not read the stacks, of which there may be many.
total() {
	local field=$1
	shift
	query ".totals.$field" --top 1 "$@"
}

# A frame's name: with or without the parameters of C++.
# shellcheck disable=SC2016 # variables of jq
jq_names='def named($f): .function != null and (.function == $f or ((.function | sub("\\(.*"; "")) as $name
		| $name == $f or ($name | endswith("::" + $f))));
	def has($f): any(.frames[]; named($f));'

# site_sum FUNCTION FIELD [OPTION]...: over all stacks that contain the function at any depth.
site_sum() {
	local file function=$1 field=$2
	shift 2
	file=$(report_file "$@") &&
		jq --arg f "$function" --arg k "$field" "$jq_names"'[.sites[].stacks[] | select(has($f)) | .[$k]] | add // 0' "$file"
}

# expect_sites [OPTION]... with a table on stdin.  Its first line names fields, the others start with a function and give the sums over
# all stacks that contain it; "-" is not compared.
expect_sites() {
	local file wrong
	file=$(report_file "$@") || return 1
	cat >.wanted
	wrong=$(jq -r --rawfile wanted .wanted "$jq_names"'
		. as $report
		| [$wanted | split("\n")[] | [splits("[ \t]+")] | map(select(. != "")) | select(length > 0)]
		| .[0] as $fields | .[1:][] | . as $row
		| [$report.sites[].stacks[] | select(has($row[0]))] as $stacks
		| range(1; $row | length) | . as $i | select($row[$i] != "-")
		| ([$stacks[][$fields[$i]]] | add // 0 | tostring) as $got
		| select($got != $row[$i])
		| "\($row[0]): \($fields[$i]): expected \($row[$i]), got \($got)"' "$file") || return 1
	[ -z "$wrong" ] && return 0
	fail "$wrong" "functions in the report: $(jq -r '[.sites[].stacks[].frames[].function // "?"] | unique | .[:60] | join(" ")' "$file")"
}

# expect_totals [OPTION]... FIELD=VALUE...
expect_totals() {
	local options=() file pair got wrong=0
	while [ $# -gt 0 ] && [[ $1 == -* ]]; do
		options+=("$1")
		shift
	done
	file=$(report_file --top 1 "${options[@]}") || return 1
	for pair in "$@"; do
		got=$(jq -r ".totals.${pair%%=*}" "$file")
		[ "$got" = "${pair#*=}" ] && continue
		echo "totals.${pair%%=*}: expected ${pair#*=}, got $got" >&2
		wrong=1
	done
	return $wrong
}

# The innermost functions of each stack, a line each, "a<b<c"; ? where there is no name.
stack_lines() {
	query '.sites[].stacks[] | [.frames[].function // "?"] | join("<")' "$@"
}

# expect_stack PREFIX [OPTION]...: some stack starts exactly so, innermost first ("leaf<one<main"), with nothing between.
expect_stack() {
	local prefix=$1
	shift
	stack_lines "$@" | sed -E 's/\([^<]*\)//g' | awk -v p="$prefix" 'index($0 "<", p "<") == 1 { found = 1 } END { exit !found }' && return 0
	fail "no stack starts with $prefix; the first ones are:" "$(stack_lines "$@" | cut -c 1-300 | head -12)"
}

# expect_order "a b c" [OPTION]...: some stack has these functions in this order, innermost first; others may lie between.
expect_order() {
	local functions=$1 file
	shift
	file=$(report_file "$@") || return 1
	jq -e --arg list "$functions" "$jq_names"'
		($list | split(" ")) as $f
		| any(.sites[].stacks[]; reduce .frames[] as $frame (0; . as $at
			| if $at < ($f | length) and ($frame | named($f[$at])) then $at + 1 else $at end) == ($f | length))' "$file" >/dev/null && return 0
	fail "no stack has, in this order: $functions; the first ones are:" "$(stack_lines "$@" | cut -c 1-300 | head -12)"
}

# never_together A B [OPTION]...: no stack has both functions.
never_together() {
	local a=$1 b=$2 file
	shift 2
	file=$(report_file "$@") || return 1
	jq -e --arg a "$a" --arg b "$b" "$jq_names"'any(.sites[].stacks[]; has($a) and has($b)) | not' "$file" >/dev/null && return 0
	fail "some stack has both $a and $b:" "$(stack_lines "$@" | grep -F "$a" | grep -F "$b" | cut -c 1-300 | head -3)"
}

# never_named FUNCTION [OPTION]...
never_named() {
	local name=$1 file
	shift
	file=$(report_file "$@") || return 1
	jq -e --arg f "$name" "$jq_names"'any(.sites[].stacks[]; has($f)) | not' "$file" >/dev/null && return 0
	fail "$name should not be named:" "$(stack_lines "$@" | grep -F "$name" | cut -c 1-300 | head -3)"
}

# process_ids FILTER: the ids of the process images for which the jq filter holds.
process_ids() {
	query "[.processes[] | select($1) | .id] | .[]"
}

# One line, on stderr, in the form "memtrack: error: ...", and nothing on stdout.
assert_one_error() {
	assert_empty out "stdout of a failing command" || return 1
	assert_lines err "${1:-1}" "stderr of a failing command" || return 1
	assert_match err '^memtrack: ' "stderr of a failing command"
}

# await_file FILE: until it is there and has something in it, at most 10 s.
await_file() {
	local i
	for ((i = 0; i < 1000; i++)); do
		[ -s "$1" ] && return 0
		sleep 0.01
	done
	fail "$1 did not appear"
}

# in_group COMMAND... &: in a process group of its own with SIGINT and SIGQUIT as usual (a shell's background jobs ignore them).
# It replaces the shell it runs in, so that $! is the command.
in_group() {
	exec perl -e 'setpgrp(0, 0); $SIG{INT} = "DEFAULT"; $SIG{QUIT} = "DEFAULT"; exec @ARGV or die' -- "$@"
}

# with_tmpfs STATUS SIZE COMMAND...: the command, as by call, in a mount namespace of its own with a file system of that size on ./tiny.
with_tmpfs() {
	local wanted=$1 size=$2 as=-m
	shift 2
	mkdir -p tiny
	[ "$(id -u)" = 0 ] || as=-rm
	unshare $as -- mount -t tmpfs none tiny 2>/dev/null || skip "no mount namespaces here"
	# shellcheck disable=SC2016 # for the inner shell
	call "$wanted" unshare $as -- sh -c 'mount -t tmpfs -o size="$1" none tiny && shift && exec "$@"' - "$size" "$@"
}
