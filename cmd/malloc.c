/* SPDX-License-Identifier: MIT */
/* Choosing and listing allocators; see malloc.h. */
#include "cmd/malloc.h"

#include <stdlib.h>

#include "cmd/session.h"

static char *find_stomp(void)
{
	return session_find_library("libmemtrack-stomp.so", "MEMTRACK_STOMP_LIBRARY", NULL);
}

int malloc_choose(const char *argument, struct allocator_choice *choice, struct diag *diag)
{
	char *stomp = find_stomp();
	int error = allocator_choose(argument, stomp, choice, diag);

	free(stomp);
	return error;
}

static void list_one(FILE *out, const struct allocator *a, const char *stomp)
{
	struct diag diag = { 0 };
	char *path;

	fprintf(out, "  %-10s%s\n", a->name, a->help);
	if (!a->remedy) /* the program's own */
		return;
	path = allocator_find(a, stomp, &diag);
	if (path)
		fprintf(out, "  %-10s  %s\n", "", path);
	else
		fprintf(out, "  %-10s  not here: %s\n", "", diag.hint);
	free(path);
}

void malloc_list_stomp(FILE *out)
{
	static const char *const lines[][2] = {
		{ "under", "blocks begin at a guard instead of ending at one" },
		{ "align=N",
		  "of blocks of which no alignment is asked; 1 finds all overflows (16)" },
		{ "continue", "report errors and go on" },
		{ "sample=N", "guard one block in N" },
		{ "min=SIZE", "guard only blocks of at least this size" },
		{ "max=SIZE", "guard only blocks of at most this size" },
		{ "quarantine=SIZE", "address space of freed blocks that is not used again (1G)" },
		{ "guard=METHOD", "madvise, mprotect or canary, for tests" },
		{ "function=REGEX", "guard what these functions allocate; the last option" },
	};

	fputs("Options of stomp, as in --malloc=stomp:under,align=1; see memtrack-stomp(7):\n",
	      out);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		fprintf(out, "  %-17s%s\n", lines[i][0], lines[i][1]);
}

void malloc_list(FILE *out)
{
	char *stomp = find_stomp();

	fputs("Allocators for run --malloc=NAME:\n", out);
	for (const struct allocator *a = allocators; a->name; a++)
		list_one(out, a, stomp);
	fprintf(out, "  %-10sany malloc library, by a path with a '/'\n\n", "PATH");
	malloc_list_stomp(out);
	free(stomp);
}
