/* SPDX-License-Identifier: MIT */
/*
 * paths STACKS [ROUNDS]: one allocation at the end of each of STACKS (at most 65536) ways through a varied tree of calls, all in
 * order; then ROUNDS times the same again, and ROUNDS times in an order by chance, where hardly two stacks in a row have
 * anything in common but their beginning.  Every fourth block of the first round stays until the end.  Prints the time of an
 * allocation in the three parts: stacks never seen before, seen before, and by chance.
 *
 * A way is eight turns, each to one of four functions.  The functions add frames of their own, so stacks are 12 to 36 frames
 * deep; each of them has its own call instructions, which is what makes the stacks differ.
 */
#include "test/bench/prog/bench.h"

enum { TURNS = 8, WAYS = 1 << 2 * TURNS };

static void *kept[WAYS / 4];
static bool keeping;

typedef void way_function(unsigned way, int turns);
static way_function go_straight, go_left, go_right, go_round;

SITE static void arrive(unsigned way)
{
	void *block = allocate(way);
	if (keeping && way % 4 == 0)
		kept[way / 4] = block;
	else
		free(block);
}

/* The next turn is in the two highest bits that are left, so that ways in order turn as late as possible. */
#define TURN(way, turns)                     \
 do {                                        \
  if ((turns) == 0) {                        \
   arrive(way);                              \
  } else {                                   \
   switch ((way) >> (2 * ((turns)-1)) & 3) { \
   case 0:                                   \
    go_straight(way, (turns)-1);             \
    break;                                   \
   case 1:                                   \
    go_left(way, (turns)-1);                 \
    break;                                   \
   case 2:                                   \
    go_right(way, (turns)-1);                \
    break;                                   \
   default:                                  \
    go_round(way, (turns)-1);                \
    break;                                   \
   }                                         \
  }                                          \
  BARRIER();                                 \
 } while (0)

SITE static void go_straight(unsigned way, int turns)
{
	TURN(way, turns);
}

SITE static void left_inner(unsigned way, int turns)
{
	LOCALS(6);
	TURN(way, turns);
}

SITE static void go_left(unsigned way, int turns)
{
	left_inner(way, turns);
	BARRIER();
}

SITE static void right_inner(unsigned way, int turns)
{
	TURN(way, turns);
}

SITE static void right_middle(unsigned way, int turns)
{
	LOCALS(3);
	right_inner(way, turns);
	BARRIER();
}

SITE static void go_right(unsigned way, int turns)
{
	right_middle(way, turns);
	BARRIER();
}

SITE static void round_fourth(unsigned way, int turns)
{
	LOCALS(11);
	TURN(way, turns);
}

SITE static void round_third(unsigned way, int turns)
{
	round_fourth(way, turns);
	BARRIER();
}

SITE static void round_second(unsigned way, int turns)
{
	LOCALS(1);
	round_third(way, turns);
	BARRIER();
}

SITE static void go_round(unsigned way, int turns)
{
	round_second(way, turns);
	BARRIER();
}

SITE static void start(unsigned way)
{
	TURN(way, TURNS);
}

/* One pass.  All passes are made by this loop, called from one place, or their stacks would differ. */
SITE static double pass(unsigned stacks, bool by_chance)
{
	unsigned long random = 88172645463325252ul;
	double ns = -clock_ns(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < stacks; i++)
		start(by_chance ? (unsigned)((next_random(&random) >> 32) * stacks >> 32) : i);
	return ns + clock_ns(CLOCK_MONOTONIC);
}

int main(int argc, char **argv)
{
	unsigned stacks = (unsigned)number_argument(argc, argv, 1, WAYS, 1, WAYS);
	long rounds = number_argument(argc, argv, 2, 0, 0, 1 << 20);
	double ns[3] = { 0 }, events = (double)stacks;
	enum { FRESH, AGAIN, CHANCE };

	for (long i = 0; i <= 2 * rounds; i++) {
		int part = i == 0 ? FRESH : i <= rounds ? AGAIN : CHANCE;
		keeping = part == FRESH;
		ns[part] += pass(stacks, part == CHANCE);
	}
	for (unsigned i = 0; i < WAYS / 4; i++)
		free(kept[i]);
	say("fresh_ns=%.2f", ns[FRESH] / events);
	if (rounds > 0)
		say(" again_ns=%.2f chance_ns=%.2f", ns[AGAIN] / events / (double)rounds,
		    ns[CHANCE] / events / (double)rounds);
	say("\n");
	return 0;
}
