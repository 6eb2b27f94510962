#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# memtrack symbolize: names that come later, names that stay, files that stay whole.

load helper

setup() {
	case_setup
}

# away PROGRAM [AS]: a stripped copy of it as ./prog, its debug information by build-id below ./debug.
away() {
	local id
	cp "$B/$1" prog
	id=$(readelf -nW prog | sed -n 's/.*Build ID: //p')
	[ -n "$id" ] || skip "this linker makes no build-id"
	mkdir -p "debug/.build-id/${id:0:2}"
	objcopy --only-keep-debug prog "debug/.build-id/${id:0:2}/${id:2}.debug"
	objcopy --strip-all prog
}

# The sites of a recording with all their stacks.  What differs from run to run is where the kernel put the program.
sites() {
	"$MEMTRACK" report --format json --top 0 "$1" | jq -S '[.sites[] | .stacks |= sort_by(.frames | map([.function, .line]))]
		| sort_by([.function, .file, .line, .module, .allocations, .allocated_bytes])'
}

stored_sites() {
	"$MEMTRACK" sql --format csv "$1" 'SELECT * FROM sites ORDER BY function, file, line, module, address'
}

@test "names that come later are those that come at once" {
	local program
	for program in operators inlined basic; do
		away "$program"
		record --debug-path "$PWD/debug" ./prog
		mv memtrack.dat wanted.dat
		record ./prog
		[ "$(sites memtrack.dat)" != "$(sites wanted.dat)" ] || fail "$program: there are names before"
		memtrack 0 symbolize --debug-path "$PWD/debug" memtrack.dat
		diff <(sites wanted.dat) <(sites memtrack.dat) >differences || fail "$program:" "$(head differences)"
		diff <(stored_sites wanted.dat) <(stored_sites memtrack.dat) >differences || fail "$program, view sites:" "$(head differences)"
		assert_match err '^memtrack: names for [0-9]+ of [0-9]+ places, [1-9][0-9]* more than before; lines for [1-9]'
		assert_empty out
		[ ! -e memtrack.dat.old ] || fail "an .old"
	done
	# basic.c: its functions are named again, as is main.
	expect_sites <<-END
		function  allocations  allocated_bytes
		small     1000         100000
		main      1012         3102000
	END
	assert_eq "$("$MEMTRACK" sql memtrack.dat 'PRAGMA integrity_check' | tail -1)" ok
}

@test "symbolize changes nothing but names" {
	skip_unless_command sqlite3
	away basic
	record ./prog
	chmod 640 memtrack.dat
	# What a later memtrack might add.
	sqlite3 memtrack.dat "CREATE TABLE later (x, y TEXT); INSERT INTO later VALUES (1, 'a'), (x'00ff', NULL);
		CREATE VIEW more AS SELECT y FROM later; PRAGMA user_version = 2"
	cp memtrack.dat before.dat
	memtrack 0 symbolize -q --debug-path "$PWD/debug" memtrack.dat
	assert_empty err
	assert_eq "$(stat -c %a memtrack.dat)" 640 "mode"
	rest() { # all but names and the sites that follow from them
		sqlite3 "$1" 'PRAGMA user_version; PRAGMA application_id; SELECT * FROM later; SELECT * FROM more' \
			'SELECT * FROM meta; SELECT * FROM process; SELECT * FROM process_argv; SELECT * FROM node; SELECT * FROM location' \
			'SELECT id, path, build_id FROM module; SELECT * FROM sample; SELECT process, node, end, allocations, peak_bytes FROM stack' \
			'SELECT * FROM string WHERE id <= '"$strings"
	}
	strings=$(sqlite3 before.dat 'SELECT max(id) FROM string')
	diff <(rest before.dat) <(rest memtrack.dat) || fail "other tables"
	assert_eq "$(sqlite3 memtrack.dat "SELECT s.value FROM module JOIN string s ON s.id = symbols JOIN string p ON p.id = path
		WHERE p.value LIKE '%/prog'")" dwarf "symbols of the module"
	# Once more there is nothing to find, and nothing is written.
	cp -p memtrack.dat again.dat
	memtrack 0 symbolize --debug-path "$PWD/debug" memtrack.dat
	assert_match err ", 0 more than before"
	cmp memtrack.dat again.dat
}

@test "symbolize --output" {
	away basic
	record ./prog
	cp memtrack.dat before.dat
	echo precious >named.dat
	memtrack 0 symbolize --debug-path "$PWD/debug" -o named.dat memtrack.dat
	cmp memtrack.dat before.dat
	assert_eq "$(cat named.dat.old)" precious
	assert_eq "$("$MEMTRACK" sql named.dat "SELECT count(*) FROM sites WHERE function = 'large'" | tail -1 | tr -d ' ')" 1
	memtrack 0 symbolize -q -o copy.dat memtrack.dat
	cmp <(sites copy.dat) <(sites memtrack.dat)
	memtrack 0 symbolize -q -o /dev/null --debug-path "$PWD/debug" memtrack.dat
	memtrack 3 symbolize -q -o /nowhere/x.dat memtrack.dat
	assert_one_error
}

@test "symbolize keeps the names of programs that are gone, replaced or stripped" {
	cp "$B/identity" prog
	record ./prog
	cp memtrack.dat before.dat
	strip --strip-all prog
	memtrack 0 symbolize memtrack.dat
	cmp memtrack.dat before.dat || fail "stripped"
	cp "$B/identity-impostor" prog
	memtrack 0 symbolize memtrack.dat
	cmp memtrack.dat before.dat || fail "replaced"
	rm prog
	memtrack 0 symbolize memtrack.dat
	cmp memtrack.dat before.dat || fail "gone"
	expect_sites <<-END
		function           allocations  allocated_bytes  leaked_blocks
		alloc_in_original  25           1925             25
	END
}

@test "symbolize uses no debug information of another build" {
	local file
	away identity
	record ./prog
	cp memtrack.dat before.dat
	file=$(find debug -name '*.debug')
	objcopy --only-keep-debug "$B/identity-impostor" "$file"
	cp "$B/identity-impostor" prog
	memtrack 0 symbolize --debug-path "$PWD/debug" memtrack.dat
	cmp memtrack.dat before.dat
	assert_match err "still without names: prog \("
	never_named alloc_in_impostor
}

@test "symbolize --sysroot: a recording of another machine" {
	away basic
	record ./prog
	mkdir -p "root$PWD"
	mv prog "root$PWD/"
	cp "$B/basic" "root$PWD/prog"
	memtrack 0 symbolize --sysroot "$PWD/root" memtrack.dat
	forget
	expect_sites <<-END
		function  allocations  allocated_bytes
		small     1000         100000
	END
}

@test "symbolize reads recordings without sites" {
	skip_unless_command sqlite3
	away basic
	record ./prog
	sqlite3 memtrack.dat 'DROP VIEW sites; DROP VIEW callers; DROP VIEW slacks; DROP VIEW stacks; DROP TABLE site; DROP TABLE interrupted;
		ALTER TABLE stack DROP COLUMN site'
	memtrack 0 symbolize --debug-path "$PWD/debug" memtrack.dat
	forget
	expect_sites <<-END
		function  allocations
		small     1000
	END
}

# no_leftovers: nothing but the recordings.
no_leftovers() {
	assert_eq "$(find . -name '*tmp-*')" "" "temporary files"
}

@test "symbolize leaves the file whole when it cannot write" {
	away operators
	record ./prog
	mv memtrack.dat x.dat
	# Too little space for a second one, and a file system that is read-only.
	# shellcheck disable=SC2016 # for the inner shell
	with_tmpfs 3 400K sh -c 'cp x.dat tiny/ && head -c 100K /dev/zero >tiny/fill 2>/dev/null
		"$MEMTRACK" symbolize --debug-path "$PWD/debug" tiny/x.dat; status=$?
		cmp x.dat tiny/x.dat && [ "$(ls -A tiny | wc -l)" = 2 ] && exit $status'
	assert_one_error 2
	assert_match err "No space left"
	# shellcheck disable=SC2016
	with_tmpfs 3 1M sh -c 'cp x.dat tiny/ && mount -o remount,ro tiny &&
		"$MEMTRACK" symbolize --debug-path "$PWD/debug" tiny/x.dat'
	assert_one_error 2
	assert_match err "cannot write 'tiny/x.dat'.*Read-only"
}

@test "symbolize that is interrupted" {
	skip_unless_command strace
	away basic
	record ./prog
	cp memtrack.dat before.dat
	# Killed in the middle: the file is as it was.
	call 137 strace -qq -o /dev/null -e trace=fsync -e inject=fsync:signal=KILL \
		"$MEMTRACK" symbolize --debug-path "$PWD/debug" memtrack.dat
	cmp memtrack.dat before.dat
	rm -f .*.tmp-*
	# Ctrl-C while it writes comes too late: the work is done, and nothing left behind.
	call 130 strace -qq -o /dev/null -e trace=pwrite64 -e inject=pwrite64:signal=INT:when=1 \
		"$MEMTRACK" symbolize --debug-path "$PWD/debug" memtrack.dat
	no_leftovers
	expect_sites <<-END
		function  allocations
		small     1000
	END
}

@test "symbolize on what is no recording, and wrong usage" {
	memtrack 2 symbolize
	assert_one_error 2
	echo text >x.dat
	memtrack 3 symbolize x.dat
	assert_one_error
	assert_eq "$(cat x.dat)" text
	assert_match err "x.dat.*not a memtrack recording"
}

@test "that names could be downloaded is said, and only then" {
	away basic
	record ./prog
	memtrack 0 report memtrack.dat
	assert_match out "no symbols for prog"
	assert_no_match out debuginfod
	DEBUGINFOD_URLS=http://127.0.0.1:1 memtrack 0 report memtrack.dat
	assert_match out "no symbols for prog \(stripped\); memtrack symbolize" "the report"
	assert_match out "--debuginfod may"
	memtrack 0 symbolize memtrack.dat
	assert_no_match err debuginfod
	DEBUGINFOD_URLS=http://127.0.0.1:1 memtrack 0 symbolize memtrack.dat
	assert_match err "--debuginfod allows to download it"
	record "$B/basic"
	DEBUGINFOD_URLS=http://127.0.0.1:1 memtrack 0 report memtrack.dat
	assert_no_match out debuginfod
}
