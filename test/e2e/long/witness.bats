# Every stack of real programs against a full walk by libgcc's unwinder, in the same process and for the same calls.
load ../helper
load real

setup() {
	case_setup
	skip_unless_command python3
	export PYTHONHASHSEED=0 PERL_HASH_SEED=0 PYTHONDONTWRITEBYTECODE=1 MEMTRACK_TIMEOUT=500
}

# same_stacks COMMAND...: at least 99.99 % of its allocations have the very same stack in both.
same_stacks() {
	local witness
	rm -rf witness
	mkdir witness
	LD_PRELOAD=$B/libwitness.so WITNESS_DIR=$PWD/witness record "$@"
	witness=witness/$(query .process.pid --top 1)
	[ -s "$witness" ] || fail "the witness has written nothing"
	python3 "$BATS_TEST_DIRNAME/compare_stacks.py" "$(report_file)" "$witness" 256 >comparison
	assert_between "$(head -1 comparison)" 99.99 100 "percent of allocations with the same stack" || fail "$(cut -c 1-1500 comparison)"
}

@test "small programs" {
	same_stacks "$B/chain" frames
	same_stacks "$B/chain" deep 200
	same_stacks "$B/manystacks" 12
	same_stacks "$B/operators"
	same_stacks "$B/exceptions"
	same_stacks "$B/jumps" longjmp
	same_stacks "$B/threads" short handover destructors
	same_stacks "$B/peak" random 40000
}

@test "python3" {
	export PYTHONMALLOC=malloc
	cat >script.py <<-'END'
		import json, re
		rows = [{"id": i, "name": "n%d" % i, "tags": ["a", str(i % 7)]} for i in range(3000)]
		text = json.dumps(rows)
		print(len(json.loads(text)), len(re.findall(r'"name": "(n\d+)"', text)))
		def deep(n): return [n] if n == 0 else [n] + deep(n - 1)
		print(len(deep(60)))
		try:
		    {}["x"]
		except KeyError as e:
		    print(repr(e))
	END
	same_stacks "$(real_python)" script.py
}

@test "perl" {
	skip_unless_command perl
	same_stacks perl -e 'my %h; $h{"k" . ($_ % 3000)} .= "x$_" for 1 .. 40000; my @s = sort keys %h; print scalar(@s), "\n"; eval { die "x\n" }; print $@'
}

@test "sqlite3" {
	skip_unless_command sqlite3
	same_stacks sqlite3 -batch :memory: "CREATE TABLE a (i, v); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
		INSERT INTO a SELECT i, 'v' || i FROM n; CREATE INDEX x ON a (v); SELECT count(*), max(v) FROM a WHERE v LIKE '%7%';"
}

@test "the C++ compiler" {
	skip_unless_command g++
	printf '#include <string>\n#include <vector>\nint main() { std::vector<std::string> v{"a", "b"}; return (int)v.size(); }\n' >source.cpp
	same_stacks "$(g++ -print-prog-name=cc1plus)" -quiet -imultiarch "$(g++ -print-multiarch)" -O1 source.cpp -o out.s
}

@test "git" {
	skip_unless_command git
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
	git init -q repository
	local i
	for i in 1 2 3 4 5 6; do
		seq $i $((i * 200)) >repository/file
		git -C repository add .
		git -C repository -c user.name=a -c user.email=a@example.org commit -q -m "change $i"
	done
	same_stacks git -C repository --no-pager log -p --stat
}
