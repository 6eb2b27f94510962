# Counts, bytes, leaks, peak: the figures stand and are explained at the head of each program.
load helper

setup() {
	case_setup
}

@test "counts, bytes, leaks, temporary and peak of the plain case" {
	record "$B/basic"
	assert_eq "$(cat out)" "basic done" stdout
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes  temporary_allocations  peak_bytes  peak_blocks
		small     1000         100000           100            10000         900                    10000       100
		zeroed    1            2000             0              0             0                      2000        1
		large     11           3000000          10             2000000       1                      2000000     10
		work      1012         3102000          110            2010000       901                    2012000     111
		main      1012         3102000          110            2010000       901                    2012000     111
	END
	expect_totals allocations=1012 allocated_bytes=3102000 frees=902 freed_bytes=1092000 reallocations=0 temporary_allocations=901 \
		leaked_blocks=110 leaked_bytes=2010000 peak_bytes=2012000 peak_blocks=111 unknown_frees=0 double_frees=0 \
		dropped_events=0 truncated_stacks=0
	expect_stack "small<work<main"
	expect_stack "zeroed<work<main"
	expect_stack "large<work<main"
}

@test "the same in a program that is not position independent" {
	record "$B/basic-nopie"
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes  peak_bytes
		small     1000         100000           100            10000         10000
		large     11           3000000          10             2000000       2000000
	END
	expect_stack "large<work<main"
}

@test "a program that allocates nothing" {
	record "$B/basic" nothing
	expect_totals allocations=0 allocated_bytes=0 frees=0 leaked_blocks=0 leaked_bytes=0 peak_bytes=0 peak_blocks=0 unknown_frees=0
	assert_eq "$(query '.sites | length')" 0 sites
	assert_eq "$(query '.process.exit.code')" 0 "exit code"
}

@test "every entry point and its corners" {
	record "$B/entries"
	expect_sites <<-END
		function          allocations  allocated_bytes  leaked_blocks  leaked_bytes
		by_malloc         3            10               0              0
		by_calloc         3            15               0              0
		by_realloc        3            100032           0              0
		by_reallocarray   2            321              0              0
		by_memalign       2            150              0              0
		by_posix_memalign 2            10               0              0
		by_aligned_alloc  2            612              0              0
		by_valloc         1            11               0              0
		by_pvalloc        2            12               0              0
		by_cfree          1            77               0              0
		fails             1            64               0              0
		usable            136          339660           0              0
	END
	expect_totals reallocations=3 leaked_blocks=0 leaked_bytes=0 unknown_frees=0 double_frees=0
	case $(cat out) in
	sized)
		expect_sites <<-END
			function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
			by_size   2            168              0              0
		END
		expect_totals allocations=160 frees=160
		;;
	"no sized") expect_totals allocations=158 frees=158 ;;
	*) fail "the program said: $(cat out)" ;;
	esac
}

@test "realloc moves a block to its own site, in place or not" {
	record "$B/realloc"
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes  peak_bytes  peak_blocks
		born      10           1000             0              0             0           0
		grown     30           14000            10             8000          8000        10
		first     1            5000             0              0             0           0
		shrunk    4            10000            1              1000          1000        1
		chain     21           2097151          0              0             1048576     1
		born2     1            300              0              0             0           0
		ended     0            0                0              0             0           0
		kept      1            700              1              700           0           0
		failing   0            0                0              0             0           0
	END
	expect_totals allocations=68 allocated_bytes=2128151 frees=56 reallocations=54 leaked_blocks=12 leaked_bytes=9700 \
		peak_bytes=1057576 peak_blocks=12 unknown_frees=0
}

@test "temporary: freed by the same thread with no allocation in between" {
	record "$B/temporary"
	expect_sites <<-END
		function      allocations  temporary_allocations  leaked_blocks  leaked_bytes
		at_once       100          100                    0              0
		overtaken     50           0                      0              0
		at_once2      50           50                     0              0
		first_in      50           0                      0              0
		last_in       50           50                     0              0
		other_thread  20           0                      0              0
		stays         5            0                      5              350
		zero          30           30                     0              0
	END
}

@test "operators new and delete" {
	record "$B/operators"
	expect_sites <<-END
		function             allocations  allocated_bytes  leaked_blocks  leaked_bytes
		new_plain            40           1920             10             480
		new_array            20           20000            5              5000
		new_aligned          10           1920             0              0
		new_aligned_array    5            2880             1              576
		new_nothrow          10           770              0              0
		new_aligned_nothrow  10           1920             0              0
		new_direct           3            369              0              0
		fill_vector          1            400              0              0
	END
	# The name in the language of the source, and the site is the program's function, not operator new or the container.
	assert_eq "$(query '[.sites[].stacks[].frames[].function // "" | select(test("^shape::new_plain"))] | length > 0')" true "shape::new_plain demangled"
	assert_eq "$(query '[.sites[].stacks[].frames[].function // "" | select(test("^_Z"))] | length')" 0 "mangled names"
	memtrack 0 report --format json --top 1000 memtrack.dat
	local sites
	sites=$(jq -r '.sites[].function // "?"' out | sed 's/(.*//')
	for f in shape::new_plain new_array new_aligned fill_vector; do
		grep -Eq "(^|:: ?)${f#shape::}$" <<<"$sites" || fail "$f is not a site; sites are:" "$sites"
	done
	if grep -q 'operator new\|std::' <<<"$sites"; then
		fail "plumbing among the sites:" "$sites"
	fi
}

@test "totals against an independent counter, for a program full of libc's own allocations" {
	skip_unless_command perl
	mkdir tally
	# No address or time in it: two runs make the same calls.
	cat >script.pl <<-'END'
		my %h; for my $i (1 .. 20000) { $h{"key$i"} = [$i, "x" x ($i % 100)]; delete $h{"key" . ($i - 500)} if $i > 500 }
		my @s = sort { $a->[0] <=> $b->[0] } values %h; print scalar(@s), "\n";
	END
	PERL_HASH_SEED=0 call 0 env TALLY_DIR="$PWD/tally" LD_PRELOAD="$B/libtally.so" perl script.pl
	assert_eq "$(cat out)" 500 "perl's answer"
	# shellcheck disable=SC2207
	local t=($(od -An -v -tu8 tally/*))
	PERL_HASH_SEED=0 record perl script.pl
	assert_eq "$(cat out)" 500 "perl's answer under memtrack"
	# The environment differs by a few variables and their lengths, so a few calls may too.
	assert_between "$(total allocations)" $((t[0] - 20)) $((t[0] + 20)) allocations
	assert_between "$(total allocated_bytes)" $((t[1] - 4000)) $((t[1] + 4000)) bytes
	assert_between "$(total reallocations)" $((t[4] - 5)) $((t[4] + 5)) reallocations
	assert_between "$(total leaked_blocks)" $((t[5] - 20)) $((t[5] + 20)) "leaked blocks"
	assert_between "$(total leaked_bytes)" $((t[6] - 4000)) $((t[6] + 4000)) "leaked bytes"
	assert_between "$(total peak_bytes)" $((t[7] - 4000)) $((t[7] + 4000)) "peak bytes"
	assert_eq "$(total unknown_frees)" 0 "unknown frees"
}

@test "sizes at the edges, up to 6 GiB" {
	call 0 "$B/sizes"
	[ "$(cat out)" = granted ] || skip "the kernel refuses blocks of 6 GiB"
	record "$B/sizes"
	assert_eq "$(cat out)" granted "the program's word"
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes  peak_bytes  temporary_allocations
		edge      87           12884901864      0              0             0           87
		giant     3            12884901892      0              0             0           3
		kept      1            5368709120       0              0             0           -
		regrown   1            6442450944       0              0             6442450944  -
	END
	expect_totals peak_bytes=6442450944 peak_blocks=1 allocations=92 reallocations=1 unknown_frees=0
}

@test "wrong frees are counted, and libc has the last word on them" {
	ulimit -c 0
	record_status 134 "$B/wrong" double
	assert_eq "$(total double_frees)" 1 "double frees"
	assert_eq "$(site_sum good leaked_blocks)" 5 "blocks left by good"
	record_status 134 "$B/wrong" foreign
	assert_eq "$(total unknown_frees)" 1 "unknown frees"
	assert_eq "$(site_sum good leaked_blocks)" 5 "blocks left by good"
}

@test "a library that wraps malloc, and a plug-in bound to libc by RTLD_DEEPBIND" {
	record "$B/wrapped"
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
		good      10           1000             5              500
	END
	assert_eq "$(total double_frees)" 0 "double frees"
	record "$B/wrong" deepbind "$B/libplug_red.so"
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
		good      10           1000             5              500
	END
	# Its malloc is either seen or not; if it is not, the frees of its blocks are unknown ones.
	case "$(site_sum plug_red_alloc allocations) $(total unknown_frees)" in
	"10 0") assert_eq "$(site_sum plug_red_alloc leaked_blocks)" 0 "blocks left by the plug-in" ;;
	"0 10") ;;
	*) fail "seen: $(site_sum plug_red_alloc allocations), unknown: $(total unknown_frees)" ;;
	esac
}

@test "wrong frees, by their stacks" {
	call 0 "$MEMTRACK" run -q -o memtrack.dat "$B/wrong" survived
	forget
	expect_totals double_frees=3 unknown_frees=7
	assert_eq "$(query '.errors | length')" 2 "errors"
	assert_eq "$(query '.errors[] | select(.kind == "double-free") | "\(.count) \(.access) \(.block.size) \(.block.offset) \(.thread) \(.freed)"')" \
		"3 null 40 0 1 null" "the double free"
	assert_eq "$(query '.errors[] | select(.kind == "double-free") | [.stack[:2], .allocated[:2]] | map(map(.function)) | tostring')" \
		'[["release_again","survived"],["make_small","survived"]]' "its stacks"
	assert_eq "$(query '.errors[] | select(.kind == "invalid-free") | "\(.count) \(.block) \(.allocated) \(.stack[0].function)"')" \
		"7 null [] release_odd" "the free of what is no block"
	memtrack 0 report memtrack.dat
	assert_match out release_again "the report"
	assert_match out make_small "the report"
	assert_match out release_odd "the report"
}
