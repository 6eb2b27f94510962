/* SPDX-License-Identifier: MIT */
/*
 * Looks up the addresses on standard input, one a line in hex, in the file that
 * is named.  For each it prints a line for each frame, function, linkage name,
 * file and line with tabs between, and then an empty line: compare_symbols.py reads
 * that.  On standard error: the seconds it took to look up.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "symbolize/symbolize.h"

static void print_frames(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
	(void)context;
	(void)index;
	for (size_t i = 0; i < count; i++)
		printf("%s\t%s\t%s\t%" PRIu32 "\n", frames[i].function ? frames[i].function : "",
		       frames[i].linkage ? frames[i].linkage : "",
		       frames[i].file ? frames[i].file : "", frames[i].line);
	putchar('\n');
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct sym *sym = sym_new(NULL);
	struct sym_module *module;
	uint64_t *addresses = NULL;
	size_t count = 0, room = 0;
	double start;
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		if (count == room) {
			room = room ? 2 * room : 1024;
			addresses = reallocarray(addresses, room, sizeof(*addresses));
			if (!addresses)
				return 1;
		}
		addresses[count++] = strtoull(line, NULL, 16);
	}
	start = now();
	if (argc != 2 || !sym || sym_module_open(sym, argv[1], NULL, 0, &module) ||
	    sym_resolve(module, addresses, count, print_frames, NULL))
		return 1;
	fprintf(stderr, "%.3f\n", now() - start);
	sym_free(sym);
	free(addresses);
	return 0;
}
