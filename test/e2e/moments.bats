# Which stacks held the heap at a time of the run: `report --at`.
load helper

setup() {
	case_setup
}

# halfway A B [SHARE]: a time between two, in seconds since the start of the recording, which is a little before the program's.
halfway() {
	awk -v a="$1" -v b="$2" -v s="${3:-0.5}" 'BEGIN { printf "%.3f", a + (b - a) * s + 0.03 }'
}

# holds TIME FUNCTION BYTES BLOCKS [OPTION]...: what the stacks of a function had then.
holds() {
	local time=$1 function=$2 bytes=$3 blocks=$4
	shift 4
	assert_eq "$(site_sum "$function" peak_bytes --at "$time" "$@")" "$bytes" "bytes of $function at $time $*"
	assert_eq "$(site_sum "$function" peak_blocks --at "$time" "$@")" "$blocks" "blocks of $function at $time $*"
}

@test "a hump, before, on and after it, and at the end" {
	record "$B/shape"
	local reached left before on after
	read -r reached left <out
	before=$(halfway 0 "$reached") on=$(halfway "$reached" "$left") after=$(halfway "$left" "$left" 0)
	after=$(awk -v a="$after" 'BEGIN { print a + 0.2 }')
	holds "$before" base 1000000 1
	holds "$before" hump 0 0
	holds "$on" base 1000000 1
	holds "$on" hump 8000000 8
	holds "$after" base 1000000 1
	holds "$after" hump 0 0
	holds 100% base 0 0
	holds 0 base 0 0
	assert_eq "$(total peak_bytes --at "$on")" 9000000 "total on the hump"
	assert_eq "$(total peak_blocks --at "$on")" 9 "total on the hump"
	assert_eq "$(total peak_bytes --at "$after")" 1000000 "total after the hump"
	assert_between "$(total at_s --at "$on")" "$reached" "$on" "moment on the hump"
	# All else stays.
	assert_eq "$(total allocations --at "$on")" 9 "allocations"
	assert_eq "$(total peak_bytes)" 9000000 "the peak, without --at"
	assert_eq "$(query '.totals | has("at_s")')" false "at_s without --at"
	memtrack 0 report --at "$on"
	assert_match out '^At +[0-9.]+ m?s: 8\.6 MiB in 9 blocks' "the line in place of the peak"
	assert_no_match out '^Peak' "the line of the peak"
	assert_match out '^ +At +Share' "the title of the column"
	local by
	for by in thread size; do
		memtrack 2 report --at "$on" --by $by
		assert_match err "--by $by cannot be combined with --at" "--at with --by $by"
	done
	memtrack 0 report --at "$before" --by function
	assert_no_match out hump "the report before the hump"
}

@test "the same bytes in as many blocks, of other stacks and by another thread" {
	record "$B/moments" swap
	local first second
	{
		read -r first
		read -r second
	} <out
	holds "$(halfway 0 "$first")" first 100000 100
	holds "$(halfway 0 "$first")" second 0 0
	holds "$(halfway "$first" "$second")" first 0 0
	holds "$(halfway "$first" "$second")" second 100000 100
	holds 95% second 99000 99
	holds 95% left 1000 1
	holds 1h second 99000 99
	memtrack 0 report --at 95% --format csv --by function
	assert_match out '^,,second,.*,99000,99,99000,99,' "second in CSV"
	# What one would type next is about the same moment.
	memtrack 0 report --at 12.5% --focus first
	assert_match out '^Next    memtrack report --by stack --at 12\.5% --focus first$' "next"
	memtrack 0 report --at 1ms --focus first
	assert_match out '^Next    memtrack report --by stack --at 0\.001 --focus first$' "next"
}

@test "processes by their own times, and together" {
	record "$B/moments" fork
	local dropped child
	read -r dropped <out
	child=$(process_ids '.parent != null')
	holds "$(halfway 0 "$dropped")" first 100000 100
	holds "$(halfway 0 "$dropped")" second 50000 50 --all
	# The child has what it inherited as well.
	holds "$(halfway 0 "$dropped")" first 200000 200 --all
	holds "$(halfway 0 "$dropped" 0.4)" first 100000 100 --process "$child"
	holds "$(halfway "$dropped" "$dropped" 0.2)" first 100000 100 --all
	holds 100% second 50000 50 --process "$child"
	# Its memory is gone with it.
	holds 99% second 0 0 --all
}

@test "a run of 50 ms, exact and estimated; recordings without moments" {
	skip_unless_command sqlite3
	local sample
	for sample in "" "--sample 1"; do
		# shellcheck disable=SC2086 # two words
		record $sample "$B/moments" short
		# On a machine that has time for us there are five.
		assert_between "$(sqlite3 memtrack.dat 'SELECT count(*) FROM moment')" 1 10 "moments"
		holds 70% first 1000 1
	done
	assert_eq "$(query '.totals.standard_errors.peak_bytes' --at 70%)" null "standard error"
	sqlite3 memtrack.dat 'DROP TABLE moment; DROP TABLE moment_stack'
	memtrack 2 report --at 70%
	assert_one_error 2
	assert_match err "did not record" "an older recording"
	local time
	for time in 1x -1 "1 s" 101% ""; do
		memtrack 2 report "--at=$time"
		assert_match err "'--at'" "the option, for '$time'"
	done
}

@test "many changes: moments are merged, and the recording stays small" {
	skip_unless_command sqlite3
	record "$B/moments" flicker
	assert_eq "$(total stacks)" 4096 "stacks"
	assert_between "$(sqlite3 memtrack.dat 'SELECT count(*) FROM moment_stack')" 4096 100000 "changes"
	# All or none, unless a moment falls into the change.
	assert_between "$(sqlite3 memtrack.dat 'SELECT max(blocks), max(bytes) FROM moment_stack' | tr '|' .)" 1.24 1.24 "blocks and bytes of a stack"
	assert_between "$(total peak_blocks --at 50%)" 0 4096 "blocks in the middle"
	holds 100% leaf 0 0
}

@test "16384 stacks: read no more often than that is worth" {
	skip_unless_command sqlite3
	record "$B/manystacks" 14 6
	# JSON of so many stacks takes jq seconds.
	assert_eq "$(sqlite3 memtrack.dat 'SELECT sum(allocations) FROM stack')" 98304 "allocations"
	assert_between "$(sqlite3 memtrack.dat 'SELECT count(*) FROM moment')" 1 255 "moments"
	# But for one of the stacks, a block is live for an instant.
	assert_between "$(sqlite3 memtrack.dat 'SELECT count(*) FROM moment_stack')" 1 600 "changes"
	memtrack 0 report --at 100% --format csv --by function
	assert_match out '^[0-9,]*,tree_site,.*,144,6,144,6,' "what is left at the end"
}
