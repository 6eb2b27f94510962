# Real programs under run --malloc=stomp: their own output, and no error.  And the table of bugs beside AddressSanitizer.
load ../helper
load ../stomp
load real

setup() {
	case_setup
	export PYTHONHASHSEED=0 PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 PYTHONDONTWRITEBYTECODE=1
	export MEMTRACK_TIMEOUT=600
	ulimit -S -c 0
}

# fine_under_stomp COMMAND...: the same on stdout and the same status as alone, no error in the recording, with three ways to guard.
fine_under_stomp() {
	local how
	call '*' "$@"
	cp out out.bare
	local wanted=$status
	for how in stomp stomp:under stomp:guard=mprotect; do
		record_status "$wanted" --malloc=$how --trace none "$@"
		cmp out out.bare || fail "stdout differs with $how" "$(diff out.bare out | head -5)"
		no_errors "$how"
	done
}

no_errors() {
	assert_eq "$(query '[.errors[] | .kind] | join(" ")' --all)" "" "errors with $1"
}

@test "the table of bugs agrees with AddressSanitizer" {
	local source flags="-O2 -g -fno-builtin -fno-optimize-sibling-calls -fno-omit-frame-pointer -D_GNU_SOURCE -pthread -fsanitize=address -w"
	skip_unless_command python3 gcc g++
	# shellcheck disable=SC2086 # a list of words
	if ! echo 'int main(void) { return 0; }' | gcc $flags -x c -o empty - 2>/dev/null || ! ./empty; then skip "no AddressSanitizer here"; fi
	source=$top/test/prog
	# shellcheck disable=SC2086
	gcc -std=gnu17 $flags -o bugs "$source/bugs.c"
	# shellcheck disable=SC2086
	g++ -std=gnu++17 $flags -o bugs++ "$source/bugs.cpp"
	call 0 python3 "$top/test/e2e/long/asan_bugs.py" "$source/bugs.table" .
	assert_empty out "differences"
}

@test "python3: JSON and regular expressions" {
	skip_unless_command python3
	local python
	python=$(real_python)
	export PYTHONMALLOC=malloc
	cat >script.py <<-'END'
		import decimal, json, re
		rows = [{"id": i, "name": "n%d \u00e9\n\"" % i, "tags": ["a", None, i / 7, {"deep": [[[i]]]}]} for i in range(3000)]
		text = json.dumps(rows, indent=2, sort_keys=True)
		assert json.loads(text) == json.loads(json.dumps(rows)) == rows
		assert json.loads(text, parse_float=decimal.Decimal)[7]["tags"][2] == 1
		for wrong in ("[1,", '{"a"', '"\\u12', "nul", "[1]]", '{"a":1,}', "\x00", "-"):
		    try:
		        json.loads(wrong)
		        raise SystemExit("accepted: " + wrong)
		    except ValueError:
		        pass
		nested = json.loads("[" * 900 + "]" * 900)
		print(len(text), len(re.findall(r'"name": "(n\d+)', text)), len(re.sub(r"[0-9]+", lambda m: m.group()[::-1], text)))
		words = re.split(r"(?<=\d)\W+(?=\d)|[\s,]+", text)
		print(len(words), len(set(words)), len(re.compile(r"(?P<a>n)(\d)(?(2)\d*|x)").sub(r"\g<a>[\2]", text)))
		for i in range(1, 200):
		    r = re.compile("(a{%d,%d}|b+?)(c|d|%s)*$" % (i % 7, i % 7 + i, "x" * i), re.I if i % 2 else 0)
		    r.match("aaaaBcdcd" + "x" * i)
		print(re.fullmatch(r"(?:(a|ab)(c|bcd)(d*))+", "abcdabcd").groups())
	END
	fine_under_stomp "$python" script.py
}

@test "python3's own tests of JSON and regular expressions" {
	skip_unless_command python3
	local python
	python=$(real_python)
	export PYTHONMALLOC=malloc
	"$python" -c 'import test.test_re, test.test_json' 2>/dev/null || skip "python3 without its tests"
	record --malloc=stomp --trace none "$python" -m test -q test_re test_json
	assert_match out "Result: SUCCESS|All 2 tests OK|Tests result: SUCCESS" stdout
	no_errors stomp
}

@test "sqlite3: 100000 inserts and a join" {
	skip_unless_command sqlite3
	cat >script.sql <<-'END'
		CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT);
		CREATE TABLE b (id INTEGER, w INTEGER);
		BEGIN;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO a SELECT i, 'value ' || i FROM n;
		INSERT INTO b SELECT id, id * 7 % 1000 FROM a;
		COMMIT;
		CREATE INDEX i ON b (w, id);
		SELECT count(*), sum(w), max(v) FROM a JOIN b USING (id) WHERE w < 500;
		SELECT w % 10 AS k, count(*), group_concat(id % 3, '') FROM b WHERE id < 2000 GROUP BY k ORDER BY k;
	END
	fine_under_stomp sqlite3 -batch :memory: '.read script.sql'
}

@test "perl" {
	skip_unless_command perl
	cat >script.pl <<-'END'
		my %h; my $t = join(" ", map { "w" . ($_ % 5000) } 1 .. 100000);
		$h{$1}++ while $t =~ /(w\d+)/g;
		my @s = sort { $h{$b} <=> $h{$a} || $a cmp $b } keys %h;
		print scalar(@s), " $s[0] ", length(join(",", map { $_ x 3 } @s)), "\n";
		my $tree; $tree = { left => $tree, name => "n$_", list => [1 .. $_ % 20] } for 1 .. 3000;
		my $n = 0; while ($tree) { $n += @{ $tree->{list} }; $tree = delete $tree->{left} } print "$n\n";
		my $s = ""; for (1 .. 2000) { $s .= sprintf("%05d,", $_ * 7 % 2000); substr($s, 3, 2, "xy") if $_ % 100 == 0 } print length($s), "\n";
		print join("|", map { my $x = eval { die { code => $_ } } || $@; $x->{code} } 1 .. 20), "\n";
	END
	fine_under_stomp perl script.pl
}

@test "git log -p" {
	skip_unless_command git
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org
	export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
	git init -q repository
	local i
	for i in $(seq 60); do
		seq $((i * 3)) $((i * 50)) >repository/file$((i % 7))
		git -C repository add .
		git -C repository commit -q -m "change $i"
	done
	fine_under_stomp git -C repository --no-pager log -p --stat
	assert_eq "$(grep -c '^commit ' out)" 60 "commits shown"
	git -C repository gc -q
	fine_under_stomp git -C repository --no-pager log -p -M -C --graph
}

@test "redis-server under load" {
	skip_unless_command redis-server redis-cli redis-benchmark
	local i how socket=$PWD/s
	for how in stomp stomp:under stomp:guard=mprotect; do
		rm -f memtrack.dat "$socket"
		forget
		timeout 300 "$MEMTRACK" run -q --malloc=$how --trace none -o memtrack.dat redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no \
			>out 2>err 3>&- 4>&- &
		for ((i = 0; i < 1000; i++)); do
			[ "$(redis-cli -s "$socket" ping 2>/dev/null)" = PONG ] && break
			sleep 0.02
		done
		timeout 200 redis-benchmark -s "$socket" -q -n 5000 -r 2000 -t set,get,lpush,hset,zadd >bench.txt 2>&1
		redis-cli -s "$socket" set key value >/dev/null
		assert_eq "$(redis-cli -s "$socket" get key)" value "what redis kept"
		redis-cli -s "$socket" flushall >/dev/null
		redis-cli -s "$socket" shutdown nosave || true
		status=0
		wait $! || status=$?
		assert_eq "$status" 0 "status of redis-server with $how"
		no_errors "$how"
	done
}

# -- the whole table, and all correct programs, in other ways ------------------------------------------

@test "every error" {
	expect_bugs "$(rows 1)"
}

@test "every error without tracking" {
	expect_bugs "$(rows 1)" "" --trace none
}

@test "every fault with guards by mprotect" {
	expect_bugs "$(rows '$8 == 139')" guard=mprotect --trace none
}

@test "every error that canaries can find" {
	local table
	expect_bugs "$(rows '$13 == "same"')" guard=canary --trace none
	table=$(rows '$13 == "free"' | awk '{
		$4 = "heap-corruption"; $5 = "write"; sub(/\.\..*/, "", $7); $8 = 134; $9 = $1 == "bugs" ? "bug_free" : "~bug_delete_array"; print
	}')
	expect_bugs "$table" guard=canary --trace none
	while read -r table; do
		read_row "$table"
		record --malloc="$(stomp "$options" guard=canary)" --trace none "$B/$program" "$mode"
		assert_eq "$(query '.errors | length' --all)" 0 "errors of $mode"
	done < <(rows '$13 == "none"')
}

@test "400000 live blocks without tracking" {
	[ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -gt 2500000 ] || skip "needs 2 GiB of memory"
	record --malloc=stomp --trace none "$B/crowd" 400000
	crowd_fits 400000
}

@test "400000 live blocks" {
	[ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -gt 2500000 ] || skip "needs 2 GiB of memory"
	record --malloc=stomp "$B/crowd" 400000
	crowd_fits 400000
	assert_eq "$(site_sum crowded allocations)" 440000 "allocations of crowded"
}

@test "400000 live blocks with mprotect: as many as there may be, canaries for the others" {
	[ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -gt 2500000 ] || skip "needs 2 GiB of memory"
	record --malloc=stomp:guard=mprotect --trace none "$B/crowd" 400000
	assert_eq "$(cut -d , -f 1 out)" "400000 blocks" stdout
	assert_eq "$(query '.errors | length' --all)" 0 errors
	memtrack 0 report memtrack.dat
	assert_match out "mprotect" "the report"
	assert_match out "canar" "the report"
}

@test "correct programs" {
	channels=callstack
	# shellcheck disable=SC2046
	correct_under "" $("$B/correct" list)
}

@test "correct programs, blocks at the other end" {
	channels=none
	# shellcheck disable=SC2046
	correct_under under $("$B/correct" list)
}

@test "correct programs, other options" {
	local options
	channels=none
	for options in align=1 guard=mprotect guard=canary sample=3 max=100 min=100 quarantine=1M continue quarantine=0; do
		# shellcheck disable=SC2086
		correct_under $options $quick
	done
	correct_under guard=mprotect many threads huge
	correct_under guard=canary many threads huge
	correct_under quarantine=1M,align=1 many threads short
}

@test "four threads hand many blocks to each other" {
	local how
	for how in stomp stomp:under stomp:quarantine=1M stomp:guard=mprotect stomp:guard=canary stomp:sample=5; do
		record --malloc=$how --trace none "$B/shuffle" 4 20000 1
		assert_eq "$(query '.errors | length' --all)" 0 "errors with $how"
	done
}
