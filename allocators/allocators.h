/* SPDX-License-Identifier: MIT */
/*
 * The allocators that `run --malloc` can put under a program, as the tool sees them: one descriptor a name, how its
 * library is found and recognised, and what the program has to be told.  Nothing of a library is executed here.
 *
 * Called by cmd/ before the program starts.  One thread; never prints.
 */
#ifndef MEMTRACK_ALLOCATORS_ALLOCATORS_H
#define MEMTRACK_ALLOCATORS_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/diag.h"

/* The names, for completion; a path to any malloc library is taken as well. */
#define ALLOCATOR_NAMES "ansi|mimalloc|rpmalloc|jemalloc|tcmalloc|stomp"
/* What can follow "stomp:", likewise. */
#define ALLOCATOR_STOMP_NAMES                                                                     \
 "stomp:under|stomp:align=|stomp:continue|stomp:sample=|stomp:min=|stomp:max=|stomp:quarantine=|" \
 "stomp:guard=|stomp:function="

struct allocator {
	const char *name;
	const char *help; /* what it is, a few words */
	const char
		*sonames; /* in order of preference, separated by blanks; NULL: not searched for */
	const char *variable; /* of our environment, that names the file; or NULL */
	const char *remedy;   /* what to do when it is missing */
	const char *marks;    /* symbols, separated by blanks: the right library has one of them */
	/* A variable that the target gets, unless it has it already: "NAME=VALUE"; or NULL. */
	const char *setting;
};

/* Ends with a NULL name. */
extern const struct allocator allocators[];

/* What `--malloc` asked for. */
struct allocator_choice {
	const struct allocator *allocator; /* NULL: a path */
	char *path;	      /* of the library, absolute; NULL: the program's own serves */
	char *stomp_options;  /* canonical; NULL: it is not stomp */
	char *stomp_function; /* expression for the functions whose blocks are guarded; NULL: all */
	bool operators;	      /* it defines C++ operators, which do not pass through malloc */
};

/*
 * `argument` is NAME, stomp:OPTIONS or PATH; `stomp` is where our own library lies, or NULL.  0, or -errno with *diag
 * filled; then there is nothing to release.
 */
int allocator_choose(const char *argument, const char *stomp, struct allocator_choice *choice,
		     struct diag *diag) __attribute__((warn_unused_result));
void allocator_release(struct allocator_choice *choice);
/* By name, `length` bytes of it; NULL: there is none. */
const struct allocator *allocator_named(const char *name, size_t length);
/* The path of its library, malloc'ed; NULL with *diag filled when it cannot be used. */
char *allocator_find(const struct allocator *allocator, const char *stomp, struct diag *diag);

/* allocators/find.c: files by soname, as the loader finds them.  Calls `visit` for each file there is, in order, until it
 * returns true. */
typedef bool (*allocator_visit)(const char *path, void *context);
void allocator_search(const char *soname, allocator_visit visit, void *context);
/* The same in the bytes of an ld.so.cache, which may be damaged.  True: `visit` returned that. */
bool allocator_search_cache(const char *cache, size_t size, const char *soname,
			    allocator_visit visit, void *context);

/* allocators/library.c: 0 when the file is a library with a malloc that this program's loader takes.  `marks`: as in the
 * descriptor, or NULL.  *operators: it defines C++ operators.  Else -errno, and `reason` says "it is ...". */
int allocator_check_file(const char *path, const char *marks, bool *operators, char *reason,
			 size_t size) __attribute__((warn_unused_result));

/* allocators/stomp_options.c: "under:quarantine=1G" -> "under,quarantine=1073741824", malloc'ed.  What follows "function="
 * up to the end goes to *function, malloc'ed, else NULL.  NULL with *diag filled when an option is wrong. */
char *allocator_stomp_options(const char *text, char **function, struct diag *diag);
/* Those that there are, for messages. */
extern const char allocator_stomp_known[];

#endif
