/* SPDX-License-Identifier: MIT */
/*
 * Text output against committed files: test/golden/NAME.txt holds what is expected at each of
 * the golden_shapes, one below the other.  `make update-golden` rewrites the files, for review
 * as a diff.  Tests run from the top of the tree.
 */
#ifndef MEMTRACK_TEST_UNIT_GOLDEN_H
#define MEMTRACK_TEST_UNIT_GOLDEN_H

#include <stdbool.h>

struct golden_shape {
	int width;
	bool utf8;
};

/* The output for `what` in that shape, malloc'ed. */
typedef char *golden_render(const void *what, const struct golden_shape *shape);

/* Before the first check, and before the working directory changes. */
void golden_open(void);
void golden_close(void);

/*
 * Fails the running test unless the output is what NAME.txt says, in all shapes; and, whatever
 * the file says, when a line is wider than the shape and not a single word, or has a control
 * character, or anything but ASCII where there is no UTF-8.
 */
void golden_check(const char *name, golden_render *render, const void *what);

#endif
