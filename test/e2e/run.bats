# Options of memtrack run, and what it leaves behind.
load helper

setup() {
	case_setup
}

@test "the output's name: %p %e %h %t" {
	call 0 "$MEMTRACK" run -q -o 'r-%e-%p.dat' "$B/basic"
	local file
	file=$(echo r-basic-*.dat)
	[[ $file =~ ^r-basic-[0-9]+\.dat$ ]] || fail "files: $(ls)"
	memtrack 0 report --format json "$file"
	assert_eq "r-basic-$(jq .process.pid out).dat" "$file" "the pid in the name"
	mkdir sub
	call 0 "$MEMTRACK" run -q --output='sub/%h.dat' "$B/basic"
	[ -s "sub/$(uname -n).dat" ] || fail "files: $(ls sub)"
	call 0 "$MEMTRACK" run -q -o 'at-%t.dat' "$B/basic"
	[[ $(echo at-*.dat) =~ [0-9] ]] || fail "files: $(ls)"
	# The default is memtrack.dat in the current folder, and nothing else is made.
	mkdir clean
	cd clean
	call 0 "$MEMTRACK" run -q "$B/basic" && mv out err ..
	assert_eq "$(ls -A)" memtrack.dat "files in the folder"
}

@test "the summary: at most five lines on stderr, and none with -q" {
	call 0 "$MEMTRACK" run -o memtrack.dat "$B/basic"
	assert_eq "$(cat out)" "basic done" stdout
	assert_lines err 5 summary
	assert_match err "peak" summary
	assert_match err "leaked" summary
	assert_match err "1,012" "allocations in the summary"
	assert_match err "memtrack.dat" summary
	assert_match err "memtrack report" "the next command in the summary"
	assert_match err "1.9 MiB" "the peak in the summary"
	for quiet in -q --quiet; do
		call 0 "$MEMTRACK" run $quiet -o memtrack.dat "$B/basic"
		assert_empty err "stderr with $quiet"
	done
}

@test "memtrack PROGRAM means run, and -- ends the options" {
	call 5 "$MEMTRACK" "$B/basic" status 5
	[ -s memtrack.dat ] || fail "no recording"
	cp "$B/basic" report
	call 4 "$MEMTRACK" ./report status 4
	call 3 "$MEMTRACK" run -q -- "$B/basic" status 3
	call 0 "$MEMTRACK" run -q -- env
	# Options after the program are the program's.
	call 0 "$MEMTRACK" run -q -o memtrack.dat echo -q --depth 0 -o other
	assert_eq "$(cat out)" "-q --depth 0 -o other" "arguments of the program"
	[ ! -e other ] || fail "the program's option was taken"
}

@test "MEMTRACK_OPTIONS come before the options of the command line" {
	MEMTRACK_OPTIONS="-q --depth 2" call 0 "$MEMTRACK" run -o memtrack.dat "$B/chain" plain
	assert_empty err "stderr with -q by MEMTRACK_OPTIONS"
	assert_eq "$(stack_lines)" "leaf<five" "the stack at --depth 2"
	MEMTRACK_OPTIONS="--depth 2" call 0 "$MEMTRACK" run -q --depth 3 -o memtrack.dat "$B/chain" plain
	forget
	assert_eq "$(stack_lines)" "leaf<five<four" "the stack at --depth 3"
	MEMTRACK_OPTIONS="--no-such" call 125 "$MEMTRACK" run -q "$B/basic"
}

@test "the session folder is empty afterwards, and no trace of it is left elsewhere" {
	mkdir session temporary
	TMPDIR=$PWD/temporary call 0 "$MEMTRACK" run -q --session-dir session -o memtrack.dat "$B/basic"
	assert_eq "$(find session temporary -mindepth 1 | wc -l)" 0 "files left"
	expect_totals allocations=1012
	# Also when the program dies, and when there was nothing to run.
	TMPDIR=$PWD/temporary call 137 "$MEMTRACK" run -q --session-dir session -o memtrack.dat "$B/endings" sigkill
	TMPDIR=$PWD/temporary call 127 "$MEMTRACK" run -q --session-dir session -o memtrack.dat ./missing
	assert_eq "$(find session temporary -mindepth 1 | wc -l)" 0 "files left"
	# Without the option: nothing with the name of this program stays in the usual places.
	call 0 "$MEMTRACK" run -q -o memtrack.dat sh -c 'env | grep -v -e ^MEMTRACK= -e ^MEMTRACK_TEST | sed -n "s/^MEMTRACK[A-Z_]*=//p" | grep / || true'
	local path
	while read -r path; do
		case $path in
		/dev/shm/* | /tmp/*) [ ! -e "$path" ] || fail "left: $path" ;;
		esac
	done <out
}

@test "the program sees the environment it was given, and the folder, and its arguments" {
	printf '%s\n' a 'b c' '' "d'e" '$f' >arguments
	call 0 "$MEMTRACK" run -q -o memtrack.dat printf '%s\n' a 'b c' '' "d'e" '$f'
	cmp out arguments
	call 0 "$MEMTRACK" run -q -o memtrack.dat pwd
	assert_eq "$(cat out)" "$PWD" "the current folder"
	env | sort | grep -v -e '^_=' >before
	call 0 "$MEMTRACK" run -q -o memtrack.dat env
	grep -v -e '^_=' -e '^LD_PRELOAD=' -e '^MEMTRACK_' out | sort >after
	grep -v -e '^LD_PRELOAD=' -e '^MEMTRACK_' before >expected
	cmp expected after || fail "$(diff expected after)"
	# A preload of the user's stays in force, and is counted neither twice nor not at all.
	mkdir tally
	TALLY_DIR=$PWD/tally LD_PRELOAD=$B/libtally.so call 0 "$MEMTRACK" run -q -o memtrack.dat "$B/basic"
	forget
	expect_totals allocations=1012 allocated_bytes=3102000
}

@test "--buckets small and large, and a table that grows" {
	local n
	for n in 64 65 1048576; do
		record --buckets $n "$B/manystacks" 12
		expect_totals allocations=4096 allocated_bytes=98304 leaked_blocks=1 leaked_bytes=24 dropped_events=0
		assert_eq "$(query '[.sites[].stacks[]] | length')" 4096 "stacks with --buckets $n"
	done
}

@test "2^16 different stacks" {
	record "$B/manystacks" 16
	expect_totals allocations=65536 allocated_bytes=1572864 leaked_blocks=1 leaked_bytes=24 dropped_events=0 truncated_stacks=0
	assert_eq "$(total stacks)" 65536 "stacks"
	memtrack 0 report memtrack.dat
	assert_match out tree_site "report"
}

@test "a recording grows with the stacks, not with the time" {
	local short
	record "$B/manystacks" 12 10
	expect_totals allocations=40960
	short=$(stat -c %s memtrack.dat)
	record "$B/manystacks" 12 100
	expect_totals allocations=409600
	# Numbers have more digits, and there are more points in the timeline, whose number has a limit.
	assert_between "$(stat -c %s memtrack.dat)" "$((short - 4 * 8192))" "$((short + 8 * 8192))" "bytes of ten times the work"
}

@test "--trace none and memory_light" {
	echo precious >memtrack.dat
	call 0 "$MEMTRACK" run -q --trace none "$B/basic"
	assert_empty err "stderr of run -q --trace none"
	assert_eq "$(cat memtrack.dat)" precious "the recording of an earlier run"
	call 0 "$MEMTRACK" run --trace none "$B/basic"
	assert_lines err 1 "stderr of run --trace none"
	assert_match err "nothing was recorded.*--trace=none.*its own malloc" "the one line"
	# Not even a place where it could not be written matters, nor is there a word of it in the program.
	call 3 "$MEMTRACK" run -q --trace none -o missing/x.dat "$B/basic" status 3
	call 0 "$MEMTRACK" run -q --trace none env
	assert_no_match out "^(LD_PRELOAD|MEMTRACK_SESSION)=" "environment"
	local trace
	for trace in memory_light memtag memalloc,memtag; do
		record --trace $trace "$B/basic"
		expect_totals allocations=1012 allocated_bytes=3102000 peak_bytes=2012000 leaked_blocks=110 temporary_allocations=901 \
			unattributed_allocations=0 dropped_events=0 truncated_stacks=0
		assert_eq "$(query '[.sites[].stacks[] | .frames | length] | unique | tojson')" '[0]' "frames with --trace $trace"
		memtrack 0 report
		assert_match out "^Lost +(nothing|see the notes)" "the report on --trace $trace"
		assert_match out "^Note .*recorded without stacks" "the report on --trace $trace"
	done
	for trace in memory callstack callstack,memtag memory_light,callstack; do
		record --trace $trace "$B/basic"
		expect_stack "small<work<main"
	done
	record --trace memory_light "$B/procs" fork
	expect_totals --all allocations=$((100 + 30 + 40)) unattributed_allocations=0
	call 0 "$MEMTRACK" run --trace help
	assert_match out callstack "list of channels"
	call 0 "$MEMTRACK" run --malloc help
	assert_match out stomp "list of allocators"
}

@test "recover, after memtrack itself was killed" {
	local job program
	mkdir session
	in_group "$MEMTRACK" run -q --session-dir session -o memtrack.dat "$B/endings" graceful "$PWD/ready" >out 2>err 3>&- 4>&- &
	job=$!
	await_file ready
	program=$(cat ready)
	kill -KILL $job
	wait $job || true
	# The program is not harmed, and goes on to its own end.
	kill -0 "$program" || fail "the program died with memtrack"
	kill -TERM "$program"
	for ((i = 0; i < 300; i++)); do
		kill -0 "$program" 2>/dev/null || break
		sleep 0.01
	done
	[ ! -e memtrack.dat ] || fail "a recording by a memtrack that was killed"
	memtrack 0 recover session
	forget
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
		kept      101          10100            101            10100
	END
	expect_stack "kept<main"
	# A folder without a session is an error.
	mkdir nothing
	memtrack 3 recover nothing
	assert_one_error 2
	memtrack 3 recover missing
	assert_one_error 2
}

@test "run --check: the verdict in one step" {
	call 0 "$MEMTRACK" run -q -o memtrack.dat --check '--max-leaked 2M' "$B/basic"
	call 1 "$MEMTRACK" run -q -o memtrack.dat --check '--max-leaked 1M' "$B/basic"
	assert_match err "large" "the site to blame"
	call 7 "$MEMTRACK" run -q -o memtrack.dat --check '--max-leaked 1M' "$B/basic" status 7
}

@test "odd names: blanks, quotes, newlines, bytes that are no text" {
	local folder
	folder=$PWD/$'a "b" \'c\'\n\xff$d;e'
	mkdir "$folder"
	cp "$B/basic" "$folder/pro g"
	call 0 "$MEMTRACK" run -q -o "$folder/out put.dat" "$folder/pro g"
	mv "$folder/out put.dat" memtrack.dat
	expect_totals allocations=1012
	expect_stack "large<work<main"
	assert_eq "$(query '.process.command | length')" 1 "words of the command"
}

@test "--sample: unbiased estimates, marked as such" {
	# 302000 blocks of 16 + 8 * (i % 50) bytes, 212 on average: about 64 million bytes, so 15600 samples of 4096.
	record --sample 4096 "$B/steady" 300000
	assert_between "$(total allocations)" $((302000 * 93 / 100)) $((302000 * 107 / 100)) "allocations (estimated)"
	assert_between "$(total allocated_bytes)" $((302000 * 212 * 95 / 100)) $((302000 * 212 * 105 / 100)) "bytes (estimated)"
	assert_eq "$(total leaked_blocks)" 0 "leaked blocks"
	memtrack 0 report memtrack.dat
	assert_match out "estimate" "the report on a sample"
	record --sample 1K "$B/manystacks" 13
	assert_between "$(total allocated_bytes)" $((24 * 8192 * 70 / 100)) $((24 * 8192 * 130 / 100)) "bytes (estimated)"
}

@test "limits around memtrack: address space, descriptors" {
	call 0 sh -c 'ulimit -v 1000000; exec "$0" run -q -o memtrack.dat "$1"' "$MEMTRACK" "$B/basic"
	assert_empty err "stderr under ulimit -v"
	forget
	expect_totals allocations=1012 allocated_bytes=3102000 peak_bytes=2012000 dropped_events=0
	call 0 sh -c 'ulimit -n 12; exec "$0" run -q -o memtrack.dat "$1" forks 20' "$MEMTRACK" "$B/procs"
	assert_empty err "stderr under ulimit -n"
	forget
	expect_totals --all allocations=$((10 + 20 * 40))
}

@test "a limit on file size around memtrack: too small to record under, and nothing is started" {
	echo precious >memtrack.dat
	call 125 sh -c 'ulimit -f 16; exec "$0" run -q -o memtrack.dat "$1"' "$MEMTRACK" "$B/basic"
	assert_empty out
	assert_match err "file size limit" "the reason"
	assert_eq "$(cat memtrack.dat)" precious "the old recording"
}

@test "a limit on file size around memtrack: enough for a small session" {
	call 0 sh -c 'ulimit -f 20000; exec "$0" run -q -o memtrack.dat "$1"' "$MEMTRACK" "$B/basic"
	assert_empty err
	expect_totals allocations=1012 allocated_bytes=3102000
}

@test "a small /dev/shm is no obstacle" {
	[ -d /dev/shm ] || skip "no /dev/shm"
	local as=-m
	[ "$(id -u)" = 0 ] || as=-rm
	unshare $as -- mount -t tmpfs -o size=1m none /dev/shm 2>/dev/null || skip "no mount namespaces here"
	# shellcheck disable=SC2016
	call 0 unshare $as -- sh -c 'mount -t tmpfs -o size=1m none /dev/shm && exec "$0" run -q -o memtrack.dat "$1" 15' "$MEMTRACK" "$B/manystacks"
	assert_empty err
	expect_totals allocations=32768 stacks=32768 dropped_events=0
}

@test "60 processes alive at the same time" {
	# shellcheck disable=SC2016
	record sh -c 'for i in $(seq 60); do sleep 0.6 & done; wait'
	assert_eq "$(query '[.processes[] | select(.command[0] == "sleep")] | length' --top 1)" 60 "images of sleep"
}

@test "memtrack under memtrack, and four at a time with one output" {
	call 0 "$MEMTRACK" run -q -o outer.dat "$MEMTRACK" run -q -o memtrack.dat "$B/basic"
	assert_empty err
	expect_totals allocations=1012 allocated_bytes=3102000
	memtrack 0 report --format json --top 1 outer.dat
	local i jobs=()
	for i in 1 2 3 4; do
		"$MEMTRACK" run -q -o memtrack.dat "$B/chain" plain 2>>err.parallel &
		jobs+=($!)
	done
	for i in "${jobs[@]}"; do
		wait "$i"
	done
	assert_empty err.parallel
	forget
	expect_totals allocations=10
	assert_eq "$(find . -name '*.tmp*' | wc -l)" 0 "temporary files left"
}

@test "memtrack killed while it works or writes: the old recording stays, recover has everything" {
	local delay job
	for delay in 0.2 0.5 0.8; do
		rm -rf session
		mkdir session
		echo precious >memtrack.dat
		"$MEMTRACK" run -q --session-dir session -o memtrack.dat "$B/manystacks" 16 2>err 3>&- 4>&- &
		job=$!
		sleep $delay
		kill -KILL $job 2>/dev/null || true
		wait $job || true
		if [ "$(head -c 8 memtrack.dat)" = precious ]; then
			# The program may have a moment to go.
			for ((i = 0; i < 300; i++)); do
				pgrep -f "$B/manystacks 16" >/dev/null || break
				sleep 0.01
			done
			memtrack 0 recover -o memtrack.dat session
		fi
		assert_eq "$(cat memtrack.dat.old)" precious "the old recording"
		rm -f memtrack.dat.old
		forget
		expect_totals allocations=65536 allocated_bytes=1572864 leaked_bytes=24
	done
}

@test "the command to type next has quotes only where a shell needs them" {
	memtrack 0 run -o plain-1.dat -- "$B/basic"
	assert_match err "next: memtrack report --top 20 plain-1[.]dat$" "a plain name"
	memtrack 0 run -o "it's one.dat" -- "$B/basic"
	assert_match err "next: memtrack report --top 20 'it'.''s one[.]dat'$" "a name with a blank and a quote"
	memtrack 0 run -- "$B/basic"
	assert_match err "next: memtrack report --top 20$" "the default name"
}
