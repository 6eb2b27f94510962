# Real programs, against a simple counter, DHAT and heaptrack; and how much of their stacks is whole.
load ../helper
load real

setup() {
	case_setup
	export PYTHONHASHSEED=0 PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 PYTHONDONTWRITEBYTECODE=1
	export MEMTRACK_TIMEOUT=300
}

@test "python3 with malloc for everything: JSON and regular expressions" {
	skip_unless_command python3
	local python
	python=$(real_python)
	export PYTHONMALLOC=malloc
	cat >script.py <<-'END'
		import json, re
		rows = [{"id": i, "name": "n%d" % i, "tags": ["a", "b", str(i % 7)]} for i in range(8000)]
		text = json.dumps(rows)
		back = json.loads(text)
		words = re.findall(r'"name": "(n\d+)"', text)
		print(len(back), len(words), len(re.sub(r"[0-9]+", "#", text)))
	END
	agrees 0.5 "$python" script.py
	stacks_complete
	memtrack 0 report memtrack.dat
	assert_match out "Py" "CPython's functions in the report"
	if command -v valgrind >/dev/null; then dhat_agrees 1 "$python" script.py; fi
	if command -v heaptrack_print >/dev/null; then heaptrack_agrees 1 "$python" script.py; fi
}

@test "perl" {
	skip_unless_command perl
	cat >script.pl <<-'END'
		my %h; my $t = join(" ", map { "w" . ($_ % 5000) } 1 .. 100000);
		$h{$1}++ while $t =~ /(w\d+)/g;
		my @s = sort { $h{$b} <=> $h{$a} || $a cmp $b } keys %h;
		print scalar(@s), " $s[0] ", length(join(",", map { $_ x 3 } @s)), "\n";
	END
	agrees 0.5 perl script.pl
	stacks_complete
	if command -v valgrind >/dev/null; then dhat_agrees 1 perl script.pl; fi
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
		SELECT count(*), sum(w), max(v) FROM a JOIN b USING (id) WHERE w < 500;
	END
	agrees 0.5 sqlite3 -batch :memory: '.read script.sql'
	stacks_complete
	if command -v valgrind >/dev/null; then dhat_agrees 1 sqlite3 -batch :memory: '.read script.sql'; fi
	if command -v heaptrack_print >/dev/null; then heaptrack_agrees 1 sqlite3 -batch :memory: '.read script.sql'; fi
}

@test "the C++ compiler on <regex>" {
	skip_unless_command g++
	local cc1plus
	cc1plus=$(g++ -print-prog-name=cc1plus)
	[ -x "$cc1plus" ] || skip "no cc1plus"
	cat >source.cpp <<-'END'
		#include <regex>
		int main(int argc, char **argv) { return argc > 1 && std::regex_match(argv[1], std::regex("a+(b|c)*")); }
	END
	# Its pools grow by 32 KiB, and how many of them it needs differs with the layout of the address space.
	agrees 1.5 "$cc1plus" -quiet -imultiarch "$(g++ -print-multiarch)" -O0 source.cpp -o out.s
	stacks_complete
	if command -v heaptrack_print >/dev/null; then heaptrack_agrees 1 "$cc1plus" -quiet -imultiarch "$(g++ -print-multiarch)" -O0 source.cpp -o out.s; fi
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
	agrees 0.5 git -C repository --no-pager log -p --stat
	stacks_complete
	assert_eq "$(grep -c '^commit ' out)" 60 "commits shown"
}

@test "redis-server under load" {
	skip_unless_command redis-server redis-cli redis-benchmark
	local i socket=$PWD/s
	timeout 120 "$MEMTRACK" run -q -o memtrack.dat redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no >out 2>err 3>&- 4>&- &
	for ((i = 0; i < 500; i++)); do
		[ "$(redis-cli -s "$socket" ping 2>/dev/null)" = PONG ] && break
		sleep 0.02
	done
	redis-benchmark -s "$socket" -q -n 20000 -r 5000 -t set,lpush,hset >bench.txt 2>&1
	redis-cli -s "$socket" flushall >/dev/null
	redis-cli -s "$socket" shutdown nosave || true
	status=0
	wait $! || status=$?
	assert_eq "$status" 0 "status of redis-server"
	stacks_complete
	# Each LPUSH and each HSET of a new field makes at least a block.
	[ "$(total allocations)" -gt 40000 ] || fail "allocations: $(total allocations)"
	assert_eq "$(total unknown_frees)" 0 "unknown frees"
	assert_eq "$(total double_frees)" 0 "double frees"
}

@test "node" {
	skip_unless_command node
	cat >script.js <<-'END'
		const rows = []; for (let i = 0; i < 50000; i++) rows.push({ i, s: "x".repeat(i % 100) });
		const b = []; for (let i = 0; i < 200; i++) b.push(Buffer.alloc(10000 + i, 1));
		console.log(JSON.stringify(rows).length, b.length, require("zlib").deflateSync(Buffer.concat(b)).length);
	END
	tally node script.js
	record node script.js
	cmp out out.bare
	# Threads and the garbage collector's moods make two runs differ.
	close "$(total allocations)" "${T[0]}" 15 1000 "allocations"
	close "$(total allocated_bytes)" "${T[1]}" 25 5000000 "bytes"
	assert_eq "$(total double_frees)" 0 "double frees"
	memtrack 0 report memtrack.dat
}

@test "a threaded C++ program with exceptions" {
	agrees 0.5 "$B/exceptions"
	stacks_complete
}

@test "a Rust program" {
	skip_unless_command rustc
	cat >prog.rs <<-'END'
		use std::collections::HashMap;
		#[inline(never)]
		fn boxes(n: usize) { for i in 0..n { std::mem::forget(std::hint::black_box(Box::new([i as u8; 300]))); } }
		#[inline(never)]
		fn capacity(n: usize) -> usize { (0..n).map(|i| std::hint::black_box(Vec::<u64>::with_capacity(i + 1)).capacity()).sum() }
		fn main() {
		    boxes(100);
		    let total = capacity(200);
		    let all = std::sync::Arc::new(std::sync::Barrier::new(4));
		    let t: Vec<_> = (0..4).map(|k| (k, all.clone())).map(|(k, all)| std::thread::spawn(move || {
		        let mut m = HashMap::new();
		        for i in 0..1000u32 { m.insert(i, vec![k as u8; 10]); }
		        all.wait(); // the maps of all four live at this point, so the peak is no matter of chance
		        m.len()
		    })).collect();
		    let n: usize = t.into_iter().map(|h| h.join().unwrap()).sum();
		    println!("{} {}", total >= 20100, n);
		}
	END
	# The tool chain may lie in the home of whoever runs the tests.
	call '*' env HOME="$home_before" rustc -O -g -o prog prog.rs
	[ "$status" = 0 ] || skip "rustc cannot build here"
	record ./prog
	assert_eq "$(cat out)" "true 4000" stdout
	# 100 boxes of 300 bytes that are forgotten; 200 vectors of 8 * (1 + ... + 200) bytes.
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
		boxes     100          30000            100            30000
		capacity  200          160800           0              0
	END
	stacks_complete
	tally ./prog
	close "$(total allocations)" "${T[0]}" 0.5 20 "allocations"
	close "$(total peak_bytes)" "${T[7]}" 15 20000 "peak bytes of four threads" # tables that grow may overlap or not
}
