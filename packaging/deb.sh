#!/bin/sh
# SPDX-License-Identifier: MIT
# deb.sh VERSION BUILD FILE: makes a Debian package, FILE, of what was built in BUILD.  `make deb` calls it.
#
# The same tree gives the same package: times are those of SOURCE_DATE_EPOCH, by default that of the commit.  DEBFULLNAME
# and DEBEMAIL say who made it, as they do for Debian's own tools.
set -eu
umask 022
export LC_ALL=C
version=$1 build=$2 file=$3
here=$(dirname "$0")
root=$build/deb/debian/memtrack # where dpkg-shlibdeps expects it
doc=$root/usr/share/doc/memtrack

: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}"
: "${DEBFULLNAME:=memtrack maintainers}" "${DEBEMAIL:=$(id -un)@$(hostname -f 2>/dev/null || hostname)}"
export SOURCE_DATE_EPOCH

install_files() {
	rm -rf "$build/deb"
	mkdir -p "$doc" "$root/DEBIAN"
	${MAKE:-make} -s -o all install O="$build" DESTDIR="$root" PREFIX=/usr ZSHDIR=/usr/share/zsh/vendor-completions
	strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/memtrack"
	strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root"/usr/lib/memtrack/*.so
	find "$root/usr/share/man" -type f -exec gzip -9n {} +
}

document() {
	cp "$here/copyright" "$doc/copyright"
	gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
	gzip -9nc >"$doc/changelog.Debian.gz" <<-END
		memtrack ($version) unstable; urgency=medium

		  * Built from the source tree; changelog.gz has what is new.

		 -- $DEBFULLNAME <$DEBEMAIL>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
	END
}

# The packages of the libraries that the tool and what it preloads are linked with.
dependencies() {
	printf 'Source: memtrack\n\nPackage: memtrack\nArchitecture: any\n' >"$build/deb/debian/control"
	(cd "$build/deb" && dpkg-shlibdeps -O debian/memtrack/usr/bin/memtrack debian/memtrack/usr/lib/memtrack/*.so) |
		sed -n 's/^shlibs:Depends=//p'
}

# control DEPENDS
control() {
	(cd "$root" && find usr -type f | sort | xargs md5sum) >"$root/DEBIAN/md5sums"
	cat >"$root/DEBIAN/control" <<-END
		Package: memtrack
		Version: $version
		Architecture: $(dpkg --print-architecture)
		Maintainer: $DEBFULLNAME <$DEBEMAIL>
		Installed-Size: $(du -k -s --apparent-size "$root/usr" | cut -f 1)
		Depends: $1
		Suggests: libdebuginfod1, libjemalloc2, libmimalloc2.0, libtcmalloc-minimal4, man-db
		Section: devel
		Priority: optional
		Description: heap profiler that needs no rebuild
		 memtrack starts a dynamically linked program, unmodified, and records every
		 allocation of it and its children with the full call stack. It shows the call
		 sites that make up the peak, what leaked, and what was allocated only to be
		 freed at once.
		 .
		 It can put another allocator under the program too, among them a guard-page
		 allocator that stops at the first overflow or use after free.
	END
}

install_files
document
depends=$(dependencies)
[ -n "$depends" ] || {
	echo "deb.sh: dpkg-shlibdeps found no package for the libraries of '$build/memtrack'" >&2
	exit 1
}
control "$depends"
dpkg-deb --root-owner-group -Zxz --build "$root" "$file" >/dev/null
