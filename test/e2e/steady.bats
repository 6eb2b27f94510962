# The steady path makes no system call and takes no lock.
load helper

setup() {
	case_setup
	skip_unless_command strace
}

# traced ARGUMENT...: the system calls of "steady ARGUMENT..." under memtrack, each with its thread, in ./trace.
traced() {
	forget
	call 0 "$MEMTRACK" run -q -o memtrack.dat strace -f -qq -o trace "$B/steady" "$@"
	grep -q '"mark"' trace || skip "strace may not trace here"
}

# The calls between the marks of each thread, by name.
between_marks() {
	awk '{
		# Without a thread as long as there is one only.
		thread = $1; call = $2
		if ($1 !~ /^[0-9]+$/) { thread = 0; call = $1 }
		sub(/\(.*/, "", call)
		if (/"mark"/) { inside[thread] = !inside[thread]; next }
		if (inside[thread]) print call
	}' trace | sort | uniq -c
}

@test "no system call between the first and the last of 100000 pairs, nor of 1000000" {
	local n first
	for n in 100000 1000000; do
		traced $n
		assert_eq "$(between_marks)" "" "system calls during $n pairs"
		assert_eq "$(site_sum steady_site allocations --all)" $((n + 2000)) "allocations"
		[ $n != 100000 ] || first=$(wc -l <trace)
	done
	assert_between "$(wc -l <trace)" $((first - 10)) $((first + 10)) "system calls of the whole program"
}

@test "threads that share nothing wait for nothing" {
	traced 100000 4
	# libc's arenas may call for memory; a futex would be a lock.
	assert_no_match <(between_marks) futex "system calls in four threads"
	assert_no_match <(between_marks) sched_yield "system calls in four threads"
	assert_eq "$(site_sum steady_site allocations --all)" 408000 "allocations"
}
