# run --malloc=stomp: many blocks, correct programs, and the library without memtrack.
load helper
load stomp

setup() {
	case_setup
	ulimit -S -c 0
	library=${MEMTRACK%/*}/libmemtrack-stomp.so
}

@test "30000 live blocks" {
	record --malloc=stomp "$B/crowd" 30000
	crowd_fits 30000
	assert_eq "$(site_sum crowded allocations)" 33000 "allocations of crowded"
}

# Two mappings each, of which there may be 65530.
@test "40000 live blocks with mprotect: as many as there may be, canaries for the others" {
	record --malloc=stomp:guard=mprotect --trace none "$B/crowd" 40000
	assert_eq "$(cut -d , -f 1 out)" "40000 blocks" stdout
	assert_eq "$(query '.errors | length' --all)" 0 errors
	memtrack 0 report memtrack.dat
	assert_match out "mprotect" "the report"
	assert_match out "canar" "the report"
}

# -- correct programs -----------------------------------------------------------------------------

@test "correct programs" {
	channels=callstack
	correct_under "" resize refused exact kernel usable handover spawn signal short limited locked
}

@test "four threads hand blocks to each other" {
	local how
	for how in stomp:quarantine=1M stomp:guard=mprotect stomp:guard=canary; do
		record --malloc=$how --trace none "$B/shuffle" 4 2000 1
		assert_eq "$(query '.errors | length' --all)" 0 "errors with $how"
	done
	record --malloc=stomp "$B/shuffle" 4 2000 1
	read -ra figures <out
	assert_eq "$(($(site_sum made allocations) + $(site_sum remade allocations)))" "${figures[0]}" "allocations"
	assert_eq "$(query '.errors | length' --all)" 0 errors
}

# -- without memtrack -----------------------------------------------------------------------------

@test "preloaded by itself: it says the same on stderr" {
	local row more
	while read -r row; do
		read_row "$row"
		more=$options
		[ "$more" = - ] && more=
		preloaded "$expected" "$more" "$B/$program" "$mode"
		assert_match err "$kind" "stderr of $mode"
		[ "$size" = - ] || assert_match err "\\b$size\\b" "the size on stderr of $mode"
		assert_match err "$program" "the module on stderr of $mode"
	done < <(rows '$2 ~ /^(over_read_1|under_write|smash_slack|thread_uaf|free_interior|delete_twice)$/')
	for mode in zero resize aligned strings fork barrier overflow null threads libc; do
		preloaded 0 "" "$B/correct" $mode
		assert_eq "$(cat out)" fine "correct $mode"
		assert_empty err "stderr of correct $mode"
	done
}
