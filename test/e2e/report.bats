# Options of memtrack report, and the shape of its JSON.
load helper

setup() {
	case_setup
}

# sites_of OPTION...: "function allocations" of each site in the order of the report.
sites_of() {
	memtrack 0 report --format json "$@" memtrack.dat
	jq -r '.sites[] | "\(.function)"' out | tr '\n' ' ' | sed 's/ $//'
}

@test "the keys of the JSON are those of the manual" {
	record "$B/shape"
	assert_between "$(query '.timeline | length')" 10 100000 "points of the timeline"
	memtrack 0 report --format json memtrack.dat
	assert_eq "$(jq -r '.timeline[0] | keys_unsorted | sort | join(" ")' out)" "blocks heap_bytes rss_bytes t_s" "keys of the timeline"
	record "$B/basic"
	memtrack 0 report --format json memtrack.dat
	jq -e . out >/dev/null
	keys() {
		jq -r "$1 | keys_unsorted | sort | join(\" \")" out
	}
	has() {
		local have k
		have=" $(keys "$1") "
		for k in $2; do
			[[ $have == *" $k "* ]] || fail "$1 has no $k, but:$have"
		done
	}
	has . "memtrack schema process processes totals sites timeline"
	has .process "id pid command executable parent_pid start_time duration_s exit"
	has .process.exit "code signal complete"
	has '.processes[0]' "id pid parent command peak_bytes leaked_bytes allocations"
	has .totals "allocations allocated_bytes frees freed_bytes reallocations temporary_allocations leaked_blocks leaked_bytes peak_bytes peak_blocks peak_time_s peak_error_bytes unknown_frees double_frees dropped_events truncated_stacks stacks threads peak_rss_bytes"
	local costs="allocations allocated_bytes peak_bytes peak_blocks leaked_bytes leaked_blocks temporary_allocations"
	has '.sites[0]' "function file line module tag $costs stacks"
	has '.sites[0].stacks[0]' "$costs truncated frames"
	has '.sites[0].stacks[0].frames[0]' "function file line module address inlined"
	assert_eq "$(jq -r '.schema' out)" 1 schema
	assert_eq "$(jq -r '[.sites[].stacks[].frames[].address | test("^0x[0-9a-f]+$")] | all' out)" true addresses
	assert_eq "$(jq -r '.process.start_time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\\.[0-9]+)?Z$")' out)" true "start time"
	assert_eq "$(jq -r '.process.executable' out)" "$(readlink -f "$B/basic")" executable
	assert_eq "$(jq -c '.process.command' out)" "[\"$B/basic\"]" command
	[ "$(jq .totals.peak_rss_bytes out)" -gt 500000 ] || fail "peak_rss_bytes: $(jq .totals.peak_rss_bytes out)"
	# A site's costs are the sums over its stacks.
	assert_eq "$(jq '[.sites[] | (.allocated_bytes == ([.stacks[].allocated_bytes] | add)) and (.leaked_blocks == ([.stacks[].leaked_blocks] | add))] | all' out)" \
		true "sites against their stacks"
}

@test "sort, top and by" {
	record "$B/basic"
	assert_eq "$(sites_of)" "large small zeroed" "by peak"
	assert_eq "$(sites_of --sort allocations)" "small large zeroed" "by allocations"
	assert_eq "$(sites_of --sort=temporary | cut -d' ' -f1,2)" "small large" "by temporary"
	assert_eq "$(sites_of --sort leaked | cut -d' ' -f1,2)" "large small" "by leaked"
	assert_eq "$(sites_of --sort allocated)" "large small zeroed" "by bytes"
	assert_eq "$(sites_of --top 1)" large "top 1"
	assert_eq "$(sites_of -n 2)" "large small" "top 2"
	# Totals cover all, whatever is shown.
	assert_eq "$(jq .totals.allocations out)" 1012 "totals under --top"
	memtrack 0 report --top 1 memtrack.dat
	assert_match out large
	assert_no_match out zeroed
	# Two calls of one function, from two lines: large is called twice in work, which makes two stacks of one site.
	assert_eq "$(query '[.sites[].stacks[] | select(.frames[0].function == "large")] | length')" 2 "stacks of large"
	memtrack 0 report --by function --format json memtrack.dat
	assert_eq "$(jq -c '[.sites[] | select(.function == "large") | .allocations] | add' out)" 11 "large by function"
	local what
	for what in site stack function file module process; do
		memtrack 0 report --by $what memtrack.dat
		memtrack 0 report --by $what --format json memtrack.dat
		jq -e . out >/dev/null || fail "JSON by $what"
		memtrack 0 report --by $what --format csv memtrack.dat
	done
	memtrack 0 report --by file --format json memtrack.dat
	assert_eq "$(jq -c '[.sites[] | .allocations]' out)" "[1012]" "by file"
	memtrack 0 report --by module --format json memtrack.dat
	assert_eq "$(jq -c '[.sites[] | .allocations]' out)" "[1012]" "by module"
}

@test "tags: no stack has one" {
	record "$B/basic"
	memtrack 0 report --by tag memtrack.dat
	assert_match out '^ +1\.9 MiB 100\.0% .* \(no tag\)$'
	memtrack 0 report --by tag --format json memtrack.dat
	assert_eq "$(jq -c '[.sites[] | .tag, .function, .allocations, .leaked_bytes]' out)" "[null,null,1012,2010000]" "by tag"
	assert_eq "$(sites_of --exclude tag~.)" "large small zeroed" "exclude by tag"
	assert_eq "$(sites_of --filter tag~.)" "" "filter by tag"
	memtrack 2 report --filter 'tag~(' memtrack.dat
}

@test "by tag, thread and size" {
	record "$B/basic"
	local what
	for what in tag thread size; do
		memtrack 0 report --by $what memtrack.dat
		memtrack 0 report --by $what --format json memtrack.dat
		assert_eq "$(jq '[.sites[].allocations] | add' out)" 1012 "allocations by $what"
	done
}

@test "filter, exclude, focus and ignore" {
	record "$B/basic"
	assert_eq "$(sites_of --filter 'function~^small$')" small "filter by function"
	assert_eq "$(sites_of --exclude 'function~^large$')" "small zeroed" "exclude by function"
	assert_eq "$(sites_of --filter 'function~^work$' --exclude 'function~small' --exclude 'function~zero')" large "several"
	assert_eq "$(sites_of --filter 'file~basic\.c$' | wc -w)" 3 "filter by file"
	assert_eq "$(sites_of --filter 'module~nothing' | wc -w)" 0 "filter by module"
	assert_eq "$(sites_of --focus zero)" zeroed focus
	assert_eq "$(sites_of --ignore 'zero|small')" large ignore
	assert_eq "$(sites_of --filter 'function~small' --filter 'function~main')" small "both must hold, or either"
}

@test "text: readable without a terminal, no colour unless asked" {
	record "$B/basic"
	memtrack 0 report memtrack.dat
	assert_empty err
	assert_no_match out $'\033' "colour in a file"
	assert_match out "1,012" "thousands are grouped"
	assert_match out "MiB" "sizes are readable"
	assert_match out "large"
	assert_match out "basic\.c:[0-9]+" "file and line"
	[ "$(wc -l <out)" -lt 120 ] || fail "$(wc -l <out) lines"
	memtrack 0 report --color always memtrack.dat
	assert_match out $'\033' "colour when asked for"
	memtrack 0 report --color=never memtrack.dat
	assert_no_match out $'\033' "colour with never"
	NO_COLOR=1 memtrack 0 report --color auto memtrack.dat
	assert_no_match out $'\033' "colour with NO_COLOR"
	# Full paths only when asked for.
	memtrack 0 report memtrack.dat
	assert_no_match out "$(dirname "$(readlink -f "$B")")/.*basic\.c" "paths"
	memtrack 0 report --full-paths memtrack.dat
	assert_match out "/.*/basic\.c" "full paths"
	# The same input gives the same output.
	memtrack 0 report memtrack.dat
	mv out first
	memtrack 0 report memtrack.dat
	cmp out first
}

@test "names of C++ are shortened in text only" {
	record "$B/operators"
	memtrack 0 report --focus fill_vector --sort allocated memtrack.dat
	assert_match out 'via std::vector<\.\.\.>::|via std::vector<…>::' "template arguments"
	assert_no_match out 'fill_vector\(|std::allocator' "parameters"
	memtrack 0 report --focus fill_vector --sort allocated --full-names memtrack.dat
	assert_match out 'via std::vector<int, std::allocator<int> >::' "full names"
	assert_match out 'fill_vector\(' "full names"
	memtrack 0 report --focus fill_vector --sort allocated --format csv memtrack.dat
	assert_match out 'fill_vector\(' "CSV"
	memtrack 0 report --focus fill_vector --sort allocated --format json memtrack.dat
	assert_match out 'std::vector<int, std::allocator<int> >::' "JSON"
}

@test "the C++ library's own block is told from the program's" {
	record "$B/operators"
	memtrack 0 report --sort leaked --top 1 memtrack.dat
	assert_match out '^ +\(libstdc\+\+: emergency pool for exceptions, in every C\+\+ program\)$' "remark"
	memtrack 0 report --sort leaked --top 1 --format json memtrack.dat
	assert_no_match out 'emergency' "JSON"
	record "$B/chain" plain
	memtrack 0 report --top 0 memtrack.dat
	assert_no_match out 'emergency' "a C program"
}

@test "--frames limits the frames that are shown" {
	record "$B/chain" plain
	memtrack 0 report --frames 2 memtrack.dat
	assert_match out five
	assert_no_match out '\bone\b' "the sixth frame under --frames 2"
	memtrack 0 report --frames 20 memtrack.dat
	assert_match out '\bone\b'
	assert_match out '\bmain\b'
}

@test "trees of callers and callees" {
	record "$B/chain" plain
	memtrack 0 report --tree memtrack.dat
	assert_match out leaf
	memtrack 0 report --tree=callees memtrack.dat
	assert_match out main
	memtrack 0 report --tree=callers memtrack.dat
	assert_match out leaf
	# The frames from leaf to main, one below the other, with the cost of all.
	tree_names() {
		sed -n '/^ .*Share/,/^$/p' out | sed '1d; /^$/d' | sed -E 's/^ +110 B 100\.0%  ([a-z]+) .*/\1/' | tr '\n' ' '
	}
	assert_eq "$(tree_names)" "leaf five four three two one main " callers
	memtrack 0 report --tree=callees memtrack.dat
	assert_eq "$(tree_names)" "main one two three four five leaf " callees
	memtrack 0 report --tree --frames 2 memtrack.dat
	assert_eq "$(tree_names | tr -s ' ')" "leaf five ... more frames " "two levels"
	# One node for all the calls of a function by itself.
	record "$B/chain" deep 50
	memtrack 0 report --tree=callees --format json memtrack.dat
	assert_eq "$(jq -c '[.tree | recurse(.[].children) | .[] | .function, .recursive, .peak_bytes]' out)" \
		'["main",false,60,"recurse",true,60,"leaf",false,60]' recursion
}

@test "trees: figures of each node" {
	record "$B/basic"
	memtrack 0 report --tree=callees --format json memtrack.dat
	local costs='.function, .allocations, .allocated_bytes, .peak_bytes, .peak_blocks, .leaked_bytes, .leaked_blocks, .temporary_allocations'
	assert_eq "$(jq -c "[.tree | recurse(.[].children) | .[] | $costs]" out)" \
		'["main",1012,3102000,2012000,111,2010000,110,901,"work",1012,3102000,2012000,111,2010000,110,901,"large",11,3000000,2000000,10,2000000,10,1,"small",1000,100000,10000,100,10000,100,900,"zeroed",1,2000,2000,1,0,0,0]' callees
	assert_eq "$(jq -c '[.tree | recurse(.[].children) | .[] | .function, .self.allocations]' out)" \
		'["main",0,"work",0,"large",11,"small",1000,"zeroed",1]' "what ends there"
	memtrack 0 report --tree --sort allocations --format json memtrack.dat
	assert_eq "$(jq -c '[.tree[] | .function, .allocations, .children[0].function, .children[0].children[0].function, .children[0].children[0].self.allocations]' out)" \
		'["small",1000,"work","main",1000,"large",11,"work","main",11,"zeroed",1,"work","main",1]' callers
	# Two lines of a function are two sites, and one node of a tree by function.
	record "$B/chain" two
	memtrack 0 report --tree --format json memtrack.dat
	assert_eq "$(jq -c '[.tree[] | .function, .allocations, .peak_bytes]' out)" '["two_calls",20,380,"two_calls",10,180]' "sites"
	memtrack 0 report --tree --by function --format json memtrack.dat
	assert_eq "$(jq -c '[.tree[] | .function, .line, .allocations]' out)" '["two_calls",null,30]' "by function"
	memtrack 0 report --tree=callees --focus two_calls --format json memtrack.dat
	assert_eq "$(jq -c '[.tree[] | .function, .allocations, (.children[] | .function, .line, .allocations)]' out)" \
		'["main",30,"two_calls",null,30]' "callees"
	# Lines are drawn as the terminal can.
	record "$B/chain" frames
	LC_ALL=C.UTF-8 memtrack 0 report --tree=callees memtrack.dat
	assert_eq "$(grep -c -E '16\.7%  (├|└)─ ' out)" 6 "branches"
	LC_ALL=C memtrack 0 report --tree=callees memtrack.dat
	assert_eq "$(grep -c '16\.7%  [|`]- ' out)" 6 "branches in ASCII"
	LC_ALL=C memtrack 0 report --tree=callees --top 2 memtrack.dat
	assert_match out '^ +`- \.\.\. 4 more with 52 B$'
	local by
	for by in stack file module process tag thread size; do
		memtrack 2 report --tree --by $by memtrack.dat
		assert_match err "cannot make a tree by $by"
	done
	memtrack 2 report --tree=sideways memtrack.dat
	assert_match err sideways
}

@test "CSV: a tree, and rows, as Python reads them" {
	record "$B/basic"
	memtrack 0 report --format csv memtrack.dat
	mv out rows.csv
	memtrack 0 report --format csv --by process memtrack.dat
	mv out processes.csv
	memtrack 0 report --format csv --tree=callees memtrack.dat
	python3 - <<-'END' || fail "$(cat rows.csv processes.csv out)"
		import csv
		rows = list(csv.DictReader(open("rows.csv", newline="")))
		large = [r for r in rows if r["function"] == "large"][0]
		assert (large["allocations"], large["peak_bytes"], large["leaked_blocks"], large["stacks"]) == ("11", "2000000", "10", "2"), large
		assert (large["address"], large["tag"], large["process"]) == ("", "", ""), large
		process, = csv.DictReader(open("processes.csv", newline=""))
		assert process["process"] == "1" and process["allocations"] == "1012", process
		assert list(process) == list(large), "columns differ"
		tree = list(csv.DictReader(open("out", newline="")))
		assert [r["path"] for r in tree] == ["main", "main;work", "main;work;large", "main;work;small", "main;work;zeroed"], tree
		assert [r["depth"] for r in tree] == ["1", "2", "3", "3", "3"], tree
		assert [r["self_peak_bytes"] for r in tree] == ["0", "0", "2000000", "10000", "2000"], tree
		assert None not in tree[0], "more fields than columns"
	END
}

@test "CSV: as many fields in each line as in the first, plain integers" {
	record "$B/basic"
	memtrack 0 report --format csv memtrack.dat
	# Programs that read CSV are the judge.
	python3 - <<-'END' || fail "$(cat out)"
		import csv
		rows = list(csv.reader(open("out", newline="")))
		assert len(rows) == 4, len(rows)
		assert len({len(r) for r in rows}) == 1
		large = [r for r in rows if "large" in r][0]
		assert "2000000" in large and "3000000" in large, large
	END
}

@test "several files are summed" {
	record "$B/basic"
	mv memtrack.dat one.dat
	record "$B/chain" plain
	memtrack 0 report --format json one.dat memtrack.dat
	assert_eq "$(jq .totals.allocations out)" 1022 "allocations"
	assert_eq "$(jq .totals.leaked_bytes out)" 2010110 "leaked bytes"
	assert_eq "$(jq '[.sites[] | select(.function == "leaf") | .allocations] | add' out)" 10 "leaf"
	assert_eq "$(jq '[.sites[] | select(.function == "small") | .allocations] | add' out)" 1000 "small"
}

@test "plumbing" {
	record "$B/basic"
	memtrack 0 report --format json --plumbing '^(small|large|zeroed)$' memtrack.dat
	assert_eq "$(jq -r '[.sites[].function] | unique | join(" ")' out)" work "sites above the plumbing"
}

@test "suppressions" {
	record "$B/basic"
	printf 'leak:^small\nleak:large\n' >suppressions
	memtrack 0 report --format json --sort leaked --suppressions suppressions memtrack.dat
	assert_eq "$(jq '[.sites[].leaked_bytes] | add // 0' out)" 0 "leaks that are left"
	assert_eq "$(jq -c '[.totals.leaked_bytes, .totals.leaked_blocks, .suppressed.leaked_bytes, .suppressed.leaked_blocks]' out)" \
		"[0,0,2010000,110]" "totals"
	# The other figures stay; one pattern of several files counts on its own.
	printf 'leak:small$\n' >one
	printf '# a module\nleak:/basic$\nleak:*nothing*\n' >two
	memtrack 0 report --format json --suppressions one memtrack.dat
	assert_eq "$(jq -c '[.totals.leaked_bytes, .totals.leaked_blocks, .totals.allocations, .totals.peak_bytes]' out)" \
		"[2000000,10,1012,2012000]" "totals without the leaks of small"
	assert_eq "$(jq -c '[.sites[] | select(.function == "small") | .leaked_bytes, .leaked_blocks, .peak_bytes]' out)" "[0,0,10000]" small
	memtrack 0 report --format json --suppressions one --suppressions=two memtrack.dat
	assert_eq "$(jq -c '[.suppressed.patterns[] | .pattern, .leaked_bytes, .leaked_blocks]' out)" \
		'["small$",10000,100,"/basic$",2000000,10,"*nothing*",0,0]' patterns
	memtrack 0 report --suppressions one --suppressions two memtrack.dat
	assert_match out '^Leaked +nothing$'
	assert_match out '^Suppressed +1\.9 MiB in 110 blocks by 2 patterns$'
	assert_match out '^Unused +leak:\*nothing\* '
	printf 'leak:one\nrace:two\n' >wrong
	memtrack 2 report --suppressions wrong memtrack.dat
	assert_match err "'wrong', line 2: 'race:two'"
	assert_empty out
	memtrack 3 report --suppressions missing memtrack.dat
	assert_match err "'missing': No such file"
	memtrack 3 report --suppressions . memtrack.dat
	memtrack 3 report --suppressions /dev/zero memtrack.dat
	memtrack 2 report --suppressions memtrack.dat memtrack.dat
	assert_lines err 2 "the error"
}

@test "a recording reports the same elsewhere, without the program and its source" {
	mkdir there
	cp "$top/test/prog/basic.c" "$top/test/prog/prog.h" .
	gcc -std=gnu17 -O2 -g -fno-builtin -D_GNU_SOURCE -w -o prog basic.c || skip "no compiler"
	record ./prog
	memtrack 0 report --format json memtrack.dat && mv out before.json
	memtrack 0 report --full-paths memtrack.dat && mv out before.txt
	mv memtrack.dat there/moved.dat
	rm -f prog basic.c prog.h
	cd there
	memtrack 0 report --format json moved.dat && cmp out ../before.json
	memtrack 0 report --full-paths moved.dat
	diff <(grep -v '^Next' out) <(grep -v '^Next' ../before.txt)
	# It only reads it.
	chmod 444 moved.dat
	sum=$(cksum <moved.dat)
	memtrack 0 report moved.dat
	assert_eq "$(cksum <moved.dat)" "$sum" "the recording after a report"
	assert_eq "$(find . -name 'moved*' | wc -l)" 1 "files beside it"
}

@test "check: budgets and verdicts" {
	record "$B/basic"
	memtrack 0 check memtrack.dat --max-leaked 2010000 --max-peak 2012000 --max-leaked-blocks 110 --max-allocations 1012
	memtrack 1 check memtrack.dat --max-peak 2011999
	assert_match out "large" "the site to blame"
	memtrack 1 check memtrack.dat --max-leaked 1M --max-allocations 10
	assert_lines out 2 "a line for each broken budget"
	memtrack 1 check --format json --max-leaked-blocks 109 memtrack.dat
	assert_eq "$(jq -c '[.ok, .findings[0].budget, .findings[0].limit, .findings[0].actual, .findings[0].site.function]' out)" \
		'[false,"max-leaked-blocks",109,110,"small"]' "JSON of check"
	memtrack 1 check --max-temporary 50 memtrack.dat
	memtrack 0 check --max-temporary 95 memtrack.dat
	cp memtrack.dat old.dat
	record "$B/peak" rising
	memtrack 0 check memtrack.dat --against old.dat --max-peak-growth 10%
	memtrack 1 check old.dat --against memtrack.dat --max-peak-growth 10%
	memtrack 1 check old.dat --against memtrack.dat --max-leaked-growth 1M
	memtrack 0 check old.dat --against memtrack.dat --max-leaked-growth 2M
}

@test "diff: what changed, by names" {
	record "$B/chain" plain
	cp memtrack.dat old.dat
	record "$B/chain" tail
	memtrack 0 diff --format json old.dat memtrack.dat
	assert_eq "$(jq '.old.allocations, .new.allocations, .delta.allocations' out | tr '\n' ' ')" "10 3 -7 " totals
	assert_eq "$(jq '.delta.leaked_bytes' out)" $((51 - 110)) "leaked bytes"
	memtrack 0 diff --format json --by stack old.dat memtrack.dat
	assert_eq "$(jq -c '[.sites[].status] | sort' out)" '["added","removed"]' "stacks"
	memtrack 0 diff --format json memtrack.dat memtrack.dat
	assert_eq "$(jq '.delta.allocations' out)" 0 "a recording against itself"
	# Two builds of one source are compared by names.
	record "$B/basic"
	mv memtrack.dat one.dat
	record "$B/basic-nopie"
	memtrack 0 diff --format json one.dat memtrack.dat
	assert_eq "$(jq '.delta.allocated_bytes' out)" 0 "two builds"
	memtrack 0 diff one.dat memtrack.dat
}

@test "sql only reads" {
	record "$B/basic"
	sum=$(cksum <memtrack.dat)
	memtrack 0 sql memtrack.dat 'SELECT 1 + 1'
	assert_match out '\b2\b'
	call '*' "$MEMTRACK" sql memtrack.dat 'CREATE TABLE x (y)'
	[ "$status" != 0 ] || fail "a table was made"
	call '*' "$MEMTRACK" sql memtrack.dat "ATTACH 'new.db' AS n"
	[ ! -e new.db ] || fail "a database was made"
	assert_eq "$(cksum <memtrack.dat)" "$sum" "the recording"
}
