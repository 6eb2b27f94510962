# What the tests of installations and packages share, after helper.bash.  SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034 # MEMTRACK is for `record`

# files_below FOLDER: files and links, by their path in it.
files_below() {
	(cd "$1" && find . ! -type d | sort)
}

# records_with MEMTRACK: it finds its libraries; basic.c's 1000 blocks of 100 bytes are counted, with stomp under it too.
records_with() {
	local MEMTRACK=$1
	record "$B/basic"
	expect_sites <<-END
		function allocations allocated_bytes
		small    1000        100000
	END
	record --malloc=stomp "$B/basic"
	expect_sites <<-END
		function allocations allocated_bytes
		small    1000        100000
	END
}
