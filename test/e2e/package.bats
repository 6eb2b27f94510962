#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What `make install`, `make uninstall` and `make dist` leave, and that it runs from there.  The machine itself
# stays as it is: everything goes below the test's folder.  e2e/long/package.bats builds what is distributed, and the Debian
# package.

load helper
load package

setup() {
	case_setup
	build=${B%/test/prog}
}

# made TARGET [VARIABLE=VALUE]...: from what is built already.
made() {
	call 0 make -s -C "$top" -o all O="$build" "$@"
}

@test "install: everything is there and runs; uninstall: nothing is left" {
	made install DESTDIR="$PWD/tree" PREFIX=/opt/mt
	[ "$(stat -c %a tree/opt/mt/bin/memtrack)" = 755 ] || fail "mode of the tool"
	[ "$(find tree -type f ! -perm 644 | wc -l)" = 1 ] || fail "modes: $(find tree -type f ! -perm 644)"
	assert_eq "$(find tree -name 'memtrack*.[1-8]' | wc -l)" "$(cd "$top/man" && printf '%s\n' *.[1-8] | wc -l)" "manuals"
	records_with "$PWD/tree/opt/mt/bin/memtrack"
	made uninstall DESTDIR="$PWD/tree" PREFIX=/opt/mt
	[ ! -e tree ] || assert_eq "$(find tree -mindepth 1)" "" "what uninstall left"
}

@test "uninstall leaves what is not memtrack's" {
	mkdir -p tree/usr/local/lib/memtrack tree/usr/local/share/man/man1
	touch tree/usr/local/lib/memtrack/mine tree/usr/local/share/man/man1/other.1
	made install DESTDIR="$PWD/tree" PREFIX=/usr/local
	made uninstall DESTDIR="$PWD/tree" PREFIX=/usr/local
	assert_eq "$(files_below tree)" ./usr/local/lib/memtrack/mine$'\n'./usr/local/share/man/man1/other.1
	made uninstall DESTDIR="$PWD/tree" PREFIX=/usr/local # again: nothing to do is no error
}

@test "--help opens the manual of the memtrack that is asked" {
	local name place
	made install PREFIX="$PWD/installed"
	made install PREFIX="$PWD/packed"
	find packed/share/man -type f -exec gzip {} +
	mkdir stub bare
	cp installed/bin/memtrack bare
	printf '#!/bin/sh\necho "page $*"\n' >stub/man
	chmod +x stub/man
	while read -r name place; do
		PATH=$PWD/stub:$PATH call 0 script -qec "$name report --help" /dev/null
		assert_match out "^page $place.?\$" "$name report --help"
	done <<-END
		$MEMTRACK $top/man/memtrack-report.1
		$build/memtrack $build/../man/memtrack-report.1
		$PWD/installed/bin/memtrack $PWD/installed/bin/../share/man/man1/memtrack-report.1
		$PWD/packed/bin/memtrack $PWD/packed/bin/../share/man/man1/memtrack-report.1.gz
	END
	PATH=$PWD/stub:$PATH call 0 script -qec "$PWD/installed/bin/memtrack help stomp" /dev/null
	assert_match out "^page $PWD/installed/bin/../share/man/man7/memtrack-stomp.7.?\$"
	PATH=$PWD/stub:$PATH call 0 script -qec "$PWD/bare/memtrack report --help" /dev/null
	assert_match out "usage: memtrack report" "without a page"
	PATH=$PWD/stub:$PATH call 0 "$PWD/installed/bin/memtrack" report --help
	assert_match out "usage: memtrack report" "not on a terminal"
}

@test "dist: the commit, the same each time" {
	skip_unless_command git
	git -C "$top" rev-parse HEAD >/dev/null 2>&1 || skip "no repository here"
	made dist DIST="$PWD/a.tar.gz"
	(umask 077 && TZ=Asia/Tokyo GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=tar.umask GIT_CONFIG_VALUE_0=077 made dist DIST="$PWD/b.tar.gz")
	cmp a.tar.gz b.tar.gz || fail "two archives of one commit differ"
	mkdir unpacked
	tar -xzf a.tar.gz -C unpacked
	assert_eq "$(ls unpacked)" "memtrack-$("$MEMTRACK" --version | sed -n '1s/memtrack //p')" "the folder in it"
	assert_eq "$(files_below unpacked/memtrack-* | cut -c 3-)" "$(git -C "$top" ls-tree -r --name-only HEAD | LC_ALL=C sort)" "files"
	git -C "$top" show HEAD:Makefile | cmp - unpacked/memtrack-*/Makefile
}
