#!/bin/bash
# SPDX-License-Identifier: MIT
# Options and commands: the binary's tables, the manuals, the short help and the completions agree, both
# ways.  Usage: options.sh MEMTRACK.  Prints TAP; status 1 when something differs.
set -u
export LC_ALL=C
unset MEMTRACK_OPTIONS

memtrack=$(realpath "${1:?usage: options.sh MEMTRACK}") || exit 2
root=$(dirname "$0")/../..
man=$root/man
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
tests=0 failed=0

# result NAME DIFFERENCES: one test, passed when there are none.
result() {
	((++tests))
	if [ -z "$2" ]; then
		echo "ok $tests - $1"
	else
		failed=1
		echo "not ok $tests - $1"
		printf '%s\n' "$2" | sed 's/^/# /'
	fi
}

skip() {
	echo "ok $((++tests)) - $1 # SKIP $2"
}

# differences A B: lines only in one of two files.
differences() {
	comm -23 <(sort -u "$1") <(sort -u "$2") | sed "s/^/only in $(basename "$1"): /"
	comm -13 <(sort -u "$1") <(sort -u "$2") | sed "s/^/only in $(basename "$2"): /"
}

# The options that a page documents: the items of its section OPTIONS.
manual_options() {
	awk '
		/^\.Sh/ { inside = $0 == ".Sh OPTIONS" }
		inside && /^\.It Fl/ {
			for (i = 2; i < NF; i++)
				if ($i == "Fl")
					print "-" $(i + 1)
		}' "$1"
}

# Option names in the left column of a short help.
help_options() {
	sed -n 's/^  \(.\{4\}\)\(--[a-z-]*\).*/\1\n\2/p' | sed 's/[, ]//g; /^$/d'
}

# What bash offers after "memtrack COMMAND -".
bash_options() {
	(
		# shellcheck source=/dev/null
		. "$root/completions/memtrack.bash"
		# shellcheck disable=SC2034 # read by _memtrack
		COMP_WORDS=("$memtrack" "$1" -) COMP_CWORD=2 COMPREPLY=()
		_memtrack
		printf '%s\n' "${COMPREPLY[@]}"
	)
}

check_command() {
	local command=$1 page=$man/memtrack-$1.1 kind choice name
	"$memtrack" "$command" --list-options >"$work/list"
	cut -f 1 "$work/list" >"$work/table"

	"$memtrack" "$command" -h | help_options >"$work/help"
	result "$command: -h lists the options of the table" "$(differences "$work/table" "$work/help")"

	bash_options "$command" >"$work/completion"
	result "$command: bash completes the options of the table" "$(differences "$work/table" "$work/completion")"

	if [ ! -e "$page" ]; then
		result "$command: without options it needs no manual of its own" \
			"$(grep -vx -e -h -e --help "$work/table")"
		return
	fi
	manual_options "$page" >"$work/manual"
	result "$command: manual and table have the same options" "$(differences "$work/table" "$work/manual")"
	while IFS='|' read -r name kind; do
		for choice in ${kind//|/ }; do
			[ "$choice" = FILE ] && continue # beside names, files are completed
			grep -qE "^\.(It )?Cm $choice( |\$)" "$page" || echo "$name=$choice"
		done
	done < <(sed -n 's/^\([^\t]*\)\t\[\{0,1\}\([^\t]*|[^]\t]*\)\]\{0,1\}\t.*/\1|\2/p' "$work/list") >"$work/missing"
	result "$command: the manual has every choice" "$(cat "$work/missing")"
}

check_commands() {
	local page
	"$memtrack" --list-commands | cut -f 1 >"$work/commands"
	result "there are commands" "$([ -s "$work/commands" ] || echo none)"
	sed -n '/^\.Sh DESCRIPTION/,/^\.Sh OPTIONS/s/^\.It Cm \([a-z]*\).*/\1/p' "$man/memtrack.1" >"$work/memtrack.1"
	result "memtrack.1 names the commands there are" "$(differences "$work/commands" "$work/memtrack.1")"
	"$memtrack" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$work/help"
	result "--help names the commands there are" "$(differences "$work/commands" "$work/help")"
	for page in "$man"/memtrack-*.1; do
		page=${page##*/memtrack-}
		grep -qx "${page%.1}" "$work/commands" || echo "$page"
	done >"$work/stray"
	result "each manual is one of a command" "$(cat "$work/stray")"
}

# Options written into a completion script would have to be kept in step by hand.
check_script() {
	local shell=$1 script=$root/completions/$2 list
	for list in --list-commands --list-options; do
		grep -q -e "$list" "$script" || echo "does not ask for $list"
	done >"$work/wrong"
	grep -oE -e '--[a-z][a-z-]+' "$script" | sort -u |
		grep -vx -e --list-commands -e --list-options -e --help -e --version >>"$work/wrong"
	result "$2: asks the binary, and lists no option itself" "$(cat "$work/wrong")"
	if command -v "$shell" >/dev/null; then
		result "$2: syntax" "$("$shell" -n "$script" 2>&1)"
	else
		skip "$2: syntax" "no $shell here"
	fi
}

check_commands
while read -r name; do
	check_command "$name"
done <"$work/commands"
check_script bash memtrack.bash
check_script zsh _memtrack
check_script fish memtrack.fish
echo "1..$tests"
exit $failed
