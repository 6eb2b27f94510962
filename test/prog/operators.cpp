/* SPDX-License-Identifier: MIT */
/*
 * All forms of operator new and delete.  Node is 48 bytes; Wide is 192 bytes (alignas 64).
 *   new_plain            40 x new Node              40 allocations  1920 bytes, 10 stay (480)
 *   new_array            20 x new char[1000]        20             20000, 5 stay (5000)
 *   new_aligned          10 x new Wide              10              1920, 0 stay
 *   new_aligned_array     5 x new Wide[3]            5              2880, 1 stays (576)
 *   new_nothrow          10 x new(nothrow) char[77] 10               770, 0 stay
 *   new_aligned_nothrow  10 x new(nothrow) Wide     10              1920, 0 stay
 *   new_direct            3 x ::operator new(123)    3               369, 0 stay
 *   new_failing          a request too large throws bad_alloc or gives nullptr: no allocation of its own
 *   fill_vector          reserve(100) of int: 1 allocation of 400 bytes, freed
 */
#include <cstdint>
#include <new>
#include <vector>

#include "prog.h"

struct Node {
	char bytes[48];
};

struct alignas(64) Wide {
	char bytes[192];
};

namespace shape
{
SITE Node *new_plain()
{
	Node *p = new Node;
	KEEP(p);
	return p;
}

template <typename T> SITE T *new_templated(T seed)
{
	T *p = new T(seed);
	KEEP(p);
	return p;
}
} // namespace shape

SITE char *new_array()
{
	char *p = new char[1000];
	KEEP(p);
	return p;
}

SITE Wide *new_aligned()
{
	Wide *p = new Wide;
	KEEP(p);
	REQUIRE(reinterpret_cast<uintptr_t>(p) % 64 == 0);
	return p;
}

SITE Wide *new_aligned_array()
{
	Wide *p = new Wide[3];
	KEEP(p);
	return p;
}

SITE char *new_nothrow()
{
	char *p = new (std::nothrow) char[77];
	KEEP(p);
	return p;
}

SITE Wide *new_aligned_nothrow()
{
	Wide *p = new (std::nothrow) Wide;
	KEEP(p);
	return p;
}

SITE void *new_direct()
{
	void *p = ::operator new(123);
	KEEP(p);
	return p;
}

SITE static bool new_failing(size_t size)
{
	bool thrown = false;
	try {
		void *p = ::operator new(size);
		KEEP(p);
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	void *p = ::operator new(size, std::nothrow);
	KEEP(p);
	return thrown && p == nullptr;
}

SITE static void fill_vector()
{
	std::vector<int> v;
	v.reserve(100);
	int *p = v.data();
	KEEP(p);
}

int main()
{
	for (int i = 0; i < 40; i++) {
		Node *p = shape::new_plain();
		if (i % 4 != 0)
			delete p;
	}
	for (int i = 0; i < 20; i++) {
		char *p = new_array();
		if (i % 4 != 0)
			delete[] p;
	}
	for (int i = 0; i < 10; i++)
		delete new_aligned();
	for (int i = 0; i < 5; i++) {
		Wide *p = new_aligned_array();
		if (i != 0)
			delete[] p;
	}
	for (int i = 0; i < 10; i++)
		delete[] new_nothrow();
	for (int i = 0; i < 10; i++)
		delete new_aligned_nothrow();
	for (int i = 0; i < 3; i++)
		::operator delete(new_direct(), size_t(123));
	delete shape::new_templated<long>(7);
	volatile size_t too_large = (size_t)PTRDIFF_MAX + 1;
	REQUIRE(new_failing(too_large));
	fill_vector();
	return 0;
}
