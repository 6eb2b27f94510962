/* SPDX-License-Identifier: MIT */
/*
 * Exceptions: 1000 times a throw through 15 frames with a destructor that allocates while the stack is being unwound:
 *   in_destructor  15000 x 32 bytes (480000), freed
 *   in_catch       1000 x 40 bytes (40000), of which each 20th stays: 50 (2000)
 *   in_thread      4 threads at the same time, each 1000 throws of their own: 4000 x 24 (96000), freed
 * in_destructor's stacks go on to main through the C++ runtime: in_destructor<Guard::~Guard<...<_Unwind...<...<main
 */
#include <stdexcept>
#include <thread>
#include <vector>

#include "prog.h"

extern "C" SITE void *in_destructor()
{
	void *p = malloc(32);
	KEEP(p);
	return p;
}

extern "C" SITE void *in_catch()
{
	void *p = malloc(40);
	KEEP(p);
	return p;
}

extern "C" SITE void *in_thread()
{
	void *p = malloc(24);
	KEEP(p);
	return p;
}

struct Guard {
	SITE ~Guard()
	{
		free(in_destructor());
	}
};

extern "C" SITE void descend(int left)
{
	Guard guard;
	if (left == 1)
		throw std::runtime_error("down here");
	descend(left - 1);
	BARRIER();
}

extern "C" SITE void throws(int n)
{
	try {
		throw n;
	} catch (int) {
		free(in_thread());
	}
}

static void body()
{
	for (int i = 0; i < 1000; i++)
		throws(i);
}

int main()
{
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back(body);
	for (int i = 0; i < 1000; i++) {
		try {
			descend(15);
		} catch (const std::exception &) {
			void *p = in_catch();
			if (i % 20 != 0)
				free(p);
		}
	}
	for (auto &t : threads)
		t.join();
	return 0;
}
