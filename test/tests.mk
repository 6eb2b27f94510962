# SPDX-License-Identifier: MIT
# Tests: see test/README.  Included by the Makefile.
