#!/bin/bash
# run.sh [FILE.bats]...: runs test files (all beside this script when none is named), $JOBS (2) at a time, and prints one TAP stream.
# The status is 0 when every test passed or was skipped.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -gt 0 ] || set -- "$here"/*.bats
results=$(mktemp -d) || exit 1
trap 'rm -rf "$results"' EXIT

total=0
for file in "$@"; do
	total=$((total + $(bats --count "$file")))
done
echo "1..$total"

# The longest first would be best; by size is near enough.
# shellcheck disable=SC2011,SC2012,SC2016 # the names are ours; $0 and $1 are for the inner shell
ls -S "$@" | xargs -P "${JOBS:-2}" -I{} bash -c 'name=$(basename "$1" .bats)
	bats --tap "$1" >"$0/$name.part" 2>&1 3>&-
	mv "$0/$name.part" "$0/$name.tap"' "$results" {} &
runner=$!

# Prints the results of each file when it is through, with numbers that run on.
number=0
failed=0
print() {
	local line
	while IFS= read -r line; do
		case $line in
		1..*) ;;
		"ok "* | "not ok "*)
			number=$((number + 1))
			case $line in
			not*) failed=$((failed + 1)) ;;
			esac
			printf '%s\n' "$line" | sed -E "s/^(not ok|ok) [0-9]+ /\1 $number $name: /"
			;;
		"#"*) printf '%s\n' "$line" ;;
		*) printf '# %s\n' "$line" ;;
		esac
	done <"$1"
}
print_ready() {
	local tap name
	for tap in "$results"/*.tap; do
		[ -e "$tap" ] || continue
		name=$(basename "$tap" .tap)
		print "$tap"
		rm -f "$tap"
	done
}
while kill -0 $runner 2>/dev/null; do
	sleep 0.2
	print_ready
done
wait $runner
print_ready
if [ $number -ne $total ]; then
	echo "# $number tests were run, $total were planned"
	exit 1
fi
[ $failed = 0 ] || echo "# $failed of $total tests failed"
[ $failed = 0 ]
