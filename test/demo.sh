#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh BUILD: records perl doing real work (every Debian system has it) and prints the report.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
cd "$1"
cat > demo.pl <<'END'
# Counts words and builds an index of the lines they stand on, then sorts it.
my (%count, %lines);
for my $n (1 .. 20000) {
	my @words = map { "word" . ($n * $_ % 977) } 1 .. 8;
	$count{$_}++, push @{ $lines{$_} }, $n for @words;
}
my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
printf "%d words, most often %s\n", scalar @top, $top[0];
END
echo '$ memtrack run -- perl demo.pl'
"$top/memtrack" run -- perl demo.pl
echo '$ memtrack report --top 5 --frames 6'
"$top/memtrack" report --top 5 --frames 6
echo
echo "The recording is $1/memtrack.dat.  More of it: (cd $1 && $top/memtrack report --sort leaked)"
