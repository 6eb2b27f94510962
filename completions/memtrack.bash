# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion for memtrack in bash.  It knows no command, option or value by itself: the hidden --list-commands,
# --list-options and --list-values say what there is (cmd/complete.h).

_memtrack_ask() {
	"${COMP_WORDS[0]/#\~/$HOME}" "$@" 2>/dev/null
}

# What the user meant by a word that is still being typed: without quotes and backslashes.
_memtrack_plain() {
	case $1 in
	[\'\"]*) printf '%s' "${1#?}" ;;
	*) printf '%s' "${1//\\/}" ;;
	esac
}

# bash breaks words at '=' and ':' too.  Joins what was typed as one: words[], at[] (the index in COMP_WORDS that each
# begins at), the word that is completed in `current`, and how much of it bash does not replace in `kept`.
_memtrack_join() {
	local line=${COMP_LINE:0:COMP_POINT} word behind i
	for ((i = 0; i <= COMP_CWORD; i++)); do
		behind=${line#"${line%%[![:blank:]]*}"}
		word=${COMP_WORDS[i]}
		[[ $behind == "$word"* ]] || word=$behind # the cursor is within it
		if ((i)) && [[ $line == "$behind" ]]; then
			kept=${words[-1]}
			words[-1]+=$word
		else
			kept=''
			words+=("$word") at+=("$i")
		fi
		line=${behind#"$word"}
	done
	current=${words[-1]}
	[[ ! $kept || $word != [=:] ]] || kept=$current # the cursor is just behind it
}

# _memtrack_reply WORD...: those that begin as the current word does.
_memtrack_reply() {
	local word
	for word; do
		[[ $word != "$current"* ]] || COMPREPLY+=("${word#"$kept"}")
	done
	[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}

# _memtrack_files KIND PREFIX TEXT: files whose names begin with TEXT, which stands behind PREFIX in the word.
_memtrack_files() {
	local text file
	text=$(_memtrack_plain "$3")
	while IFS= read -r file; do
		compopt -o filenames 2>/dev/null
		if [[ $2 != "$kept" && -d $file ]]; then # bash would look for a folder of the whole word's name
			compopt -o nospace 2>/dev/null
			file+=/
		fi
		file=$2$file
		COMPREPLY+=("${file#"$kept"}")
	done < <(
		case $1 in
		DIR) compgen -d -- "$text" ;;
		FILE.*) compgen -d -- "$text"; compgen -f -X "!*.${1#*.}" -- "$text" ;;
		FILE) compgen -f -- "$text" ;;
		PROGRAM) compgen -c -- "$text" ;;
		esac
	)
}

# _memtrack_values COMMAND OPTION PREFIX: what can stand in the current word, behind PREFIX.  Option '': an operand.
_memtrack_values() {
	local text=${current#"$3"} value rest offered=()
	while IFS= read -r rest; do
		value=${rest%%$'\t'*}
		if [[ $value ]]; then
			offered+=("$3$value")
		else
			_memtrack_files "${rest#*$'\t'}" "$3" "$text"
		fi
	done < <(_memtrack_ask "$1" --list-values "$2" "$text")
	_memtrack_reply "${offered[@]}"
}

# _memtrack_target INDEX: the command line of another program begins at that word.
_memtrack_target() {
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "${at[$1]}"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "${at[$1]}"
	elif (($1 == ${#words[@]} - 1)); then
		_memtrack_files PROGRAM '' "$current"
	else
		_memtrack_files FILE '' "$current"
	fi
}

# The word after "memtrack".
_memtrack_first() {
	local names
	if [[ $current == -* ]]; then
		_memtrack_reply --help --version
		return
	fi
	mapfile -t names < <(_memtrack_ask --list-commands)
	_memtrack_reply "${names[@]%%$'\t'*}"
	[[ ${COMPREPLY[*]} || ! $current ]] || _memtrack_target 1
}

# _memtrack_attached: the value is in the current word, after '=' or a letter.
_memtrack_attached() {
	if [[ $current == --*=* ]]; then
		_memtrack_values "$command" "${current%%=*}" "${current%%=*}="
	elif [[ $current == -[!-]?* && ${takes[${current:0:2}]} ]]; then
		_memtrack_values "$command" "${current:0:2}" "${current:0:2}"
	else
		return 1
	fi
}

# _memtrack_rest: options and operands of a command that there is.
_memtrack_rest() {
	local command=${words[1]} last=$((${#words[@]} - 1)) i name rest
	local -A takes=()
	while IFS= read -r rest; do
		name=${rest%%$'\t'*} rest=${rest#*$'\t'}
		takes[$name]=${rest%%$'\t'*}
	done < <(_memtrack_ask "$command" --list-options)

	for ((i = 2; i < last; i++)); do
		name=${words[i]}
		if [[ $name == -- ]]; then
			[[ $operand == PROGRAM ]] && _memtrack_target $((i + 1)) && return
			_memtrack_values "$command" '' ''
			return
		elif [[ ${takes[$name]:-[} != "["* ]]; then # the next word is its value
			((++i < last)) && continue
			_memtrack_values "$command" "$name" ''
			return
		elif [[ $name != -* && $operand == PROGRAM ]]; then
			_memtrack_target "$i"
			return
		fi
	done
	_memtrack_attached && return
	if [[ $current == -* ]]; then
		_memtrack_reply "${!takes[@]}"
	elif [[ $operand == PROGRAM ]]; then
		_memtrack_target "$last"
	else
		_memtrack_values "$command" '' ''
	fi
}

_memtrack() {
	local current kept operand='' known='' rest
	local -a words at
	COMPREPLY=()
	_memtrack_join
	if ((${#words[@]} == 2)); then
		_memtrack_first
		return
	fi
	while IFS= read -r rest; do
		[[ $rest == "${words[1]}"$'\t'* ]] || continue
		known=1 rest=${rest#*$'\t'}
		operand=${rest%%$'\t'*}
	done < <(_memtrack_ask --list-commands)
	if [[ $known ]]; then
		_memtrack_rest
	elif [[ ${words[1]} == -- ]]; then
		_memtrack_target 2
	else
		_memtrack_target 1 # memtrack PROGRAM ...
	fi
}

complete -F _memtrack memtrack
