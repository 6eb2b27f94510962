# run --sample: estimates that are right on average, with errors that say how far off they may be.
load helper

setup() {
	case_setup
	skip_unless_command python3
	export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
}

# near FIELD TRUTH FIGURE ERROR: within five of its reported standard errors, and these within a factor of the right one.
near() {
	assert_between "$3" "$(awk -v t="$2" -v e="$4" 'BEGIN { print t - 5 * e - 2 }')" \
		"$(awk -v t="$2" -v e="$4" 'BEGIN { print t + 5 * e + 2 }')" "$1 (standard error $4)"
}

# near_total FIELD TRUTH [OPTION]...
near_total() {
	local field=$1 truth=$2
	shift 2
	near "$field" "$truth" "$(total "$field" "$@")" "$(total "standard_errors.$field" "$@")"
}

@test "figures are right on average, and as uncertain as they say" {
	MEMTRACK_TIMEOUT=200 call 0 python3 "$BATS_TEST_DIRNAME/sample_bias.py" "$MEMTRACK" "$B/sampled" 30 4096 || fail "$(cat out)"
}

@test "a sample of every byte is exact" {
	local sampled
	record "$B/sampled" fork
	query '.totals, (.sites[] | del(.stacks))' >exact.json
	query '[.sites[].stacks[]] | length' >exact.count
	record --sample 1 "$B/sampled" fork
	query '.totals, (.sites[] | del(.stacks)) | del(.standard_errors)' >sampled.json
	query '[.sites[].stacks[]] | length' >sampled.count
	cmp exact.count sampled.count
	# Times, RSS, what threads held back and the counts of frees that cannot be told differ.
	for sampled in exact sampled; do
		jq -S 'del(.peak_time_s, .peak_rss_bytes, .peak_error_bytes, .unknown_frees, .double_frees)' $sampled.json >$sampled.sorted
	done
	diff exact.sorted sampled.sorted || fail "figures differ"
	assert_eq "$(query .sampled) $(query .sample_bytes)" "true 1"
	assert_between "$(query '[.. | .standard_errors? // empty | .[]] | max')" 0 5 "largest standard error"
	record "$B/sampled"
	assert_eq "$(query .sampled) $(query .sample_bytes) $(query '[.. | .standard_errors? // empty] | length')" "false null 0"
}

@test "many threads and many children: each draws its own points" {
	local children
	# Each thread makes two blocks only, so that its first point is its only one.
	record --sample 4K "$B/threads" short
	near in_short 384000 "$(site_sum in_short allocated_bytes)" 40000
	near temporary 4000 "$(site_sum in_short temporary_allocations)" 600
	# 300 children of 1200 bytes each: were their points the same, all or none would have samples.
	record --sample 4K "$B/procs" forks 300
	children=$(query '[.processes[] | select(.parent == 1)] | length')
	assert_eq "$children" 300 "children"
	near only_child 360000 "$(site_sum only_child allocated_bytes --all)" \
		"$(query '[.sites[].stacks[] | select(any(.frames[]; .function == "only_child")) | .standard_errors.allocated_bytes | . * .] | add | sqrt' --all)"
	near_total allocations $((10 + 300 * 40)) --all
}

@test "a forked child has its parent's samples, and makes its own" {
	record --sample 64 "$B/procs" fork
	assert_eq "$(query '.processes | length')" 2 "process images"
	near before_fork 100 "$(site_sum before_fork allocations)" 20
	near only_parent 600 "$(site_sum only_parent leaked_bytes)" 200
	assert_eq "$(site_sum only_child allocations)" 0 "the child's in the parent"
	near_total leaked_bytes $((800 + 600))
	assert_eq "$(site_sum before_fork allocations --process 2)" 0 "allocations that the child inherits"
	near before_fork 50 "$(site_sum before_fork leaked_blocks --process 2)" 20
	near only_child 1200 "$(site_sum only_child leaked_bytes --process 2)" 300
	near_total leaked_bytes $((500 + 1200)) --process 2
	near_total frees 50 --process 2
}

@test "exec, no children, threads" {
	record --sample 50 "$B/procs" exec "$B/procs"
	near parent_site 1000 "$(site_sum parent_site leaked_bytes)" 250
	near leaf_site 350 "$(site_sum leaf_site leaked_bytes --process 2)" 150
	assert_eq "$(query .sample_bytes --process 2)" 50
	record --sample 50 "$B/procs" chain 3 || [ "$status" = 6 ]
	assert_eq "$(query '[.processes[].standard_errors | keys | length] | tostring')" '[3,3,3,3]' "process images with errors"
	record --sample 50 --no-follow "$B/procs" fork
	assert_eq "$(query '.processes | length')" 1 "process images"
	record --sample 4K "$B/threads" parallel
	near in_parallel 8000000 "$(site_sum in_parallel allocated_bytes)" "$(total standard_errors.allocated_bytes)"
	near temporary 200000 "$(site_sum in_parallel temporary_allocations)" "$(total standard_errors.temporary_allocations)"
	record --sample 256 "$B/threads" handover
	near produced 3930000 "$(site_sum produced allocated_bytes)" "$(total standard_errors.allocated_bytes)"
	near produced 60 "$(site_sum produced leaked_blocks)" "$(total standard_errors.leaked_blocks)"
	assert_eq "$(total unknown_frees)" 0 "unknown frees"
}

@test "a sampled program killed, and memtrack too" {
	local job program i
	record_status 137 --sample 100 "$B/endings" sigkill
	near kept 10000 "$(site_sum kept leaked_bytes)" "$(total standard_errors.leaked_bytes)"
	mkdir session
	"$MEMTRACK" run -q --sample 100 --session-dir session "$B/endings" wait ready 3>&- 4>&- &
	job=$!
	await_file ready
	program=$(cat ready)
	kill -KILL $job
	wait $job || true
	kill -TERM "$program"
	for ((i = 0; i < 300; i++)); do
		kill -0 "$program" 2>/dev/null || break
		sleep 0.01
	done
	memtrack 0 recover session
	assert_match err "estimated from one sample per 100 B: peak [0-9.]+ [KMi]*B \+-[0-9.]+%" "the summary"
	forget
	assert_eq "$(query .sample_bytes)" 100
	near kept 10000 "$(site_sum kept leaked_bytes)" "$(total standard_errors.leaked_bytes)"
}

@test "the summary and the report say that they estimate, and how well" {
	memtrack 0 run --sample 4K "$B/sampled" fork
	assert_lines err 5 "summary"
	assert_match err "memtrack: estimated from one sample per 4.0 KiB: peak [0-9.]+ MiB \+-[0-9.]+% after .* m?s; leaked [0-9.]+ MiB \+-[0-9.]+% in [0-9,]+ \+-[0-9.]+% blocks; [0-9,]+ \+-[0-9.]+% allocations" "summary"
	memtrack 0 report
	assert_match out "^Sampled one allocation per 4.0 KiB. All figures are estimates, \+- their standard error" "header"
	assert_match out "^Peak +[0-9.]+ MiB \+-[0-9.]+% .*in [0-9,]+ \+-[0-9.]+% blocks" "peak"
	assert_match out "^ +[0-9.]+ MiB \+-[0-9.]+% .* burst  sampled.c" "a row"
	LC_ALL=C.UTF-8 COLUMNS=80 memtrack 0 report
	assert_match out "^ +[0-9.]+ MiB ±[0-9.]+% .* burst  sampled.c" "a row in UTF-8"
	memtrack 0 report --format csv
	assert_match out "^process,pid,.*,stacks,allocations_standard_error,.*,temporary_allocations_standard_error$" "heading of CSV"
	assert_eq "$(awk -F, '{ print NF }' out | sort -u)" 23 "fields of CSV"
	# The same figures, in SQL.
	memtrack 0 report --format json
	assert_between "$(jq .totals.standard_errors.allocated_bytes out)" \
		"$(sqlite3 memtrack.dat 'SELECT 0.9999 * sqrt(sum(allocated_bytes)) FROM variance WHERE process = 1')" \
		"$(sqlite3 memtrack.dat 'SELECT 1.0001 * sqrt(sum(allocated_bytes)) FROM variance WHERE process = 1')" "from the table"
	assert_match <(sqlite3 memtrack.dat "SELECT value FROM meta WHERE key = 'options'") "sample=4096" "options"
	call 0 "$MEMTRACK" run -q "$B/sampled"
	memtrack 0 report
	assert_no_match out "estimate|sampled one|\+-" "the report on all"
}

@test "sizes of --sample" {
	local size
	for size in 1 4096 64K 1.5M 256G; do
		memtrack 0 run -q --sample $size -o memtrack.dat true
		assert_empty err
	done
	for size in 0 0.5 257G nonsense -1 64X ''; do
		memtrack 125 run --sample "$size" true
		assert_one_error 2
		assert_match err "option '--sample' takes a size" "the reason"
	done
	# Of recordings sampled and not, the sum is an estimate.
	record "$B/sampled"
	mv memtrack.dat exact.dat
	record --sample 4K "$B/sampled"
	memtrack 0 report --format json exact.dat memtrack.dat
	assert_eq "$(jq -c '[.sampled, .sample_bytes, .processes[0].standard_errors, (.processes[1].standard_errors | length)]' out)" \
		'[true,4096,null,3]'
}
