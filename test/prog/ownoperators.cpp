/* SPDX-License-Identifier: MIT */
/*
 * Operators of the program's own: made 7 x new int, of 4 bytes each asked for, 20 taken from malloc; all freed.
 */
#include <new>

#include "prog.h"

SITE void *operator new(size_t size)
{
	void *p = malloc(size + 16);
	KEEP(p);
	if (!p)
		throw std::bad_alloc();
	return p;
}

SITE void operator delete(void *p) noexcept
{
	free(p);
	BARRIER();
}

void operator delete(void *p, size_t) noexcept
{
	free(p);
	BARRIER();
}

SITE static int *made()
{
	int *p = new int;
	KEEP(p);
	return p;
}

int main()
{
	for (int i = 0; i < 7; i++)
		delete made();
	return 0;
}
