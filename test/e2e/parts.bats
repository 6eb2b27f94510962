# Costs by size and by thread.
load helper

setup() {
	case_setup
}

# by_size OPTION...: the rows of a report as lines of numbers, in the order of the report.
by_size() {
	memtrack 0 report --by size --format json "$@" memtrack.dat
	jq -r '.sites[] | "\(.size.min) \(.size.max) \(.allocations) \(.allocated_bytes) \(.peak_blocks) \(.peak_bytes) \(.leaked_blocks) \(.leaked_bytes) \(.temporary_allocations)"' out
}

# thread_named NAME: allocations, bytes, leaked blocks and bytes of the thread.
thread_named() {
	memtrack 0 report --by thread --top 0 --format json memtrack.dat
	jq -r --arg name "$1" '.sites[] | select(.thread.name == $name) | "\(.allocations) \(.allocated_bytes) \(.leaked_blocks) \(.leaked_bytes)"' out
}

# The sums over the rows of a report are its totals.
expect_sums() {
	local key
	for key in allocations allocated_bytes leaked_blocks leaked_bytes temporary_allocations; do
		assert_eq "$(jq "[.sites[].$key] | add" out)" "$(jq ".totals.$key" out)" "sum of $key"
	done
}

@test "by size: allocations, peak, leaks, temporaries and reallocs are exact" {
	record "$B/parts" sizes
	assert_eq "$(by_size)" "0 0 3 0 3 0 3 0 0
1 8 6 48 5 40 0 0 0
9 16 8 79 1 16 0 0 7
513 1024 100 100000 100 100000 60 60000 1
2049 4096 1 4096 0 0 0 0 1" "rows"
	expect_sums
	assert_eq "$(jq '[.sites[].peak_bytes] | add' out)" 100056 "the peak"
	assert_eq "$(jq -c '[.sites[].stacks | length] | unique' out)" "[0]" "stacks"
	# The largest, by what they are sorted by, but in the order of sizes.
	assert_eq "$(by_size --top 2 --sort allocations | cut -d' ' -f1 | tr '\n' ' ')" "9 513 " "top 2"
	memtrack 0 report --by size --format csv memtrack.dat
	assert_eq "$(sed -n 1p out | cut -d, -f1-4)" "size_min,size_max,allocations,allocated_bytes" "columns"
	assert_eq "$(sed -n 3p out)" "1,8,6,48,40,5,0,0,0,0" "the second row"
}

@test "by size: the text is a histogram" {
	record "$B/parts" sizes
	memtrack 0 report --by size memtrack.dat
	assert_eq "$(sed -n '/ Size$/,/^$/p' out | sed 1d | grep -o '[0-9]* \(B \)\?to .*\|0 B$\|> .*' | tr '\n' ';')" \
		"0 B;1 to 8 B;9 to 16 B;513 B to 1 KiB;> 2 KiB to 4 KiB;" "the sizes, in order"
	memtrack 0 report --by size --sort leaked memtrack.dat
	assert_match out "60,000|58\.6 KiB"
}

@test "by size: over 4 GiB" {
	record "$B/sizes"
	[ "$(cat out)" != refused ] || skip "so much memory cannot be had here"
	memtrack 0 report --by size --format json memtrack.dat
	# 2^32 + 5, 5 GiB and 6 GiB.
	assert_eq "$(jq -c '.sites[] | select(.size.max == null) | [.size.min, .allocations, .peak_bytes]' out)" \
		"[4294967297,3,6442450944]" "the last class"
	# 2^31 + 1, 2^32 - 1 and 2^32.
	assert_eq "$(jq -c '.sites[] | select(.size.max == 4294967296) | [.size.min, .allocations]' out)" "[2147483649,3]" "the one before"
	expect_sums
}

@test "by thread: who made and who freed, and what they are called" {
	local tids
	record "$B/parts" threads
	read -ra tids <out
	assert_eq "$(thread_named maker)" "10 1000 10 1000" "maker"
	expect_sums
	assert_eq "$(jq '.sites[] | select(.thread.name == "maker") | .thread.tid' out)" "${tids[1]}" "tid of maker"
	assert_eq "$(jq '.sites[] | select(.thread.name == "taker") | .thread.tid' out)" "${tids[2]}" "tid of taker"
	assert_eq "$(jq '.sites[] | select(.thread.name == "brief") | .thread.tid' out)" "${tids[3]}" "tid of brief"
	assert_eq "$(jq -c '.sites[] | select(.thread.number == 1) | [.thread.tid, .thread.name, .thread.threads]' out)" \
		"[${tids[0]},\"parts\",1]" "main"
	assert_eq "$(thread_named taker)" "5 250 1 -150" "taker, which freed four of maker's"
	assert_eq "$(thread_named brief)" "1 7 1 7" "brief"
	assert_eq "$(thread_named raw)" "1 9 1 9" "raw, seen from outside"
	memtrack 0 report --by thread --sort leaked memtrack.dat
	assert_match out "3: taker \(tid ${tids[2]}\)"
	assert_match out "Note .*below"
	memtrack 0 report --by thread --format csv memtrack.dat
	assert_match out "^[0-9]+,2,${tids[1]},maker,1,0,10,1000,"
}

@test "by thread: the first threads have a row each, later ones share" {
	record "$B/parts" turns
	memtrack 0 report --by thread --top 0 --format json memtrack.dat
	expect_sums
	# Main and 30 threads have one each; the other 30 come one after the other.
	assert_eq "$(jq '.sites | length' out)" 32 "rows"
	assert_eq "$(jq '[.sites[] | select(.thread.threads == 1)] | length' out)" 31 "threads of their own"
	assert_eq "$(jq -c '.sites[] | select(.thread.threads > 1) | [.thread.threads, .leaked_blocks, .leaked_bytes]' out)" "[30,30,720]" "in turn"
	memtrack 0 report --by thread --sort allocations --top 0 memtrack.dat
	assert_match out "\(30 threads in turn\)"
}

@test "after a fork: inherited blocks, by size and by thread" {
	record "$B/parts" fork
	memtrack 0 report --process 2 --by thread --format json memtrack.dat
	expect_sums
	assert_eq "$(jq -c '.sites[] | select(.thread.inherited) | [.allocations, .leaked_blocks, .leaked_bytes]' out)" "[0,10,1000]" "inherited"
	assert_eq "$(jq -c '.sites[] | select(.thread.inherited | not) | [.allocations, .leaked_blocks, .leaked_bytes, .thread.name]' out)" \
		'[2,-1,-220,"parts"]' "the child's own"
	memtrack 0 report --process 2 --by size --format json memtrack.dat
	expect_sums
	assert_eq "$(jq -c '[.sites[] | [.size.min, .allocations, .leaked_blocks, .leaked_bytes]]' out)" "[[33,2,2,80],[65,0,7,700]]" "sizes"
	memtrack 0 report --process 2 --by thread memtrack.dat
	assert_match out "1: \(inherited at fork\)"
	# Together: sizes are one, threads stay apart.
	memtrack 0 report --all --by size --format json memtrack.dat
	assert_eq "$(jq -c '[.sites[] | [.size.min, .allocations, .leaked_blocks]]' out)" "[[33,2,2],[65,10,17]]" "sizes of both"
	memtrack 0 report --all --by thread --format json memtrack.dat
	assert_eq "$(jq -c '[.sites[] | [.process, .thread.number]] | sort' out)" "[[1,1],[2,1],[2,2]]" "threads of both"
}

@test "sampled: estimates by size and by thread, within their errors" {
	record --sample 64K -- "$B/parts" many
	memtrack 0 report --by size --format json memtrack.dat
	expect_sums
	# Six standard errors on either side.
	assert_eq "$(jq -c '[.sites[] | select(.size.min == 65) | ((.allocations - 20000) | fabs) < 6 * .standard_errors.allocations,
		((.leaked_bytes - 2000000) | fabs) < 6 * .standard_errors.leaked_bytes]' out)" "[true,true]" "blocks of 100"
	assert_eq "$(jq -c '[.sites[] | select(.size.min == 2049) | ((.allocations - 5000) | fabs) < 6 * .standard_errors.allocations,
		((.peak_bytes - 15000000) | fabs) < 6 * .standard_errors.peak_bytes]' out)" "[true,true]" "blocks of 3000"
	memtrack 0 report --by thread --format json memtrack.dat
	expect_sums
	assert_eq "$(jq -c '.sites[0].standard_errors == (.totals.standard_errors | {allocations, allocated_bytes, peak_bytes, peak_blocks,
		leaked_bytes, leaked_blocks, temporary_allocations})' out)" true "the errors of the only thread"
}

@test "the views sizes and threads add up to the view totals" {
	local view columns
	record "$B/threads" handover
	columns="allocations allocated_bytes frees freed_bytes temporary_allocations reallocations peak_blocks peak_bytes leaked_blocks leaked_bytes"
	for view in sizes threads; do
		for column in $columns; do
			assert_eq "$(sqlite3 memtrack.dat "SELECT sum($column) FROM $view")" \
				"$(sqlite3 memtrack.dat "SELECT sum($column) FROM $([[ $column == peak* ]] && echo stack || echo totals)")" "$column of $view"
		done
	done
}

@test "filters and suppressions do not go with sizes and threads" {
	record "$B/parts" sizes
	echo 'leak:make' >none.supp
	local what option
	for what in size thread; do
		for option in '--filter=function~make' '--exclude=function~make' --focus=make --ignore=make --suppressions=none.supp; do
			memtrack 2 report --by $what "$option" memtrack.dat
			assert_match err "--by $what cannot be combined"
			assert_empty out
		done
	done
}
