#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# memtrack sql: what it runs, how it prints it, what it refuses.

load helper

setup() {
	case_setup
}

# sql STATUS STATEMENT [OPTION]...: on ./memtrack.dat.
sql() {
	local wanted=$1 statement=$2
	shift 2
	memtrack "$wanted" sql "$@" memtrack.dat "$statement"
}

# basic.c: 1000 blocks of 100 bytes, one of 2000, eleven others of 3000000 in all.
@test "sql finds the file and the statements" {
	record "$B/basic"
	memtrack 0 sql memtrack.dat 'SELECT allocations FROM totals'
	assert_eq "$(tail -1 out | tr -d " ")" 1012
	memtrack 0 sql 'SELECT allocated_bytes FROM totals'
	assert_eq "$(tail -1 out | tr -d " ")" 3102000
	cp memtrack.dat other.dat
	# shellcheck disable=SC2016 # for the inner shell
	call 0 sh -c 'echo "SELECT 6 * 7; -- and no more" | "$MEMTRACK" sql other.dat'
	assert_eq "$(tail -1 out | tr -d " ")" 42
	rm memtrack.dat
	# shellcheck disable=SC2016
	call 3 sh -c 'echo "SELECT 1" | "$MEMTRACK" sql'
	assert_match err "memtrack.dat"
	memtrack 3 sql missing.dat
	assert_match err "missing.dat.*no such file"
	memtrack 2 sql other.dat 'SELECT 1' 'SELECT 2'
	assert_one_error 2
}

@test "sql asks for a statement when there is only a terminal" {
	skip_unless_command python3
	record "$B/basic"
	# A pseudo-terminal as standard input.
	call 2 python3 -c 'import os, pty, subprocess, sys
sys.exit(subprocess.run(sys.argv[1:], stdin=pty.openpty()[1]).returncode)' "$MEMTRACK" sql memtrack.dat
	assert_one_error 2
	assert_match err "SELECT \* FROM"
}

@test "sql as a table" {
	record "$B/basic"
	sql 0 "SELECT 7 AS n, 'x' AS text, NULL AS none UNION ALL SELECT 1234, 'longer', x'00ff'"
	cat >wanted <<-END
		   n  text    none
		----  ------  ----
		   7  x       NULL
		1234  longer  00ff
	END
	diff wanted out
	sql 0 "SELECT 1; SELECT 'a' WHERE 0; -- nothing"
	assert_eq "$(tr '\n' '|' <out)" "1|-|1||'a'|---|"
	COLUMNS=40 sql 0 "SELECT function, file, printf('%.100c', 'z') AS z, 1 FROM stacks"
	assert_eq "$(awk 'length($0) > 40' out)" "" "lines of more than 40 columns"
	assert_match out "large .*basic\.c .*zzz\.\.\. +1$"
}

@test "sql as CSV and JSON" {
	record "$B/basic"
	local values="SELECT 1 AS a, 0.1 AS b, 9223372036854775807 AS c, 'x,\"y' AS d, NULL AS e, '' AS f, x'00ff' AS g"
	sql 0 "$values" --format csv
	assert_eq "$(cat out)" $'a,b,c,d,e,f,g\n1,0.1,9223372036854775807,"x,""y",,"",00ff'
	sql 0 "$values" --format json
	assert_eq "$(jq -c '.[] | del(.c)' out)" '{"a":1,"b":0.1,"d":"x,\"y","e":null,"f":"","g":"00ff"}'
	assert_match out '"c": 9223372036854775807,' "a large integer"
	sql 0 'SELECT 1 WHERE 0; SELECT 2 AS x' --format json
	assert_eq "$(jq -c . out | tr '\n' ' ')" '[] [{"x":2}] '
	sql 0 'SELECT 1e999 AS large, 1.0 AS whole' --format json
	assert_eq "$(jq -c '.[0].large > 1e300' out)" true
	assert_match out '"whole": 1\.0\b'
}

@test "sql shows no control characters" {
	record "$B/basic"
	sql 0 "SELECT 'a' || char(10, 27) || '[31m' || char(0, 0x202e) || x'ff' AS v"
	assert_eq "$(tail -1 out)" 'a\n\x1b[31m\x00\xe2\x80\xae\xff'
	sql 0 "SELECT 'a' || char(10, 27) || 'b' AS v" --format json
	assert_eq "$(jq -c '.[0].v | explode' out)" '[97,10,27,98]'
	assert_eq "$(tr -d '\n -~' <out | wc -c)" 0 "other bytes in JSON"
}

@test "sql refuses whatever does not only read" {
	record "$B/basic"
	local sum statement
	sum=$(cksum <memtrack.dat)
	for statement in 'CREATE TABLE x (y)' 'CREATE TEMP TABLE x (y)' 'DROP TABLE node' 'UPDATE node SET parent = 0' \
		'DELETE FROM stack' 'INSERT INTO meta VALUES (1, 2)' "UPDATE sqlite_schema SET sql = 'x'" 'REINDEX' 'ANALYZE' \
		'VACUUM' "VACUUM INTO 'new.db'" "ATTACH 'new.db' AS n" 'DETACH main' 'PRAGMA user_version = 7' \
		'PRAGMA query_only = 0' 'PRAGMA writable_schema = 1' 'PRAGMA journal_mode = WAL' 'PRAGMA trusted_schema = 1' \
		"SELECT load_extension('x')" "SELECT writefile('new.db', 'x')" "SELECT readfile('memtrack.dat')" \
		'CREATE VIRTUAL TABLE v USING fts5 (a)' 'BEGIN IMMEDIATE'; do
		sql 2 "$statement" || fail "not refused: $statement"
		assert_one_error || fail "$statement"
	done
	assert_eq "$(cksum <memtrack.dat)" "$sum" "the recording"
	assert_eq "$(ls)" $'err\nhome\nmemtrack.dat\nout' "files" || ls
	# What only tells something is no harm.
	sql 0 "SELECT name FROM pragma_table_info('node'); PRAGMA user_version; PRAGMA table_list"
	sql 0 "SELECT value FROM json_each('[1, 2]'); EXPLAIN SELECT 1; PRAGMA integrity_check"
}

@test "sql says what is wrong with a statement in one line" {
	record "$B/basic"
	sql 2 'SELECT 1; SELEKT 2'
	assert_eq "$(tail -1 out | tr -d " ")" 1 "the statement before"
	assert_match err 'error: .*near "SELEKT": syntax error'
	assert_lines err 1
	sql 2 'SELECT nowhere FROM totals'
	assert_match err 'no such column: nowhere'
	sql 2 "SELECT randomblob(2000000000)"
	assert_match err 'too big'
}

@test "sql on a damaged recording" {
	skip_unless_command python3
	record "$B/basic"
	# The root page of a table that views need becomes noise; the header stays.
	python3 - <<-END
		import sqlite3
		page = sqlite3.connect("memtrack.dat").execute("SELECT rootpage FROM sqlite_schema WHERE name = 'stack'").fetchone()[0]
		size = sqlite3.connect("memtrack.dat").execute("PRAGMA page_size").fetchone()[0]
		with open("memtrack.dat", "r+b") as f:
		    f.seek((page - 1) * size)
		    f.write(b"\xee" * size)
	END
	sql 3 'SELECT sum(allocations) FROM stack'
	assert_lines err 1
	assert_match err "memtrack.dat.*damaged"
}

@test "sql without end, with too little memory, and into a closed pipe" {
	record "$B/basic"
	local numbers='WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)'
	# timeout's status when the signal was the end.
	call 124 timeout -s INT 1 "$MEMTRACK" sql memtrack.dat "$numbers SELECT count(*) FROM c"
	# shellcheck disable=SC2016 # for the inner shell
	call 0 bash -c '"$MEMTRACK" sql memtrack.dat "$1" | head -3' - "$numbers SELECT x FROM c"
	assert_eq "$(tail -1 out | tr -d " ")" 1
	assert_empty err
	# shellcheck disable=SC2016
	call 3 bash -c 'ulimit -v 60000; "$MEMTRACK" sql memtrack.dat "$1"' - "$numbers SELECT x, printf('%.90000c', 'x') FROM c"
	assert_lines err 1
	assert_match err "out of memory"
	# shellcheck disable=SC2016
	call 3 bash -c '"$MEMTRACK" sql memtrack.dat "SELECT 1" >/dev/full'
	assert_match err "No space left"
}
