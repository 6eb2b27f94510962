# Real programs on other allocators: what they allocate does not depend on who serves it.
load ../helper

setup() {
	case_setup
	# The same work, in the same order, in an environment of the same variables.
	export PYTHONHASHSEED=0 PYTHONMALLOC=malloc PERL_HASH_SEED=0 TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=9223372036854775807
}

# there ALLOCATOR: whether it is installed
there() {
	"$MEMTRACK" run -q --trace none --malloc "$1" true 2>/dev/null
}

# same MODULE COMMAND...: on each allocator the stacks with frames in MODULE have the same figures, and the output is the same.  Other
# stacks are of the loader, for the allocator and for the C++ library it needs.
same() {
	local module=$1 name count=0
	shift
	for name in ansi mimalloc jemalloc tcmalloc "$B/libmallib.so"; do
		there "$name" || continue
		rm -f data.db
		record --malloc "$name" "$@"
		cp out "out.$count"
		query '[.sites[].stacks[]] | [length, (map(.allocations) | add), (map(.leaked_blocks) | add),
			(map(.temporary_allocations) | add)] | tojson' \
			--filter "module~$module" >"figures.$count"
		echo "$name: $(cat "figures.$count")"
		cmp out.0 "out.$count"
		cmp figures.0 "figures.$count"
		expect_totals unknown_frees=0 double_frees=0 dropped_events=0
		count=$((count + 1))
	done
	[ "$count" -ge 2 ] || skip "no other allocator here"
	[ "$(jq '.[1]' figures.0)" -gt "$MOST" ] || fail "hardly anything was recorded: $(cat figures.0)"
}

@test "python3" {
	[ -x /usr/bin/python3 ] || skip "no python3 here"
	mkdir script # python lists the folder of its script, which must be the same each time
	cat >script/work.py <<-'END'
		import json, re
		rows = [{"i": i, "s": "x" * (i % 100), "l": list(range(i % 10))} for i in range(20000)]
		text = json.dumps(rows)
		print(len(text), sum(len(r["s"]) for r in json.loads(text)), len(re.findall(r"x{3,}", text)))
	END
	MOST=500000 same 'python3[^/]*$' /usr/bin/python3 script/work.py
}

@test "sqlite3" {
	skip_unless_command sqlite3 perl
	perl -e 'print "create table t (a, b);\nbegin;\n"; print "insert into t values ($_, hex($_ * 77777));\n" for 1 .. 5000;
		print "commit;\ncreate index x on t (b);\nselect count(*), sum(length(b)) from t where b like \"%3%\";\n"' >work.sql
	MOST=50000 same sqlite3 sqlite3 data.db '.read work.sql'
}

@test "perl" {
	skip_unless_command perl
	cat >work.pl <<-'END'
		my (%h, @l);
		for my $i (1 .. 50000) { $h{"k" . $i % 3000} .= chr(65 + $i % 26); push @l, "v$i" if $i % 3 == 0; }
		print scalar(keys %h), " ", length(join ",", sort @l), "\n";
	END
	MOST=20000 same perl perl work.pl
}

# redis asks malloc_usable_size how large its blocks are, and grows them accordingly; and a clock ticks in it.  60000 commands of the
# same pipe make about 800000 allocations; what these two do to them is less than three in a thousand.
@test "redis-server" {
	skip_unless_command redis-server redis-cli perl
	local name socket=$PWD/s i first='' n
	perl -e 'for (1 .. 20000) { $k = $_ % 3000; print "SET k$k ", "v" x ($_ % 90), "\r\nLPUSH l", $_ % 50, " e$_\r\nHSET h", $_ % 70,
		" f$k $_\r\n" } print "FLUSHALL SYNC\r\nSHUTDOWN NOSAVE\r\n"' >commands
	for name in ansi mimalloc jemalloc tcmalloc; do
		there "$name" || continue
		timeout 120 "$MEMTRACK" run -q -o memtrack.dat --malloc "$name" redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no \
			--hz 1 --dynamic-hz no >out 2>err 3>&- 4>&- &
		for ((i = 0; i < 500; i++)); do
			[ -S "$socket" ] && break
			sleep 0.02
		done
		redis-cli -s "$socket" --pipe <commands >pipe.txt 2>&1 || true
		wait $!
		forget
		n=$(total allocations)
		echo "$name: $n"
		first=${first:-$n}
		[ "$n" -gt 300000 ] || fail "allocations: $n"
		assert_between "$n" $((first - first * 3 / 1000)) $((first + first * 3 / 1000)) "allocations of redis on $name"
		expect_totals unknown_frees=0 double_frees=0 dropped_events=0
		[ "$name" = ansi ] || [[ $(query .process.allocator --top 1) == *"$name"* ]] || fail "$(query .process.allocator --top 1) served"
	done
}
