# What is wrong gets one line on stderr and the right status; nothing is left half-written and what was there stays.
load helper

setup() {
	case_setup
}

@test "programs that cannot be run: 127 and 126" {
	printf 'old recording' >memtrack.dat
	memtrack 127 run -o memtrack.dat ./missing
	assert_one_error
	assert_match err missing
	PATH=/usr/bin:/bin memtrack 127 run -o memtrack.dat no-such-command-anywhere
	assert_one_error
	printf '#!/bin/sh\n' >plain
	memtrack 126 run -o memtrack.dat ./plain
	assert_one_error
	assert_match err plain
	mkdir folder
	memtrack 126 run -o memtrack.dat ./folder
	assert_one_error
	# No recording was made, so the old one is still there, under its own name.
	assert_eq "$(cat memtrack.dat)" "old recording" "the old recording"
	assert_eq "$(find . -maxdepth 1 -name '*.dat*' | wc -l)" 1 "files"
}

@test "a program for another architecture, and rubbish: 126" {
	cp "$B/basic" foreign
	# e_machine of the header, at 18: 183 is AArch64, 243 RISC-V.
	local machine='\xb7\x00'
	[ "$(uname -m)" != aarch64 ] || machine='\xf3\x00'
	# shellcheck disable=SC2059
	printf "$machine" | dd of=foreign bs=1 seek=18 conv=notrunc status=none
	memtrack 126 run ./foreign
	assert_one_error
	assert_match err foreign
	head -c 1000 "$B/basic" >cut.elf
	chmod +x cut.elf
	call '*' "$MEMTRACK" run ./cut.elf
	case $status in
	126 | 139) ;;
	*) fail "status of a cut ELF file: $status" ;;
	esac
	printf '\177ELF rubbish' >rubbish
	chmod +x rubbish
	memtrack 126 run ./rubbish
	assert_one_error
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	call '*' "$MEMTRACK" run ./script
	case $status in
	126 | 127) assert_one_error ;;
	*) fail "status with a missing interpreter: $status" ;;
	esac
}

@test "static programs run, with a warning and their own status" {
	local kind
	for kind in static staticpie; do
		call 6 "$MEMTRACK" run -o memtrack.dat "$B/basic-$kind" status 6
		assert_match err "static" "warning on $kind"
		assert_no_match err "peak.*[1-9]" "figures on $kind"
		call 0 "$MEMTRACK" run -q -o memtrack.dat "$B/basic-$kind"
		assert_eq "$(cat out)" "basic done" "stdout of $kind"
		assert_match err "static" "warning on $kind with -q"
		assert_lines err 1 "stderr on $kind with -q"
	done
}

@test "setuid programs run, with a warning" {
	skip_unless_root
	skip_unless_command setpriv
	cp "$B/basic" privileged
	chmod 4755 privileged
	chmod -R a+rX "$BATS_TEST_TMPDIR"
	chmod 777 .
	# Run by somebody else, so that the file's owner matters.
	call '*' setpriv --reuid 65534 --regid 65534 --clear-groups ./privileged
	[ "$status" = 0 ] || skip "the folder is not open to others"
	# shellcheck disable=SC2016
	setpriv --reuid 65534 --regid 65534 --clear-groups sh -c '[ -r "$0" ]' "${MEMTRACK%/*}/libmemtrack.so" ||
		skip "the tree is not open to others"
	call 6 setpriv --reuid 65534 --regid 65534 --clear-groups "$MEMTRACK" run -q -o memtrack.dat ./privileged status 6
	assert_match err "set-?uid|privileg" "warning"
	assert_lines err 1 "stderr with -q"
}

@test "programs with an allocator of their own are warned of, by its name" {
	call 9 "$MEMTRACK" run -q -o memtrack.dat "$B/ownmalloc"
	assert_eq "$(cat out)" "own malloc" stdout
	assert_match err "own (malloc|allocator)|allocator of its own|its own" "warning"
	assert_lines err 1 "stderr with -q"
	call 9 "$MEMTRACK" run -q -o memtrack.dat "$B/ownmalloc-mimalloc"
	assert_match err mimalloc "warning"
	call 9 "$MEMTRACK" run -q -o memtrack.dat "$B/ownmalloc-jemalloc"
	assert_match err jemalloc "warning"
}

@test "output that cannot be written: missing folder, a folder itself" {
	memtrack 125 run -o missing/out.dat "$B/basic"
	assert_one_error
	assert_match err missing
	[ ! -e missing ] || fail "it made the folder"
	mkdir folder
	memtrack 125 run -o folder "$B/basic"
	assert_one_error
	assert_eq "$(find folder | wc -l)" 1 "files in the folder"
}

# A file system, since root may write to a folder that is only marked so.
@test "output in a read-only place: said before the program starts" {
	cat >inner <<-'END'
		mount -o remount,ro tiny || exit 77
		"$MEMTRACK" run -o tiny/out.dat "$B/basic" >out1 2>err1
		echo $? >status
	END
	with_tmpfs 0 40k bash inner
	mv err1 err
	assert_eq "$(cat status)" 125 status
	[ ! -s out1 ] || fail "the program was started"
	assert_one_error
	assert_match err "read-only" "the message"
}

@test "a disk that is full while the recording is written" {
	# 40 KiB: room for the old file, not for the new one.
	cat >inner <<-'END'
		echo precious >tiny/out.dat
		"$MEMTRACK" run -q -o tiny/out.dat "$B/manystacks" 12 >out1 2>err1
		echo $? >status
		ls -a tiny >files
		cat tiny/out.dat tiny/out.dat.old >old 2>/dev/null
		true
	END
	with_tmpfs 0 40k bash inner
	mv err1 err
	mv out1 out
	assert_eq "$(cat status)" 125 status
	assert_one_error 3
	assert_match err "space|full" "the message"
	assert_eq "$(cat old)" precious "what was there before"
	assert_eq "$(grep -vxc -e . -e .. files)" 1 "files on the full disk: $(tr '\n' ' ' <files)"
	# What was recorded is not thrown away: it names the command that writes it elsewhere.
	local session
	session=$(sed -n "s/.*memtrack recover \([^ ']*\).*/\1/p" err)
	[ -d "$session" ] || fail "no session to recover in: $(cat err)"
	memtrack 0 recover -o memtrack.dat "$session"
	expect_totals allocations=4096 allocated_bytes=98304 leaked_bytes=24
	[ ! -e "$session" ] || fail "the session is still there after recover"
	# The same through a device that is always full.
	call 125 "$MEMTRACK" run -q -o /dev/full "$B/basic"
	assert_lines err 3 "stderr with -o /dev/full"
	session=$(sed -n "s/.*memtrack recover \([^ ']*\).*/\1/p" err)
	[ -z "$session" ] || memtrack 0 recover -o memtrack.dat "$session"
	[ -c /dev/full ] || fail "/dev/full is gone"
}

@test "a disk that is full while the program runs: totals stay exact, and what is missing is said" {
	cat >inner <<-'END'
		"$MEMTRACK" run -o memtrack.dat --session-dir tiny "$B/manystacks" 17 >out1 2>err1
		echo $? >status
	END
	with_tmpfs 0 3m bash inner
	mv err1 err
	mv out1 out
	case $(cat status) in
	0)
		expect_totals allocations=131072 allocated_bytes=3145728 leaked_bytes=24
		# 131072 stacks do not fit into 3 MiB.
		[ "$(total stacks)" -lt 131072 ] || fail "all $(total stacks) stacks in 3 MiB?"
		assert_match err "not everything could be recorded.*[1-9][0-9]* allocations without a stack" "the summary"
		memtrack 0 report memtrack.dat
		assert_match out "without a stack|not attributed|incomplete" "the report"
		;;
	125)
		# A session that cannot even begin is refused before the program runs.
		assert_one_error 2
		assert_match err "space|room|full" "the message"
		;;
	*) fail "status: $(cat status)" "$(cat err)" ;;
	esac
}

@test "damaged and foreign recordings: status 3" {
	record "$B/basic"
	cp memtrack.dat good.dat
	local size command
	size=$(stat -c %s good.dat)
	: >empty.dat
	head -c $((size / 2)) good.dat >half.dat
	head -c 100 good.dat >start.dat
	head -c 5000 /dev/urandom >noise.dat
	echo 'this is a text' >text.dat
	mkdir folder.dat
	cp good.dat bad.dat
	dd if=/dev/urandom of=bad.dat bs=512 seek=2 count=$((size / 1024)) conv=notrunc status=none
	for file in empty half start noise text folder missing; do
		for command in report check "export --format collapsed" sql diff symbolize; do
			"$MEMTRACK" help | grep -Eq "^ +${command%% *} " || continue
			case $command in
			diff) memtrack 3 diff good.dat $file.dat ;;
			sql) memtrack 3 sql $file.dat 'SELECT 1' ;;
			*)
				# shellcheck disable=SC2086
				memtrack 3 $command $file.dat
				;;
			esac
			assert_one_error 2 || fail "$command on $file.dat"
			assert_match err "$file.dat" "$command on $file.dat"
		done
	done
	# Damage in the middle is either found or harmless; it is never a crash.
	call '*' "$MEMTRACK" report bad.dat
	case $status in
	0 | 3) ;;
	*) fail "report on a damaged file: $status" ;;
	esac
	cmp good.dat memtrack.dat
}

@test "a recording of a newer version, and a database of somebody else" {
	skip_unless_command sqlite3
	record "$B/basic"
	# Newer, but made so that this one can read it; and newer than that.
	cp memtrack.dat newer.dat
	sqlite3 newer.dat 'PRAGMA user_version = 9999'
	memtrack 0 report newer.dat
	sqlite3 newer.dat "UPDATE meta SET value = '9999' WHERE key = 'min_readable_version'"
	memtrack 3 report newer.dat
	assert_one_error 2
	assert_match err "newer|version" "report on a newer version"
	sqlite3 other.dat 'CREATE TABLE t (x); INSERT INTO t VALUES (1)'
	memtrack 3 report other.dat
	assert_one_error 2
	assert_match err "not a (memtrack )?recording" "report on another database"
}

@test "no recording here" {
	local command
	for command in report check "export --format collapsed"; do
		"$MEMTRACK" help | grep -Eq "^ +${command%% *} " || continue
		# shellcheck disable=SC2086
		memtrack 3 $command
		assert_one_error 2
		assert_match err "memtrack.dat" "$command without a recording"
	done
	assert_eq "$(find . -mindepth 1 -maxdepth 1 ! -name out ! -name err | wc -l)" 0 "files made"
}

@test "wrong usage: status 2, or 125 of run, and the option is named" {
	record "$B/basic"
	local wanted line
	while read -r wanted line; do
		# shellcheck disable=SC2086
		memtrack $wanted $line
		assert_one_error 2 || fail "usage: $line"
	done <<-END
		125 run
		125 run --no-such-option true
		125 run --depth 0 true
		125 run --depth 4097 true
		125 run --depth many true
		125 run --depth
		125 run --buckets 0 true
		125 run --buckets -5 true
		125 run --buckets 999999999 true
		2 report --no-such-option
		2 report --sort size
		2 report --by colour
		2 report --focus ((a{1,255}){1,255}){1,255}
		2 report --filter function~(.*){1,255}{1,255}{1,255}
		2 report --top -1
		2 report --top x
		2 report --format xml
		2 report --process x
		2 report --filter function~[
		2 report --filter nonsense
		2 report --color sometimes
		2 report --frames -2
		2 frobnicate-the-heap
		2 --no-such-option
	END
	assert_match err "no-such-option" "the message"
	# The program that was to run did not.
	memtrack 125 run --depth 0 touch ran
	[ ! -e ran ] || fail "the program ran in spite of a wrong option"
	memtrack 2
	assert_empty out
	assert_match err "usage" "memtrack without arguments"
	memtrack 0 --version
	assert_match out "^memtrack [0-9]+\.[0-9]+"
	memtrack 0 help
	assert_match out report
	memtrack 0 report --help
	assert_match out "--sort"
}

@test "wrong usage of options that not every build has" {
	record "$B/basic"
	local command wanted line
	while read -r command wanted line; do
		"$MEMTRACK" help | grep -Eq "^ +$command " || continue
		[[ $line != --* ]] || has_option "$command" "${line%% *}" || continue
		# shellcheck disable=SC2086
		memtrack $wanted $command $line
		assert_one_error 2 || fail "usage: $command $line"
	done <<-END
		run 125 --sample nonsense true
		run 125 --trace callstack,nonsense true
		run 125 --malloc no-such-allocator true
		run 125 --snapshot-signal NOSUCHSIG true
		report 2 --at never
		diff 2 memtrack.dat
		diff 2
		check 2 --max-peak lots
		export 2 --format nonsense memtrack.dat
		attach 125
		attach 125 notapid
	END
}

@test "an existing recording is kept as FILE.old" {
	record "$B/basic" status 0
	cp memtrack.dat first
	call 0 "$MEMTRACK" run -q "$B/chain" plain
	cmp memtrack.dat.old first
	assert_eq "$(total allocations)" 10 "allocations of the new recording"
	cp memtrack.dat second
	call 0 "$MEMTRACK" run -q "$B/basic"
	cmp memtrack.dat.old second
	# A file that is no recording is kept as well.
	echo precious >notes.dat
	call 0 "$MEMTRACK" run -q -o notes.dat "$B/basic"
	assert_eq "$(cat notes.dat.old)" precious "the file that was there"
}

@test "what was most likely meant: --tree=VALUE, another FILE, the report of a recording" {
	record "$B/basic"
	mv memtrack.dat leak.dat
	memtrack 3 report --tree callees leak.dat
	assert_one_error 2
	assert_match err "hint: did you mean --tree=callees[?]" "--tree callees"
	memtrack 3 report nofile.dat
	assert_one_error
	assert_match err "cannot read 'nofile.dat': no such file" "a file that is not there"
	assert_no_match err "hint" "a hint for who named a file"
	memtrack 2 leak.dat
	assert_one_error 2
	assert_match err "'leak.dat' is a recording" "a recording in place of a command"
	assert_match err "hint: memtrack report leak.dat$" "a recording in place of a command"
	mv leak.dat "my leak.dat"
	memtrack 2 "./my leak.dat"
	assert_match err "hint: memtrack report './my leak.dat'$" "a recording with a blank"
}
