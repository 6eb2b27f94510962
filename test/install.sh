#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh PURPOSE PACKAGE...: installs the Debian packages that are missing, saying which and why.
purpose=$1
shift
missing=
for package; do
	dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
	echo "missing $purpose:$missing (Debian's names); install them with this system's package manager" >&2
	exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then
	sudo=sudo
	command -v sudo >/dev/null || { echo "missing $purpose:$missing; become root or install sudo" >&2; exit 1; }
fi
echo "installing $purpose:$missing"
$sudo apt-get update -qq || exit 1
# shellcheck disable=SC2086 # a list of words
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
