#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The distributed source builds where there is no repository, and makes a package without complaints; what
# the package has.

load ../helper
load ../package

setup() {
	case_setup
	unset MAKEFLAGS MAKELEVEL MFLAGS
	MEMTRACK_TIMEOUT=600
	build=${B%/test/prog}
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

# pack FILE: the Debian package, as `make deb` makes it once all is built.
pack() {
	local version
	version=$("$MEMTRACK" --version | sed -n '1s/memtrack //p')-1
	DEBEMAIL=builder@example.org call 0 env -C "$top" sh packaging/deb.sh "$version" "$build" "$1"
}

# The same, made once: its path is in $deb.
package() {
	skip_unless_command dpkg-deb dpkg-shlibdeps
	deb=$BATS_FILE_TMPDIR/memtrack.deb
	[ -e "$deb" ] || pack "$deb"
}

@test "deb: what it has, needs and says" {
	local library owner
	package
	dpkg-deb -x "$deb" tree
	dpkg-deb -e "$deb" control
	(cd tree && md5sum --quiet -c ../control/md5sums) || fail "md5sums"
	assert_eq "$(wc -l <control/md5sums)" "$(files_below tree | wc -l)" "files in md5sums"
	assert_eq "$(dpkg-deb -f "$deb" Version)" "$("$MEMTRACK" --version | sed -n '1s/memtrack //p')-1"
	assert_eq "$(dpkg-deb -c "$deb" | awk '$2 != "root/root"')" "" "files that are not root's"
	gzip -t tree/usr/share/man/man?/*.gz tree/usr/share/doc/memtrack/*.gz || fail "compressed files"
	[ -s tree/usr/share/doc/memtrack/copyright ] || fail "no copyright"
	zcat tree/usr/share/doc/memtrack/changelog.Debian.gz | head -1 | grep -q '^memtrack ([0-9.]*-1) ' || fail "changelog"
	# each library that the loader finds is of a package that is depended on
	dpkg-deb -f "$deb" Depends | sed 's/ ([^)]*)//g; s/, /\n/g' >depends
	for library in $(objdump -p tree/usr/bin/memtrack tree/usr/lib/memtrack/*.so | awk '$1 == "NEEDED" { print $2 }' | sort -u); do
		owner=$(dpkg -S "*/$library" | sed -n '/amd64: /s/:.*//p' | head -1)
		grep -qx "$owner" depends || fail "$library is in '$owner', not in Depends: $(cat depends)"
	done
	records_with "$PWD/tree/usr/bin/memtrack"
}

@test "deb: the same each time" {
	package
	pack "$PWD/again.deb"
	cmp "$deb" again.deb || fail "two packages of one tree differ"
}

@test "deb: dpkg installs it into an empty root, and purges all of it" {
	local root=$PWD/root
	skip_unless_root
	package
	mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates
	touch root/var/lib/dpkg/status
	call 0 dpkg --root="$root" --force-depends -i "$deb"
	assert_eq "$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${db:Status-Status}' memtrack)" installed
	records_with "$root/usr/bin/memtrack"
	call 0 dpkg --root="$root" --purge memtrack
	assert_eq "$(find root -mindepth 1 ! -path 'root/var*')" "" "what dpkg left"
	assert_eq "$(ls root/var)" lib
}
