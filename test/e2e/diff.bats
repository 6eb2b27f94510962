# memtrack diff on real runs: what is the same by names, and what changed.
load helper

setup() {
	case_setup
}

# keep NAME PROGRAM...: records it into NAME.dat.
keep() {
	local name=$1
	shift
	record "$@" && mv memtrack.dat "$name.dat"
}

# changes OPTION...: the rows of the diff of old.dat and new.dat, "function status delta" each.
changes() {
	memtrack 0 diff --format json --top 0 "$@" old.dat new.dat || return 1
	jq -r '.sites[] | "\(.function) \(.status) \(.delta.allocations) \(.delta.allocated_bytes)"' out
}

# build FOLDER OPTION...: basic.c there, its lines moved by as many as the folder's name is long.
build() {
	local folder=$1
	shift
	mkdir -p "$folder"
	{
		printf '%*s' "${#folder}" '' | tr ' ' '\n'
		cat "$top/test/prog/basic.c"
	} >"$folder/basic.c"
	cp "$top/test/prog/prog.h" "$folder"
	(cd "$folder" && gcc -std=gnu17 -g -fno-builtin -D_GNU_SOURCE -w "$@" -o prog basic.c) || skip "no compiler"
}

@test "two runs of one program differ in nothing" {
	local program
	for program in "basic" "chain plain" "inlined" "manystacks 10" "realloc" "peak humps"; do
		# shellcheck disable=SC2086 # the program and its argument
		keep old "$B"/$program
		# shellcheck disable=SC2086
		keep new "$B"/$program
		for by in site stack function file module process; do
			assert_eq "$(changes --by $by)" "" "changes of $program by $by"
			assert_eq "$(jq -c '[.delta.allocations, .delta.frees, .delta.peak_bytes, .delta.leaked_bytes, .delta.stacks]' out)" \
				"[0,0,0,0,0]" "totals of $program"
		done
		assert_eq "$(changes --match line --by stack)" "" "changes of $program by line"
		memtrack 0 diff old.dat new.dat
		assert_match out "^Nothing changed\.$"
		assert_empty err
	done
}

@test "another build in another folder, its lines moved, differs in nothing" {
	build one -O2
	build another/folder -O2 -fPIE -pie
	keep old one/prog
	keep new another/folder/prog
	assert_eq "$(changes)" "" "by site"
	assert_eq "$(changes --by stack)" "" "by stack"
	assert_eq "$(changes --match line | sort)" "$(printf '%s\n' "large added 11 3000000" "large removed -11 -3000000" \
		"small added 1000 100000" "small removed -1000 -100000" "zeroed added 1 2000" "zeroed removed -1 -2000")" "by line"
	# Without debug information on one side, the names of functions are enough.
	build one -O2 -g0
	keep old one/prog
	assert_eq "$(changes)" "" "without debug information"
}

@test "what changed, exactly" {
	build one -O2
	sed -i -e 's/i < 10; i++/i < 13; i++/' -e 's/malloc(100)/malloc(90)/' one/basic.c
	keep old one/prog
	(cd one && gcc -std=gnu17 -O2 -g -fno-builtin -D_GNU_SOURCE -w -o prog basic.c)
	keep new one/prog
	# 3 blocks of 200000 more by large, 1000 blocks of 10 bytes less by small.
	assert_eq "$(changes --sort allocated)" "$(printf '%s\n' "large changed 3 600000" "small changed 0 -10000")" "rows"
	assert_eq "$(jq -c '.delta | [.allocations, .allocated_bytes, .peak_bytes, .peak_blocks, .leaked_bytes, .leaked_blocks]' out)" \
		"[3,590000,599000,3,599000,3]" "totals"
	assert_eq "$(jq -c '.old.peak_bytes, .new.peak_bytes' out | tr '\n' ' ')" "2012000 2611000 " "peaks"
	assert_eq "$(changes --sort allocated --top 1 | wc -l)" 1 "rows with --top 1"
	assert_eq "$(changes --exclude 'function~^large$')" "small changed 0 -10000" "without large"
	assert_eq "$(changes --plumbing '^(small|large|zeroed)$')" "work changed 3 590000" "by their caller"
	assert_eq "$(changes --by file)" "null changed 3 590000" "by file"
	memtrack 0 diff old.dat new.dat
	assert_match out "^ *\+585\.9 KiB +1\.9 MiB +2\.5 MiB +large  basic\.c:[0-9]+$" "the row of large"
	assert_match out "^Allocations +1,012 +1,015 +\+3 +\+0\.3%$" "the totals"
	assert_match out "^Peak +1\.9 MiB +2\.5 MiB +\+585\.0 KiB +\+29\.8%$" "the totals"
	assert_match out "^ +work  basic\.c" "the stack"
	memtrack 0 diff --sort allocations old.dat new.dat
	assert_match out "1 site changed in other figures only" "small"
	memtrack 0 diff --top 1 old.dat new.dat
	assert_match out "1 more site with -1000 B in all" "what --top left out"
}

@test "two files of one name, each with a function of one name" {
	mkdir -p old/net old/disk
	for part in net disk; do
		printf '#include <stdlib.h>\n__attribute__((noinline)) static void *init(size_t n) { void *p = malloc(n); __asm__ volatile("" : "+r"(p)); return p; }\nvoid %s(int n) { while (n--) init(10); }\n' $part >old/$part/init.c
	done
	printf 'void net(int), disk(int);\nint main(int argc, char **argv) { net(argc); disk(5); return 0; }\n' >old/main.c
	cp -r old new
	for folder in old new; do
		(cd $folder && gcc -O1 -g -fno-builtin -w -o prog "$PWD/main.c" "$PWD/net/init.c" "$PWD/disk/init.c") || skip "no compiler"
	done
	keep old old/prog
	keep new new/prog
	assert_eq "$(changes)" "" "the same"
	keep new new/prog and two more
	assert_eq "$(changes)" "init changed 3 30" "only that of net"
	assert_eq "$(jq -r '.sites[0].file' out)" "$PWD/new/net/init.c" "its file"
}

@test "CSV, and a recording against one of another program" {
	keep old "$B/basic"
	keep new "$B/chain" plain
	memtrack 0 diff --format csv old.dat new.dat
	python3 - <<-'END' || fail "$(cat out)"
		import csv
		rows = list(csv.DictReader(open("out", newline="")))
		assert [r["status"] for r in rows].count("removed") == 3, rows
		large = [r for r in rows if r["function"] == "large"][0]
		assert large["old_peak_bytes"] == "2000000" and large["new_peak_bytes"] == "0", large
		assert large["delta_peak_bytes"] == "-2000000" and large["delta_allocations"] == "-11", large
		leaf = [r for r in rows if r["function"] == "leaf"][0]
		assert leaf["status"] == "added" and leaf["delta_leaked_blocks"] == "10", leaf
	END
}

@test "several processes: one of them, or all" {
	keep old "$B/procs" fork
	keep new "$B/procs" fork
	assert_eq "$(changes --all)" "" "all processes"
	assert_eq "$(changes --process 2)" "" "the second"
	# 100 and 30 allocations in the parent, 40 in the child.
	memtrack 0 diff --format json --all old.dat new.dat
	assert_eq "$(jq -c '[.old.allocations, .new.allocations]' out)" "[170,170]" "totals"
	memtrack 2 diff --process 9 old.dat new.dat
	assert_one_error 2
	memtrack 2 diff --process 1 --all old.dat new.dat
	assert_one_error 2
}

@test "sampled recordings: chance is marked" {
	keep old --sample 4096 "$B/steady" 300000
	keep new --sample 4096 "$B/steady" 300000
	memtrack 0 diff --sort allocated --format json old.dat new.dat
	# One site; two samples of one program agree within 5 standard errors.
	assert_eq "$(jq -r '[.sites[] | (.delta.allocated_bytes | fabs) < 5 * .delta.standard_errors.allocated_bytes] | all' out)" true "agreement"
	keep new --sample 4096 "$B/steady" 3000
	memtrack 0 diff --sort allocated --format json old.dat new.dat
	assert_eq "$(jq -c '[.sites[] | select(.function == "steady_site") | .chance]' out)" "[false]" "a hundredth is no chance"
	# Against an exact recording, either way.
	keep exact "$B/steady" 300000
	mv exact.dat new.dat
	memtrack 0 diff --sort allocated old.dat new.dat
	assert_match out "^Sampled old: one allocation per 4.0 KiB; new: all allocations"
	memtrack 0 diff --sort allocated new.dat old.dat
	assert_match out "^Sampled old: all allocations; new: one allocation per 4.0 KiB"
}

@test "wrong usage and bad input" {
	keep old "$B/basic"
	memtrack 2 diff
	assert_one_error 2
	memtrack 2 diff old.dat
	assert_one_error 2
	memtrack 2 diff old.dat old.dat old.dat
	assert_one_error 2
	memtrack 2 diff --match lines old.dat old.dat
	assert_one_error 2
	memtrack 3 diff old.dat missing.dat
	assert_one_error 2
	assert_match err "missing\.dat"
	head -c 5000 old.dat >cut.dat
	memtrack 3 diff cut.dat old.dat
	assert_one_error 2
	assert_match err "cut\.dat"
	call 3 sh -c '"$0" diff old.dat old.dat >/dev/full' "$MEMTRACK"
	assert_match err "No space left"
}
