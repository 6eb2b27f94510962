/* SPDX-License-Identifier: MIT */
/* Sleeps for a moment and does nothing else: what a tool costs a program that does not allocate, in memory above all. */
#include <time.h>

int main(void)
{
	struct timespec moment = { .tv_nsec = 200 * 1000 * 1000 };
	return nanosleep(&moment, 0);
}
