# What tests of run --malloc=stomp share, after helper.bash.  SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154,SC2016 # variables of the tests, of awk and of jq

# Of each kind of error, for what is tried on all of them in test/e2e/long/.
few='$2 ~ /^(over_write_1|under_write|uaf_read|double_free|new_array_over)$/'

# Of each kind, ways to get there that memtrack tells apart; all others are tried in test/e2e/long/.
some='$2 ~ /^(over_write_1|memcpy_read|realloc_over|zero_read|odd_write|new_array_over|under_write|realloc_old|uaf_huge|thread_uaf|new_uaf)$/ ||
	$2 ~ /^(thread_double_free|realloc_freed|delete_twice|free_stack|free_interior|smash_slack|smash_after|smash_realloc)$/'

# -- what the table says --------------------------------------------------------------------------

# rows AWK-CONDITION: lines of the table, by its columns ($1 program, $2 mode, $3 options, $4 kind, ...)
rows() {
	awk '!/^#/ && NF && ('"$1"')' "$top/test/prog/bugs.table"
}

# read_row LINE: its columns, to variables.
read_row() {
	read -r program mode options kind access size offset expected stack allocated freed thread canary <<-END
		$1
	END
}

# stomp OPTION...: the name to give to --malloc, without the empty ones.
stomp() {
	local option all=
	for option; do
		case $option in - | '') ;; *) all=$all,$option ;; esac
	done
	printf 'stomp%s\n' "${all:+:${all#,}}"
}

# line_of FUNCTION: FILE:LINE of the statement that carries its name, nothing when none does.
line_of() {
	(cd "$top/test/prog" && grep -n "; /\* $1 \*/\$" bugs.h bugs.c) | cut -d : -f 1,2
}

# The errors that stomp found, those of all processes.
stomp_errors() {
	query "[.errors[] | select(.source == \"stomp\")] | $1" --all
}

# error_differences: what of the only error of ./memtrack.dat is other than in the row that was read.
# shellcheck disable=SC2016 # variables of jq
error_differences() {
	local file
	file=$(report_file --all) || return 1
	jq -r --arg kind "$kind" --arg access "$access" --arg size "$size" --arg offset "$offset" --arg stack "$stack" \
		--arg allocated "$allocated" --arg freed "$freed" --arg thread "$thread" --arg mode "$mode" "$jq_names"'
		def number: if type == "string" then reduce (ltrimstr("0x") | explode[]) as $c (0; . * 16 + (if $c > 90 then $c - 87 else $c - 48 end))
			else . end;
		def shown: if . == null then "none" else [.[].function // "?"] | join("<") end;
		def differs($what; $got; $wanted): if $got == $wanted then empty else "\($what): expected \($wanted), got \($got)" end;
		def begins($names): . as $frames | ($frames | length) >= ($names | length)
			and all(range($names | length); . as $i | $frames[$i] | named($names[$i]));
		# Of a thread of its own the way to main ends elsewhere.
		def stack_differs($what; $frames; $wanted):
			if $wanted == "-" then differs($what; $frames | if . == [] then null else . end | shown; "none")
			else ($wanted | ltrimstr("~") | split("<") | if length == 1 then . + [$mode] else . end) as $names
			| ($frames // []) as $f
			| if ($wanted | startswith("~")) then any(range($f | length); . as $i | $f[$i:] | begins($names)) else $f | begins($names) end
			| . and (($wanted | contains("<")) or any($f[]; named("main")))
			| if . then empty else "\($what): expected \($wanted)<\($mode)...<main, got \($frames | shown)" end
			end;
		[.errors[] | select(.source == "stomp")] as $errors
		| if ($errors | length) != 1 then "errors: expected 1, got \($errors | length): \([$errors[].kind])"
		else $errors[0]
			| differs("kind"; .kind; $kind), differs("access"; .access | tostring; $access), differs("thread"; .thread | tostring; $thread),
			differs("count"; .count; 1), differs("continued"; .continued; false),
			(if $size == "-" then differs("block"; .block; null)
			else differs("size"; .block.size | tostring; $size),
				differs("address"; .address | number; (.block.address | number) + .block.offset),
				($offset | split("..") | map(tonumber)) as $range
				| if .block.offset >= $range[0] and .block.offset <= $range[-1] then empty else "offset: expected \($offset), got \(.block.offset)" end
			end),
			stack_differs("stack"; .stack; $stack), stack_differs("allocated"; .allocated; $allocated), stack_differs("freed"; .freed; $freed)
		end' "$file"
}

# text_differences: the same for what was said on stderr at once.
text_differences() {
	local name line grouped
	grep -q -- "$kind" err || echo "stderr does not say $kind"
	for name in "$stack" "$allocated" "$freed"; do
		name=${name#'~'}
		name=${name%%<*}
		[ "$name" = - ] && continue
		grep -Eq "\\b$name\\b" err || echo "stderr does not name $name"
		line=$(line_of "$name")
		[ -z "$line" ] || grep -Fq "$line" err || echo "stderr has no $line, the line of $name"
	done
	if [ "$access" != null ]; then grep -Eiq "\\b$access" err || echo "stderr does not say that it was a $access"; fi
	grouped=$(sed ':a;s/\B[0-9]\{3\}\>/,&/;ta' <<<"$size")
	if [ "$size" != - ]; then grep -Eq "\b($size|$grouped)[ -]byte|\b($size|$grouped) bytes" err || echo "stderr does not say that the block has $size bytes"; fi
}

# expect_row: ./memtrack.dat and ./err are as the row says that was read.
expect_row() {
	local wrong
	wrong=$(
		error_differences 2>&1
		text_differences
	)
	[ -z "$wrong" ] || fail "$mode" "$wrong"
}

# expect_bugs ROWS [OPTION-OF-STOMP [OPTION-OF-RUN]...]: all of the rows are found as they say; every one is tried.
expect_bugs() {
	local table=$1 more=${2:-} row wrong all=
	shift
	[ $# = 0 ] || shift
	[ -n "$table" ] || fail "no such rows in the table"
	while read -r row; do
		read_row "$row"
		if record_status "$expected" --malloc="$(stomp "$options" "$more")" "$@" "$B/$program" "$mode" 2>complaint; then
			wrong=$(expect_row 2>&1) || true
		else
			wrong=$(head -c 600 complaint)
		fi
		[ -z "$wrong" ] || all+=$wrong$'\n'
	done <<<"$table"
	[ -z "$all" ] || fail "$all"
}

# -- the rest -------------------------------------------------------------------------------------

# crowd_fits COUNT: a page and 64 bytes each, and 64 MiB for all the rest.
crowd_fits() {
	local rss count=$1
	rss=$(awk '{ print $NF }' out)
	assert_eq "$(cut -d , -f 1 out)" "$count blocks" stdout
	assert_between "$rss" 1 $(((count * (4096 + 64) + (64 << 20)) >> 10)) "KiB of resident memory"
	assert_eq "$(query '.errors | length' --all)" 0 errors
}

# correct_under OPTIONS [MODE...]: each goes through without a word.
correct_under() {
	local options=$1 mode
	shift
	for mode; do
		record --malloc="$(stomp "$options")" --trace "$channels" "$B/correct" "$mode" || fail "correct $mode, stomp:$options"
		assert_eq "$(cat out)" fine "correct $mode, stomp:$options"
		assert_eq "$(query '.errors | length' --all)" 0 "errors of correct $mode, stomp:$options"
	done
}

quick="zero resize aligned refused exact strings kernel usable handover fork spawn barrier overflow null signal libc"

# preloaded STATUS OPTIONS COMMAND...
preloaded() {
	local wanted=$1 options=$2
	shift 2
	[ -e "$library" ] || fail "no $library"
	call "$wanted" env LD_PRELOAD="$library" ${options:+MEMTRACK_STOMP="$options"} "$@"
}
