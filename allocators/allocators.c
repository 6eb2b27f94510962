/* SPDX-License-Identifier: MIT */
/* The descriptors, and the choice of one; see allocators.h. */
#include "allocators/allocators.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
const struct allocator allocators[] = {
	{ .name = "ansi", .help = "the program's own, as without --malloc" },
	{ .name = "mimalloc", .help = "Microsoft's",
	  .sonames = "libmimalloc.so.2 libmimalloc.so.3 libmimalloc.so.1 libmimalloc.so",
	  .remedy = "install package libmimalloc2.0",
	  .marks = "mi_malloc" },
	{ .name = "rpmalloc", .help = "Rampant Pixels'",
	  .sonames = "librpmallocwrap.so librpmalloc.so librpmalloc.so.1", .variable = "MEMTRACK_RPMALLOC",
	  .remedy = "Debian has no package of it: build it and set MEMTRACK_RPMALLOC=PATH to the library",
	  .marks = "rpmalloc rpmalloc_initialize" },
	{ .name = "jemalloc", .help = "FreeBSD's",
	  .sonames = "libjemalloc.so.2 libjemalloc.so.1 libjemalloc.so",
	  .remedy = "install package libjemalloc2",
	  .marks = "mallctl je_mallctl" },
	{ .name = "tcmalloc", .help = "of gperftools",
	  .sonames = "libtcmalloc_minimal.so.4 libtcmalloc.so.4 libtcmalloc_minimal.so libtcmalloc.so",
	  .remedy = "install package libtcmalloc-minimal4",
	  .marks = "tc_malloc",
	  /* Else it reports large allocations on the program's standard error. */
	  .setting = "TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=9223372036854775807" },
	{ .name = "stomp", .help = "memtrack's own: guard pages around blocks, to find overflows and uses after free",
	  .remedy = "make builds it; MEMTRACK_STOMP_LIBRARY names another build" },
	{ .name = NULL },
};
/* clang-format on */

static const struct allocator *const stomp_allocator =
	&allocators[sizeof(allocators) / sizeof(*allocators) - 2];

const struct allocator *allocator_named(const char *name, size_t length)
{
	for (const struct allocator *a = allocators; a->name; a++)
		if (strlen(a->name) == length && strncmp(a->name, name, length) == 0)
			return a;
	return NULL;
}

/* Absolute, but otherwise as it was said: that is how the loader will name it, and people know it. */
static char *make_absolute(const char *path, struct diag *diag)
{
	char directory[PATH_MAX], *absolute = NULL;

	if (*path == '/')
		absolute = strdup(path);
	else if (!getcwd(directory, sizeof(directory)) ||
		 asprintf(&absolute, "%s/%s", directory, path) < 0)
		absolute = NULL;
	if (!absolute)
		diag_set(diag, -ENOMEM, "cannot name '%s' absolutely", path);
	return absolute;
}

/* `name` is the allocator's, or NULL for a path. */
static int say_unusable(const char *name, const char *path, const char *reason, const char *remedy,
			int error, struct diag *diag)
{
	if (name)
		diag_set(diag, error, "cannot use allocator '%s': '%s': %s", name, path, reason);
	else
		diag_set(diag, error, "cannot use allocator '%s': %s", path, reason);
	if (remedy)
		diag_hint(diag, "%s", remedy);
	return error;
}

/* A search among files: the first that will do, else what was wrong with the first. */
struct search {
	const struct allocator *allocator;
	char *path;
	bool refused;
	struct diag *diag;
};

static bool try_file(const char *path, void *context)
{
	struct search *s = context;
	char reason[160];
	bool operators;
	int error =
		allocator_check_file(path, s->allocator->marks, &operators, reason, sizeof(reason));

	if (!error) {
		s->path = make_absolute(path, s->diag);
		return true;
	}
	if (!s->refused)
		say_unusable(s->allocator->name, path, reason, s->allocator->remedy, error,
			     s->diag);
	s->refused = true;
	return false;
}

static char *search_file(const struct allocator *a, struct diag *diag)
{
	struct search s = { .allocator = a, .diag = diag };
	const char *names = a->sonames;

	while (*names && !s.path) {
		size_t length = strcspn(names, " ");
		char soname[64];

		snprintf(soname, sizeof(soname), "%.*s", (int)length, names);
		allocator_search(soname, try_file, &s);
		names += length + (names[length] != 0);
	}
	if (!s.path && !s.refused) {
		diag_set(diag, -ENOENT, "cannot use allocator '%s': %.*s is not installed", a->name,
			 (int)strcspn(a->sonames, " "), a->sonames);
		diag_hint(diag, "%s", a->remedy);
	}
	return s.path;
}

char *allocator_find(const struct allocator *a, const char *stomp, struct diag *diag)
{
	const char *named = a->variable ? getenv(a->variable) : NULL;
	struct search s = { .allocator = a, .diag = diag };

	if (a == stomp_allocator && !stomp) {
		diag_set(diag, -ENOENT,
			 "cannot use allocator 'stomp': libmemtrack-stomp.so is not beside "
			 "libmemtrack.so");
		diag_hint(diag, "%s", a->remedy);
		return NULL;
	}
	if (a == stomp_allocator)
		named = stomp;
	if (named && *named) {
		try_file(named, &s);
		return s.path;
	}
	return a->sonames ? search_file(a, diag) : NULL;
}

static int choose_path(const char *path, struct allocator_choice *choice, struct diag *diag)
{
	char reason[160];
	int error = allocator_check_file(path, NULL, &choice->operators, reason, sizeof(reason));

	if (error)
		return say_unusable(NULL, path, reason, NULL, error, diag);
	choice->path = make_absolute(path, diag);
	return choice->path ? 0 : -ENOMEM;
}

static int choose_named(const struct allocator *a, const char *stomp,
			struct allocator_choice *choice, struct diag *diag)
{
	char reason[160];

	choice->allocator = a;
	if (!a->remedy) /* ansi */
		return 0;
	choice->path = allocator_find(a, stomp, diag);
	if (!choice->path)
		return -ENOENT;
	return allocator_check_file(choice->path, NULL, &choice->operators, reason, sizeof(reason));
}

int allocator_choose(const char *argument, const char *stomp, struct allocator_choice *choice,
		     struct diag *diag)
{
	size_t length = strcspn(argument, ":");
	const struct allocator *a = allocator_named(argument, length);
	int error;

	memset(choice, 0, sizeof(*choice));
	if (a && a != stomp_allocator && argument[length])
		return diag_set(diag, -EINVAL, "allocator '%s' takes no options", a->name);
	if (a == stomp_allocator) {
		choice->stomp_options = allocator_stomp_options(
			argument + length + (argument[length] != 0), &choice->stomp_function, diag);
		if (!choice->stomp_options)
			return -EINVAL;
	}
	if (a) {
		error = choose_named(a, stomp, choice, diag);
	} else if (strchr(argument, '/')) {
		error = choose_path(argument, choice, diag);
	} else {
		error = diag_set(diag, -EINVAL, "unknown allocator '%s'", argument);
		diag_hint(diag,
			  "'memtrack help allocators' lists those there are; a path has a '/'");
	}
	if (error)
		allocator_release(choice);
	return error;
}

void allocator_release(struct allocator_choice *choice)
{
	free(choice->path);
	free(choice->stomp_options);
	free(choice->stomp_function);
	memset(choice, 0, sizeof(*choice));
}
