/* SPDX-License-Identifier: MIT */
/*
 * See suppressions.h.  Each pattern is tried once on each distinct name that
 * occurs in a leaking stack; the first pattern that matches a stack is then found in
 * one pass from the root of the tree of stacks.
 */
#include "report/suppressions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/hash_index.h"
#include "report/known_stacks.h"
#include "report/model.h"

#define FILE_BYTES_MAX (16 << 20) /* what is larger is another kind of file */

static const char blanks[] = " \t\r";

static int no_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, "out of memory");
}

/* Cuts the pattern at its asterisks; false when memory ended. */
static bool split_pattern(struct suppression *suppression, const char *pattern)
{
	size_t length = strlen(pattern);
	suppression->at_start = length && pattern[0] == '^';
	pattern += suppression->at_start;
	length -= suppression->at_start;
	suppression->at_end = length && pattern[length - 1] == '$';
	length -= suppression->at_end;
	suppression->pieces = strndup(pattern, length);
	if (!suppression->pieces)
		return false;
	suppression->piece_count = 1;
	for (char *p = suppression->pieces; (p = strchr(p, '*')); p++) {
		*p = '\0';
		suppression->piece_count++;
	}
	return true;
}

/*
 * The leftmost place is good enough for each piece: it leaves most to those that
 * follow.  Only the last one, when it is anchored, has its place given.
 */
bool suppression_matches(const struct suppression *suppression, const char *text)
{
	const char *piece = suppression->pieces;
	for (size_t i = 0; i < suppression->piece_count; i++) {
		size_t length = strlen(piece);
		bool fixed = i == 0 && suppression->at_start;
		if (i + 1 == suppression->piece_count && suppression->at_end) {
			size_t left = strlen(text);
			return left >= length && (!fixed || left == length) &&
			       strcmp(text + left - length, piece) == 0;
		}
		const char *found = strstr(text, piece);
		if (!found || (fixed && found != text))
			return false;
		text = found + length;
		piece += length + 1;
	}
	return true;
}

static int add_pattern(struct suppressions *set, const char *pattern)
{
	struct suppression *items =
		array_grow(set->items, &set->room, set->count + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	set->items = items;
	struct suppression *item = &items[set->count];
	*item = (struct suppression){ .pattern = strdup(pattern) };
	if (!item->pattern || !split_pattern(item, pattern)) {
		free(item->pattern);
		return -ENOMEM;
	}
	set->count++;
	return 0;
}

static int bad_line(struct diag *diag, const char *path, size_t number, const char *why)
{
	diag_set(diag, -EINVAL, "bad suppression in '%s', line %zu: %s", path, number, why);
	diag_hint(diag, "lines are leak:PATTERN, comments that start with #, or blank");
	return -EINVAL;
}

static int add_line(struct suppressions *set, char *line, const char *path, size_t number,
		    struct diag *diag)
{
	static const char kind[] = "leak:";
	char why[160];
	line += strspn(line, blanks);
	size_t length = strlen(line);
	while (length && strchr(blanks, line[length - 1]))
		line[--length] = '\0';
	if (!length || *line == '#')
		return 0;
	if (strncmp(line, kind, sizeof(kind) - 1) != 0) {
		snprintf(why, sizeof(why), "'%.100s' is no suppression of a leak", line);
		return bad_line(diag, path, number, why);
	}
	line += sizeof(kind) - 1;
	if (!*line)
		return bad_line(diag, path, number, "no pattern follows 'leak:'");
	return add_pattern(set, line) ? no_memory(diag) : 0;
}

static int add_lines(struct suppressions *set, char *text, size_t size, const char *path,
		     struct diag *diag)
{
	char *end = text + size;
	for (size_t number = 1; text < end; number++) {
		char *line = text;
		char *newline = memchr(line, '\n', (size_t)(end - line));
		text = newline ? newline + 1 : end;
		if (newline)
			*newline = '\0';
		if (strlen(line) < (size_t)((newline ? newline : end) - line))
			return bad_line(diag, path, number,
					"it has a NUL byte, so this is no text");
		int error = add_line(set, line, path, number, diag);
		if (error)
			return error;
	}
	return 0;
}

static int cannot_read(struct diag *diag, const char *path, int error)
{
	/* -EINVAL says that the user wrote something wrong. */
	return diag_set(diag, error == EINVAL ? -EIO : -error, "cannot read suppressions '%s': %s",
			path, strerror(error));
}

/* The whole file with a NUL behind it, malloc'ed. */
static int read_file(const char *path, char **text, size_t *size, struct diag *diag)
{
	FILE *in = fopen(path, "re");
	if (!in)
		return cannot_read(diag, path, errno);
	int error = 0;
	size_t room = 0, used = 0;
	char *bytes = NULL;
	while (!error && used <= FILE_BYTES_MAX && !feof(in)) {
		char *grown = array_grow(bytes, &room, used + 4096 + 1, 1);
		if (!grown) {
			error = no_memory(diag);
			break;
		}
		bytes = grown;
		used += fread(bytes + used, 1, room - used - 1, in);
		if (ferror(in))
			error = cannot_read(diag, path, errno);
	}
	fclose(in);
	if (!error && used > FILE_BYTES_MAX)
		error = cannot_read(diag, path, EFBIG);
	if (error) {
		free(bytes);
		return error;
	}
	bytes[used] = '\0';
	*text = bytes;
	*size = used;
	return 0;
}

int suppressions_load(struct suppressions *set, const char *path, struct diag *diag)
{
	char *text = NULL;
	size_t size = 0;
	int error = read_file(path, &text, &size, diag);
	if (error)
		return error;
	error = add_lines(set, text, size, path, diag);
	free(text);
	return error;
}

/* Which pattern is the first that matches something: its index + 1, or one of these. */
#define UNTRIED	 0
#define NO_MATCH UINT32_MAX

struct matcher {
	struct suppressions *set;
	const struct model *model;
	bool *leaking; /* by node: a leaking stack passes through it */
	uint32_t *by_text, *by_location, *by_node;
};

static bool is_leaking(const struct costs *costs)
{
	return costs->leaked_bytes != 0 || costs->leaked_blocks != 0;
}

static void find_leaking(struct matcher *m)
{
	const struct model *model = m->model;
	for (size_t i = 0; i < model->stack_count; i++)
		m->leaking[model->stacks[i].node] |= is_leaking(&model->stacks[i].costs);
	/* Parents come before their children. */
	for (size_t id = model->node_count; id > 0; id--)
		m->leaking[model->nodes[id].parent] |= m->leaking[id];
}

static uint32_t first_of_name(struct suppressions *set, const char *name)
{
	uint32_t first = NO_MATCH;
	for (size_t i = set->count; i-- > 0;) {
		if (!suppression_matches(&set->items[i], name))
			continue;
		set->items[i].matched = true;
		first = (uint32_t)i + 1;
	}
	return first;
}

static uint32_t first_of_text(struct matcher *m, uint32_t text)
{
	if (!text)
		return NO_MATCH;
	if (m->by_text[text] == UNTRIED)
		m->by_text[text] = first_of_name(m->set, model_text(m->model, text));
	return m->by_text[text];
}

static uint32_t earlier(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t first_of_location(struct matcher *m, uint32_t id)
{
	const struct model *model = m->model;
	if (!id)
		return NO_MATCH;
	if (m->by_location[id] != UNTRIED)
		return m->by_location[id];
	const struct model_location *location = &model->locations[id];
	uint32_t first = location->module ? first_of_text(m, model->modules[location->module].path)
					  : NO_MATCH;
	for (uint32_t i = 0; i < location->frame_count; i++) {
		const struct model_frame *frame = &model->frames[location->first_frame + i];
		first = earlier(first, first_of_text(m, frame->function));
		first = earlier(first, first_of_text(m, frame->file));
	}
	return m->by_location[id] = first;
}

static void match_nodes(struct matcher *m)
{
	const struct model *model = m->model;
	m->by_node[0] = NO_MATCH;
	for (size_t id = 1; id <= model->node_count; id++) {
		const struct model_node *node = &model->nodes[id];
		if (m->leaking[id])
			m->by_node[id] = earlier(m->by_node[node->parent],
						 first_of_location(m, node->location));
	}
}

/* By the names of its frames, or by what the whole stack is known as. */
static uint32_t first_of_stack(struct matcher *m, const struct model_stack *stack)
{
	const struct known_stack *known = known_stack_find(m->model, stack);
	uint32_t first = m->by_node[stack->node];
	return known ? earlier(first, first_of_name(m->set, known->label)) : first;
}

/* Moves the leaked figures of a stack to the pattern that matches it. */
static void suppress(struct suppressions *set, struct suppression *item, struct costs *costs)
{
	struct costs leak = {
		.leaked_bytes = costs->leaked_bytes,
		.leaked_blocks = costs->leaked_blocks,
		.variances.leaked_bytes = costs->variances.leaked_bytes,
		.variances.leaked_blocks = costs->variances.leaked_blocks,
	};
	costs_add(&item->costs, &leak);
	costs_add(&set->costs, &leak);
	costs->leaked_bytes = 0;
	costs->leaked_blocks = 0;
	costs->variances.leaked_bytes = 0;
	costs->variances.leaked_blocks = 0;
	costs->slack.leaked_bytes = 0;
}

/* The total is summed up anew: sums that met their limit cannot be subtracted from. */
static void suppress_stacks(struct matcher *m, struct model *model)
{
	struct costs left = { 0 };
	for (size_t i = 0; i < model->stack_count; i++) {
		struct model_stack *stack = &model->stacks[i];
		uint32_t first = is_leaking(&stack->costs) ? first_of_stack(m, stack) : NO_MATCH;
		if (first != NO_MATCH)
			suppress(m->set, &m->set->items[first - 1], &stack->costs);
		costs_add(&left, &stack->costs);
	}
	struct costs *total = &model->totals.costs;
	total->leaked_bytes = left.leaked_bytes;
	total->leaked_blocks = left.leaked_blocks;
	total->variances.leaked_bytes = left.variances.leaked_bytes;
	total->variances.leaked_blocks = left.variances.leaked_blocks;
	total->slack.leaked_bytes = left.slack.leaked_bytes;
}

int suppressions_apply(struct suppressions *set, struct model *model, struct diag *diag)
{
	struct matcher m = { .set = set, .model = model };
	if (set->count == 0)
		return 0;
	m.leaking = calloc(model->node_count + 1, sizeof(*m.leaking));
	m.by_text = calloc(model->strings.count + 1, sizeof(*m.by_text));
	m.by_location = calloc(model->location_count + 1, sizeof(*m.by_location));
	m.by_node = calloc(model->node_count + 1, sizeof(*m.by_node));
	bool room = m.leaking && m.by_text && m.by_location && m.by_node;
	if (room) {
		find_leaking(&m);
		match_nodes(&m);
		suppress_stacks(&m, model);
	}
	free(m.leaking);
	free(m.by_text);
	free(m.by_location);
	free(m.by_node);
	return room ? 0 : no_memory(diag);
}

void suppressions_release(struct suppressions *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->items[i].pattern);
		free(set->items[i].pieces);
	}
	free(set->items);
	*set = (struct suppressions){ 0 };
}
