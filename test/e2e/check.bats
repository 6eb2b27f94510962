# memtrack check, and run --check: verdicts on real runs.
load helper

setup() {
	case_setup
}

# The figures of prog/basic.c.
kept="--max-peak 2012000 --max-leaked 2010000 --max-leaked-blocks 110 --max-allocations 1012 --max-temporary 89.04% --max-errors 0"

@test "each budget at its edge and just below" {
	local budget
	record "$B/basic"
	# shellcheck disable=SC2086 # words
	memtrack 0 check $kept
	assert_eq "$(cat out)" "ok: 6 budgets kept"
	assert_empty err
	# shellcheck disable=SC2086
	memtrack 0 check -q $kept
	assert_empty out
	for budget in "max-peak 2011999 large" "max-leaked 2009999 large" "max-leaked-blocks 109 small" "max-allocations 1011 small" "max-temporary 89.03 small"; do
		# shellcheck disable=SC2086
		set -- $budget
		memtrack 1 check -q "--$1=$2"
		assert_lines out 1 "$1"
		assert_match out "^$1: .* most by $3 \(basic\.c:[0-9]+\)" "$1"
		memtrack 1 check --format json "--$1=$2"
		assert_eq "$(jq -c '[.ok, (.findings | length), .findings[0].budget, .findings[0].site.function]' out)" "[false,1,\"$1\",\"$3\"]" "JSON of $1"
	done
	memtrack 0 check --format json --max-peak 2G
	assert_eq "$(jq -c '[.ok, .findings]' out)" "[true,[]]" "JSON of what is kept"
	memtrack 1 check --plumbing '^(small|large|zeroed)$' --max-peak 1
	assert_match out "most by work" "the caller"
}

@test "growth against another recording" {
	record "$B/basic"
	mv memtrack.dat old.dat
	record "$B/basic"
	memtrack 0 check --against old.dat --max-peak-growth 0% --max-leaked-growth 0 --max-allocations-growth 0
	record "$B/peak" rising
	mv memtrack.dat small.dat
	mv old.dat memtrack.dat
	# From 100 x 1000 bytes in 100 blocks to 2012000 bytes, of which 2010000 leak, in 1012.
	memtrack 0 check --against small.dat --max-peak-growth 1912% --max-leaked-growth 1910000 --max-allocations-growth 912
	memtrack 1 check --against small.dat --max-peak-growth 1911.9% --max-leaked-growth 1909999 --max-allocations-growth 911
	assert_lines out 3 "findings"
	memtrack 1 check --format json --against small.dat --max-peak-growth 1911.9% --max-leaked-growth 1909999
	assert_eq "$(jq -c '.findings[] | [.limit, .actual, .unit, .old, .new, .site.function]' out | tr '\n' ' ')" \
		'[1911.9,1912,"percent",100000,2012000,"large"] [1909999,1910000,"bytes",100000,2010000,"large"] ' "JSON"
	# The site that is to blame is the one that grew most, by that figure.
	memtrack 1 check --format json --against small.dat --max-allocations-growth 0
	assert_eq "$(jq -r '.findings[0].site.function' out)" small "the site that grew"
}

@test "suppressions apply to leaks, in both recordings" {
	record "$B/basic"
	printf 'leak:^large$\n' >known
	memtrack 0 check --suppressions known --max-leaked 10000 --max-leaked-blocks 100
	memtrack 1 check --suppressions known --max-leaked 9999
	assert_match out "most by small"
	memtrack 1 check --suppressions known --max-peak 2011999
	cp memtrack.dat old.dat
	record "$B/chain" plain
	memtrack 0 check --suppressions known --against old.dat --max-leaked-growth 0
	memtrack 3 check --suppressions missing --max-leaked 0
	assert_one_error 2
}

@test "the C++ library's own block is named, and left out by its name" {
	record "$B/operators"
	# What the program itself leaks is in the head of operators.cpp: 480 + 5000 + 576.
	printf 'leak:emergency pool\n' >pool.supp
	memtrack 0 check --suppressions pool.supp --max-leaked 6056 --max-leaked-blocks 16
	assert_empty err
	memtrack 1 check --suppressions pool.supp --max-leaked 6055
	assert_match out "most by .*new_array"
	assert_no_match out "emergency"
	printf 'leak:new_\n' >own.supp
	memtrack 1 check --suppressions own.supp --max-leaked 0
	assert_match out 'most by .* \(libstdc\+\+: emergency pool for exceptions, in every C\+\+ program\): 7[12]\.0 KiB, 100\.0%$'
	memtrack 0 check --suppressions own.supp --suppressions pool.supp --max-leaked 0
}

@test "suppressions that match nothing are said" {
	record "$B/basic"
	printf 'leak:^large$\nleak:gone\nleak:small\n' >known
	memtrack 0 check --suppressions known --max-leaked 0
	assert_lines err 1 "unused ones"
	assert_match err "leak:gone matches no leak"
	memtrack 0 check -q --suppressions known --max-leaked 0
	assert_empty err
	cp memtrack.dat old.dat
	record "$B/chain" plain
	# Needed for one of the two.
	memtrack 0 check --suppressions known --against old.dat --max-peak-growth 1G
	assert_lines err 1 "unused ones"
	assert_match err "leak:gone matches no leak"
	call 0 "$MEMTRACK" run -q --check '--max-leaked 0 --suppressions known' "$B/basic"
	assert_empty err
	call 1 "$MEMTRACK" run -q --check '--max-peak 1 --suppressions known' "$B/basic"
	assert_match err "leak:gone matches no leak"
}

@test "one process, all of them, several recordings" {
	# 100 and 30 allocations in the parent, 40 in the child.
	record "$B/procs" fork
	memtrack 0 check --max-allocations 130
	assert_match err "only the first of 2 process images is checked"
	memtrack 1 check --all --max-allocations 169
	assert_no_match err "only the first"
	memtrack 0 check --all --max-allocations 170
	cp memtrack.dat other.dat
	memtrack 0 check --all --max-allocations 340 memtrack.dat other.dat
	memtrack 1 check --all --max-allocations 339 memtrack.dat other.dat
}

@test "errors in the use of the heap" {
	record_status 139 --malloc stomp "$B/bugs" uaf_read
	memtrack 1 check --max-errors 0
	assert_match out "^max-errors: 1 error, .* first: heap-use-after-free in bug_read"
	memtrack 1 check --max-errors 0 --format json
	assert_eq "$(jq -c '.findings[0] | [.actual, .site, .error.kind]' out)" '[1,null,"heap-use-after-free"]' "JSON"
	memtrack 0 check --max-errors 1
	# Recorded to its end all the same: nothing else makes the verdict uncertain.
	record_status 134 "$B/bugs" double_free
	memtrack 1 check --max-errors 0
}

@test "what makes a verdict uncertain is said" {
	record --sample 4096 "$B/steady" 300000
	memtrack 0 check --max-leaked 0 --max-errors 0
	assert_match err "sampled: the figures are estimates, and wrong frees cannot be told"
	record "$B/basic"
	sqlite3 memtrack.dat 'UPDATE process SET dropped_events = 3, complete = 0, unattributed = 2'
	memtrack 0 check --max-leaked 2M
	assert_match err "the recording: 3 events were not counted"
	assert_match err "the recording: the end of 1 process image was not seen: number 1 \(basic\)$"
	assert_match err "the recording: 2 allocations have no stack"
	mv memtrack.dat old.dat
	record "$B/basic"
	memtrack 0 check --max-leaked-growth 0 --against old.dat
	assert_match err "the old recording: 3 events"
	assert_no_match err "the new recording"
}

@test "ends that were not seen, of several processes" {
	record "$B/procs" fork
	memtrack 0 report --all
	assert_no_match out "was not seen"
	sqlite3 memtrack.dat 'UPDATE process SET complete = 0 WHERE id = (SELECT max(id) FROM process)'
	memtrack 0 check --all --max-leaked 1G
	assert_match err "the end of 1 process image was not seen: number 2 \(procs\)$"
	memtrack 0 report --all
	assert_match out "^Lost +the end of 1 process was not seen$"
	sqlite3 memtrack.dat 'UPDATE process SET complete = 0'
	memtrack 0 check --all --max-leaked 1G
	assert_match err "the end of 2 process images was not seen: first number 1 \(procs\)$"
	memtrack 0 report --all --by process
	assert_match out "^Lost +the end of 2 processes was not seen$"
	# Of one, the title says so.
	memtrack 0 report
	assert_no_match out "^Lost.*was not seen"
}

@test "wrong usage and bad input" {
	record "$B/basic"
	memtrack 2 check
	assert_one_error 2
	assert_match err "no budget"
	memtrack 2 check --max-peak-growth 5%
	assert_one_error 2
	assert_match err "against"
	local wrong
	for wrong in --max-peak=5% --max-leaked=-1 --max-leaked-blocks=1K --max-temporary=x --max-errors=1.5; do
		memtrack 2 check "$wrong"
		assert_one_error
		assert_match err "${wrong%%=*}.*takes"
	done
	memtrack 3 check --max-peak 1 missing.dat
	assert_one_error 2
	memtrack 3 check --max-peak-growth 1 --against missing.dat
	assert_one_error 2
	rm memtrack.dat
	memtrack 3 check --max-peak 1
	assert_one_error 2
}

@test "run --check: where the verdict goes, and what wins" {
	call 1 "$MEMTRACK" run -q --check '--max-leaked 1M --max-peak 1' "$B/basic"
	assert_eq "$(cat out)" "basic done" stdout
	assert_lines err 2 "findings"
	assert_match err "^memtrack: check: max-leaked: .* most by large \(basic\.c:32\)"
	call 0 "$MEMTRACK" run -q --check '--max-leaked 2M' "$B/basic"
	assert_empty err
	call 0 "$MEMTRACK" run --check '--max-leaked 2M' "$B/basic"
	assert_match err "^memtrack: check: ok: 1 budget kept"
	call 7 "$MEMTRACK" run -q --check '--max-leaked 1M' "$B/basic" status 7
	assert_match err "max-leaked" "the finding beside the status"
	call 137 "$MEMTRACK" run -q --check '--max-leaked 0' "$B/endings" sigkill
	[ -s memtrack.dat ] || fail "no recording"
}

@test "run --check against the recording that is replaced" {
	record "$B/basic"
	call 0 "$MEMTRACK" run -q --check '--against memtrack.dat --max-peak-growth 0%' "$B/basic"
	call 0 "$MEMTRACK" run -q --check '--against ./memtrack.dat --max-peak-growth 0%' "$B/peak" rising
	# The last one was smaller.
	call 1 "$MEMTRACK" run -q --check '--against memtrack.dat --max-peak-growth 1900%' "$B/basic"
	assert_match err "max-peak-growth: .*most by large"
}

@test "run --check: what cannot be checked is said before anything is started" {
	local wrong
	for wrong in '' '--max-leak 1' '--max-leaked x' "--max-leaked '1" '--max-leaked 1 file.dat' '--help' '--max-peak-growth 1' \
		'--max-leaked 1 --suppressions missing' '--max-peak-growth 1 --against missing.dat' '--max-leaked 1 --all --pid 3'; do
		call 125 "$MEMTRACK" run -q --check "$wrong" touch started
		assert_one_error 2
		assert_match err "option '--check'" "$wrong"
		[ ! -e started ] || fail "started with --check '$wrong'"
	done
	call 125 "$MEMTRACK" run -q --trace none --check '--max-leaked 1' touch started
	[ ! -e started ] || fail "started with --trace none"
	# Nor is a budget kept when nothing was recorded.
	call 125 "$MEMTRACK" run -q --check '--max-leaked 1G' "$B/basic-static"
	assert_match err "nothing to check"
	call 3 "$MEMTRACK" run -q --check '--max-leaked 1G' "$B/basic-static" status 3
	# Errors alone can be limited without recording allocations.
	call 139 "$MEMTRACK" run -q --malloc stomp --trace none --check '--max-errors 0' "$B/bugs" uaf_read
	assert_match err "check: max-errors: 1 error"
}
