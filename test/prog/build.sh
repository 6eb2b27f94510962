#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds the test programs into $MEMTRACK_TEST_BUILD (default build/test/prog of the tree), those that are out of date,
# two at a time.  Arguments name programs; without any it builds all.  CC and CXX as usual.
# One line of the list is  NAME : command; @ stands for $CC with the common options, @@ for $CXX with them, % for the target.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${MEMTRACK_TEST_BUILD:-$here/../../build/test/prog}
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
cd "$here" || exit 1

common="-O2 -g -fomit-frame-pointer -fno-builtin -fno-optimize-sibling-calls -D_GNU_SOURCE -Wall -Wextra -Wno-unused-result -Wno-infinite-recursion
	-Wno-attributes -Wno-maybe-uninitialized -pthread"
cc="${CC:-gcc} -std=gnu17 $common"
cxx="${CXX:-g++} -std=gnu++17 $common"

list() {
	cat <<-'END'
	basic:              @ -o % basic.c
	basic-nopie:        @ -no-pie -fno-pie -o % basic.c
	basic-static:       @ -static -o % basic.c
	basic-staticpie:    @ -static-pie -fPIE -o % basic.c
	entries:            @ -o % entries.c
	realloc:            @ -o % realloc.c
	temporary:          @ -o % temporary.c
	operators:          @@ -o % operators.cpp
	chain:              @ -foptimize-sibling-calls -fno-toplevel-reorder -fno-stack-protector -o % chain.c
	inlined:            @@ -o % inlined.cpp
	identity:           @ -DWHO=original -Wl,--build-id -o % identity.c
	identity-impostor:  @ -DWHO=impostor -DPADDING='"96"' -Wl,--build-id -o % identity.c
	libplug_red.so:     @ -shared -fPIC -DWHO=red -DSIZE=60 -o % plug.c
	libplug_blue.so:    @ -shared -fPIC -DWHO=blue -DSIZE=90 -o % plug.c
	plugins:            @ -o % plugins.c -ldl
	gone:               @ -o % gone.c
	peak:               @ -o % peak.c
	shape:              @ -o % shape.c
	moments:            @ -o % moments.c
	peak_threads:       @ -o % peak_threads.c
	threads:            @ -o % threads.c
	procs:              @ -o % procs.c
	endings:            @ -O1 -o % endings.c
	guest:              @ -o % guest.c -ldl
	ownsyms:            @ -rdynamic -DSURPRISE=1 -o % ownsyms.c
	ownsyms-always:     @ -rdynamic -DSURPRISE=2 -o % ownsyms.c
	libearly.so:        @ -shared -fPIC -o % early_lib.c
	early:              @ -fno-pic -no-pie -o % early.c "$out/libearly.so" -Wl,-rpath,'$ORIGIN'
	jumps:              @ -o % jumps.c
	exceptions:         @@ -o % exceptions.cpp
	ownmalloc:          @ -DWITH=0 -o % ownmalloc.c
	ownmalloc-mimalloc: @ -DWITH=1 -o % ownmalloc.c
	ownmalloc-jemalloc: @ -DWITH=2 -o % ownmalloc.c
	shuffle:            @ -o % shuffle.c
	sizes:              @ -o % sizes.c
	parts:              @ -o % parts.c
	wrong:              @ -o % wrong.c -ldl
	libwrapper.so:      @ -shared -fPIC -o % wrapper.c -ldl
	wrapped:            @ -o % wrong.c "$out/libwrapper.so" -Wl,--no-as-needed -Wl,-rpath,'$ORIGIN' -ldl
	libmallib.so:       @ -shared -fPIC -DRPMALLOC -o % mallib.c
	libmallib-cxx.so:   @ -shared -fPIC -DOPERATORS -o % mallib.c
	libmallib-half.so:  @ -shared -fPIC -DHALF -o % mallib.c
	libmallib-mute.so:  @ -shared -fPIC -DMUTE -o % mallib.c
	swapped:            @ -o % swapped.c
	newhandler:         @@ -o % newhandler.cpp
	ownoperators:       @@ -o % ownoperators.cpp
	sampled:            @ -o % sampled.c
	slack:              @ -o % slack.c
	slack++:            @@ -x c++ -o % slack.c
	steady:             @ -o % steady.c
	manystacks:         @ -o % manystacks.c
	bugs:               @ -o % bugs.c
	bugs++:             @@ -o % bugs.cpp
	correct:            @ -o % correct.c
	crowd:              @ -o % crowd.c
	orders:             @ -o % tutorial/orders.c
	orders-fixed:       @ -DFIXED -o % tutorial/orders.c
	pages:              @ -o % tutorial/pages.c
	pages-fixed:        @ -DFIXED -o % tutorial/pages.c
	words:              @ -o % tutorial/words.c
	words-fixed:        @ -DFIXED -o % tutorial/words.c
	libtally.so:        @ -shared -fPIC -o % tally.c
	libwitness.so:      @ -shared -fPIC -o % witness.c
	END
	if [ "$(uname -m)" = x86_64 ]; then
		echo "bare: @ -o % bare.c bare_asm.S"
	fi
}

job() {
	local name=$1 command=$2 target=$out/$1 source stale=0
	for source in $command; do
		case $source in
		*.c | *.cpp | *.S) [ "$target" -nt "$source" ] || stale=1 ;;
		esac
		case $source in
		bugs.*) [ "$target" -nt bugs.h ] || stale=1 ;;
		esac
	done
	[ "$target" -nt prog.h ] && [ "$target" -nt build.sh ] || stale=1
	[ $stale = 1 ] || return 0
	command=${command//@@/$cxx}
	command=${command//@/$cc}
	command=${command//%/$target.$$}
	# shellcheck disable=SC2086 # the words of the command are separate on purpose
	eval $command && mv "$target.$$" "$target" && return 0
	rm -f "$target.$$"
	echo "build.sh: $name: failed" >&2
	return 1
}

status=0
running=0
[ $# -gt 0 ] || "$here/build.sh" libearly.so libwrapper.so || status=1
while IFS=: read -r name command; do
	name=${name//[[:blank:]]/}
	if [ $# -gt 0 ]; then
		case " $* " in
		*" $name "*) ;;
		*) continue ;;
		esac
	fi
	job "$name" "$command" &
	running=$((running + 1))
	if [ $running -ge 2 ]; then
		wait -n || status=1
		running=$((running - 1))
	fi
done < <(list)
while [ $running -gt 0 ]; do
	wait -n || status=1
	running=$((running - 1))
done
exit $status
