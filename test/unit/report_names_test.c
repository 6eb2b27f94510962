/* SPDX-License-Identifier: MIT */
/*
 * Names for people.  The long forms are as libiberty writes them (and as LLVM does, where it
 * differs).  Links names_short.o only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "report/names_short.h"

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

static const struct {
	const char *name, *expected;
} cases[] = {
	/* Nothing to shorten. */
	{ "", "" },
	{ "main", "main" },
	{ "load.constprop.0", "load.constprop.0" },
	{ "<", "<" },
	{ "operator", "operator" },
	/* Parameters and what stands behind them. */
	{ "f(int, char)", "f" },
	{ "f()", "f" },
	{ "ns::C::f() const", "ns::C::f" },
	{ "ns::C::f() const &", "ns::C::f" },
	{ "ns::C::f() &&", "ns::C::f" },
	{ "f(void (*)(int))", "f" },
	{ "f(int (&) [3])", "f" },
	{ "C::~C()", "C::~C" },
	{ "f(int) [clone .part.0]", "f" },
	{ "f(int) [clone .constprop.0] [clone .cold]", "f" },
	{ "f [clone .isra.0]", "f" },
	{ "f[abi:cxx11](int)", "f" },
	{ "std::__cxx11::to_string[abi:cxx11]()", "std::to_string" },
	/* Template arguments. */
	{ "std::vector<server::Page, std::allocator<server::Page> >::push_back(server::Page&&)",
	  "std::vector<…>::push_back" },
	{ "A<B<C<D<long> > > >::f()", "A<…>::f" },
	{ "Array<int>::get<0>()", "Array<int>::get<0>" },
	{ "Array<Large>::f()", "Array<…>::f" },
	{ "void sort<int*, Less>(int*, int*, Less)", "sort<…>" },
	{ "unsigned long const& max<unsigned long>(unsigned long const&, unsigned long const&)",
	  "max<…>" },
	{ "std::enable_if<((N)>(3)), int>::type f<Widest>(int)", "f<…>" },
	{ "A<((B)<(3))>::f()", "A<…>::f" },
	{ "A<(Kind)2>::f()", "A<…>::f" },
	{ "decltype (fp.f()) f<Widest>(Widest)", "f<…>" },
	{ "std::function<void (int)>::operator()(int) const", "std::function<…>::operator()" },
	/* Known spellings. */
	{ STRING "::append(char const*)", "std::string::append" },
	{ "f(" STRING " const&)", "f" },
	{ "std::basic_string<wchar_t, std::char_traits<wchar_t> >::find(wchar_t)",
	  "std::wstring::find" },
	{ "std::__1::basic_ostream<char, std::__1::char_traits<char> >::flush()",
	  "std::ostream::flush" },
	{ "std::__cxx11::basic_string<char16_t, X>::f()", "std::basic_string<…>::f" },
	{ "std::__cxx11::list<Large>::clear()", "std::list<…>::clear" },
	{ "mystd::basic_string<char>::f()", "mystd::basic_string<char>::f" },
	{ "my::std::basic_string<char>::f()", "my::std::basic_string<char>::f" },
	{ "std::basic_string<char", "std::basic_string<char" },
	/* Operators. */
	{ "C::operator()(int) const", "C::operator()" },
	{ "operator<(A const&, B const&)", "operator<" },
	{ "operator<<(A&, int)", "operator<<" },
	{ "operator->*(A, B)", "operator->*" },
	{ "C::operator->() const", "C::operator->" },
	{ "C::operator[](unsigned long)", "C::operator[]" },
	{ "C::operator=(C const&)", "C::operator=" },
	{ "C::operator!() const", "C::operator!" },
	{ "operator<=>(A, B)", "operator<=>" },
	{ "operator new(unsigned long)", "operator new" },
	{ "operator new[](unsigned long, std::align_val_t)", "operator new[]" },
	{ "operator delete(void*)", "operator delete" },
	{ "operator\"\" _km(long double)", "operator\"\" _km" },
	{ "std::basic_ostream<char, std::char_traits<char> >& std::operator<< "
	  "<std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char)",
	  "std::operator<< <…>" },
	{ "bool operator<<Large>(Large, Large)", "operator<<…>" },
	{ "bool operator<<<Large>(Large, Large)", "operator<<<…>" },
	{ "bool operator< <Large>(Large, Large)", "operator< <…>" },
	{ "bool operator!= <Large>(Large, Large)", "operator!= <…>" },
	{ "bool operator>=<Large>(Large, Large)", "operator>=<…>" },
	{ "C::operator bool() const", "C::operator bool" },
	{ "C::operator std::vector<Large>() const", "C::operator std::vector<…>" },
	{ "C::operator " STRING "() const", "C::operator std::string" },
	{ "C::operator unsigned long<Widest>() const", "C::operator unsigned long<…>" },
	{ "my_operator<Large>(int)", "my_operator<…>" },
	/* Within functions, and without a name. */
	{ "f(int)::{lambda(char, A<B>)#1}::operator()(char, A<B>) const",
	  "f::{lambda#1}::operator()" },
	{ "auto f<Large>(Large)::{lambda(auto:1)#2}::operator()<Widest>(Widest) const",
	  "f<…>::{lambda#2}::operator()<…>" },
	{ "f()::{lambda<typename $T0>($T0)#1}::operator()(int)", "f::{lambda#1}::operator()" },
	{ "f() const::Local::g()", "f::Local::g" },
	{ "f(int)::'lambda'(char)::operator()(char) const", "f::'lambda'::operator()" },
	{ "C::{unnamed type#1}::f()", "C::{unnamed type#1}::f" },
	{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f" },
	{ "ns::(anonymous namespace)::C<Large>::f(int)", "ns::(anonymous namespace)::C<…>::f" },
	{ "non-virtual thunk to C::f(int)", "non-virtual thunk to C::f" },
	{ "guard variable for f(int)::once", "guard variable for f::once" },
	{ "void (*get<int>())(int)", "void (*get<int>())(int)" },
	{ "_GLOBAL__sub_I_main.cpp", "_GLOBAL__sub_I_main.cpp" },
	/* Rust. */
	{ "prog::load::h0123456789abcdef", "prog::load" },
	{ "prog::h0123456789abcdeg", "prog::h0123456789abcdeg" },
	{ "::h0123456789abcdef", "::h0123456789abcdef" },
	{ "<alloc::vec::Vec<u8> as core::fmt::Write>::write_str::h0123456789abcdef",
	  "<alloc::vec::Vec<u8> as core::fmt::Write>::write_str" },
	{ "<alloc::vec::Vec<prog::Item> as core::clone::Clone>::clone",
	  "<alloc::vec::Vec<…> as core::clone::Clone>::clone" },
	{ "core::ptr::drop_in_place::<alloc::vec::Vec<prog::Item>>",
	  "core::ptr::drop_in_place::<…>" },
	{ "prog::<impl core::fmt::Debug for prog::Table<K, V>>::fmt",
	  "prog::<impl core::fmt::Debug for prog::Table<K, V>>::fmt" },
	{ "<fn(u8) -> bool as core::ops::FnOnce<(u8,)>>::call_once",
	  "<fn(u8) -> bool as core::ops::FnOnce<…>>::call_once" },
	{ "prog::main::{{closure}}", "prog::main::{{closure}}" },
	{ "prog::main::{closure#0}", "prog::main::{closure#0}" },
	/* Fortran, D, Go, JavaScript. */
	{ "__tables_MOD_fill", "__tables_MOD_fill" },
	{ "std.stdio.writeln!(string, int).writeln(string, int)", "std.stdio.writeln!(…).writeln" },
	{ "std.conv.to!(int).to(string)", "std.conv.to!(int).to" },
	{ "main.(*Table).Fill", "main.(*Table).Fill" },
	{ "main.Map[go.shape.int,go.shape.string]", "main.Map[go.shape.int,go.shape.string]" },
	{ "LazyCompile:*load /srv/app (old)/load.js:12",
	  "LazyCompile:*load /srv/app (old)/load.js:12" },
	/* Brackets that do not match. */
	{ "f<<g", "f<<g" },
	{ "a->b", "a->b" },
	{ "a > b", "a > b" },
	{ "f(int", "f(int" },
	{ "f)int(", "f)int(" },
	{ "f<Large(>::g()", "f<Large(>::g()" },
	{ "f<Large]", "f<Large]" },
	{ "{lambda", "{lambda" },
	{ "{lambda(int)", "{lambda(int)" },
	{ "f [clone ", "f [clone " },
	{ "f[abi:", "f[abi:" },
};

static char *shorten(const char *name, const char *ellipsis)
{
	char *copy = strdup(name);
	assert_non_null(copy);
	names_shorten(copy, ellipsis);
	return copy;
}

static void test_names(void **state)
{
	(void)state;
	int wrong = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *found = shorten(cases[i].name, "…");
		if (strcmp(found, cases[i].expected) != 0) {
			print_error("%s\n is %s\n not %s\n", cases[i].name, found,
				    cases[i].expected);
			wrong++;
		}
		/* Each fits into the place of the whole one. */
		assert_true(strlen(found) <= strlen(cases[i].name));
		free(found);
	}
	assert_int_equal(wrong, 0);
}

static void test_ascii(void **state)
{
	(void)state;
	char *found = shorten("std::map<Large>::f(A<B>)", "...");
	assert_string_equal(found, "std::map<...>::f");
	free(found);
}

/* As many of `piece` as make 100 kB, between two others. */
static char *fill(const char *first, const char *piece, const char *last)
{
	size_t count = 100000 / strlen(piece);
	char *text = malloc(strlen(first) + count * strlen(piece) + strlen(last) + 1);
	assert_non_null(text);
	char *end = stpcpy(text, first);
	while (count--)
		end = stpcpy(end, piece);
	strcpy(end, last);
	return text;
}

static void test_long_names(void **state)
{
	(void)state;
	static const char *const pieces[] = { "<",	     ">",	   "(",		 "()",
					      "operator<",   " [clone ]",  "{lambda(",	 "a::",
					      "std::basic_", "operator()", "f(int)::",	 "-> ",
					      "[abi:x]",     "f<int>(A) ", "basic_<char" };
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		char *text = fill("", pieces[i], "");
		size_t length = strlen(text);
		names_shorten(text, "…");
		assert_true(strlen(text) <= length);
		free(text);
	}
	char *text = fill("f", "<", "");
	char *found = shorten(text, "…");
	assert_string_equal(found, text);
	free(found);
	free(text);
	text = fill("f<", "A<B>, ", "C>::g()");
	names_shorten(text, "…");
	assert_string_equal(text, "f<…>::g");
	free(text);
}

/* Any text at all: no harm, and never longer. */
static void test_any_text(void **state)
{
	(void)state;
	static const char *const words[] = { "<",	 ">",
					     "(",	 ")",
					     "::",	 " ",
					     "operator", "std::",
					     "basic_x",	 "<char>",
					     "a",	 "->",
					     "{lambda",	 "#1}",
					     " [clone ", "]",
					     "[abi:",	 " const",
					     "&",	 "!",
					     "<impl ",	 "::h0123456789abcdef" };
	uint64_t random = 1;
	for (int round = 0; round < 50000; round++) {
		char text[400] = "", *end = text;
		for (unsigned n = (unsigned)round % 17; n > 0; n--) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			end = stpcpy(end,
				     words[(random >> 33) % (sizeof(words) / sizeof(words[0]))]);
		}
		char *exact = strdup(text); /* so that a sanitizer sees what is beyond */
		assert_non_null(exact);
		names_shorten(exact, "…");
		assert_true(strlen(exact) <= strlen(text));
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_any_text),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
