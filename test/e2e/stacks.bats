# Whole stacks from stock binaries: -O2 -fomit-frame-pointer, no rebuild, whatever lies between the allocation and main.
load helper

setup() {
	case_setup
}

# debug_split FILE: FILE without debug information, FILE.debug with it, and a debuglink.
debug_split() {
	skip_unless_command objcopy strip
	objcopy --only-keep-debug "$1" "$1.debug"
	strip -g "$1"
	(cd "$(dirname "$1")" && objcopy --add-gnu-debuglink="$(basename "$1").debug" "$(basename "$1")")
}

build_id() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

@test "the full chain to main without frame pointers" {
	record "$B/chain" plain
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks  leaked_bytes
		leaf      10           110              10             110
		one       10           110              10             110
	END
	expect_stack "leaf<five<four<three<two<one<main"
	assert_eq "$(total truncated_stacks)" 0 "truncated stacks"
	# All of them are one stack, with the lines of the source.
	assert_eq "$(query '[.sites[].stacks[]] | length')" 1 "number of stacks"
	local line
	line=$(grep -n 'void \*p = malloc(size);' "$top/test/prog/chain.c" | head -1 | cut -d: -f1)
	assert_eq "$(query '.sites[0].stacks[0].frames[0].line')" "$line" "line of the call"
	assert_eq "$(query '.sites[0].stacks[0].frames[0].file | split("/") | last')" chain.c "file of the call"
	assert_eq "$(query '.sites[0].stacks[0].frames[0].module')" "$(readlink -f "$B/chain")" "module of the call"
}

@test "recursion up to and over --depth" {
	record "$B/chain" deep 100
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks
		leaf      5            60               5
		main      5            60               5
	END
	assert_eq "$(query '[.sites[0].stacks[0].frames[] | select(.function == "recurse")] | length')" 100 "frames of recurse"
	assert_eq "$(total truncated_stacks)" 0 "truncated stacks"
	assert_eq "$(query '.sites[0].stacks[0].truncated')" false truncated

	record "$B/chain" deep 3000
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks
		leaf      5            60               5
		recurse   5            60               5
	END
	assert_eq "$(query '.sites[0].stacks[0].frames | length')" 256 "frames at the default depth"
	assert_eq "$(query '.sites[0].stacks[0].frames[0].function')" leaf "innermost frame"
	assert_eq "$(query '.sites[0].stacks[0].truncated')" true truncated
	[ "$(total truncated_stacks)" -ge 1 ] || fail "truncated_stacks is $(total truncated_stacks)"
	assert_eq "$(total allocations)" 5 allocations

	record --depth 4096 "$B/chain" deep 3000
	assert_eq "$(query '[.sites[0].stacks[0].frames[] | select(.function == "recurse")] | length')" 3000 "frames of recurse"
	assert_eq "$(query '.sites[0].stacks[0].truncated')" false truncated
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks
		main      5            60               5
	END
}

@test "--depth 1, 2 and 5 keep the innermost frames" {
	record --depth 1 "$B/chain" plain
	assert_eq "$(stack_lines)" leaf "the stack"
	assert_eq "$(total allocations)" 10 allocations
	record --depth=2 "$B/chain" plain
	assert_eq "$(stack_lines)" "leaf<five" "the stack"
	record --depth=5 "$B/chain" plain
	assert_eq "$(stack_lines)" "leaf<five<four<three<two" "the stack"
	assert_eq "$(query '.sites[0].stacks[0].truncated')" true truncated
}

@test "alloca, VLA, realigned, huge and forced frames" {
	record "$B/chain" frames
	expect_sites <<-END
		function     allocations  allocated_bytes  leaked_blocks
		leaf         6            78               6
		with_alloca  2            26               2
		with_vla     2            26               2
		realigned    2            26               2
		huge_frame   2            26               2
		forced       2            26               2
		nested       1            13               1
		main         6            78               6
	END
	expect_stack "leaf<with_alloca<main"
	expect_stack "leaf<with_vla<main"
	expect_stack "leaf<realigned<main"
	expect_stack "leaf<huge_frame<main"
	expect_stack "leaf<forced<main"
	expect_stack "leaf<huge_frame<forced<realigned<with_vla<with_alloca<nested<main"
	assert_eq "$(total truncated_stacks)" 0 "truncated stacks"
}

@test "signal frames" {
	record "$B/chain" signal
	expect_sites <<-END
		function  allocations  allocated_bytes  leaked_blocks
		leaf      20           280              20
		handler   20           280              20
		raises    20           280              20
		main      20           280              20
	END
	expect_order "leaf handler raises main"
	# The pc saved by the signal is the exact one, also at the start of a function; a return address is one past the call.
	record "$B/chain" first
	expect_order "leaf trap_handler first_instruction main"
	never_named before_first
	record "$B/chain" noreturn
	expect_stack "leaf<never_returns<last_call<main"
	never_named after_last_call
}

@test "tail calls: the frame that is gone is not invented" {
	record "$B/chain" tail
	expect_sites <<-END
		function     allocations  allocated_bytes
		tail_target  3            51
	END
	expect_stack "leaf<tail_target<main"
	never_named tail_caller
}

@test "two calls in one function are two sites" {
	record "$B/chain" two
	memtrack 0 report --format json memtrack.dat
	assert_eq "$(jq -c '[.sites[] | select(.function == "two_calls") | [.allocations, .allocated_bytes]] | sort' out)" "[[10,180],[20,380]]" \
		"sites of two_calls"
	assert_eq "$(jq '[.sites[] | select(.function == "two_calls") | .line] | unique | length' out)" 2 "their lines"
}

@test "inlined functions" {
	record "$B/inlined"
	expect_sites <<-END
		function   allocations  allocated_bytes  leaked_blocks  leaked_bytes
		deepest    15           320              15             320
		middle     15           320              15             320
		outer_a    10           210              10             210
		outer_b    5            110              5              110
		by_lambda  4            92               4              92
	END
	expect_stack "deepest<middle<outer_a<main"
	expect_stack "deepest<middle<outer_b<main"
	assert_eq "$(query '[.sites[].stacks[] | select(any(.frames[]; .function | tostring | startswith("outer_a"))) | .frames[0:3][].inlined]
		| tostring')" "[true,true,false]" "the inlined flags of deepest, middle, outer_a"
}

@test "assembly without truth and generated code in the middle of a stack" {
	[ -x "$B/bare" ] || skip "not for this CPU"
	record "$B/bare"
	{
		echo "function allocations allocated_bytes leaked_blocks"
		for f in framed rubbish far loop liar backward outermost expression by_r12 generated generated2; do
			echo "callback_$f 10 310 10"
		done
		echo "leaf 110 3410 110"
	} | expect_sites
	for f in framed rubbish far loop liar backward outermost expression by_r12; do
		expect_stack "leaf<callback_$f<asm_$f"
	done
	expect_stack "leaf<callback_expression<asm_expression<main"
	expect_stack "leaf<callback_by_r12<asm_by_r12<main"
	expect_stack "leaf<callback_framed<asm_framed<main"
	# Where the walk ends early it says so; where it was told that this is the outermost frame it has nothing to say.
	assert_eq "$(query '[.sites[].stacks[] | select(any(.frames[]; .function == "asm_rubbish")) | .truncated] | unique | tostring')" "[true]" \
		"truncated under asm_rubbish"
	assert_eq "$(query '[.sites[].stacks[] | select(any(.frames[]; .function == "asm_outermost")) | .truncated] | unique | tostring')" "[false]" \
		"truncated under asm_outermost"
	# A frame in an anonymous page has no name, and certainly not that of a neighbour.
	assert_eq "$(query '[.sites[].stacks[] | select(any(.frames[]; .function == "callback_generated")) | .frames[2].function] | unique | tostring')" \
		"[null]" "the name of generated code"
}

@test "plug-ins loaded and unloaded at the same address" {
	record "$B/plugins" "$B/libplug_red.so" "$B/libplug_blue.so"
	assert_eq "$(cat out)" reused "the program's word on addresses"
	expect_sites <<-END
		function         allocations  allocated_bytes  leaked_blocks  leaked_bytes
		plug_red_alloc   400          24000            40             2400
		plug_blue_alloc  400          36000            40             3600
	END
	expect_stack "plug_red_alloc<plug_make<use<main"
	expect_stack "plug_blue_alloc<plug_make<use<main"
	never_together plug_red_alloc plug_blue_alloc
	# Unloaded and loaded again is the same module: one site each, not forty.
	memtrack 0 report --format json --top 1000 memtrack.dat
	assert_eq "$(jq -c '[.sites[] | select(.function | tostring | test("plug_.*_alloc")) | .allocations]' out)" "[400,400]" "sites of the plug-ins"
}

@test "memory that a stack was read from is gone at the next allocation" {
	local what
	for what in block fiber; do
		call 7 "$MEMTRACK" run -q -o memtrack.dat "$B/gone" $what
		forget
	done
	assert_eq "$(site_sum in_fiber allocations)" 30 "allocations in fibers"
	call 7 "$MEMTRACK" run -q -o memtrack.dat "$B/gone" block
	forget
	assert_eq "$(site_sum call_with_rbp allocations)" 40 "allocations with a stray frame pointer"
}

@test "threads on one stack, one after the other: each has its own beginning" {
	call 7 "$MEMTRACK" run -q -o memtrack.dat "$B/gone" thread
	assert_eq "$(site_sum first allocations)" 200 "in first"
	assert_eq "$(query '[.sites[].stacks[] | select(any(.frames[]; .function == "first")) |
		select(any(.frames[]; .function == "use_thread")) | select(.frames | length > 4) | .allocations] | add')" 200 "complete stacks of first"
	assert_eq "$(query '[.sites[].stacks[] | select(any(.frames[]; .function == "second")) |
		select(any(.frames[]; .function == "use_thread")) | select(.frames | length > 4) | .allocations] | add')" 1000 "complete stacks of second"
}

@test "a stripped program: module and offset, not the nearest symbol" {
	cp "$B/chain" prog
	strip -s prog
	record ./prog two
	memtrack 0 report --format json memtrack.dat
	assert_eq "$(jq -c '[.sites[] | [.function, .allocations, .allocated_bytes]] | sort' out)" "[[null,10,180],[null,20,380]]" "sites"
	assert_eq "$(jq -r '[.sites[].module] | unique | join(" ")' out)" "$PWD/prog" "their module"
	memtrack 0 report memtrack.dat
	assert_match out 'prog\+0x[0-9a-f]+' "report on a stripped program"
	# It names the module that had no symbols, once.
	assert_match out 'symbols.*prog|prog.*symbols' "report on a stripped program"
	record ./prog plain
	assert_eq "$(query '.sites[0].stacks[0].frames[0:7] | map(.function) | unique | tostring')" "[null]" "the names"
	# The chain is as long as it is with symbols: leaf, five to one, main, and libc's two and _start.
	local stripped
	stripped=$(query '.sites[0].stacks[0].frames | length')
	record "$B/chain" plain
	assert_eq "$stripped" "$(query '.sites[0].stacks[0].frames | length')" "number of frames"
}

@test "separate debug information by debuglink, beside the file and in .debug" {
	cp "$B/chain" prog
	debug_split prog
	record ./prog plain
	expect_stack "leaf<five<four<three<two<one<main"
	assert_eq "$(query '.sites[0].stacks[0].frames[0].file | tostring | split("/") | last')" chain.c "file by debuglink"
	mkdir .debug
	mv prog.debug .debug/
	record ./prog plain
	assert_eq "$(query '.sites[0].stacks[0].frames[0].file | tostring | split("/") | last')" chain.c "file by .debug"
}

@test "separate debug information by build-id under --debug-path" {
	local id
	cp "$B/chain" prog
	debug_split prog
	id=$(build_id prog)
	[ -n "$id" ] || skip "this linker makes no build-id"
	mkdir -p "debug/.build-id/${id:0:2}"
	mv prog.debug "debug/.build-id/${id:0:2}/${id:2}.debug"
	record ./prog plain
	assert_eq "$(query '.sites[0].stacks[0].frames[0].file')" null "file without debug information"
	record --debug-path "$PWD/debug" ./prog plain
	assert_eq "$(query '.sites[0].stacks[0].frames[0].file | tostring | split("/") | last')" chain.c "file by run --debug-path"
}

@test "separate debug information that comes later, by symbolize" {
	local id
	cp "$B/chain" prog
	debug_split prog
	id=$(build_id prog)
	mkdir -p "debug/.build-id/${id:0:2}"
	mv prog.debug "debug/.build-id/${id:0:2}/${id:2}.debug"
	record ./prog plain
	memtrack 0 symbolize --debug-path "$PWD/debug" memtrack.dat
	forget
	assert_eq "$(query '.sites[0].stacks[0].frames[0].file | tostring | split("/") | last')" chain.c "file by symbolize --debug-path"
}

@test "debug information of another build is not used" {
	cp "$B/identity" prog
	cp "$B/identity-impostor" other
	debug_split prog
	debug_split other
	mv other.debug prog.debug
	record ./prog
	never_named alloc_in_impostor
	assert_eq "$(query '.sites[0].stacks[0].frames[0].file')" null "file by foreign debug information"
	expect_sites <<-END
		function           allocations  allocated_bytes  leaked_blocks
		alloc_in_original  25           1925             25
	END
}

@test "a program whose file is replaced or deleted while it runs" {
	cp "$B/identity" prog
	cp "$B/identity-impostor" other
	record ./prog replace "$PWD/other"
	never_named alloc_in_impostor
	never_named run_impostor
	expect_totals allocations=25 allocated_bytes=1925 leaked_blocks=25
	cp "$B/identity" gone
	call 0 "$MEMTRACK" run -q -o memtrack.dat ./gone delete
	forget
	[ ! -e gone ] || fail "the program did not delete its file"
	expect_totals allocations=25 allocated_bytes=1925 leaked_blocks=25
	assert_eq "$(query '.sites | length')" 1 "sites"
}
