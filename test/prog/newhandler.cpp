/* SPDX-License-Identifier: MIT */
/*
 * Out of memory in C++, a line each on standard output:
 *   without a handler a large request throws bad_alloc, and gives a null pointer where nothrow is asked for;
 *   a handler is called until it gives up, which throws, or is caught for nothrow;
 *   a handler that throws itself ends it at once;
 *   a handler that makes room lets it succeed: relieved 1 x new char[64 MiB], which stays.
 */
#include <new>
#include <sys/resource.h>

#include "prog.h"

static volatile size_t large = (size_t)PTRDIFF_MAX / 2;
static int calls;

static void give_up_at_third()
{
	if (++calls == 3)
		std::set_new_handler(nullptr);
}

static void throw_at_once()
{
	calls++;
	throw std::bad_alloc();
}

static bool throws()
{
	try {
		char *p = new char[large];
		KEEP(p);
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

static bool is_null()
{
	char *p = new (std::nothrow) char[large];
	KEEP(p);
	return p == nullptr;
}

static void limit(rlim_t bytes)
{
	struct rlimit address_space;
	REQUIRE(getrlimit(RLIMIT_AS, &address_space) == 0);
	address_space.rlim_cur = bytes;
	REQUIRE(setrlimit(RLIMIT_AS, &address_space) == 0);
}

static void lift_limit()
{
	calls++;
	limit(RLIM_INFINITY);
}

SITE static char *relieved()
{
	limit(1 << 20);
	char *p = new char[64 << 20];
	KEEP(p);
	return p;
}

int main()
{
	bool thrown = throws();
	say("throws: %d\n", thrown);
	say("null: %d\n", is_null());
	std::set_new_handler(give_up_at_third);
	thrown = throws();
	say("throws: %d after %d calls\n", thrown, calls);
	calls = 0;
	std::set_new_handler(give_up_at_third);
	say("null: %d\n", is_null());
	calls = 0;
	std::set_new_handler(throw_at_once);
	thrown = throws();
	say("throws: %d after %d calls\n", thrown, calls);
	say("null: %d\n", is_null());
	std::set_new_handler(lift_limit);
	calls = 0;
	bool there = relieved();
	say("relieved: %d after %d calls\n", there, calls);
	return 0;
}
