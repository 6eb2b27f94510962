/* SPDX-License-Identifier: MIT */
/*
 * Recordings for the golden tests, each the same whenever it is made.  All figures are in the
 * tables of golden_recordings.c; totals are the sums of those.
 */
#ifndef MEMTRACK_TEST_UNIT_GOLDEN_RECORDINGS_H
#define MEMTRACK_TEST_UNIT_GOLDEN_RECORDINGS_H

/* A C++ server: templates, plumbing, leaks, temporary allocations, a curve of its heap. */
void golden_server(const char *path);
/* The same, sampled. */
void golden_sampled(const char *path);
/* Recursion, of one function and of several in turn. */
void golden_recursion(const char *path);
/* Two functions that are the same without their parameters. */
void golden_overloads(const char *path);
/* What libstdc++ allocates for itself, and four that only look like it. */
void golden_pool(const char *path);
/* A driver, its two compilers and a linker; the second compiler has the largest heap. */
void golden_processes(const char *path);
/* Errors of every kind, under the guard-page allocator. */
void golden_errors(const char *path);
/* A program that allocated nothing. */
void golden_empty(const char *path);
/* A C program that freed everything, nothing at once. */
void golden_tidy(const char *path);
/* Killed, with everything lost that can be lost, modules without symbols, and notes. */
void golden_limits(const char *path);
/* Costs by size and by thread: a consumer, a crowd, what was inherited, signal handlers, hostile names. */
void golden_parts(const char *path);
/* Names with control characters, without an end, and figures as large as they come. */
void golden_hostile(const char *path);

#endif
