/* SPDX-License-Identifier: MIT */
/* See mem.h.  Built without loop-to-call transformation, which would make these call themselves. */
#include "agent/rt/mem.h"

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	void *result = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
	return result;
}

void *memmove(void *to, const void *from, size_t size)
{
	char *t = to;
	const char *f = from;

	if (t <= f || t >= f + size)
		return memcpy(to, from, size);
	while (size--)
		t[size] = f[size];
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	void *result = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(byte) : "memory");
	return result;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *x = a, *y = b;

	for (; size; size--, x++, y++)
		if (*x != *y)
			return *x < *y ? -1 : 1;
	return 0;
}

int bcmp(const void *a, const void *b, size_t size)
{
	return memcmp(a, b, size);
}

size_t rt_length(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}
