# run --malloc=stomp: errors of test/prog/bugs.table are found, at the instruction or at the free, and correct programs go through.
# e2e/long/stomp.bats has the whole table.
load helper
load stomp

setup() {
	case_setup
	ulimit -S -c 0
	library=${MEMTRACK%/*}/libmemtrack-stomp.so
}

@test "past the end of a block" {
	expect_bugs "$(rows "($some) && \$4 == \"heap-buffer-overflow\"")"
}

@test "before its beginning" {
	expect_bugs "$(rows "($some) && \$4 == \"heap-buffer-underflow\"")"
}

@test "after its free" {
	expect_bugs "$(rows "($some) && \$4 == \"heap-use-after-free\"")"
}

@test "freed twice" {
	expect_bugs "$(rows "($some) && \$4 == \"double-free\"")"
}

@test "freed, and no block" {
	expect_bugs "$(rows "($some) && \$4 == \"invalid-free\"")"
}

@test "bytes beside a block, found when it is freed" {
	expect_bugs "$(rows "($some) && \$4 == \"heap-corruption\"")"
	# Two bytes, and the one between them as it was.
	record_status 134 --malloc=stomp "$B/bugs" smash_slack
	assert_eq "$(stomp_errors '.[0].corrupt_bytes')" 2 "bytes overwritten"
}

@test "without tracking" {
	expect_bugs "$(rows "$few")" "" --trace none
}

@test "guards by mprotect: the same faults" {
	expect_bugs "$(rows "$few && \$8 == 139")" guard=mprotect --trace none
}

# Without guards: what was written is found at the free, wrong frees at once, and nothing else.
@test "canaries: bad frees, and writes when the block is freed" {
	local table
	expect_bugs "$(rows "$few && \$13 == \"same\"")" guard=canary --trace none
	table=$(rows "$few && \$13 == \"free\"" | awk '{
		$4 = "heap-corruption"; $5 = "write"; sub(/\.\..*/, "", $7); $8 = 134; $9 = $1 == "bugs" ? "bug_free" : "~bug_delete_array"; print
	}')
	expect_bugs "$table" guard=canary --trace none
	while read -r table; do
		read_row "$table"
		record --malloc="$(stomp "$options" guard=canary)" --trace none "$B/$program" "$mode"
		assert_eq "$(cat out)" "done" "stdout of $mode"
		assert_eq "$(query '.errors | length' --all)" 0 "errors of $mode"
	done < <(rows '$2 ~ /^(over_read_1|strlen_over|under_read)$/')
}

# -- how it ends ----------------------------------------------------------------------------------

@test "continue: it is said, and the program goes on" {
	for mode in over_write_1 uaf_read double_free free_interior smash_slack realloc_freed; do
		read_row "$(rows "\$2 == \"$mode\"")"
		record_status 0 --malloc=stomp:continue "$B/$program" "$mode"
		assert_eq "$(cat out)" "done" "stdout of $mode"
		assert_eq "$(stomp_errors '.[0] | "\(.kind) \(.access) \(.continued)"')" "$kind $access true" "the error of $mode"
		assert_match err "$kind" "stderr of $mode"
	done
}

@test "the program's own handlers run, after the record was made" {
	for mode in over_write_1 uaf_read; do
		read_row "$(rows "\$2 == \"$mode\"")"
		record_status 42 --malloc=stomp "$B/$program" handler "$mode"
		assert_eq "$(cat out)" "handled 11" "stdout of $mode"
		expect_row
	done
	for mode in double_free smash_slack; do
		read_row "$(rows "\$2 == \"$mode\"")"
		record_status 43 --malloc=stomp "$B/$program" handler "$mode"
		assert_eq "$(cat out)" "handled 6" "stdout of $mode"
		expect_row
	done
}

@test "a core file of the fault" {
	local pattern cores
	pattern=$(cat /proc/sys/kernel/core_pattern)
	case $pattern in '|'* | */*) skip "core files go elsewhere: $pattern" ;; esac
	ulimit -c unlimited 2>/dev/null || skip "no core files may be made here"
	case $(stat -f -c %T .) in tmpfs | ext* | xfs | btrfs | overlay*) ;; *) skip "no sparse files here" ;; esac
	for mode in uaf_write double_free; do
		read_row "$(rows "\$2 == \"$mode\"")"
		rm -f core*
		record_status "$expected" --malloc=stomp "$B/bugs" "$mode"
		cores=(core*)
		[ -s "${cores[0]}" ] || fail "no core file after $mode"
		assert_between "$(stat -c %s "${cores[0]}")" 1 $((64 << 20)) "bytes of the core file, holes included"
		readelf -h "${cores[0]}" | grep -q 'CORE' || fail "not a core file"
	done
}

@test "a fault that is not the heap's is the program's own affair" {
	record_status 139 --malloc=stomp "$B/endings" sigsegv
	assert_eq "$(query '.errors | length' --all)" 0 "errors of a wild write"
	record_status 139 --malloc=stomp "$B/endings" overflow
	assert_eq "$(query '.errors | length' --all)" 0 "errors of a stack overflow"
	record_status 134 --malloc=stomp "$B/endings" abort
	assert_eq "$(query '.errors | length' --all)" 0 "errors of abort"
}

@test "children: forked, and with an exec" {
	read_row "$(rows '$2 == "over_write_1"')"
	record_status 0 --malloc=stomp "$B/bugs" fork over_write_1
	assert_eq "$(cat out)" "child 139" stdout
	expect_row
	assert_eq "$(stomp_errors '.[0].process')" "$(process_ids '.parent != null')" "process of the error"

	record_status 0 --malloc=stomp "$B/bugs" exec over_write_1
	assert_eq "$(cat out)" "child 139" stdout
	expect_row
	assert_eq "$(stomp_errors '.[0].process')" "$(process_ids '.command[1] == "over_write_1"')" "process of the error after exec"

	record_status 139 --malloc=stomp "$B/bugs" twice uaf_read
	assert_eq "$(cat out)" "child 139" stdout
	assert_eq "$(stomp_errors '[.[].count] | add')" 2 "errors of two processes"
	assert_eq "$(stomp_errors '[.[].process] | unique | length')" 2 "processes with errors"
}

# -- what is guarded ------------------------------------------------------------------------------

@test "options pick the blocks, and what cannot be is refused" {
	local given
	record --malloc=stomp:max=47 "$B/bugs" over_read_1
	assert_eq "$(query '.errors | length' --all)" 0 "errors with max=47"
	record_status 139 --malloc=stomp:max=48 "$B/bugs" over_read_1
	record --malloc=stomp:min=49 "$B/bugs" over_read_1
	record_status 139 --malloc=stomp:min=48 "$B/bugs" over_read_1
	record_status 139 --malloc='stomp:align=16,function=^bug_(al|x)loc$' "$B/bugs" over_read_1
	record_status 0 --malloc='stomp:function=bug_read' "$B/bugs" over_read_1
	assert_eq "$(query '.guards[0] | "\(.madvise_blocks) \(.mprotect_blocks)"')" "0 0" "guarded blocks of what does not allocate"
	record_status 139 --malloc='stomp:function=bug_new_array' "$B/bugs++" new_array_over
	# By demangled names as well.
	record --malloc='stomp:function=^new_direct\(\)$' "$B/operators"
	assert_between "$(query '.guards[0].madvise_blocks + .guards[0].mprotect_blocks')" 1 1000000 "guarded blocks"
	assert_between "$(query '.guards[0].canary_blocks')" 1 1000000 "blocks that other functions allocate"
	for given in 'function=no_such_function' 'function=' 'function=a['; do
		rm -f ran
		memtrack 125 run "--malloc=stomp:$given" "$B/bugs" control
		assert_one_error 2
		assert_empty out "stdout with $given"
	done
	# Another program that the program runs has no such functions.
	record --malloc='stomp:function=main' "$B/bugs" control
	record --malloc='stomp:function=^main$' "$B/correct" spawn
	for given in nonsense align=3 sample=0 sample=x guard=nothing quarantine=-1 max=1Q; do
		rm -f ran
		memtrack 125 run "--malloc=stomp:$given" touch ran
		assert_one_error 2
		[ ! -e ran ] || fail "the program was started with $given"
	done
}

@test "an error lies in the time of its process, which is not that of looking up its names" {
	local how
	for how in callstack none; do
		record_status 139 --malloc=stomp --trace $how "$B/bugs" over_read_1
		assert_eq "$(query '.errors[0].t_s > 0 and .errors[0].t_s <= .process.duration_s')" true "time of the error with --trace=$how"
	done
}

@test "continue: how often, and where blocks begin at a guard" {
	record_status 0 --malloc=stomp:continue "$B/bugs" repeated
	assert_eq "$(stomp_errors '[.[] | "\(.kind) \(.count)"] | sort | join(", ")')" "double-free 3, heap-buffer-overflow 5" "errors"
	assert_eq "$(query '.guards[0].errors_lost')" 0 "errors lost"
	record_status 0 --malloc=stomp:continue,under "$B/bugs" under_write
	assert_eq "$(stomp_errors '.[0].continued')" true "the error before the first block"
}

@test "in a sandbox that does not let handlers be changed, a fault ends it all the same" {
	read_row "$(rows '$2 == "over_write_1"')"
	MEMTRACK_TIMEOUT=20 record_status 139 --malloc=stomp "$B/bugs" sandbox over_write_1
	expect_row
}

@test "blocks without guards: memory that was never used is not touched" {
	local options
	channels=none
	for options in guard=canary max=4096; do
		correct_under $options sparse
	done
}

@test "errors of a child are pointed to" {
	call 0 "$MEMTRACK" run --malloc=stomp -o memtrack.dat sh -c '"$1" over_read_1; true' - "$B/bugs"
	assert_match err "report --all" "the summary"
	memtrack 0 report memtrack.dat
	assert_match out "Errors.*--all" "the report of the shell"
	memtrack 0 report --all memtrack.dat
	assert_match out "1 heap-buffer-overflow" "the report of all"
}

@test "from a folder with blanks: sizes are passed on as they are" {
	mkdir "a b"
	cp "$MEMTRACK" "${MEMTRACK%/*}"/libmemtrack*.so "a b"
	call 139 "./a b/memtrack" run -q --malloc=stomp:align=1 -o memtrack.dat "$B/bugs" odd_read
	assert_eq "$(stomp_errors '.[0].block | "\(.size) \(.offset)"')" "13 13" "size and offset"
}

@test "the report says how blocks were guarded, and how many" {
	record --malloc=stomp "$B/crowd" 1000
	memtrack 0 report memtrack.dat
	assert_match out "stomp" "the report"
	assert_match out "1[ ,.']?1[0-9][0-9]" "the number of blocks in the report"
	record --malloc=stomp:guard=mprotect "$B/crowd" 1000
	memtrack 0 report memtrack.dat
	assert_match out "mprotect" "the report"
	record --malloc=stomp:guard=canary "$B/crowd" 1000
	memtrack 0 report memtrack.dat
	assert_match out "canar" "the report"
}
