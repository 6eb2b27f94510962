# A guest's manners: what the program does to its own process must not upset the recording, nor the recording the program.
load helper

setup() {
	case_setup
}

# guest ROUNDS HABIT...: the program does well, and its work is all there.
guest() {
	local rounds=$1
	shift
	rm -rf ./mine ./gone
	record_status 3 "$B/guest" "$@"
	assert_eq "$(cat out)" "guest done" "stdout with $*"
	assert_empty err "stderr with $*"
	# Only these: some habits make many thousand stacks.
	expect_sites --filter 'function~^work_site$' <<-END
		function   allocations         allocated_bytes       leaked_blocks     leaked_bytes
		work_site  $((200 * rounds))   $((12800 * rounds))   $((20 * rounds))  $((1280 * rounds))
	END
	assert_eq "$(total dropped_events)" 0 "dropped events with $*"
	assert_eq "$(query .process.exit.complete)" true "completeness with $*"
}

@test "descriptors: all closed, the lowest one free, all used up, a limit of three" {
	guest 52 close
	guest 52 lowest
	guest 52 files
	guest 2 nofile
}

@test "directories: removed, changed" {
	guest 4 chdir
	guest 2 umask
}

@test "chroot and lost privileges" {
	skip_unless_root
	guest 2 chroot
	# The session must not lie where only root may enter.
	chmod 755 . .. ../.. 2>/dev/null || true
	guest 2 drop
	guest 3 drop clearenv
}

@test "an empty environment" {
	guest 2 clearenv
}

@test "limits on file size" {
	guest 2 fsize
	guest 3 fsize threads
	guest 3 fsize grow
	# With a limit of 0 it cannot even write to a regular file: its word goes through a pipe.
	record_status 3 bash -c '"$0" "$@" | cat; exit ${PIPESTATUS[0]}' "$B/guest" fsize0 grow
	# 2^14 stacks of grown, and three rounds of work.
	assert_eq "$(query '[.processes[] | select(.command[1] == "fsize0") | .allocations] | add' --top 1)" $((16384 + 600)) "allocations"
}

@test "a limit on address space" {
	record_status 3 "$B/guest" as
	assert_eq "$(cat out)" "guest done" stdout
	expect_sites <<-END
		function   allocations  allocated_bytes  leaked_blocks  leaked_bytes
		work_site  400          25600            40             2560
	END
}

@test "a small stack" {
	guest 2 stack
	expect_sites <<-END
		function     allocations  allocated_bytes  leaked_blocks
		small_stack  10           200              0
	END
}

@test "a sandbox that kills at all but ten system calls" {
	guest 52 seccomp
	guest 52 seccomp_enosys
	guest 53 seccomp grow
	guest 53 seccomp_enosys grow
	# work is called in three places: before, inside and after each habit.
	expect_totals allocations=$((53 * 200 + 16384)) stacks=$((16384 + 3))
}

@test "errno and dlerror are the program's own" {
	guest 3 errno dlerror
	expect_sites <<-END
		function      allocations  allocated_bytes  leaked_blocks
		errno_site    360          23914800         0
		dlerror_site  100          1000             0
	END
}

@test "programs with functions under the names of libc" {
	local program
	for program in ownsyms ownsyms-always; do
		record_status 8 "$B/$program"
		assert_empty err "stderr of $program"
		assert_eq "$(cat out)" "own done" "stdout of $program"
		expect_sites <<-END
			function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
			own_site  4100         1344000          100            2000
		END
	done
}

@test "before constructors and after destructors" {
	record "$B/early"
	expect_sites <<-END
		function         allocations  allocated_bytes  leaked_blocks  leaked_bytes
		in_preinit       10           1000             2              200
		in_constructor   10           2000             1              200
		in_destructor    4            200              4              200
		in_atexit        3            180              3              180
		lib_constructor  5            555              0              0
		lib_destructor   2            140              2              140
	END
	assert_eq "$(total unknown_frees)" 0 "unknown frees"
	expect_stack "in_preinit<do_preinit"
	expect_stack "lib_destructor<destruct"
}

@test "signal handlers that allocate, also on tiny stacks" {
	record "$B/jumps" signals
	expect_sites <<-END
		function      allocations  allocated_bytes  leaked_blocks  leaked_bytes
		in_handler    60           1500             60             1500
		in_alternate  60           1560             60             1560
		in_tiny       60           1620             60             1620
	END
	expect_order "in_handler on_signal raise_it with_stack do_signals main"
	expect_order "in_alternate on_signal raise_it with_stack do_signals main"
	expect_order "in_tiny on_signal raise_it with_stack do_signals main"
}

@test "longjmp and fibers" {
	record "$B/jumps" longjmp fibers
	expect_sites <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		before_jump  9000         252000           0              0
		after_jump   3000         87000            100            2900
		fiber_stack  60           3932160          0              0
		in_fiber     1200         36000            60             1800
	END
	never_together after_jump dive
	expect_order "before_jump dive dive dive do_longjmp main"
	expect_stack "in_fiber<fiber_step<fiber_body"
	never_together in_fiber resume
	never_together in_fiber main
}
