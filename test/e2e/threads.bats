# Threads in all their lives and deaths.
load helper

setup() {
	case_setup
}

@test "4000 threads one after the other" {
	record "$B/threads" short
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
		in_short  8000         384000           400            19200
	END
	assert_eq "$(total truncated_stacks)" 0 "truncated stacks"
	expect_order "in_short short_body"
	# Then the C library's start of a thread, two functions, which have names only where its debug information is installed.
	assert_eq "$(query '[.sites[].stacks[].frames | select(.[0].function == "in_short") | .[2:] | map(.module | test("libc[.-]")) | tostring] | unique | join(" ")')" \
		"[true,true]" "the frames below short_body lie in libc"
	# The table of threads is reused: the recording does not grow with their number.
	[ "$(stat -c %s memtrack.dat)" -lt 2000000 ] || fail "the recording has $(stat -c %s memtrack.dat) bytes"
}

@test "a storm of 10000 threads" {
	record "$B/threads" storm
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
		in_storm  20000        480000           10000          160000
	END
	assert_eq "$(total dropped_events)" 0 "dropped events"
}

@test "producers and consumers: freed by another thread" {
	record "$B/threads" handover
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes  temporary_allocations
		produced  60000        3930000          60             960           0
	END
	assert_eq "$(total unknown_frees)" 0 "unknown frees"
}

@test "destructors of thread-specific data allocate and free" {
	record "$B/threads" destructors
	expect_sites <<-END
		function       allocations  allocated_bytes  leaked_blocks  leaked_bytes
		for_key        200          12800            0              0
		in_destructor  400          9600             0              0
	END
	assert_eq "$(total unknown_frees)" 0 "unknown frees"
}

@test "cancelled threads" {
	record "$B/threads" cancel
	expect_sites <<-END
		function      allocations  allocated_bytes  leaked_blocks  leaked_bytes
		after_cancel  100          800              100            800
	END
	assert_eq "$(site_sum in_cancelled leaked_blocks)" 0 "left by cancelled threads"
	record "$B/threads" everywhere
	assert_eq "$(cat out)" ok "malloc and free are no cancellation points"
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  temporary_allocations
		in_loop   200000       4800000          0              200000
	END
}

@test "four threads at one site lose nothing" {
	record "$B/threads" parallel
	expect_sites <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes  temporary_allocations
		in_parallel  200000       8000000          0              0             200000
		left         40           1600             40             1600          0
	END
	[ "$(total threads)" -ge 5 ] || fail "threads: $(total threads)"
}

@test "exceptions in one thread and others" {
	record "$B/exceptions"
	expect_sites <<-END
		function       allocations  allocated_bytes  leaked_blocks  leaked_bytes
		in_destructor  15000        480000           0              0
		in_catch       1000         40000            50             2000
		in_thread      4000         96000            0              0
	END
	expect_order "in_destructor descend descend main"
	assert_eq "$(query '[.sites[].stacks[] | select(.truncated)] | length')" 0 "truncated stacks"
}

@test "blocks that change hands at once: the threads' own account" {
	local seed p
	for seed in 1 2 3 4; do
		record "$B/shuffle" $((seed * 3)) 200000 $seed
		read -ra p <out
		assert_eq "$(($(site_sum made allocations) + $(site_sum remade allocations)))" "${p[0]}" "allocations"
		assert_eq "$(($(site_sum made allocated_bytes) + $(site_sum remade allocated_bytes)))" "${p[1]}" "bytes"
		assert_eq "$(($(site_sum made leaked_blocks) + $(site_sum remade leaked_blocks)))" "${p[4]}" "blocks left"
		assert_eq "$(($(site_sum made leaked_bytes) + $(site_sum remade leaked_bytes)))" "${p[5]}" "bytes left"
		expect_totals reallocations="${p[3]}" unknown_frees=0 double_frees=0 dropped_events=0
	done
}
