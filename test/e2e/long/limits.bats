# What the tool's side may cost: finishing a recording, reporting, symbols, start-up, memory, size.  The limits are those for an
# idle machine, for the fastest of some runs; MEMTRACK_SLACK (2) times as much passes.
load ../helper
load real

SLACK=${MEMTRACK_SLACK:-2}

setup() {
	case_setup
	skip_unless_command python3 sqlite3
	export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 MEMTRACK_TIMEOUT=500
}

# most WHAT FIGURE LIMIT: the figure, of seconds, is within the slack.
most() {
	echo "# $1: $2 s of $3 s" >&3
	assert_between "$2" 0 "$(awk -v l="$3" -v s="$SLACK" 'BEGIN { print l * s }')" "seconds of $1"
}

measure() {
	python3 "$BATS_TEST_DIRNAME/measure.py" "$@" >measured || fail "cannot measure: $*"
}

# seconds N, mebibytes N: of the Nth command measured.
seconds() {
	awk -v n="$1" 'NR == n { print $1 }' measured
}

mebibytes() {
	awk -v n="$1" 'NR == n { print $3 }' measured
}

number() {
	sqlite3 memtrack.dat "$1"
}

# From the end of the process with most stacks to the time of the file's last change, which is when it got its name.
finishing() {
	local end
	end=$(number 'SELECT max(start_time_ns + duration_ns) / 1e9 FROM process')
	awk -v end="$end" -v done="$(LC_ALL=C stat -c %.9Z memtrack.dat)" 'BEGIN { printf "%.3f", done - end }'
}

# build FOLDER PROGRAM OPTION...: all its C++ files, two at a time.
build() {
	local folder=$1 program=$2
	shift 2
	skip_unless_command g++
	(cd "$folder" && printf '%s\n' *.cpp | xargs -P 2 -I {} g++ "$@" -c {} -o {}.o && g++ -o "../$program" ./*.o) ||
		fail "cannot build $program"
}

# All but names is 40 bytes for each node of the tree at most.
bytes_per_node() {
	local bytes
	bytes=$(number "SELECT sum(pgsize) FROM dbstat WHERE name IN ('node', 'stack', 'site', 'sample', 'process')") || skip "sqlite3 has no dbstat"
	assert_between "$(number "SELECT $bytes / (1.0 * count(*)) FROM node")" 5 40 "bytes of a node"
}

# record_measured COMMAND...: into memtrack.dat, the times and memory of memtrack in ./measured.
record_measured() {
	rm -f memtrack.dat
	forget
	measure 1 "$MEMTRACK run -q -o memtrack.dat -- $*"
	rm -f memtrack.dat.old
}

@test "40000 stacks of python3: finishing, reporting, size" {
	export PYTHONMALLOC=malloc
	record_measured "$(real_python)" "$BATS_TEST_DIRNAME/many_stacks.py" 4
	assert_between "$(total stacks)" 40000 1000000 "stacks"
	most "finishing python3" "$(finishing)" 1
	assert_between "$(mebibytes 1)" 1 1024 "MiB of memtrack"
	bytes_per_node
	measure 9 "$MEMTRACK report --top 20 memtrack.dat"
	most "report on python3" "$(seconds 1)" 0.1
}

@test "500000 stacks over 200000 addresses: finishing, reporting, memory" {
	python3 "$BATS_TEST_DIRNAME/make_stacks.py" source 24 370
	build source program -O1 -g
	record_measured ./program
	# The formula is in make_stacks.py.
	assert_eq "$(total stacks)" $((24 * 370 * (6 + 18 + 45))) "stacks"
	assert_between "$(number 'SELECT count(*) FROM location')" 200000 300000 "addresses"
	most "finishing 500000 stacks" "$(finishing)" 10
	assert_between "$(mebibytes 1)" 1 1024 "MiB of memtrack"
	bytes_per_node
	measure 9 "$MEMTRACK report --top 20 memtrack.dat"
	most "report on 500000 stacks" "$(seconds 1)" 1
}

@test "symbols: as llvm-symbolizer, and no slower" {
	skip_unless_command llvm-symbolizer c++filt readelf
	[ -x "$B/symbolize" ] || skip "$B/symbolize is not built"
	local share ours=0 theirs=0
	python3 "$BATS_TEST_DIRNAME/make_regex.py" source "${MEMTRACK_REGEX_UNITS:-24}"
	build source program -O2 -g
	python3 "$BATS_TEST_DIRNAME/random_addresses.py" program 20000 >addresses
	call 0 sh -c 'exec "$0" "$PWD/program" <addresses >ours' "$B/symbolize"
	call 0 sh -c 'exec llvm-symbolizer --obj=program --inlines --no-demangle --functions=linkage <addresses >theirs'
	share=$(python3 "$BATS_TEST_DIRNAME/compare_symbols.py" ours theirs)
	assert_between "$share" 99.9 100 "percent of addresses that llvm-symbolizer says the same of" ||
		fail "$(python3 "$BATS_TEST_DIRNAME/compare_symbols.py" -v ours theirs | cut -c 1-1000 | head -30)"
	# Demangling included in both.
	measure 3 "$B/symbolize $PWD/program <addresses" "llvm-symbolizer --obj=program --inlines <addresses"
	ours=$(seconds 1) theirs=$(seconds 2)
	most "looking up 20000 addresses" "$ours" "$theirs"
}

@test "start-up" {
	local added
	measure 21 /bin/true "$MEMTRACK run -q -o memtrack.dat /bin/true"
	added=$(awk -v a="$(seconds 1)" -v b="$(seconds 2)" 'BEGIN { printf "%.4f", b - a }')
	most "what memtrack run adds to true" "$added" 0.015
}

@test "the C++ compiler on <regex> takes little longer" {
	skip_unless_command g++
	local limit
	printf '#include <regex>\nint main(int argc, char **argv) { return argc > 1 && std::regex_match(argv[1], std::regex("a+(b|c)*")); }\n' >source.cpp
	measure 3 "g++ -O2 -c source.cpp" "$MEMTRACK run -q -o memtrack.dat g++ -O2 -c source.cpp"
	limit=$(awk -v native="$(seconds 1)" 'BEGIN { printf "%.3f", 1.35 * native + 2 }')
	echo "# g++: $(seconds 1) s, recorded $(seconds 2) s of $limit s" >&3
	assert_between "$(seconds 2)" 0 "$(awk -v l="$limit" -v s="$SLACK" 'BEGIN { print l * (1 + (s - 1) / 4) }')" "seconds of g++ under memtrack"
	bytes_per_node
}
