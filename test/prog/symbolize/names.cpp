// SPDX-License-Identifier: MIT
// Names of all kinds: methods, anonymous namespaces, templates, lambdas, extern "C".
#include "mark.h"

static volatile int sink;

namespace app
{
namespace
{
__attribute__((noinline)) int hidden(int x)
{
	MARK(hidden); // LINE hidden
	return x + sink;
}

inline __attribute__((always_inline)) int hidden_inline(int x)
{
	MARK(hidden_inline); // LINE hidden_inline
	return x + sink;
}
} // namespace

struct Widget {
	int run(int x) const;
	template <class T> int twice(T x);
};

__attribute__((noinline)) int Widget::run(int x) const
{
	MARK(method); // LINE method
	return x * sink;
}

template <class T> __attribute__((noinline)) int Widget::twice(T x)
{
	MARK(template); // LINE template
	return 2 * x + sink;
}

__attribute__((noinline)) int calls_inline(int x)
{
	sink = x;
	return hidden_inline(x); // LINE calls_inline
}
} // namespace app

static __attribute__((noinline)) int file_local(int x)
{
	MARK(static); // LINE static
	return x - sink;
}

extern "C" __attribute__((noinline)) int plain_c(int x)
{
	MARK(extern_c); // LINE extern_c
	return x ^ sink;
}

int main(int argc, char **)
{
	app::Widget widget;
	auto lambda = [&](int x) __attribute__((noinline)) {
		MARK(lambda); // LINE lambda
		return x + sink + argc;
	};
	return app::hidden(argc) + widget.run(argc) + widget.twice(argc) + file_local(argc) +
	       plain_c(argc) + lambda(argc) + app::calls_inline(argc);
}
