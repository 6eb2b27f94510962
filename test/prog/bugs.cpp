/* SPDX-License-Identifier: MIT */
/* The classic errors with heap blocks in C++, one a mode: see bugs.h and bugs.table. */
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bugs.h"

extern "C" {

SITE static int *bug_new_array(size_t count)
{
	int *p = new int[count];
	KEEP(p);
	return p;
}

SITE static void bug_delete_array(int *p)
{
	delete[] p;
	BARRIER();
}

struct thing {
	long first, second;
};

SITE static thing *bug_new()
{
	thing *p = new thing;
	KEEP(p);
	return p;
}

SITE static void bug_delete(thing *p)
{
	delete p;
	BARRIER();
}

SITE static void bug_delete_again(thing *p)
{
	delete p;
	BARRIER();
}

SITE static void new_array_over()
{
	int *p = bug_new_array(12);
	bug_write(p + 12, 0);
	bug_delete_array(p);
}

SITE static void new_uaf()
{
	thing *p = bug_new();
	bug_delete(p);
	bug_read(&p->second, 0);
}

SITE static void delete_twice()
{
	thing *p = bug_new();
	bug_delete(p);
	bug_delete_again(p);
}

SITE static void delete_stack()
{
	thing on_stack[4] __attribute__((aligned(16))) = {};
	thing *p = on_stack + 2;
	KEEP(p);
	bug_delete(p);
}

SITE static void bug_reserve(std::vector<int> &v)
{
	v.reserve(12);
}

SITE static void bug_push_back(std::vector<int> &v)
{
	v.push_back(13);
}

/* The iterator is into the 12 elements that the 13th made the vector move. */
SITE static void vector_iterator()
{
	std::vector<int> v;
	bug_reserve(v);
	for (int i = 0; i < 12; i++)
		v.push_back(i);
	auto it = v.begin() + 1;
	bug_push_back(v);
	bug_read(&*it, 0);
}

SITE static void bug_make_string(std::string &s)
{
	s = std::string(100, 'x');
}

SITE static void bug_drop_string(std::string &s)
{
	std::string().swap(s);
}

SITE static void string_view_dangling()
{
	std::string s;
	bug_make_string(s);
	std::string_view view = s;
	bug_drop_string(s);
	bug_read(view.data() + 10, 0);
}

SITE static void bug_insert(std::map<int, int> &m)
{
	m[1] = 2;
}

SITE static void bug_erase(std::map<int, int> &m, std::map<int, int>::iterator it)
{
	m.erase(it);
}

/* A node of libstdc++: a colour and three pointers (32 bytes), then the pair. */
SITE static void map_erase_iterator()
{
	std::map<int, int> m;
	bug_insert(m);
	auto it = m.find(1);
	bug_erase(m, it);
	bug_write(&it->second, 0);
}

SITE static void bug_reset(std::unique_ptr<thing> &p)
{
	p.reset();
}

SITE static void unique_ptr_dangling()
{
	std::unique_ptr<thing> owner(bug_new());
	thing *p = owner.get();
	bug_reset(owner);
	bug_read(&p->first, 0);
}

/* No bug. */
SITE static void control()
{
	std::vector<int> v;
	bug_reserve(v);
	bug_push_back(v);
	std::map<int, int> m;
	bug_insert(m);
	std::string s;
	bug_make_string(s);
	traffic(10000);
	bug_delete(bug_new());
	bug_delete_array(bug_new_array(12));
}

#define BUG(name) { #name, name }

static const struct bug bugs[] = {
	BUG(new_array_over),
	BUG(new_uaf),
	BUG(delete_twice),
	BUG(delete_stack),
	BUG(vector_iterator),
	BUG(string_view_dangling),
	BUG(map_erase_iterator),
	BUG(unique_ptr_dangling),
	BUG(control),
	{ nullptr, nullptr },
};
}

int main(int argc, char **argv)
{
	return bug_main(bugs, argc, argv);
}
