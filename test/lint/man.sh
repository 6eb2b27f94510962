#!/bin/bash
# SPDX-License-Identifier: MIT
# The manuals: clean for mandoc -T lint, references that lead somewhere, examples, and what they say of the
# tree and of the schema is so.  No arguments.  Prints TAP; status 1 when something is wrong.
set -u
export LC_ALL=C

root=$(realpath "$(dirname "$0")/../..")
man=$root/man
tests=0 failed=0

# result NAME WHAT-IS-WRONG
result() {
	((++tests))
	if [ -z "$2" ]; then
		echo "ok $tests - $1"
	else
		failed=1
		echo "not ok $tests - $1"
		printf '%s\n' "$2" | sed 's/^/# /'
	fi
}

skip() {
	echo "ok $((++tests)) - $1 # SKIP $2"
}

# Which other manuals are installed says nothing about ours; our own are looked up in the tree.
lint() {
	mandoc -T lint "$1" 2>/dev/null | grep -v 'referenced manual not found'
}

# References to pages of memtrack that are not there.
dead_references() {
	sed -n 's/^\.Xr \(memtrack[a-z-]*\) \([0-9]\).*/\1.\2/p' "$1" | sort -u |
		while read -r page; do
			[ -e "$man/$page" ] || echo "$page"
		done
}

# Files and folders that the map of the source tree names.
dead_paths() {
	sed -n '/^\.Sh SOURCE TREE/,/^\.El/s/^\.It Pa //p' "$1" | tr -d ' ' | tr , '\n' |
		while read -r path; do
			[ -e "$root/$path" ] || echo "$path"
		done
}

# The queries of the EXAMPLES of a page, one a line.
queries() {
	awk '
		/^\.Bd/ { inside = 1; text = ""; next }
		/^\.Ed/ { if (text ~ /^ (SELECT|WITH)/) print text; inside = 0 }
		inside { text = text " " $0 }' "$1"
}

# Everything the schema has, as words: tables, views and their columns.
schema_words() {
	sqlite3 :memory: ".read $root/report/schema.sql" \
		"SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')
		 UNION SELECT c.name FROM sqlite_schema s, pragma_table_info(s.name) c;"
}

check_page() {
	local page=$1 name=${1##*/}
	if command -v mandoc >/dev/null; then
		result "$name: mandoc -T lint" "$(lint "$page")"
	else
		skip "$name: mandoc -T lint" "no mandoc here"
	fi
	result "$name: references" "$(dead_references "$page")"
	result "$name: examples" "$(grep -qx '\.Sh EXAMPLES' "$page" || echo "no section EXAMPLES")"
}

check_schema() {
	local page=$man/memtrack-dat.5 query wrong=''
	if ! command -v sqlite3 >/dev/null; then
		skip "memtrack-dat.5: tables and columns" "no sqlite3 here"
		skip "memtrack-dat.5: example queries" "no sqlite3 here"
		return
	fi
	wrong=$(comm -23 <(schema_words | sort -u) <(grep '^\.' "$page" | tr -cs 'A-Za-z0-9_' '\n' | sort -u))
	result "memtrack-dat.5: all tables, views and columns" "$wrong"
	wrong=''
	[ "$(queries "$page" | wc -l)" -ge 3 ] || wrong="too few queries found"
	while read -r query; do
		sqlite3 -bail :memory: ".read $root/report/schema.sql" "$query" >/dev/null 2>&1 || wrong+="$query"$'\n'
	done < <(queries "$page")
	result "memtrack-dat.5: example queries" "$wrong"
}

for page in "$man"/*.[1-8]; do
	check_page "$page"
done
check_schema
result "memtrack-internals.7: source tree" "$(dead_paths "$man/memtrack-internals.7")"
echo "1..$tests"
exit $failed
