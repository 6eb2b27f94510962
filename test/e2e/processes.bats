# Children in every form: each process image is a row of the same recording.
load helper

setup() {
	case_setup
}

@test "fork without exec: the child starts with the blocks it inherited" {
	record "$B/procs" fork
	assert_eq "$(query '.processes | length')" 2 "process images"
	assert_eq "$(query '.processes[1].parent')" "$(query '.processes[0].id')" "parent of the child"
	expect_sites --process 1 <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		before_fork  100          1000             80             800
		only_parent  30           600              30             600
		only_child   0            0                0              0
	END
	expect_sites --process 2 <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		before_fork  0            0                50             500
		only_child   40           1200             40             1200
		only_parent  0            0                0              0
	END
	expect_totals --process=2 unknown_frees=0 allocations=40
	expect_stack "before_fork<do_fork<main" --process=2
	expect_sites --all <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		before_fork  100          1000             130            1300
		only_parent  30           600              30             600
		only_child   40           1200             40             1200
	END
	# The first one is what a plain report is about; --pid finds the child.
	assert_eq "$(total allocations)" 130 "allocations of the default process"
	assert_eq "$(total allocations --pid "$(query '.processes[1].pid')")" 40 "allocations by --pid"
	assert_eq "$(query .process --all)" null "process under --all"
}

@test "fork and exec, vfork and exec, posix_spawn" {
	record "$B/procs" exec "$B/procs"
	expect_sites --all <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		parent_site  10           1000             10             1000
		leaf_site    7            350              7              350
	END
	expect_sites --process 1 <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		parent_site  10           1000             10             1000
		leaf_site    0            0                0              0
	END
	local id
	id=$(process_ids '.command[1] == "leaf"')
	assert_eq "$(total allocations --process "$id")" 7 "allocations of the child"

	record "$B/procs" vfork "$B/procs"
	expect_sites --process 1 <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		parent_site  10           1000             10             1000
		in_vfork     20           660              0              0
		leaf_site    0            0                0              0
	END
	expect_sites --all <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		leaf_site    140          7000             140            7000
	END

	record "$B/procs" spawn "$B/procs"
	assert_eq "$(process_ids '.command[1] == "leaf" and .allocations == 7' | wc -l)" 20 "images of the child"
	expect_sites --all <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		parent_site  10           1000             10             1000
		leaf_site    140          7000             140            7000
	END
}

@test "a chain of exec under one pid" {
	record_status 6 "$B/procs" chain 3
	assert_eq "$(query '.processes | length')" 4 "process images"
	assert_eq "$(query '[.processes[].pid] | unique | length')" 1 "different pids"
	local i
	for i in 0 1 2 3; do
		expect_totals --process=$((i + 1)) allocations=3 allocated_bytes=$((3 * (103 - i))) leaked_blocks=3
	done
	expect_totals --all allocations=12 allocated_bytes=$((3 * (103 + 102 + 101 + 100)))
	assert_eq "$(query .process.exit.code --process 4)" 6 "exit code of the last image"
}

@test "--no-follow records the program alone, the others run as ever" {
	record --no-follow "$B/procs" exec "$B/procs"
	assert_eq "$(query '.processes | length')" 1 "process images"
	expect_sites --all <<-END
		function     allocations  leaked_blocks
		parent_site  10           10
		leaf_site    0            0
	END
	record --no-follow "$B/procs" fork
	assert_eq "$(query '.processes | length')" 1 "process images"
	expect_sites --all <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		before_fork  100          1000             80             800
		only_parent  30           600              30             600
		only_child   0            0                0              0
	END
	# shellcheck disable=SC2016
	record --no-follow sh -c 'echo "<$LD_PRELOAD>"; env | grep -c MEMTRACK; exit 0'
}

@test "--follow-fork and --trace-children name the default" {
	record --follow-fork "$B/procs" fork
	assert_eq "$(query '.processes | length')" 2 "process images"
	record --trace-children "$B/procs" fork
	assert_eq "$(query '.processes | length')" 2 "process images"
}

@test "fork by a bare system call never writes into the parent's account" {
	record "$B/procs" raw
	expect_sites --process 1 <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		parent_site  10           1000             10             1000
		only_child   0            0                0              0
	END
}

@test "many children, and children of a program with busy threads" {
	record "$B/procs" forks 40
	assert_eq "$(query '.processes | length')" 41 "process images"
	expect_sites --all <<-END
		function    allocations  allocated_bytes
		only_child  1600         48000
	END
	expect_sites --process 1 <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		parent_site  10           1000             10             1000
		only_child   0            0                0              0
	END
	record "$B/procs" threads
	expect_sites --process 1 <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		parent_site  10           1000             10             1000
		only_child   0            0                0              0
	END
	assert_eq "$(site_sum busy leaked_blocks)" 0 "left by the busy threads"
	assert_eq "$(site_sum only_child allocations --all)" 2400 "allocations of the children"
}

@test "a daemon that outlives its parent" {
	record_status 4 "$B/procs" daemon "$PWD/finished"
	expect_sites --process 1 <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		parent_site  10           1000             10             1000
		daemon_site  0            0                0              0
	END
	# What it made before its parent ended is there in any case.  What it made later is, if the run waited for it.
	local made=5
	[ ! -s finished ] || made=10
	assert_eq "$(site_sum daemon_site allocations --all)" $made "allocations of the daemon"
	await_file finished
	assert_eq "$(cat finished)" "daemon done" "the daemon's last word"
}

@test "a child that ends between two looks, right before its parent, has ended" {
	skip_unless_command sqlite3
	local i
	for ((i = 0; i < 20; i++)); do
		# shellcheck disable=SC2016 # for the inner shell
		memtrack 0 run -q -o memtrack.dat sh -c '"$0" leaf; "$0" leaf; exit 0' "$B/procs"
		assert_eq "$(sqlite3 memtrack.dat 'SELECT count(*), count(*) FILTER (WHERE NOT complete) FROM process')" "3|0" "images, and those without an end"
	done
}

@test "shell pipelines and subshells" {
	# shellcheck disable=SC2016
	record sh -c 'for i in 1 2 3; do echo $i; done | sort -r | head -1; "$0" | tr a-z A-Z; (exit 3) || echo $?' "$B/basic"
	assert_eq "$(cat out)" "$(printf '3\nBASIC DONE\n3')" "stdout"
	local id
	id=$(process_ids '.command[0] | endswith("/basic")')
	expect_totals --process="$id" allocations=1012 allocated_bytes=3102000 leaked_bytes=2010000 peak_bytes=2012000
	[ "$(query '[.processes[] | select(.command[0] | endswith("sort"))] | length')" = 1 ] || fail "no sort among the images"
	record_status 9 bash -c 'exec 3>&1; echo "$(echo inner)" >&3; trap "exit 9" EXIT; cat </dev/null | wc -c'
	assert_eq "$(cat out)" "$(printf 'inner\n0')" "stdout"
}

@test "children without the environment, and static ones" {
	record_status 5 env -i "$B/basic" status 5
	record_status 5 sh -c '"$0" && exec env -i "$1" status 5' "$B/basic-static" "$B/basic"
	assert_eq "$(cat out)" "basic done" "stdout"
}
