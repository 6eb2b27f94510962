/* SPDX-License-Identifier: MIT */
/*
 * Counts how many words of a text are in a list.  For memtrack-tutorial(7): a block is allocated and freed for each.
 *
 * The list has 100 words, a block each.  Of 50,000 words a copy in lower case is made, in lower_case, and freed at once:
 * 50,000 temporary allocations of 50,100 in all.  With -DFIXED the copy is in a buffer, and 100 are left.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KNOWN = 100, WORDS = 50000, LONGEST = 16 };

static char *known[KNOWN];

static void copy_lower(char *to, const char *from)
{
	do
		*to++ = (char)tolower((unsigned char)*from);
	while (*from++);
}

static char *lower_case(const char *word)
{
	char *copy = malloc(strlen(word) + 1);

	if (!copy)
		exit(98);
	copy_lower(copy, word);
	return copy;
}

static int find(const char *word)
{
	for (int i = 0; i < KNOWN; i++) {
		if (strcmp(known[i], word) == 0)
			return 1;
	}
	return 0;
}

static int is_known(const char *word)
{
#ifdef FIXED
	char lower[LONGEST];

	copy_lower(lower, word);
	return find(lower);
#else
	char *lower = lower_case(word);
	int result = find(lower);

	free(lower);
	return result;
#endif
}

static void read_list(void)
{
	char word[LONGEST];

	for (int i = 0; i < KNOWN; i++) {
		snprintf(word, sizeof(word), "WORD%d", i);
		known[i] = lower_case(word);
	}
}

/* Not by printf, whose buffer would be in the figures. */
static void say(const char *format, long a, long b)
{
	char text[128];
	int length = snprintf(text, sizeof(text), format, a, b);

	if (write(STDOUT_FILENO, text, (size_t)length) != length)
		exit(98);
}

int main(void)
{
	char word[LONGEST];
	int count = 0;

	read_list();
	for (int i = 0; i < WORDS; i++) {
		snprintf(word, sizeof(word), "Word%d", i % (2 * KNOWN));
		count += is_known(word);
	}
	say("%ld of %ld words are in the list\n", count, WORDS);
	for (int i = 0; i < KNOWN; i++)
		free(known[i]);
	return count == WORDS / 2 ? 0 : 99;
}
