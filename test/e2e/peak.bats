# The peak and what made it up: exact for a single thread, within the stated bound for several.
load helper

setup() {
	case_setup
}

@test "the second of two humps, with its composition" {
	record "$B/peak" humps
	expect_sites <<-END
		function  peak_bytes  peak_blocks  allocations
		first     0           0            1000
		both      1000000     1            1
		second    2000100     1            1
	END
	expect_totals peak_bytes=3000100 peak_blocks=2 peak_error_bytes=0 leaked_blocks=0
}

@test "a peak at the very end" {
	record "$B/peak" rising
	expect_sites <<-END
		function  peak_bytes  peak_blocks  leaked_bytes
		rising    100000      100          100000
	END
	expect_totals peak_bytes=100000 peak_blocks=100
}

@test "equal peaks are one moment, not a sum" {
	record "$B/peak" tie
	expect_totals peak_bytes=50000 peak_blocks=500
	local first second
	first=$(site_sum first peak_bytes)
	second=$(site_sum second peak_bytes)
	case "$first $second" in
	"50000 0" | "0 50000") ;;
	*) fail "shares: first $first, second $second" ;;
	esac
}

@test "a block freed just before the peak has no share in it" {
	record "$B/peak" swap
	expect_sites <<-END
		function  peak_bytes  peak_blocks
		first     0           0
		both      100000      1
		second    50001       1
	END
	expect_totals peak_bytes=150001 peak_blocks=2
}

@test "realloc never counts the old and the new block together; blocks of 0 bytes at the peak" {
	record "$B/peak" realloc
	expect_totals peak_bytes=1500000 peak_blocks=1 allocations=3 reallocations=2
	record "$B/peak" zero
	expect_totals peak_bytes=10 peak_blocks=501 allocations=1001
	expect_sites <<-END
		function  peak_bytes  peak_blocks
		empty     0           500
		both      10          1
	END
}

@test "random sequences: the program's own account of the peak, to the byte" {
	local seed p
	for seed in 1 7 12345; do
		record "$B/peak" random 40000 $seed
		read -ra p <out
		expect_totals peak_bytes="${p[0]}" peak_blocks="${p[1]}" allocations="${p[7]}" allocated_bytes="${p[8]}" reallocations="${p[9]}" \
			leaked_blocks="${p[10]}" leaked_bytes="${p[11]}" peak_error_bytes=0
		for i in 0 1 2 3 4; do
			assert_eq "$(site_sum "r$i" peak_bytes)" "${p[2 + i]}" "share of r$i at the peak, seed $seed"
		done
	done
}

@test "the time of the peak, and the timeline's shape" {
	record "$B/shape"
	local reached left t
	read -r reached left <out
	expect_totals peak_bytes=9000000 peak_blocks=9
	t=$(total peak_time_s)
	# The program's clock starts a little later than the recording's.
	assert_between "$t" "$(awk -v x="$reached" 'BEGIN { print x - 0.1 }')" "$(awk -v x="$reached" 'BEGIN { print x + 0.3 }')" "time of the peak"
	assert_between "$(query '.process.duration_s')" 1.15 2.5 "duration"
	# Heap is 1 MB in the middle of the first third, 9 MB in the middle of the second, 1 MB in that of the last.
	at() {
		query "[.timeline[] | select(.t_s <= $1)] | last | .heap_bytes"
	}
	assert_eq "$(at "$(awk -v x="$reached" 'BEGIN { print x / 2 + 0.03 }')")" 1000000 "heap before the peak"
	assert_eq "$(at "$(awk -v x="$reached" -v y="$left" 'BEGIN { print (x + y) / 2 + 0.05 }')")" 9000000 "heap at the peak"
	assert_eq "$(at "$(awk -v x="$left" 'BEGIN { print x + 0.25 }')")" 1000000 "heap after the peak"
	[ "$(query '.timeline | length')" -ge 10 ] || fail "only $(query '.timeline | length') points in the timeline"
	assert_eq "$(query '[.timeline[].t_s] | . == sort')" true "timeline in order"
	[ "$(query '[.timeline[].rss_bytes] | max')" -gt 100000 ] || fail "no RSS in the timeline"
}

@test "--at picks another moment than the peak" {
	record "$B/shape"
	memtrack 0 report --format json --at 0.2 memtrack.dat
	assert_eq "$(jq '[.sites[] | select(.function == "hump") | .peak_bytes] | add // 0' out)" 0 "hump at 0.2 s"
}

@test "threads: the peak is right within the error that is stated" {
	record "$B/peak_threads"
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks
		kept      16000        1600000          0
		passing   4000         4000000          0
	END
	local error noise=20000
	error=$(total peak_error_bytes)
	# libc makes a little for each thread (its vector of thread-local blocks).
	assert_between "$(total peak_bytes)" $((1600000 - error)) $((1600000 + error + noise)) "peak bytes"
	assert_between "$(site_sum kept peak_bytes)" $((1600000 - error)) 1600000 "share of kept"
	assert_between "$error" 1 $((1620000 / 1000 + 9 * 160)) "peak_error_bytes (0.1 % of the peak and 160 bytes a thread)"
}
