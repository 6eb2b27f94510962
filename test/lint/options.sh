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
		COMP_WORDS=("$memtrack" "$1" -) COMP_CWORD=2 COMP_LINE="$memtrack $1 -" COMP_POINT=${#COMP_LINE} COMPREPLY=()
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
		result "$command: there is a manual" "no man/memtrack-$command.1"
		return
	fi
	check_values "$command"
	manual_options "$page" >"$work/manual"
	result "$command: manual and table have the same options" "$(differences "$work/table" "$work/manual")"
	while IFS='|' read -r name kind; do
		for choice in ${kind//|/ }; do
			[ "$choice" = FILE ] && continue # beside names, files are completed
			grep -qE "^\.(It )?Cm $choice( |\$)" "$page" || echo "$name=$choice"
		done
	done < <(choices "$work/list") >"$work/missing"
	result "$command: the manual has every choice" "$(cat "$work/missing")"
}

# What completion offers for a value has every choice of the table, in what the list says and in what the short help does.
check_values() {
	local name kind choice
	while IFS='|' read -r name kind; do
		"$memtrack" "$1" --list-values "$name" '' | cut -f 1 >"$work/values"
		for choice in ${kind//|/ }; do
			[[ $choice == [A-Z]* ]] || grep -qxF -e "$choice" "$work/values" || echo "$name: $choice"
		done
	done < <(choices "$work/list") >"$work/missing"
	result "$1: completion offers every choice of the table" "$(cat "$work/missing")"
}

# Options that take one of several words: "NAME|word|word" a line.
choices() {
	sed -n 's/^\([^\t]*\)\t\[\{0,1\}\([^\t]*|[^]\t]*\)\]\{0,1\}\t.*/\1|\2/p' "$1"
}

# Words and topics that are told in more than one place.
check_words() {
	local topic
	"$memtrack" help stomp | sed -n 's/^  \([a-z]*=\{0,1\}\).*/\1/p' >"$work/help"
	"$memtrack" run --list-values --malloc stomp: | sed -n 's/^stomp:\([^\t]*\)\t.*/\1/p' >"$work/completion"
	result "stomp: help and completion have the same options" "$(differences "$work/help" "$work/completion")"
	sed -n '/^\.Sh OPTIONS/,/^\.Sh [^O]/s/^\.It Cm //p' "$man/memtrack-stomp.7" | sed 's/ , Cm /\n/g' |
		sed 's/ Ns = .*/=/' >"$work/memtrack-stomp.7"
	result "stomp: manual and completion have the same options" "$(differences "$work/memtrack-stomp.7" "$work/completion")"

	"$memtrack" help --list-values '' '' | cut -f 1 | grep -vxFf "$work/commands" >"$work/topics"
	sed -n '/^The topics are:/,/^\.El/s/^\.It Cm //p' "$man/memtrack-help.1" >"$work/memtrack-help.1"
	result "memtrack-help.1 has the topics there are" "$(differences "$work/topics" "$work/memtrack-help.1")"
	while read -r topic; do
		"$memtrack" help "$topic" >/dev/null || echo "$topic"
	done <"$work/topics" >"$work/wrong"
	result "help shows each topic" "$(cat "$work/wrong")"
}

# The Makefile installs what is there.
check_installed() {
	(cd "$man" && ls) >"$work/man"
	sed -n '/^MANUALS :=/,/[^\\]$/p' "$root/Makefile" | grep -o 'memtrack[a-z-]*\.[1-8]' >"$work/Makefile"
	result "the Makefile installs every manual" "$(differences "$work/man" "$work/Makefile")"
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
	for list in --list-commands --list-options --list-values; do
		grep -q -e "$list" "$script" || echo "does not ask for $list"
	done >"$work/wrong"
	grep -oE -e '--[a-z][a-z-]+' "$script" | sort -u |
		grep -vx -e --list-commands -e --list-options -e --list-values -e --help -e --version >>"$work/wrong"
	result "$2: asks the binary, and lists no option itself" "$(cat "$work/wrong")"
	if command -v "$shell" >/dev/null; then
		result "$2: syntax" "$("$shell" -n "$script" 2>&1)"
	else
		skip "$2: syntax" "no $shell here"
	fi
}

check_commands
check_words
check_installed
while read -r name; do
	check_command "$name"
done <"$work/commands"
check_script bash memtrack.bash
check_script zsh _memtrack
check_script fish memtrack.fish
echo "1..$tests"
exit $failed
