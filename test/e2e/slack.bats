# run --slack: what the allocator lost to rounding up, to the byte, by the programs' own accounts.
load helper

setup() {
	case_setup
	unset MEMTRACK_RPMALLOC MEMTRACK_AGENT LD_LIBRARY_PATH
}

# has ALLOCATOR: by its library in the loader's cache.
has() {
	local soname
	case $1 in
	mimalloc) soname=libmimalloc.so.2 ;;
	jemalloc) soname=libjemalloc.so.2 ;;
	tcmalloc) soname=libtcmalloc_minimal.so.4 ;;
	*) return 0 ;;
	esac
	/sbin/ldconfig -p | grep -qF "$soname"
}

# slack_lines FILE [OPTION]...: for the functions that FILE names, a line each: "NAME PEAK LEAKED ALLOCATED".
slack_lines() {
	local file said=$1
	shift
	# shellcheck disable=SC2154 # jq_names is the helper's
	file=$(report_file "$@") && jq -r --rawfile said "$said" "$jq_names"'
		. as $report | $said | split("\n")[] | select(. != "") | split(" ")[0] as $name
		| [$report.sites[].stacks[] | select(has($name))]
		| "\($name) \([.[].slack_bytes] | add // 0) \([.[].slack_leaked_bytes] | add // 0) \([.[].slack_allocated_bytes] | add // 0)"' "$file"
}

# slack_of FUNCTION [OPTION]...: the same of one.
slack_of() {
	local line
	echo "$1" >.function
	shift
	line=$(slack_lines .function "$@") && echo "${line#* }"
}

@test "random sequences, in C and C++, on several allocators" {
	local name program count=0
	while read -r name program; do
		has "$name" || continue
		record --slack --malloc "${name/mallib/$B/libmallib.so}" "$B/$program" random 20000 $((++count))
		assert_eq "$(wc -l <out)" 5 "sites that the program tells of"
		assert_eq "$(slack_lines out)" "$(cat out)" "$program on $name"
		assert_eq "$(query '([.sites[].stacks[].slack_bytes] | add) - .totals.slack_bytes')" 0 "the total at the peak"
	done <<-END
		ansi      slack
		mimalloc  slack
		mallib    slack
		ansi      slack++
		jemalloc  slack++
		tcmalloc  slack++
	END
	[ $count -ge 3 ] || fail "only $count runs"
	assert_no_match out ' 0( |$)' "what the program lost in the last run"
}

@test "an allocator of powers of two loses what is known beforehand; exact totals are as without --slack" {
	local lost figures
	# The sum of 2^k - n over odd n from 1 to 4095, where 2^k is the next power of two and at least 16; and 16 for 0 bytes.
	lost=$(awk 'BEGIN { for (n = 1; n < 4096; n += 2) { p = 16; while (p < n) p *= 2; s += p - n } print s + 16 }')
	record --malloc "$B/libmallib.so" "$B/slack" sizes
	query '.totals | del(.peak_time_s, .peak_rss_bytes)' >without
	record --slack --malloc "$B/libmallib.so" "$B/slack" sizes
	assert_eq "$(slack_of by_two)" "$lost $lost $lost"
	expect_totals slack_bytes="$lost" slack_leaked_bytes="$lost" slack_allocated_bytes="$lost" peak_bytes=$((2048 * 2048)) allocations=2049
	query '.totals | del(.peak_time_s, .peak_rss_bytes, .slack_bytes, .slack_leaked_bytes, .slack_allocated_bytes)' >with
	diff without with || fail "other figures than without --slack"
	# 4 MiB asked for, and what was lost beside it.
	memtrack 0 report
	assert_match out "^Slack +1\.[0-9] MiB of the peak lost to rounding by the allocator \($(awk -v l="$lost" 'BEGIN { printf "%.1f", 100 * l / (l + 2048 * 2048) }')%\)$" "header"
	figures=$(sqlite3 memtrack.dat "SELECT sum(allocated_slack), sum(peak_slack), sum(leaked_slack), sum(allocated_bytes) FROM slacks WHERE function = 'by_two'")
	assert_eq "$figures" "$lost|$lost|$lost|$((2048 * 2048))" "view slacks"
}

@test "an allocator that allocates in order to tell: no more is counted than without" {
	local name allocations
	for name in ansi mimalloc jemalloc tcmalloc; do
		has $name || continue
		record --malloc $name "$B/basic"
		allocations=$(total allocations)
		record --slack --malloc $name "$B/basic"
		# What it makes when it is asked for the first time may be of before the recording.
		assert_between "$(total allocations)" $((allocations - 1)) "$allocations" "allocations on $name"
	done
}

@test "blocks that other threads free" {
	local name early late peak
	for name in ansi jemalloc; do
		has $name || continue
		record --slack --malloc $name "$B/slack" threads
		early=$(awk '/early/ { print $3, $2 }' out)
		late=$(awk '/late/ { print $3, $2 }' out)
		peak=$(site_sum early slack_bytes)
		assert_eq "$(slack_of early)" "$peak $early" "early"
		assert_between "$peak" $((${early% *} * 97 / 100)) $((${early% *} * 103 / 100)) "early at the peak, within the error of threads"
		peak=$(site_sum late slack_bytes)
		assert_eq "$(slack_of late)" "$peak $late" "late"
		assert_between "$peak" $((${late% *} * 97 / 100)) "${late% *}" "late at the peak, likewise"
	done
}

@test "a forked child has the slack of the blocks that it inherits" {
	local name who id peak live own
	for name in ansi mimalloc; do
		has $name || continue
		record --slack --malloc $name "$B/slack" fork
		assert_eq "$(query '.processes | length')" 3 "process images"
		printf 'before\nin_child\n' >names
		while read -r who peak live own; do
			case $who in
			parent) id=1 ;;
			first) id=2 ;;
			second) id=3 ;;
			esac
			slack_lines names --process $id >figures
			assert_match figures "^before $peak $live [0-9]+$" "slack of before in the $who process ($peak, $live)"
			assert_match figures "^in_child $own $own $own$" "slack of in_child in the $who process ($own)"
			[ $id = 1 ] || assert_match figures "^before .* 0$" "what the $who process inherited"
		done <out
		# All together: peaks and leaks are sums; what was inherited was allocated once.
		assert_eq "$(slack_of before --all)" "$(awk '{ p += $2; l += $3 } END { print p, l }' out) $(site_sum before slack_allocated_bytes)" "all"
		assert_eq "$(sqlite3 memtrack.dat 'SELECT count(*), count(DISTINCT process) FROM slack')" \
			"$(sqlite3 memtrack.dat 'SELECT count(*), 3 FROM stack')" "rows"
	done
}

@test "realloc that fails or frees, bad frees, early blocks, no stacks, stomp" {
	record --slack "$B/realloc"
	expect_totals allocations=68 allocated_bytes=2128151 leaked_blocks=12 leaked_bytes=9700 frees=56
	# glibc's chunks are multiples of 16, less 8 for the header: 10 x 800 in 808, 1000 in 1000, 700 in 712.
	assert_eq "$(total slack_leaked_bytes)" $((10 * 8 + 0 + 12)) "leaked slack"
	record --slack "$B/early"
	assert_eq "$(query '[.sites[].stacks[] | .slack_bytes, .slack_leaked_bytes, .slack_allocated_bytes | select(. < 0)] | length')" 0 "negative figures"
	record_status '*' --slack "$B/wrong" double
	record --slack --trace memory_light --malloc "$B/libmallib.so" "$B/slack" sizes
	expect_totals slack_bytes="$(awk 'BEGIN { for (n = 1; n < 4096; n += 2) { p = 16; while (p < n) p *= 2; s += p - n } print s + 16 }')"
	record --slack --malloc stomp "$B/slack" sizes
	expect_totals slack_bytes=0 slack_leaked_bytes=0 slack_allocated_bytes=0 allocations=2049
	memtrack 0 report --sort slack
	assert_match out "Nothing was lost to rounding at the peak" "a table of nothing"
}

@test "an allocator that does not tell: said, and all else recorded" {
	record --slack --malloc "$B/libmallib-mute.so" "$B/slack" sizes
	expect_totals allocations=2049 peak_bytes=$((2048 * 2048)) slack_bytes=null
	memtrack 0 report
	assert_match out "^Note +slack was not recorded: the allocator '.*libmallib-mute.so' has no malloc_usable_size" "the note"
	assert_no_match out "^Slack" "header"
	memtrack 2 report --sort slack
	assert_one_error 2
	assert_match err "cannot sort by slack: 'memtrack.dat' holds none" "the reason"
	assert_match err "run --slack" "what to do"
}

@test "report: columns, order, CSV; recordings with and without summed" {
	record --slack --malloc "$B/libmallib.so" "$B/slack" sizes
	mv memtrack.dat with.dat
	memtrack 0 report with.dat
	assert_match out "^ +Peak +Share +Allocations +Slack  Site$" "heading"
	memtrack 0 report --sort leaked with.dat
	assert_match out "^ +Leaked +Share +Blocks +Slack  Site$" "heading by leaks"
	memtrack 0 report --sort slack with.dat
	assert_match out "^ +Slack +Share +Allocations +Peak  Site$" "heading by slack"
	assert_match out "^ +[0-9.]+ MiB 100.0% .* 2,049 +4.0 MiB  by_two  slack.c" "row"
	memtrack 0 report --format csv with.dat
	assert_match out "^process,pid,.*,stacks,slack_bytes,slack_leaked_bytes,slack_allocated_bytes$" "heading of CSV"
	assert_eq "$(awk -F, '{ print NF }' out | sort -u)" 19 "fields of CSV"
	record "$B/basic"
	mv memtrack.dat without.dat
	memtrack 0 report with.dat without.dat
	assert_match out "^Slack .*; recorded of 1 of the 2 processes$" "the sum of both"
	memtrack 0 report --format json without.dat
	assert_no_match out '"slack_' "a recording without"
	memtrack 0 report --format csv without.dat
	assert_no_match out ',slack_' "CSV of a recording without"
	assert_eq "$(sqlite3 without.dat 'SELECT count(*) FROM slack')" 0 "rows"
	assert_match <(sqlite3 with.dat "SELECT value FROM meta WHERE key = 'options'") "slack=1" "options"
}

@test "where slack is not known, nothing is said of it" {
	local by
	record --slack --malloc "$B/libmallib.so" "$B/slack" sizes
	for by in size thread; do
		memtrack 0 report --by $by --format json
		assert_eq "$(jq -c '[(.totals | has("slack_bytes")), ([.sites[] | has("slack_bytes")] | any)]' out)" '[true,false]' "JSON by $by"
		memtrack 0 report --by $by
		assert_no_match out "^ +Peak .* Slack" "the table by $by"
		memtrack 2 report --sort slack --by $by
		assert_one_error
		assert_match err "cannot sort by slack by $by" "the reason"
	done
	memtrack 0 report --at 100% --format json
	assert_eq "$(jq '[.. | objects | has("slack_bytes")] | any' out)" false "at a moment"
	memtrack 2 report --at 100% --sort slack
	assert_one_error
	assert_match err "slack at a moment: it is known of the peak only" "the reason"
}

@test "diff: changes of slack, when both sides have it" {
	record --slack --malloc "$B/libmallib.so" "$B/slack" sizes
	mv memtrack.dat old.dat
	record --slack "$B/slack" sizes
	memtrack 0 diff --format json old.dat memtrack.dat
	assert_eq "$(jq '.new.slack_bytes - .old.slack_bytes - .delta.slack_bytes' out)" 0 "the change in all"
	assert_between "$(jq .delta.slack_bytes out)" -1398160 -1300000 "powers of two against the C library"
	memtrack 0 diff --sort slack old.dat memtrack.dat
	record "$B/slack" sizes
	memtrack 0 diff --format json old.dat memtrack.dat
	assert_eq "$(jq -c '[.old, .new, .delta] | map(has("slack_bytes"))' out)" '[true,false,false]' "one side"
	memtrack 2 diff --sort slack old.dat memtrack.dat
	assert_match err "cannot sort by slack: 'memtrack.dat' holds none" "the reason"
}

@test "the slack of leaks that are suppressed goes with them" {
	record --slack --malloc "$B/libmallib.so" "$B/slack" sizes
	echo 'leak:by_two' >list
	memtrack 0 report --suppressions list --format json
	assert_eq "$(jq -c '.totals | [.leaked_bytes, .slack_leaked_bytes, .slack_bytes == .slack_allocated_bytes]' out)" '[0,0,true]'
	assert_eq "$(jq '[.sites[].slack_leaked_bytes] | add' out)" 0 "of the sites"
}

@test "--slack with --sample is refused, and says why" {
	memtrack 125 run --slack --sample 4K true
	assert_one_error 2
	assert_match err "exclude each other: slack has no standard error" "the reason"
}
