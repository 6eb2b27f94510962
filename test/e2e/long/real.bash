# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Functions for the tests with real programs.  Needs ../helper.bash.

# tally COMMAND...: runs it under the independent counter; the figures of the process with most allocations go to the array T:
# allocations bytes frees freed_bytes reallocations leaked_blocks leaked_bytes peak_bytes peak_blocks unknown_frees
tally() {
	local file best=0 row
	rm -rf tally
	mkdir tally
	call 0 env TALLY_DIR="$PWD/tally" LD_PRELOAD="$B/libtally.so" "$@"
	cp out out.bare
	T=()
	for file in tally/*; do
		# shellcheck disable=SC2207
		row=($(od -An -v -tu8 "$file"))
		if [ "${row[0]}" -gt "$best" ]; then
			best=${row[0]}
			T=("${row[@]}")
		fi
	done
	[ "$best" -gt 0 ]
}

# close ACTUAL EXPECTED PERCENT SLACK WHAT
close() {
	assert_between "$1" "$(awk -v x="$2" -v p="$3" -v s="$4" 'BEGIN { printf "%.0f", x - x * p / 100 - s }')" \
		"$(awk -v x="$2" -v p="$3" -v s="$4" 'BEGIN { printf "%.0f", x + x * p / 100 + s }')" "$5"
}

# agrees PERCENT COMMAND...: a run under memtrack and one under the counter say the same, within PERCENT; stdout too.
agrees() {
	local percent=$1
	shift
	tally "$@"
	record "$@"
	cmp out out.bare || fail "stdout differs"
	close "$(total allocations)" "${T[0]}" "$percent" 40 "allocations"
	close "$(total allocated_bytes)" "${T[1]}" "$percent" 10000 "allocated bytes"
	close "$(total frees)" "${T[2]}" "$percent" 40 "frees"
	close "$(total reallocations)" "${T[4]}" "$percent" 20 "reallocations"
	close "$(total leaked_blocks)" "${T[5]}" "$percent" 40 "leaked blocks"
	close "$(total leaked_bytes)" "${T[6]}" "$percent" 10000 "leaked bytes"
	close "$(total peak_bytes)" "${T[7]}" "$percent" 10000 "peak bytes"
	assert_eq "$(total dropped_events)" 0 "dropped events"
	close "$(total unknown_frees)" "${T[9]}" 0 2 "unknown frees"
}

# dhat_agrees PERCENT COMMAND...: the last recording against valgrind's DHAT.  Its totals follow the same rules: requested sizes, a
# realloc is a new allocation of the new size (tbk, tb), blocks at the peak (gb) and at the end (eb); only its attribution
# of reallocated blocks differs (they stay at their first site), which totals do not show.
dhat_agrees() {
	local percent=$1 d
	shift
	call 0 valgrind -q --tool=dhat --dhat-out-file=dhat.json "$@"
	# shellcheck disable=SC2207
	d=($(jq '[.pps[] | [.tbk, .tb, .ebk, .eb, .gb]] | transpose | map(add) | .[]' dhat.json))
	close "$(total allocations)" "${d[0]}" "$percent" 40 "allocations against DHAT"
	close "$(total allocated_bytes)" "${d[1]}" "$percent" 10000 "bytes against DHAT"
	close "$(total leaked_blocks)" "${d[2]}" "$percent" 40 "leaked blocks against DHAT"
	close "$(total leaked_bytes)" "${d[3]}" "$percent" 10000 "leaked bytes against DHAT"
	close "$(total peak_bytes)" "${d[4]}" "$percent" 10000 "peak against DHAT"
}

# heaptrack_agrees PERCENT COMMAND...: the last recording against heaptrack.  It counts a realloc as an allocation; its figures are rounded to
# three digits, and its peak and leak include the 72704 bytes that the C++ runtime, loaded with it, takes at its start.
heaptrack_agrees() {
	local percent=$1 calls leaked peak
	shift
	rm -f ht.*
	call 0 heaptrack -o ht "$@"
	call 0 heaptrack_print -p 0 -a 0 -T 0 -l 0 -f "$(echo ht.*)"
	number() {
		sed -n "s/^$1: *\\([0-9.]*\\)\\([KMG]\\?\\).*/\\1 \\2/p" out | tail -1 |
			awk '{ f["K"] = 1e3; f["M"] = 1e6; f["G"] = 1e9; printf "%.0f", $1 * ($2 in f ? f[$2] : 1) }'
	}
	calls=$(number "calls to allocation functions")
	leaked=$(number "total memory leaked")
	peak=$(number "peak heap memory consumption")
	close "$(total allocations)" "$calls" "$percent" 60 "allocations against heaptrack"
	close "$(total leaked_bytes)" "$leaked" "$(awk -v p="$percent" 'BEGIN { print p + 0.5 }')" 90000 "leaked bytes against heaptrack"
	close "$(total peak_bytes)" "$peak" "$(awk -v p="$percent" 'BEGIN { print p + 0.5 }')" 90000 "peak against heaptrack"
}

# stacks_complete [OPTION]...: at least 99.9 % of all allocations have a whole stack: not cut, and ending where threads and programs begin.
stacks_complete() {
	local share
	# shellcheck disable=SC2016 # variables of jq
	share=$(query '
		[.sites[].stacks[] | . + { whole: ((.truncated | not) and (.frames[-1] as $last
			| ($last.function | tostring | test("^(_start|__libc_start_main.*|__libc_start_call_main|start_thread|clone3?|__clone3?|_dl_start_user|_dl_start)$"))
				or ($last.function == null and (.frames[-2].function | tostring | startswith("__libc_start_main")))
				or ($last.function == null and ($last.module | tostring | test("/ld-linux|/ld\\.so|/libc\\.so"))))) }]
		| ([.[] | select(.whole) | .allocations] | add // 0) as $whole
		| ([.[].allocations] | add // 0) as $all
		| if $all == 0 then 0 else 100 * $whole / $all end' "$@")
	assert_between "$share" 99.9 100 "percent of the allocations with a whole stack" ||
		fail "$(query '[.sites[].stacks[] | select(.truncated or (.frames[-1].function | tostring | test("start|clone") | not))]
			| sort_by(-.allocations) | .[:5][] | "\(.allocations) \(.truncated) " + ([.frames[-4:][] | .function // .module] | join(" < "))' "$@")"
}

# A program's own file, not a wrapper script of some version manager.
real_python() {
	python3 -c 'import sys; print(sys.executable)'
}
