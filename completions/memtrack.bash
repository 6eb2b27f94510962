# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion for memtrack in bash.  It knows no option by itself: the hidden --list-commands and
# --list-options say what there is.

# The lines of a list: name, tab, what it takes, tab, help.
_memtrack_list() {
	"${COMP_WORDS[0]/#\~/$HOME}" "$@" 2>/dev/null
}

_memtrack_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_memtrack_files() {
	compopt -o filenames 2>/dev/null
	case $1 in
	DIR) mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
	*.*) mapfile -t COMPREPLY < <(compgen -f -X "!*.${1##*.}" -- "$2"; compgen -d -- "$2") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
	esac
}

# _memtrack_value KIND CURRENT: the value of an option, or an operand.
_memtrack_value() {
	local kind=${1#[} current=$2
	kind=${kind%]}
	case $kind in
	*"|FILE")
		_memtrack_files FILE "$current"
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(kind=${kind%|FILE}; compgen -W "${kind//|/ }" -- "$current")
		;;
	*"|"*) _memtrack_words "${kind//|/ }" "$current" ;;
	FILE | FILE.* | DIR) _memtrack_files "$kind" "$current" ;;
	COMMAND) _memtrack_words "$(_memtrack_list --list-commands | cut -f 1) allocators channels stomp" "$current" ;;
	PROGRAM)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -c -- "$current")
		;;
	esac
}

# _memtrack_target INDEX: the command line of another program begins at that word.
_memtrack_target() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		_memtrack_value PROGRAM "${COMP_WORDS[COMP_CWORD]}"
	else
		_memtrack_files FILE "${COMP_WORDS[COMP_CWORD]}"
	fi
}

# The options after "stomp:", where ':' breaks words; fails elsewhere.  Only those right after it, not after a comma.
_memtrack_stomp() {
	local current=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1))
	[[ $current == : ]] && current='' at=$COMP_CWORD
	[[ ${COMP_WORDS[at]} == : && ${COMP_WORDS[at - 1]} == stomp ]] || return 1
	compopt -o nospace 2>/dev/null
	_memtrack_words "$(_memtrack_list help stomp | sed -n 's/^  \([a-z]*=\{0,1\}\).*/\1/p')" "$current"
}

_memtrack() {
	local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} operand='' i=2
	local name kind
	local -A takes=()
	COMPREPLY=()

	if ((COMP_CWORD == 1)); then
		if [[ $current == -* ]]; then
			_memtrack_words "--help --version" "$current"
		else
			_memtrack_words "$(_memtrack_list --list-commands | cut -f 1)" "$current"
			[[ ${COMPREPLY[*]} ]] || _memtrack_value PROGRAM "$current"
		fi
		return
	fi
	while IFS=$'\t' read -r name kind _; do
		[[ $name == "$command" ]] && operand=$kind && break
	done < <(_memtrack_list --list-commands | sed 's/\t\t/\t-\t/')
	if [[ ! $operand ]]; then # memtrack PROGRAM ...
		_memtrack_target 1
		return
	fi
	while IFS=$'\t' read -r name kind _; do
		takes[$name]=${kind#-}
	done < <(_memtrack_list "$command" --list-options | sed 's/\t\t/\t-\t/')

	if _memtrack_stomp; then return; fi

	# Up to the current word: is the target reached, or does the word before want a value?
	while ((i < COMP_CWORD)); do
		name=${COMP_WORDS[i]}
		if [[ $name == -- ]]; then
			[[ $operand == PROGRAM ]] && _memtrack_target $((i + 1)) && return
			_memtrack_value "$operand" "$current"
			return
		elif [[ $name == -* && ${COMP_WORDS[i + 1]} == "=" ]]; then # split at the "="
			((i += 2))
			if ((i > COMP_CWORD)); then # the cursor is on the '='
				_memtrack_value "${takes[$name]}" ''
				return
			elif ((i == COMP_CWORD)); then
				_memtrack_value "${takes[$name]}" "$current"
				return
			fi
		elif [[ $name == -* && ${takes[$name]} && ${takes[$name]} != "["* ]]; then
			((++i == COMP_CWORD)) && _memtrack_value "${takes[$name]}" "$current" && return
		elif [[ $name != -* && $operand == PROGRAM ]]; then
			_memtrack_target "$i"
			return
		fi
		((++i))
	done
	if [[ $current == --*=* ]]; then # where '=' does not break words
		_memtrack_value "${takes[${current%%=*}]}" "${current#*=}"
		COMPREPLY=("${COMPREPLY[@]/#/${current%%=*}=}")
	elif [[ $current == -* ]]; then
		_memtrack_words "${!takes[*]}" "$current"
	elif [[ $operand == PROGRAM ]]; then
		_memtrack_target "$i"
	else
		_memtrack_value "$operand" "$current"
	fi
}

complete -F _memtrack memtrack
