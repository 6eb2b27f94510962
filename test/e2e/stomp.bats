# run --malloc=stomp: each error of test/prog/bugs.table is found, at the instruction or at the free, and correct programs go through.
load helper

setup() {
	case_setup
	skip_unless_option run --malloc
	ulimit -c 0
	library=${MEMTRACK%/*}/libmemtrack-stomp.so
}

# -- what the table says --------------------------------------------------------------------------

# rows AWK-CONDITION: lines of the table, by its columns ($1 program, $2 mode, $3 options, $4 kind, ...)
rows() {
	awk '!/^#/ && NF && ('"$1"')' "$top/test/prog/bugs.table"
}

# read_row LINE: its columns, to variables.
read_row() {
	read -r program mode options kind access size offset expected stack allocated freed thread canary <<-END
		$1
	END
}

# stomp OPTION...: the name to give to --malloc, without the empty ones.
stomp() {
	local option all=
	for option; do
		case $option in - | '') ;; *) all=$all,$option ;; esac
	done
	printf 'stomp%s\n' "${all:+:${all#,}}"
}

# line_of FUNCTION: FILE:LINE of the statement that carries its name, nothing when none does.
line_of() {
	(cd "$top/test/prog" && grep -n "; /\* $1 \*/\$" bugs.h bugs.c) | cut -d : -f 1,2
}

# The errors that stomp found, those of all processes.
stomp_errors() {
	query "[.errors[] | select(.source == \"stomp\")] | $1" --all
}

# error_differences: what of the only error of ./memtrack.dat is other than in the row that was read.
# shellcheck disable=SC2016 # variables of jq
error_differences() {
	local file
	file=$(report_file --all) || return 1
	jq -r --arg kind "$kind" --arg access "$access" --arg size "$size" --arg offset "$offset" --arg stack "$stack" \
		--arg allocated "$allocated" --arg freed "$freed" --arg thread "$thread" --arg mode "$mode" "$jq_names"'
		def number: if type == "string" then reduce (ltrimstr("0x") | explode[]) as $c (0; . * 16 + (if $c > 90 then $c - 87 else $c - 48 end))
			else . end;
		def shown: if . == null then "none" else [.[].function // "?"] | join("<") end;
		def differs($what; $got; $wanted): if $got == $wanted then empty else "\($what): expected \($wanted), got \($got)" end;
		def begins($names): . as $frames | ($frames | length) >= ($names | length)
			and all(range($names | length); . as $i | $frames[$i] | named($names[$i]));
		# Of a thread of its own the way to main ends elsewhere.
		def stack_differs($what; $frames; $wanted):
			if $wanted == "-" then differs($what; $frames | if . == [] then null else . end | shown; "none")
			else ($wanted | ltrimstr("~") | split("<") | if length == 1 then . + [$mode] else . end) as $names
			| ($frames // []) as $f
			| if ($wanted | startswith("~")) then any(range($f | length); . as $i | $f[$i:] | begins($names)) else $f | begins($names) end
			| . and (($wanted | contains("<")) or any($f[]; named("main")))
			| if . then empty else "\($what): expected \($wanted)<\($mode)...<main, got \($frames | shown)" end
			end;
		[.errors[] | select(.source == "stomp")] as $errors
		| if ($errors | length) != 1 then "errors: expected 1, got \($errors | length): \([$errors[].kind])"
		else $errors[0]
			| differs("kind"; .kind; $kind), differs("access"; .access | tostring; $access), differs("thread"; .thread | tostring; $thread),
			differs("count"; .count; 1), differs("continued"; .continued; false),
			(if $size == "-" then differs("block"; .block; null)
			else differs("size"; .block.size | tostring; $size),
				differs("address"; .address | number; (.block.address | number) + .block.offset),
				($offset | split("..") | map(tonumber)) as $range
				| if .block.offset >= $range[0] and .block.offset <= $range[-1] then empty else "offset: expected \($offset), got \(.block.offset)" end
			end),
			stack_differs("stack"; .stack; $stack), stack_differs("allocated"; .allocated; $allocated), stack_differs("freed"; .freed; $freed)
		end' "$file"
}

# text_differences: the same for what was said on stderr at once.
text_differences() {
	local name line grouped
	grep -q -- "$kind" err || echo "stderr does not say $kind"
	for name in "$stack" "$allocated" "$freed"; do
		name=${name#'~'}
		name=${name%%<*}
		[ "$name" = - ] && continue
		grep -Eq "\\b$name\\b" err || echo "stderr does not name $name"
		line=$(line_of "$name")
		[ -z "$line" ] || grep -Fq "$line" err || echo "stderr has no $line, the line of $name"
	done
	if [ "$access" != null ]; then grep -Eiq "\\b$access" err || echo "stderr does not say that it was a $access"; fi
	grouped=$(sed ':a;s/\B[0-9]\{3\}\>/,&/;ta' <<<"$size")
	if [ "$size" != - ]; then grep -Eq "\b($size|$grouped)[ -]byte|\b($size|$grouped) bytes" err || echo "stderr does not say that the block has $size bytes"; fi
}

# expect_row: ./memtrack.dat and ./err are as the row says that was read.
expect_row() {
	local wrong
	wrong=$(
		error_differences 2>&1
		text_differences
	)
	[ -z "$wrong" ] || fail "$mode" "$wrong"
}

# expect_bugs ROWS [OPTION-OF-STOMP [OPTION-OF-RUN]...]: all of the rows are found as they say; every one is tried.
expect_bugs() {
	local table=$1 more=${2:-} row wrong all=
	shift
	[ $# = 0 ] || shift
	[ -n "$table" ] || fail "no such rows in the table"
	while read -r row; do
		read_row "$row"
		if record_status "$expected" --malloc="$(stomp "$options" "$more")" "$@" "$B/$program" "$mode" 2>complaint; then
			wrong=$(expect_row 2>&1) || true
		else
			wrong=$(head -c 600 complaint)
		fi
		[ -z "$wrong" ] || all+=$wrong$'\n'
	done <<<"$table"
	[ -z "$all" ] || fail "$all"
}

@test "past the end of a block" {
	expect_bugs "$(rows '$4 == "heap-buffer-overflow"')"
}

@test "before its beginning" {
	expect_bugs "$(rows '$4 == "heap-buffer-underflow"')"
}

@test "after its free" {
	expect_bugs "$(rows '$4 == "heap-use-after-free"')"
}

@test "freed twice" {
	expect_bugs "$(rows '$4 == "double-free"')"
}

@test "freed, and no block" {
	expect_bugs "$(rows '$4 == "invalid-free"')"
}

@test "bytes beside a block, found when it is freed" {
	expect_bugs "$(rows '$4 == "heap-corruption"')"
	# Two bytes, and the one between them as it was.
	record_status 134 --malloc=stomp "$B/bugs" smash_slack
	assert_eq "$(stomp_errors '.[0].corrupt_bytes')" 2 "bytes overwritten"
}

@test "all of them without tracking" {
	expect_bugs "$(rows 1)" "" --trace none
}

@test "guards by mprotect: the same faults" {
	expect_bugs "$(rows '$8 == 139')" guard=mprotect --trace none
}

# Without guards: what was written is found at the free, wrong frees at once, and nothing else.
@test "canaries: bad frees, and writes when the block is freed" {
	local table
	expect_bugs "$(rows '$13 == "same"')" guard=canary --trace none
	table=$(rows '$13 == "free"' | awk '{
		$4 = "heap-corruption"; $5 = "write"; sub(/\.\..*/, "", $7); $8 = 134; $9 = $1 == "bugs" ? "bug_free" : "~bug_delete_array"; print
	}')
	expect_bugs "$table" guard=canary --trace none
	while read -r table; do
		read_row "$table"
		record --malloc="$(stomp "$options" guard=canary)" --trace none "$B/$program" "$mode"
		assert_eq "$(cat out)" "done" "stdout of $mode"
		assert_eq "$(query '.errors | length' --all)" 0 "errors of $mode"
	done < <(rows '$13 == "none"')
}

# -- how it ends ----------------------------------------------------------------------------------

@test "continue: it is said, and the program goes on" {
	for mode in over_read_1 over_write_1 uaf_read uaf_write double_free free_interior free_stack smash_slack realloc_freed; do
		read_row "$(rows "\$2 == \"$mode\"")"
		record_status 0 --malloc=stomp:continue "$B/$program" "$mode"
		assert_eq "$(cat out)" "done" "stdout of $mode"
		assert_eq "$(stomp_errors '.[0] | "\(.kind) \(.access) \(.continued)"')" "$kind $access true" "the error of $mode"
		assert_match err "$kind" "stderr of $mode"
	done
}

@test "the program's own handlers run, after the record was made" {
	for mode in over_write_1 uaf_read uaf_later; do
		read_row "$(rows "\$2 == \"$mode\"")"
		record_status 42 --malloc=stomp "$B/$program" handler "$mode"
		assert_eq "$(cat out)" "handled 11" "stdout of $mode"
		expect_row
	done
	for mode in double_free free_stack smash_slack; do
		read_row "$(rows "\$2 == \"$mode\"")"
		record_status 43 --malloc=stomp "$B/$program" handler "$mode"
		assert_eq "$(cat out)" "handled 6" "stdout of $mode"
		expect_row
	done
}

@test "a core file of the fault" {
	local pattern cores
	pattern=$(cat /proc/sys/kernel/core_pattern)
	case $pattern in '|'* | */*) skip "core files go elsewhere: $pattern" ;; esac
	ulimit -c unlimited 2>/dev/null || skip "no core files may be made here"
	case $(stat -f -c %T .) in tmpfs | ext* | xfs | btrfs | overlay*) ;; *) skip "no sparse files here" ;; esac
	for mode in uaf_write double_free; do
		read_row "$(rows "\$2 == \"$mode\"")"
		rm -f core*
		record_status "$expected" --malloc=stomp "$B/bugs" "$mode"
		cores=(core*)
		[ -s "${cores[0]}" ] || fail "no core file after $mode"
		readelf -h "${cores[0]}" | grep -q 'CORE' || fail "not a core file"
	done
}

@test "a fault that is not the heap's is the program's own affair" {
	record_status 139 --malloc=stomp "$B/endings" sigsegv
	assert_eq "$(query '.errors | length' --all)" 0 "errors of a wild write"
	record_status 139 --malloc=stomp "$B/endings" overflow
	assert_eq "$(query '.errors | length' --all)" 0 "errors of a stack overflow"
	record_status 134 --malloc=stomp "$B/endings" abort
	assert_eq "$(query '.errors | length' --all)" 0 "errors of abort"
}

@test "children: forked, and with an exec" {
	read_row "$(rows '$2 == "over_write_1"')"
	record_status 0 --malloc=stomp "$B/bugs" fork over_write_1
	assert_eq "$(cat out)" "child 139" stdout
	expect_row
	assert_eq "$(stomp_errors '.[0].process')" "$(process_ids '.parent != null')" "process of the error"

	record_status 0 --malloc=stomp "$B/bugs" exec over_write_1
	assert_eq "$(cat out)" "child 139" stdout
	expect_row
	assert_eq "$(stomp_errors '.[0].process')" "$(process_ids '.command[1] == "over_write_1"')" "process of the error after exec"

	record_status 139 --malloc=stomp "$B/bugs" twice uaf_read
	assert_eq "$(cat out)" "child 139" stdout
	assert_eq "$(stomp_errors '[.[].count] | add')" 2 "errors of two processes"
	assert_eq "$(stomp_errors '[.[].process] | unique | length')" 2 "processes with errors"
}

# -- what is guarded ------------------------------------------------------------------------------

@test "options pick the blocks, and what cannot be is refused" {
	local given
	record --malloc=stomp:max=47 "$B/bugs" over_read_1
	assert_eq "$(query '.errors | length' --all)" 0 "errors with max=47"
	record_status 139 --malloc=stomp:max=48 "$B/bugs" over_read_1
	record --malloc=stomp:min=49 "$B/bugs" over_read_1
	record_status 139 --malloc=stomp:min=48 "$B/bugs" over_read_1
	for given in nonsense align=3 sample=0 sample=x guard=nothing quarantine=-1 max=1Q; do
		rm -f ran
		memtrack 125 run "--malloc=stomp:$given" touch ran
		assert_one_error 2
		[ ! -e ran ] || fail "the program was started with $given"
	done
}

@test "the report says how blocks were guarded, and how many" {
	record --malloc=stomp "$B/crowd" 1000
	memtrack 0 report memtrack.dat
	assert_match out "stomp" "the report"
	assert_match out "1[ ,.']?1[0-9][0-9]" "the number of blocks in the report"
	record --malloc=stomp:guard=mprotect "$B/crowd" 1000
	memtrack 0 report memtrack.dat
	assert_match out "mprotect" "the report"
	record --malloc=stomp:guard=canary "$B/crowd" 1000
	memtrack 0 report memtrack.dat
	assert_match out "canar" "the report"
}

# A page and 64 bytes each, and 64 MiB for all the rest.
crowd_fits() {
	local rss
	rss=$(awk '{ print $NF }' out)
	assert_eq "$(cut -d , -f 1 out)" "400000 blocks" stdout
	assert_between "$rss" 1 $(((400000 * (4096 + 64) + (64 << 20)) >> 10)) "KiB of resident memory"
	assert_eq "$(query '.errors | length' --all)" 0 errors
}

@test "400000 live blocks" {
	[ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -gt 2500000 ] || skip "needs 2 GiB of memory"
	record --malloc=stomp --trace none "$B/crowd" 400000
	crowd_fits
	record --malloc=stomp "$B/crowd" 400000
	crowd_fits
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

# -- correct programs -----------------------------------------------------------------------------

# correct_under OPTIONS [MODE...]: each goes through without a word.
correct_under() {
	local options=$1 mode
	shift
	for mode; do
		record --malloc="$(stomp "$options")" --trace "$channels" "$B/correct" "$mode" || fail "correct $mode, stomp:$options"
		assert_eq "$(cat out)" fine "correct $mode, stomp:$options"
		assert_eq "$(query '.errors | length' --all)" 0 "errors of correct $mode, stomp:$options"
	done
}

quick="zero resize aligned refused exact strings kernel usable handover fork spawn barrier overflow null signal libc"

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

@test "four threads hand blocks to each other" {
	local how
	for how in stomp stomp:under stomp:quarantine=1M stomp:guard=mprotect stomp:guard=canary stomp:sample=5; do
		record --malloc=$how --trace none "$B/shuffle" 4 20000 1
		assert_eq "$(query '.errors | length' --all)" 0 "errors with $how"
	done
	record --malloc=stomp "$B/shuffle" 4 20000 1
	read -ra figures <out
	assert_eq "$(($(site_sum made allocations) + $(site_sum remade allocations)))" "${figures[0]}" "allocations"
	assert_eq "$(query '.errors | length' --all)" 0 errors
}

# -- without memtrack -----------------------------------------------------------------------------

# preloaded STATUS OPTIONS COMMAND...
preloaded() {
	local wanted=$1 options=$2
	shift 2
	[ -e "$library" ] || skip "no $library"
	call "$wanted" env LD_PRELOAD="$library" ${options:+MEMTRACK_STOMP="$options"} "$@"
}

@test "preloaded by itself: it says the same on stderr" {
	local row more
	while read -r row; do
		read_row "$row"
		more=$options
		[ "$more" = - ] && more=
		preloaded "$expected" "$more" "$B/$program" "$mode"
		assert_match err "$kind" "stderr of $mode"
		[ "$size" = - ] || assert_match err "\\b$size\\b" "the size on stderr of $mode"
		assert_match err "$program" "the module on stderr of $mode"
	done < <(rows '$2 ~ /^(over_read_1|under_write|odd_write|smash_slack|uaf_later|thread_uaf|double_free|free_stack|free_interior|realloc_freed|new_array_over|delete_twice)$/')
	for mode in zero resize aligned fork barrier overflow null threads libc; do
		preloaded 0 "" "$B/correct" $mode
		assert_eq "$(cat out)" fine "correct $mode"
		assert_empty err "stderr of correct $mode"
	done
}
