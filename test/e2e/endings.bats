# However a process ends: its status is memtrack's, and nothing recorded is lost.
load helper

setup() {
	case_setup
}

# kept makes 100 x 100 that stay.
expect_kept() {
	expect_totals allocations=100 allocated_bytes=10000 leaked_blocks=100 leaked_bytes=10000 peak_bytes=10000
	expect_stack "kept<main"
}

@test "return, exit, _exit, _Exit, quick_exit, exit_group" {
	local how
	for how in return exit _exit _Exit quick_exit exit_group; do
		record_status 12 "$B/endings" $how
		assert_empty err "stderr of $how"
		expect_kept
		assert_eq "$(query '.process.exit | "\(.code) \(.signal) \(.complete)"')" "12 null true" "exit of $how"
		case $how in
		exit) assert_eq "$(cat out)" "at exit" "stdout of $how" ;;
		quick_exit) assert_eq "$(cat out)" "at quick exit" "stdout of $how" ;;
		*) assert_empty out "stdout of $how" ;;
		esac
	done
	record "$B/endings" pthread_exit
	assert_eq "$(cat out)" "last thread" "stdout of pthread_exit"
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
		kept      110          11000            110            11000
	END
}

@test "death by a signal: 128 + N, and the recording is whole" {
	local how number
	ulimit -c 0
	while read -r how number; do
		record_status $((128 + number)) "$B/endings" "$how"
		expect_kept
		assert_eq "$(query '.process.exit | "\(.code) \(.signal)"')" "null $number" "exit of $how"
	done <<-END
		abort 6
		sigkill 9
		sigterm 15
		sigsegv 11
		overflow 11
		trap 4
	END
}

@test "killed in the middle of a loop: exact to the last call" {
	local count got
	truncate -s 8 counter
	"$MEMTRACK" run -q -o memtrack.dat "$B/endings" counting "$PWD/counter" 2>err 3>&- 4>&- &
	sleep 0.7
	# Only the program has the counter mapped.
	local pid
	for pid in $(pgrep -f "endings counting $PWD/counter"); do
		[ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$B/endings")" ] && kill -KILL "$pid"
	done
	status=0
	wait $! || status=$?
	assert_eq "$status" 137 "status"
	count=$(od -An -tu8 counter | tr -d ' ')
	[ "$count" -gt 10000 ] || fail "the program got only to $count"
	got=$(site_sum counted allocations)
	# It may have been killed between the call and its own count.
	assert_between "$got" "$count" $((count + 1)) "allocations of counted"
	assert_between "$(total leaked_blocks)" $((100 + count / 2 - 1)) $((100 + count / 2 + 2)) "blocks left"
}

@test "signals are disposed of as without memtrack" {
	call 0 grep -E '^Sig(Blk|Ign)' /proc/self/status
	cp out bare
	record grep -E '^Sig(Blk|Ign)' /proc/self/status
	cmp out bare || fail "$(diff bare out)"
	call 0 sh -c 'trap "" USR1 PIPE; exec grep -E "^Sig(Blk|Ign)" /proc/self/status'
	cp out bare
	call 0 sh -c 'trap "" USR1 PIPE; exec "$0" run -q -o memtrack.dat grep -E "^Sig(Blk|Ign)" /proc/self/status' "$MEMTRACK"
	cmp out bare || fail "$(diff bare out)"
}

@test "stdin, stdout and stderr are the program's own" {
	head -c 300000 /dev/urandom >input
	status=0
	"$MEMTRACK" run -q -o memtrack.dat "$B/endings" echo <input >output 2>err 3>&- 4>&- || status=$?
	assert_eq "$status" 12 status
	cmp input output
	assert_eq "$(cat err)" "to stderr" stderr
	# Closed ones stay closed, and the next file of the program has their number: the status is still its own.
	status=0
	"$MEMTRACK" run -q -o memtrack.dat "$B/basic" status 5 <&- 3>&- 4>&- || status=$?
	assert_eq "$status" 5 "status with stdin closed"
	# A reader that goes away.
	"$MEMTRACK" run -q -o memtrack.dat yes 2>err 3>&- 4>&- | head -2 >output
	assert_eq "$(cat output)" "$(printf 'y\ny')" "what the reader got"
	[ -s memtrack.dat ] || fail "no recording after SIGPIPE"
}

@test "Ctrl-C reaches the program, and the recording is written" {
	local job
	in_group "$MEMTRACK" run -q -o memtrack.dat "$B/endings" wait "$PWD/ready" >out 2>err 3>&- 4>&- &
	job=$!
	await_file ready
	kill -INT -- -$job
	status=0
	wait $job || status=$?
	assert_eq "$status" 130 "status after SIGINT"
	expect_kept
	assert_eq "$(query '.process.exit.signal')" 2 "signal"

	rm -f ready memtrack.dat
	forget
	in_group "$MEMTRACK" run -q -o memtrack.dat "$B/endings" graceful "$PWD/ready" >out 2>err 3>&- 4>&- &
	job=$!
	await_file ready
	kill -INT -- -$job
	status=0
	wait $job || status=$?
	assert_eq "$status" 5 "status of a program that handles SIGINT"
	assert_eq "$(total allocations)" 101 "allocations of a program that handles SIGINT"
}

@test "SIGTERM to memtrack alone: the program gets it, the recording is written" {
	local job
	in_group "$MEMTRACK" run -q -o memtrack.dat "$B/endings" graceful "$PWD/ready" >out 2>err 3>&- 4>&- &
	job=$!
	await_file ready
	kill -TERM $job
	status=0
	wait $job || status=$?
	assert_eq "$status" 5 "status of a program that handles SIGTERM"
	assert_eq "$(total allocations)" 101 allocations
}

@test "main returns while other threads are inside malloc and free" {
	local i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		record_status 12 "$B/endings" busy
		assert_eq "$(site_sum kept leaked_bytes)" 10000 "bytes left by kept"
		assert_between "$(site_sum restless leaked_blocks)" 0 3 "blocks of three threads that hold one at most"
	done
}
