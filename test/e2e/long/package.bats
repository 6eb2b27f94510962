#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The distributed source builds where there is no repository, and makes a package without complaints.

load ../helper

setup() {
	case_setup
	unset MAKEFLAGS MAKELEVEL MFLAGS
	MEMTRACK_TIMEOUT=600
}

@test "make dist: builds outside of any repository; make deb there" {
	skip_unless_command git dpkg-deb dpkg-shlibdeps
	git -C "$top" rev-parse HEAD >/dev/null 2>&1 || skip "no repository here"
	call 0 make -s -C "$top" dist DIST="$PWD/source.tar.gz"
	tar -xzf source.tar.gz
	cd memtrack-*
	call 0 make -j 2 GIT_DIR=/nowhere
	assert_no_match err "warning|error"
	MEMTRACK=$PWD/memtrack
	record "$B/basic"
	expect_totals leaked_blocks=110
	DEBEMAIL=builder@debian.org DEBFULLNAME="Bob O'Builder & Sons / Co" call 0 make deb DEB="$PWD/package.deb"
	if command -v lintian >/dev/null; then
		call 0 lintian --allow-root --fail-on error package.deb
	fi
}
