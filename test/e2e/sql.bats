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

# The rows of the view `sites` are those of the report, of each process image.
same_sites() {
	local process
	for process in $("$MEMTRACK" report --all --format json memtrack.dat | jq '.processes[].id'); do
		"$MEMTRACK" report --process "$process" --top 0 --format json memtrack.dat |
			jq -c '.sites[] | [.function, .file, .line, .module, (.stacks | length), .allocations, .allocated_bytes,
				.temporary_allocations, .peak_blocks, .peak_bytes, .leaked_blocks, .leaked_bytes]' | sort >wanted
		sql 0 "SELECT * FROM sites WHERE process = $process" --format json
		jq -c '.[] | [.function, .file, .line, .module, .stacks, .allocations, .allocated_bytes,
			.temporary_allocations, .peak_blocks, .peak_bytes, .leaked_blocks, .leaked_bytes]' out | sort >got
		[ -s wanted ] || fail "no sites of process $process"
		diff wanted got >differences || fail "process $process:" "$(head -20 differences)"
	done
}

@test "the view sites is the report" {
	skip_unless_command perl
	record "$B/basic"
	same_sites
	record "$B/operators"
	same_sites
	record "$B/wrapped"
	same_sites
	record "$B/procs" exec "$B/procs"
	same_sites
	record --sample 4096 "$B/steady" 30000
	same_sites
	# Stripped: most sites have no name, but an address.
	record perl -e '%h = map { $_ => [1 .. 3] } 1 .. 100; eval "sub { $_ }" for 1 .. 20'
	same_sites
	sql 0 'SELECT count(*) > 5 AS many FROM sites WHERE function IS NULL AND address IS NOT NULL' --format json
	assert_eq "$(jq '.[0].many' out)" 1 "nameless sites"
}

# one VIEW EXPRESSION [WHERE]: a figure of a view.
one() {
	"$MEMTRACK" sql --format csv memtrack.dat "SELECT $2 FROM $1 ${3:-}" | tail -1
}

@test "each view has a figure of the report" {
	record "$B/peak" humps
	assert_eq "$(one totals peak_bytes)" "$(total peak_bytes)" totals
	assert_eq "$(one processes leaked_bytes)" "$(total leaked_bytes)" processes
	assert_eq "$(one processes command)" "$B/peak humps" "the command"
	assert_eq "$(one stacks 'count(*)')" "$(query '[.sites[].stacks[]] | length')" stacks
	assert_eq "$(one sites 'sum(frees)')" "$(total frees)" sites
	assert_eq "$(one callers 'sum(allocated_bytes)')" "$(total allocated_bytes)" callers
	assert_eq "$(one timeline 'max(heap_bytes)')" "$(query '[.timeline[].heap_bytes] | max')" timeline
	assert_eq "$(one frames 'count(DISTINCT function)' "WHERE function IN ('main', 'no such')")" 1 frames
	record "$B/wrong"
	assert_eq "$(one errors 'count(*)')" "$(query '.errors | length')" errors
	record --sample 4096 "$B/steady" 30000
	assert_eq "$(one stack_errors 'round(sqrt(sum(leaked_bytes * leaked_bytes)))')" \
		"$(query '.totals.standard_errors.leaked_bytes | round').0" stack_errors
}

# The literal displays of a manual that hold a statement, each as a file NAME-1, NAME-2, ...
manual_queries() {
	awk -v name="$2" '
		/^\.Bd -literal/ { inside = 1; text = ""; next }
		/^\.Ed/ { if (text ~ /^(SELECT|WITH|ATTACH)/) print text >(name "-" ++n); inside = 0 }
		inside { gsub(/\\e/, "\\"); text = text $0 "\n" }' "$1"
}

@test "the queries of memtrack-dat(5), by memtrack and by sqlite3" {
	skip_unless_command sqlite3
	local file count=0
	record "$B/basic"
	cp memtrack.dat old.dat
	manual_queries "$top/man/memtrack-dat.5" query
	sed -i 's/load_config/large/' query-*
	for file in query-*; do
		count=$((count + 1))
		sqlite3 -readonly -bail -json memtrack.dat <"$file" >by-sqlite3 2>err || fail "$file:" "$(cat "$file" err)"
		# Nothing at all means no rows there.
		[ -s by-sqlite3 ] || echo '[]' >by-sqlite3
		if grep -q ATTACH "$file"; then
			jq -c . by-sqlite3 >"$file.rows"
			memtrack 2 sql memtrack.dat "$(cat "$file")"
			continue
		fi
		call 0 sh -c '"$MEMTRACK" sql --format json memtrack.dat <"$1"' - "$file"
		diff <(jq -cS . by-sqlite3) <(jq -cS . out) || fail "$file differs:" "$(cat "$file")"
		jq -c . out >"$file.rows"
	done
	[ "$count" -ge 12 ] || fail "only $count queries found"
	# basic.c: what leaks and what the peak is; `large` leaks 10 of 200000 and frees one of 1000000.
	rows() { # WORDS: of the query that has them
		cat "$(grep -lF "$1" query-? query-?? | head -1).rows"
	}
	assert_eq "$(rows 'leaked_bytes, leaked_blocks
FROM sites' | jq -c 'map([.function, .leaked_bytes, .leaked_blocks])')" '[["large",2000000,10],["small",10000,100]]'
	assert_eq "$(rows 'AS percent' | jq -c 'map([.bytes, .percent == 100])')" '[[2012000,true]]'
	assert_eq "$(rows 'AS temporary' | jq -c 'map([.temporary, .allocations])')" '[[901,1012]]'
	assert_eq "$(rows 'walk (stack' | jq -c 'map(select(.depth == 0).function) | unique')" '["large"]'
	assert_eq "$(rows 'walk (stack' | jq -c 'group_by(.stack) | map(any(.function == "main")) | unique')" '[true]'
	assert_eq "$(rows 'below (id)' | jq -c '.[0] | [.[]]')" '[3000000,2000000,2000000]'
	assert_eq "$(rows 'tree (process' | jq -c 'map([.command, .peak_bytes, .leaked_bytes])')" "[[\"$B/basic\",2012000,2010000]]"
	assert_eq "$(rows ATTACH)" '[]' "growth between two copies"
}
