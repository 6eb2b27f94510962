# SPDX-License-Identifier: MIT
# Counts words, keeps an index of where they stand, sorts and joins: hashes, arrays, strings and regular expressions.
use strict;
my (%count, %lines);
for my $turn (1 .. 8) {
	my $text = join(" ", map { "w" . ($_ * $turn % 9973) } 1 .. 40000);
	my $at = 0;
	while ($text =~ /(w\d+)/g) {
		$count{$1}++;
		push @{ $lines{"$1/$turn"} }, $at++;
	}
}
my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
my $all = join(",", map { "$_:" . join("+", @{ $lines{"$_/3"} || [] }) } @top);
print scalar(@top), " $top[0] ", length($all), "\n";
