#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Completion in the real shells, by real keys: complete.py types and presses TAB, with memtrack as `make install` leaves it.

load helper

setup_file() {
	installed=$BATS_FILE_TMPDIR/prefix
	export installed
	make -s -C "$top" -o all install O="${B%/test/prog}" PREFIX="$installed" >/dev/null
}

setup() {
	case_setup
	mkdir sub "two words"
	touch x.dat "a b.dat" notes.txt sub/in.dat
}

# completes SHELL with cases on stdin, as complete.py describes them.
completes() {
	skip_unless_command "$1"
	[ "$1" != bash ] || [ -e /usr/share/bash-completion/bash_completion ] || skip "no bash-completion here"
	cat >cases
	call 0 python3 "$top/test/e2e/complete.py" "$1" "$installed" cases
}

# What is the same in all shells.
common_cases() {
	local command commands
	commands=$("$installed/bin/memtrack" --list-commands | cut -f 1)
	cat <<-END
		memtrack  ?|${commands//$'\n'/ }
		memtrack rep|memtrack report 
		memtrack --ver|memtrack --version 
		$installed/bin/memtrack rec|$installed/bin/memtrack recover 
		memtrack report --sort  ?|peak leaked allocated allocations temporary slack
		memtrack report --sort=lea|memtrack report --sort=leaked 
		memtrack report --pid  ?|-
		memtrack run --malloc  ?|ansi mimalloc rpmalloc jemalloc tcmalloc stomp help ...
		memtrack run --malloc=stomp:un|memtrack run --malloc=stomp:under 
		memtrack run --malloc stomp:under,al|memtrack run --malloc stomp:under,align=
		memtrack run --malloc=stomp:under,und|memtrack run --malloc=stomp:under,und
		memtrack run --trace=callstack,memt|memtrack run --trace=callstack,memtag 
		memtrack run --trace callstack, ?|callstack,memtag callstack,memalloc callstack,memory callstack,memory_light
		memtrack report  ?|x.dat "a b.dat" sub "two words"
		memtrack report a|memtrack report a\ b.dat 
		memtrack report "a |memtrack report "a b.dat" 
		memtrack report --top 5 -- sub/|memtrack report --top 5 -- sub/in.dat 
		memtrack run -o no|memtrack run -o notes.txt 
		memtrack run -ono|memtrack run -onotes.txt 
		memtrack run --output=two\ w|memtrack run --output=two\ words/
		memtrack recover  ?|sub "two words"
		memtrack help  ?|${commands//$'\n'/ } allocators channels stomp
		memtrack run -o x.dat zz-no ?|-
		memtrack run gzi ?|gzip ...
		memtrack gzi ?|gzip ...
	END
	for command in $commands; do
		echo "memtrack $command - ?|$("$installed/bin/memtrack" "$command" --list-options | cut -f 1 | paste -s -d ' ')"
	done
}

# The options of another program, where this shell knows them.
target_cases() {
	cat <<-END
		memtrack run sort --rev|memtrack run sort --reverse 
		memtrack run --malloc=stomp:under,align=1 -q -- sort -n --rev|memtrack run --malloc=stomp:under,align=1 -q -- sort -n --reverse 
		memtrack sort --rev|memtrack sort --reverse 
		memtrack -- sort --rev|memtrack -- sort --reverse 
		memtrack run sort no|memtrack run sort notes.txt 
	END
}

# For bash in other states: how words are broken matters.
word_cases() {
	cat <<-END
		memtrack run --malloc=stomp:under,al|memtrack run --malloc=stomp:under,align=
		memtrack run --output=two\ w|memtrack run --output=two\ words/
		memtrack run gzi ?|gzip ...
	END
}

@test "bash completes commands, options, values, files and the target's own" {
	{
		common_cases
		target_cases
		echo 'memtrack report --so|memtrack report --sort '
		echo 'memtrack report --sort=|memtrack report --sort='
		# shellcheck disable=SC2016 # for that shell
		echo ': COMP_WORDBREAKS=${COMP_WORDBREAKS//[=:]/}'
		word_cases
		echo ": complete -r; unset -f _command_offset _comp_command_offset; . '$installed/share/bash-completion/completions/memtrack'"
		word_cases
		echo 'memtrack run -- sort no|memtrack run -- sort notes.txt '
	} | completes bash
}

@test "zsh completes commands, options, values, files and the target's own" {
	{
		common_cases
		target_cases
		echo 'memtrack report --so|memtrack report --sort='
	} | completes zsh
}

@test "fish completes commands, options, values, files and the target's own" {
	{
		common_cases
		target_cases
		echo 'memtrack report --so|memtrack report --sort '
	} | completes fish
}
