# Truth mode: an agent that walks every 23rd stack again with libunwind, an unwinder that shares nothing with ours, and counts
# differences (agent/truth.h, `make truth`).  On real programs there must be none.
load ../helper

setup() {
	case_setup
	MEMTRACK_AGENT=${MEMTRACK_TRUTH_AGENT:-$top/build/truth/libmemtrack.so}
	[ -s "$MEMTRACK_AGENT" ] || fail "no truth agent: run 'make truth'"
	export MEMTRACK_AGENT
}

# true_stacks LEAST COMMAND...: at least that many stacks were compared, and all agree.
true_stacks() {
	local least=$1 notes checked
	shift
	call 0 "$MEMTRACK" run -q -o memtrack.dat -- "$@"
	notes=$(sqlite3 memtrack.dat 'SELECT s.value FROM process p JOIN string s ON s.id = p.notes')
	checked=$(printf '%s\n' "$notes" | sed -n 's/.*compared with an independent unwinder (\([0-9]*\))/\1/p' | sort -n | tail -1)
	assert_between "$checked" "$least" 1e12 "stacks compared"
	if printf '%s\n' "$notes" | grep -q 'stacks that differ'; then
		fail "stacks differ:" "$notes" "$(head -c 3000 err)"
	fi
}

@test "python: JSON and regular expressions" {
	export PYTHONMALLOC=malloc
	true_stacks 10000 /usr/bin/python3 -c 'import json, re
d = [{"n": i, "s": "x" * (i % 40)} for i in range(20000)]
for _ in range(3): print(len(re.findall(r"x+", json.dumps(json.loads(json.dumps(d))))))'
}

@test "perl: hashes, closures, sorting, eval" {
	true_stacks 3000 /usr/bin/perl -e 'my %h; $h{"k$_"} = [$_, "x" x ($_ % 50)] for 1 .. 60000;
eval { die { code => $_ } } for 1 .. 1000; my @k = sort { $h{$a}[0] <=> $h{$b}[0] } keys %h; print scalar(@k)'
}

@test "sqlite3: inserts and a join" {
	true_stacks 3000 sqlite3 :memory: 'CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 60000) INSERT INTO t SELECT x, "v" || x FROM c;
CREATE TABLE u AS SELECT * FROM t WHERE a % 3 = 0; SELECT count(*) FROM t JOIN u ON t.a = u.a WHERE t.b LIKE "%9%"'
}

@test "cc1plus on <regex>" {
	printf '#include <regex>\nbool f(const char *s) { return std::regex_match(s, std::regex("a(b|c)*d")); }\n' >r.cpp
	g++ -E -o r.ii r.cpp
	MEMTRACK_TIMEOUT=180 true_stacks 50000 "$(g++ -print-prog-name=cc1plus)" -quiet -O2 -fpreprocessed r.ii -o r.s
}

@test "a C++ program with threads and exceptions" {
	true_stacks 500 "$B/exceptions"
}

@test "node: JSON, closures, a regular expression" {
	skip_unless_command node
	true_stacks 5000 node -e 'const a = []; for (let i = 0; i < 50000; i++) a.push(JSON.parse(JSON.stringify({ i, s: "x".repeat(i % 30) })));
console.log(a.length, /(a|b)+c/.test("ababc"))'
}
