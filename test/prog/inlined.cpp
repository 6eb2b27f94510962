/* SPDX-License-Identifier: MIT */
/*
 * Inlined frames (-O2 -g).  deepest and middle are always inlined into outer_a and outer_b:
 *   outer_a  10 x 21 bytes through middle and deepest: deepest<middle<outer_a<main, the first two inlined
 *   outer_b   5 x 22 bytes the same way
 *   by_lambda 4 x 23 bytes inside a lambda, inlined or not, called from by_lambda
 * All blocks stay.  deepest: 15 allocations, 320 bytes.
 */
#include "prog.h"

__attribute__((always_inline)) static inline void *deepest(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	return p;
}

__attribute__((always_inline)) static inline void *middle(size_t size)
{
	void *p = deepest(size);
	KEEP(p);
	return p;
}

extern "C" SITE void *outer_a(size_t size)
{
	void *p = middle(size);
	KEEP(p);
	return p;
}

extern "C" SITE void *outer_b(size_t size)
{
	void *p = middle(size);
	KEEP(p);
	return p;
}

extern "C" SITE void *by_lambda(size_t size)
{
	auto make = [size]() {
		void *q = malloc(size);
		KEEP(q);
		return q;
	};
	void *p = make();
	KEEP(p);
	return p;
}

int main()
{
	for (int i = 0; i < 10; i++)
		outer_a(21);
	for (int i = 0; i < 5; i++)
		outer_b(22);
	for (int i = 0; i < 4; i++)
		by_lambda(23);
	return 0;
}
