/* SPDX-License-Identifier: MIT */
/* See golden.h. */
#include "test/unit/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/text.h"
#include "report/utf8.h"

static const struct golden_shape golden_shapes[] = {
	{ 80, true },
	{ 80, false },
	{ 160, true },
	{ 160, false },
};

#define SHAPES (sizeof(golden_shapes) / sizeof(golden_shapes[0]))

static int directory = -1;

void golden_open(void)
{
	directory = open("test/golden", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		fail_msg("no test/golden here: tests run from the top of the tree");
}

void golden_close(void)
{
	close(directory);
}

/* One word, after the indentation or after a label ("Next    "). */
static bool is_single_word(const char *line)
{
	size_t start = strspn(line, " ");
	if (start == 0 && strlen(line) > TEXT_LABEL_WIDTH && line[TEXT_LABEL_WIDTH - 1] == ' ')
		start = TEXT_LABEL_WIDTH;
	return !strchr(line + start, ' ');
}

static void check_line(const char *name, const char *line, const struct golden_shape *shape)
{
	for (const char *p = line; *p; p++) {
		unsigned char byte = (unsigned char)*p;
		if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !shape->utf8))
			fail_msg("%s at %d columns: byte 0x%02x in: %s", name, shape->width, byte,
				 line);
	}
	if (utf8_width(line) > (size_t)shape->width && !is_single_word(line))
		fail_msg("%s: wider than %d columns: %s", name, shape->width, line);
	if (*line && line[strlen(line) - 1] == ' ')
		fail_msg("%s at %d columns: a blank at the end of: %s", name, shape->width, line);
}

static void check_lines(const char *name, const char *text, const struct golden_shape *shape)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line = strndup(text, length);
		assert_non_null(line);
		if (text[length] != '\n')
			fail_msg("%s at %d columns: the last line does not end", name,
				 shape->width);
		check_line(name, line, shape);
		free(line);
		text += length + 1;
	}
}

static char *render_shapes(const char *name, golden_render *render, const void *what)
{
	char *all = NULL;
	size_t size;
	FILE *out = open_memstream(&all, &size);
	assert_non_null(out);
	for (size_t i = 0; i < SHAPES; i++) {
		const struct golden_shape *shape = &golden_shapes[i];
		char *text = render(what, shape);
		check_lines(name, text, shape);
		fprintf(out, "%s==== %d columns, %s\n%s", i ? "\n" : "", shape->width,
			shape->utf8 ? "UTF-8" : "ASCII", text);
		free(text);
	}
	assert_int_equal(fclose(out), 0);
	return all;
}

static char *read_expected(const char *file)
{
	char *text = NULL;
	size_t size = 0;
	int fd = openat(directory, file, O_RDONLY | O_CLOEXEC);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	if (!in)
		return NULL;
	if (getdelim(&text, &size, '\0', in) < 0) {
		free(text);
		text = NULL;
	}
	fclose(in);
	return text;
}

static void write_expected(const char *file, const char *text)
{
	int fd = openat(directory, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

/* Where the two part, the line of each. */
static void fail_where_they_differ(const char *file, const char *expected, const char *actual)
{
	int number = 1;
	size_t e = 0, a = 0;
	for (;;) {
		e = strcspn(expected, "\n");
		a = strcspn(actual, "\n");
		if (e != a || memcmp(expected, actual, e) != 0 || !expected[e] || !actual[a])
			break;
		expected += e + 1;
		actual += a + 1;
		number++;
	}
	fail_msg("test/golden/%s:%d:\n expected: %.*s\n found:    %.*s\n"
		 "(when the new text is right: make update-golden, and review the diff)",
		 file, number, (int)e, expected, (int)a, actual);
}

void golden_check(const char *name, golden_render *render, const void *what)
{
	char file[128];
	snprintf(file, sizeof(file), "%s.txt", name);
	char *actual = render_shapes(name, render, what);
	if (getenv("MEMTRACK_UPDATE_GOLDEN")) {
		write_expected(file, actual);
	} else {
		char *expected = read_expected(file);
		if (!expected)
			fail_msg("no test/golden/%s: make update-golden writes it", file);
		if (strcmp(expected, actual) != 0)
			fail_where_they_differ(file, expected, actual);
		free(expected);
	}
	free(actual);
}
