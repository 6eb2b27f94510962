# run --malloc and --trace=none: other allocators under the program, and the same figures on top of each.
load helper

setup() {
	case_setup
	unset MEMTRACK_RPMALLOC MEMTRACK_AGENT LD_LIBRARY_PATH
}

# The file of a soname, by the loader's own cache.
library_of() {
	/sbin/ldconfig -p | awk -v name="$1" '$1 == name && /x86-64/ { print $NF; exit }'
}

declare -gA sonames=([mimalloc]=libmimalloc.so.2 [jemalloc]=libjemalloc.so.2 [tcmalloc]=libtcmalloc_minimal.so.4)

# on_each COMMAND...: with $name and $library, for each allocator there is; a path is always there.
# The last "on ..." of what it prints is the one that failed.
on_each() {
	local name library
	for name in mimalloc jemalloc tcmalloc "$B/libmallib.so"; do
		case $name in
		*/*) library=$B/libmallib.so ;;
		*) library=$(library_of "${sonames[$name]}") ;;
		esac
		[ -n "$library" ] || continue
		echo "on $name"
		"$@"
	done
}

# What an allocator and the C++ library it needs allocate for themselves at their start is not the program's.
own=(--filter 'function~^main$')

# The costs of each site of the program, a line each: for comparison between allocators.  (Where nothrow fails, the C++ library makes
# an exception that nobody sees.)
figures() {
	query '.sites[] | [.function, .line, .allocations, .allocated_bytes, .leaked_blocks, .leaked_bytes, .peak_blocks,
		.peak_bytes, .temporary_allocations] | @tsv' "${own[@]}" --exclude function~new_failing "$@" | sort
}

served() {
	assert_eq "$(query .process.allocator)" "$library" "the library that served malloc"
	memtrack 0 report
	assert_match out "^Malloc  $library$" "report on $name"
	assert_no_match out "^Note" "report on $name"
}

in_c() {
	record --malloc "$name" "$B/basic"
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes  temporary_allocations
		small     1000         100000           100            10000         900
		zeroed    1            2000             0              0             0
		large     11           3000000          10             2000000       1
		main      1012         3102000          110            2010000       901
	END
	served
	record --malloc "$name" "$B/swapped"
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
		grown     30           54000            0              0
		aligned   5            5000             5              5000
		mapped    1            1000000          0              0
	END
	# A realloc to nothing may leave a block of no bytes, which is then freed: no free is unknown for it.
	expect_totals unknown_frees=0 double_frees=0
	assert_eq "$(site_sum emptied leaked_blocks)" 0 "blocks left by emptied"
	assert_eq "$(site_sum emptied allocated_bytes)" 640 "bytes of emptied"
	case $name in
	*mallib* | rpmalloc) assert_eq "$(site_sum emptied allocations)" 20 "blocks of emptied" ;;
	esac
}

@test "C: the same figures on each allocator, and the report says which served" {
	on_each in_c
	name=rpmalloc library=$B/libmallib.so
	MEMTRACK_RPMALLOC=$library in_c
}

in_cxx() {
	record --malloc "$name" "$B/operators"
	expect_totals unknown_frees=0 double_frees=0
	figures --by site >on
	cmp expected on || fail "$(diff expected on)"
	served
}

@test "C++: operators that bypass malloc are recorded as those of the C++ library are" {
	record "$B/operators"
	figures --by site >expected
	[ "$(wc -l <expected)" -ge 8 ] || fail "$(cat expected)"
	on_each in_cxx
	name=$B/libmallib-cxx.so library=$B/libmallib-cxx.so
	in_cxx
	# What had memory run out is seen by the program as ever, and the stack is one of plumbing and the site.
	record --malloc "$B/libmallib-cxx.so" "$B/operators"
	expect_stack "operator new[]<new_array<main"
	expect_stack "operator new<shape::new_plain<main"
	assert_eq "$(query '[.sites[] | select(.function != null and (.function | startswith("operator")))] | length' "${own[@]}")" 0 \
		"sites in operators"
}

handlers() {
	record --malloc "$name" "$B/newhandler"
	case $name in
	*mallib*) sed 's/after 0 calls/after 1 calls/' out >on ;; # it has its room from the start
	*) cp out on ;;
	esac
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
		relieved  1            67108864         1              67108864
	END
	assert_eq "$(query '[.sites[] | select(.function == "relieved()")] | length' --by site)" 1 "rows of relieved"
	expect_totals unknown_frees=0
	cmp expected on || fail "$(diff expected on)"
}

@test "C++: std::set_new_handler, std::bad_alloc and nothrow are as ever" {
	call 0 "$B/newhandler"
	cp out expected
	[ "$(wc -l <expected)" = 7 ] || fail "$(cat expected)"
	on_each handlers
	name=$B/libmallib-cxx.so
	handlers
}

@test "C++: what the program replaces itself stays its own" {
	record --malloc "$B/libmallib-cxx.so" "$B/ownoperators"
	assert_eq "$(site_sum 'operator new' allocations)" 7 "calls of the program's own operator"
	expect_stack "operator new<made<main"
	assert_eq "$(query '[.sites[].stacks[].frames[] | select(.module | test("operators.so"))] | length')" 0 "frames of memtrack's operators"
}

@test "C++: an allocator of the user's own is noted, since its operators go past malloc" {
	local library
	library=$(library_of libjemalloc.so.2)
	[ -n "$library" ] || skip "no jemalloc here"
	LD_PRELOAD=$library record "$B/basic"
	memtrack 0 report
	assert_match out "^Note .*operators new and delete of '.*jemalloc" "report"
	assert_match out "^Malloc  $library$" "report"
}

in_threads_and_children() {
	record --malloc "$name" "$B/threads" parallel
	expect_sites <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes  temporary_allocations
		in_parallel  200000       8000000          0              0             200000
		left         40           1600             40             1600          0
	END
	record --malloc "$name" "$B/threads" handover
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes  temporary_allocations
		produced  60000        3930000          60             960           0
	END
	record --malloc "$name" "$B/procs" fork
	expect_sites --process=2 <<-END
		function     allocations  allocated_bytes  leaked_blocks  leaked_bytes
		before_fork  0            0                50             500
		only_child   40           1200             40             1200
	END
	record --malloc "$name" "$B/procs" exec "$B/procs"
	expect_sites --process=2 <<-END
		function   allocations  allocated_bytes  leaked_blocks  leaked_bytes
		leaf_site  7            350              7              350
	END
	assert_eq "$(query '[.process.allocator] | unique | tojson' --process=2)" "[\"$library\"]" "the allocator of the child"
}

@test "threads and children: the same figures on each allocator" {
	on_each in_threads_and_children
}

alone() {
	rm -f memtrack.dat
	call 0 "$MEMTRACK" run --malloc "$name" --trace none "$B/swapped" maps
	assert_lines err 1 "stderr of --trace=none"
	assert_match err "nothing was recorded.*$library" "what served"
	grep -q "$(basename "$(realpath "$library")")" out || fail "$library is not mapped: $(cat out)"
	assert_no_match out "libmemtrack" "maps of the program with --trace=none"
	[ ! -e memtrack.dat ] || fail "there is a recording"
	call 0 "$MEMTRACK" run -q --malloc "$name" --trace none "$B/operators" || [ "$name" = mimalloc ] # that aborts instead of bad_alloc
	call 0 "$MEMTRACK" run -q --malloc "$name" "$B/swapped" maps
	assert_match out "libmemtrack.so" "maps of the program"
}

@test "--trace=none: the allocator is under the program, and nothing of memtrack" {
	on_each alone
	MALLIB_SAY=1 call 0 "$MEMTRACK" run -q --malloc "$B/libmallib.so" --trace none "$B/basic"
	assert_eq "$(cat err)" "mallib: 1012" "what the library served"
}

# refused WHAT REGEX: status 125, an error of two lines at most, nothing started, the recording as it was.
refused() {
	echo precious >memtrack.dat
	rm -f ran
	memtrack 125 run --malloc "$1" touch ran
	assert_one_error 2
	assert_match err "$2" "the reason for '$1'"
	[ ! -e ran ] || fail "the program was started"
	assert_eq "$(cat memtrack.dat)" precious "the recording that was there"
	[ ! -e memtrack.dat.old ] || fail "the recording was moved"
}

@test "what cannot be used is refused before anything starts" {
	refused ./missing.so "cannot use allocator './missing.so': No such file"
	mkdir folder.so
	refused ./folder.so "it is a directory"
	: >empty.so
	refused ./empty.so "it is empty"
	echo 'INPUT ( -lmimalloc )' >script.so
	refused ./script.so "it is no ELF file"
	head -c 3000 "$B/libmallib.so" >cut.so
	refused ./cut.so "cannot use allocator"
	refused "$B/libmallib-half.so" "not free, calloc and realloc"
	refused "$B/libplug_red.so" "it defines no malloc"
	refused "$B/basic" "it is a program"
	# An ELF header of another machine, and one of 32 bits.
	cp "$B/libmallib.so" arm.so
	printf '\267\0' | dd of=arm.so bs=1 seek=18 conv=notrunc 2>/dev/null
	refused ./arm.so "another architecture"
	cp "$B/libmallib.so" small.so
	printf '\1' | dd of=small.so bs=1 seek=4 conv=notrunc 2>/dev/null
	refused ./small.so "another architecture"
	if [ "$(id -u)" != 0 ]; then
		cp "$B/libmallib.so" closed.so
		chmod 0 closed.so
		refused ./closed.so "Permission denied"
	fi
	refused nonsense "unknown allocator 'nonsense'"
	refused ansi:under "takes no options"
	refused stomp:nonsense "no option 'nonsense'.*under, align=N"
	refused stomp:align=3 "align='3' is no power of two"
}

@test "a sanitizer's runtime is no allocator to put under a program" {
	local library
	library=$(gcc -print-file-name=libasan.so)
	[ -e "$library" ] || skip "no AddressSanitizer here"
	refused "$library" "sanitizer"
}

@test "a library that is not installed: what to do about it" {
	[ -z "$(library_of librpmalloc.so)$(library_of librpmallocwrap.so)" ] || skip "rpmalloc is here"
	refused rpmalloc "^memtrack: error: cannot use allocator 'rpmalloc': librpmallocwrap.so is not installed$"
	assert_match err "^memtrack: hint: .*MEMTRACK_RPMALLOC=PATH"
}

@test "a library that is damaged: the package to install" {
	local as=-m name library
	[ "$(id -u)" = 0 ] || as=-rm
	: >empty
	unshare $as -- mount --bind empty empty 2>/dev/null || skip "no mount namespaces here"
	for name in mimalloc:libmimalloc2.0 jemalloc:libjemalloc2 tcmalloc:libtcmalloc-minimal4; do
		library=$(library_of "${sonames[${name%:*}]}")
		[ -n "$library" ] || continue
		# shellcheck disable=SC2016 # for the inner shell
		call 125 unshare $as -- sh -c 'for file in "${2%%.so*}"*.so*; do mount --bind empty "$file"; done
			[ "$1" != tcmalloc ] || for file in "${2%/*}"/libtcmalloc*.so*; do mount --bind empty "$file"; done
			exec "$0" run --malloc "$1" touch ran' "$MEMTRACK" "${name%:*}" "$(realpath "$library")"
		assert_match err "cannot use allocator '${name%:*}': '.*': it is empty" "the error"
		assert_match err "install package ${name#*:}" "the hint"
		[ ! -e ran ] || fail "the program was started"
	done
}

@test "names with blanks and colons" {
	local folder="a folder: of mine"
	mkdir "$folder"
	cp "$B/libmallib-cxx.so" "$folder/my malloc.so"
	MALLIB_SAY=1 call 0 "$MEMTRACK" run -q -o memtrack.dat --malloc "./$folder/my malloc.so" "$B/operators"
	assert_match err "^mallib: [1-9]"
	assert_eq "$(query .process.allocator)" "$PWD/$folder/my malloc.so" "the library that served"
	assert_eq "$(site_sum new_array allocations)" 20 "allocations of new_array"
	assert_eq "$(query '.process.notes | length')" 0 "notes"
	MALLIB_SAY=1 call 0 "$MEMTRACK" run -q --trace none --malloc "$folder/my malloc.so" "$B/basic"
	assert_eq "$(cat err)" "mallib: 1012"
	mkdir session
	call 0 "$MEMTRACK" run -q --session-dir session --malloc "./$folder/my malloc.so" "$B/operators"
	assert_eq "$(ls session)" "" "the session directory"
}

@test "LD_PRELOAD: agent, operators, allocator, then the user's own" {
	LD_PRELOAD=$B/libearly.so call 0 "$MEMTRACK" run -q --malloc "$B/libmallib-cxx.so" printenv LD_PRELOAD
	assert_match out "^[^:]*/libmemtrack.so:[^:]*/libmemtrack-operators.so:$B/libmallib-cxx.so:$B/libearly.so$" LD_PRELOAD
	LD_PRELOAD=$B/libearly.so call 0 "$MEMTRACK" run -q --trace none --malloc "$B/libmallib-cxx.so" printenv LD_PRELOAD
	assert_eq "$(cat out)" "$B/libmallib-cxx.so:$B/libearly.so" LD_PRELOAD
	LD_PRELOAD=$B/libearly.so call 0 "$MEMTRACK" run -q --trace none printenv LD_PRELOAD
	assert_eq "$(cat out)" "$B/libearly.so" LD_PRELOAD
}

@test "what an allocator is told: nothing that the user has said" {
	[ -n "$(library_of libtcmalloc_minimal.so.4)" ] || skip "no tcmalloc here"
	call 0 "$MEMTRACK" run -q --malloc tcmalloc printenv TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD
	assert_eq "$(cat out)" 9223372036854775807
	TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=7 call 0 "$MEMTRACK" run -q --malloc tcmalloc printenv TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD
	assert_eq "$(cat out)" 7
}

@test "programs whose malloc cannot be replaced: said, and who serves instead" {
	call 9 "$MEMTRACK" run -q -o memtrack.dat --malloc "$B/libmallib.so" "$B/ownmalloc"
	assert_match err "own malloc.*--malloc does not replace it" warning
	assert_eq "$(query .process.allocator)" "$B/ownmalloc" "the library that served"
	memtrack 0 report
	assert_match out "asked for '.*libmallib.so'.*but '.*ownmalloc' serves" note
	call 0 "$MEMTRACK" run -q --malloc "$B/libmallib.so" "$B/basic-static"
	assert_match err "statically linked.*nothing will be recorded, and its allocator cannot be swapped" warning
	call 0 "$MEMTRACK" run -q --malloc "$B/libmallib.so" --trace none "$B/basic-static"
	assert_match err "statically linked.*its allocator cannot be swapped" warning
	assert_no_match err "recorded" warning
	call 0 "$MEMTRACK" run --trace none "$B/basic-static"
	assert_lines err 1 "stderr"
	assert_match err "nothing was recorded.*its own malloc"
	# Without --malloc nothing was asked for.
	call 9 "$MEMTRACK" run -q -o memtrack.dat "$B/ownmalloc"
	assert_no_match err "malloc does not replace" warning
}

@test "rpmalloc is known by its symbol" {
	MEMTRACK_RPMALLOC=$B/libmallib-cxx.so refused rpmalloc "another malloc library by that name"
	LD_LIBRARY_PATH=$PWD
	cp "$B/libmallib-cxx.so" librpmalloc.so
	export LD_LIBRARY_PATH
	refused rpmalloc "another malloc library by that name"
	cp "$B/libmallib.so" librpmalloc.so
	call 0 "$MEMTRACK" run -q --malloc rpmalloc --trace none "$B/swapped" maps
	grep -q "$PWD/librpmalloc.so" out || fail "$(cat out)"
}

@test "help: what there is here" {
	memtrack 0 help allocators
	cp out first
	memtrack 0 run --malloc help
	cmp first out
	memtrack 0 help channels
	cp out first
	memtrack 0 run --trace help
	cmp first out
	memtrack 0 help allocators
	local name
	for name in "${!sonames[@]}"; do
		library=$(library_of "${sonames[$name]}")
		[ -z "$library" ] || assert_match out "^ +$library$" "the list"
	done
	MEMTRACK_RPMALLOC=$B/libmallib.so memtrack 0 help allocators
	assert_match out "^ +$B/libmallib.so$" "the list"
}

@test "the options of a recording name the allocator" {
	skip_unless_command sqlite3
	record --malloc "$B/libmallib.so" --trace memory "$B/basic"
	assert_match <(sqlite3 memtrack.dat "SELECT value FROM meta WHERE key = 'options'") "malloc=$B/libmallib.so trace=memory" options
}

@test "stomp and --trace=none: the processes are recorded, allocations are not" {
	# Another malloc library stands in for stomp: only its file is looked at here.
	export MEMTRACK_STOMP_LIBRARY=$B/libmallib.so
	record --malloc stomp:under:align=1 --trace none "$B/procs" forks 3
	expect_totals --all allocations=0 allocated_bytes=0 peak_bytes=0 unknown_frees=0 dropped_events=0
	assert_eq "$(query '.processes | length')" 4 processes
	assert_eq "$(query .process.allocator)" "$B/libmallib.so"
	memtrack 0 report
	assert_match out "^Note .*not recorded.*--trace=none" note
	call 0 "$MEMTRACK" run -q --malloc stomp:under:quarantine=1G printenv MEMTRACK_STOMP
	assert_eq "$(cat out)" "under,quarantine=1073741824" MEMTRACK_STOMP
	record --malloc stomp "$B/basic"
	expect_totals allocations=1012
	# Its file is there while the program runs, and gone afterwards.
	mkdir session
	call 0 "$MEMTRACK" run -q --session-dir session --malloc stomp sh -c 'od -An -tx8 -N8 session/*/stomp; stat -c %s session/*/stomp'
	assert_match out "3130504d5453544d" "the magic of the stomp file"
	assert_match out "^33554432$" "its size"
	assert_eq "$(ls session)" "" "the session directory"
}
