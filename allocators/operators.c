/* SPDX-License-Identifier: MIT */
/*
 * libmemtrack-operators.so: the C++ operators new and delete, by way of malloc and free.  Preloaded between the agent and an
 * allocator that has operators of its own, which would go past malloc, and so past the agent: this way a C++ program is
 * recorded on any allocator as it is on the C library's.  Operators of the program itself come before these.
 *
 * Lives in other people's processes: any thread, any moment; no state, no allocation of its own.  Functions are looked
 * up by name only when memory has run out.  Built without optimized sibling calls: the frames that people know from the C++ library,
 * "operator new(unsigned long)" and the like, are to be on the stack.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define OPERATOR __attribute__((visibility("default")))
#define APART	 __attribute__((noinline, cold)) static

/* Part of the operator: its frame is the innermost of the stack. */
static inline __attribute__((always_inline)) void *allocate(size_t size, size_t alignment)
{
	void *block;

	if (!size)
		size = 1;
	if (!alignment)
		return malloc(size);
	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	return posix_memalign(&block, alignment, size) == 0 ? block : NULL;
}

/* A function by name, of any type; NULL: there is none. */
#define LOOK_UP(function, handle, name) (*(void **)(void *)&(function) = dlsym(handle, name))

typedef void (*new_handler)(void);

/* What std::set_new_handler was last given.  There is none without a C++ library. */
APART new_handler current_handler(void)
{
	new_handler (*get)(void);

	LOOK_UP(get, RTLD_DEFAULT, "_ZSt15get_new_handlerv");
	return get ? get() : NULL;
}

/* std::bad_alloc can only be thrown by who knows C++.  Returns where there is no C++ library. */
static void throw_bad_alloc(void)
{
	void (*throw)(void);

	LOOK_UP(throw, RTLD_DEFAULT, "_ZSt17__throw_bad_allocv");
	if (throw)
		throw();
}

/*
 * Lets the operator behind this one try: it throws, or, for nothrow, catches what the program's handler may throw, which C
 * cannot (mimalloc's never calls the handler then).  What it gets goes back, to be had by malloc.
 */
static bool try_next(size_t size, const void *nothrow)
{
	void *(*next)(size_t);
	void *(*next_nothrow)(size_t, const void *);
	void (*give_back)(void *);
	void *block;

	LOOK_UP(next, RTLD_NEXT, "_Znwm");
	LOOK_UP(next_nothrow, RTLD_NEXT, "_ZnwmRKSt9nothrow_t");
	LOOK_UP(give_back, RTLD_NEXT, "_ZdlPv");
	if (!give_back || !(nothrow ? next_nothrow != NULL : next != NULL))
		return false;
	block = nothrow ? next_nothrow(size, nothrow) : next(size);
	give_back(block);
	return block;
}

/* Out of memory, for the first time when `tries` is 0: the program's handler may free some, or throw.  True: try again. */
APART bool make_room(size_t size, const void *nothrow, unsigned tries)
{
	new_handler handler = current_handler();

	if (!nothrow && handler) {
		handler();
		return true;
	}
	if (nothrow && !handler)
		return false;
	if (!nothrow)
		throw_bad_alloc();
	return !tries && try_next(size, nothrow);
}

/* clang-format off */
/* The names as the compiler makes them: nw new, na new[], dl delete, da delete[]; m a size, Pv a pointer. */
#define NEW(name, alignment, nothrow, ...)                                                   \
	OPERATOR void *name(size_t size, ##__VA_ARGS__);                                     \
	OPERATOR void *name(size_t size, ##__VA_ARGS__)                                      \
	{                                                                                    \
		void *block;                                                                 \
		unsigned tries = 0;                                                          \
                                                                                             \
		do                                                                           \
			block = allocate(size, alignment);                                   \
		while (__builtin_expect(!block, 0) && make_room(size, nothrow, tries++));    \
		return block;                                                                \
	}

#define NEWS(name)                                                                           \
	NEW(name##m, 0, NULL)                                                                \
	NEW(name##mSt11align_val_t, alignment, NULL, size_t alignment)                       \
	NEW(name##mRKSt9nothrow_t, 0, nothrow, const void *nothrow)                          \
	NEW(name##mSt11align_val_tRKSt9nothrow_t, alignment, nothrow, size_t alignment,      \
	    const void *nothrow)

#define DELETE(name, ...)                              \
	OPERATOR void name(void *block, ##__VA_ARGS__); \
	OPERATOR void name(void *block, ##__VA_ARGS__)  \
	{                                              \
		free(block);                           \
	}

#define DELETES(name)                                                                       \
	DELETE(name##Pv)                                                                    \
	DELETE(name##PvRKSt9nothrow_t, const void *nothrow __attribute__((unused)))         \
	DELETE(name##Pvm, size_t size __attribute__((unused)))                              \
	DELETE(name##PvSt11align_val_t, size_t alignment __attribute__((unused)))           \
	DELETE(name##PvSt11align_val_tRKSt9nothrow_t, size_t alignment __attribute__((unused)), \
	       const void *nothrow __attribute__((unused)))                                 \
	DELETE(name##PvmSt11align_val_t, size_t size __attribute__((unused)),               \
	       size_t alignment __attribute__((unused)))
/* clang-format on */

NEWS(_Znw)
NEWS(_Zna)
DELETES(_Zdl)
DELETES(_Zda)
