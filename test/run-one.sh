#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs one test of any kind with TAP on standard output; prove calls it for each.
case $1 in
*.bats) exec bats --tap "$1" ;;
*.sh) exec bash "$1" "${MEMTRACK:-./memtrack}" ;;
*) exec "$1" ;;
esac
