/* SPDX-License-Identifier: MIT */
/*
 * What every test program shares.  Nothing here allocates, and none of the programs uses stdio, so that
 * the figures stated at the head of a program are all there is to count in it.
 */
#ifndef MEMTRACK_TEST_PROG_H
#define MEMTRACK_TEST_PROG_H

#ifndef _GNU_SOURCE
# define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A function that must stay a frame of its own under every optimization. */
#ifdef __clang__
# define SITE __attribute__((noinline, used))
#else
# define SITE __attribute__((noinline, noclone, noipa, used))
#endif

/* The compiler may neither drop the block nor turn the call before this into a tail call. */
#define KEEP(p)	  __asm__ volatile("" : "+r"(p) : : "memory")
#define BARRIER() __asm__ volatile("" : : : "memory")

__attribute__((format(printf, 2, 3), unused)) static void say_to(int fd, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	int length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length > (int)sizeof(text) - 1)
		length = (int)sizeof(text) - 1;
	for (int done = 0; done < length;) {
		ssize_t n = write(fd, text + done, (size_t)(length - done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (int)n;
	}
}

#define say(...) say_to(1, __VA_ARGS__)

/* Ends the program with status 99: the program, not the recording, went wrong. */
#define REQUIRE(condition)                                                             \
 do {                                                                                  \
  if (!(condition)) {                                                                  \
   say_to(2, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
   _exit(99);                                                                          \
  }                                                                                    \
 } while (0)

#endif
