/* SPDX-License-Identifier: MIT */
/*
 * The tree of a text report: a line for each node, with lines drawn between them.  What
 * is called from one place only stays in the same column, so that deep stacks fit.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/hash_index.h"
#include "report/model.h"
#include "report/render.h"
#include "report/sites.h"
#include "report/text.h"
#include "report/tree.h"
#include "report/units.h"
#include "report/utf8.h"

#define SHARE_WIDTH	6 /* "100.0%" */
#define LABEL_WIDTH_MIN 16

/* A node that lines are drawn below. */
struct branch {
	size_t prefix; /* bytes of what begins each line below it */
	struct tree_rest rest;
};

struct drawing {
	struct text *t;
	enum report_sort sort;
	char *prefix; /* of the deepest node */
	size_t prefix_room;
	struct branch *branches; /* by depth; [0] is above the roots */
	size_t branch_room;
};

struct graphics {
	const char *child, *last_child, *line, *blank;
};

static const struct graphics *graphics_of(const struct text *t)
{
	static const struct graphics ascii = { "|- ", "`- ", "|  ", "   " };
	static const struct graphics lines = { "├─ ", "└─ ", "│  ", "   " };
	return t->utf8 ? &lines : &ascii;
}

/* Where the drawing begins. */
static size_t tree_column(const struct drawing *d)
{
	return text_cost_width(d->t, d->sort) + 1 + SHARE_WIDTH + 2;
}

/* "3.2 KiB": is there anything of what the report is sorted by? */
static bool is_worth_a_line(const struct drawing *d, const struct tree_rest *rest)
{
	return rest->count && sites_cost(&rest->costs, d->sort) > 0;
}

/*
 * Prints the first `size` bytes of the prefix, and what comes last before the name.  Of a
 * drawing that would take half the line only the last part is left.  Returns the columns used.
 */
static size_t put_prefix(const struct drawing *d, size_t size, const char *last)
{
	struct text *t = d->t;
	char *prefix = strndup(size ? d->prefix : "", size);
	if (!prefix) {
		t->error = -ENOMEM;
		return 0;
	}
	size_t width = utf8_width(prefix), most = t->width == SIZE_MAX ? SIZE_MAX : t->width / 2;
	const char *shown = width > most ? prefix + utf8_suffix(prefix, most) : prefix;
	text_put(t, TEXT_DIM, shown);
	text_put(t, TEXT_DIM, last);
	width = utf8_width(shown) + utf8_width(last);
	free(prefix);
	return width;
}

/* Makes the prefix `size` bytes long and appends to it; returns the new size. */
static size_t extend_prefix(struct drawing *d, size_t size, const char *more)
{
	size_t length = strlen(more);
	char *prefix = array_grow(d->prefix, &d->prefix_room, size + length + 1, 1);
	if (!prefix) {
		d->t->error = -ENOMEM;
		return size;
	}
	d->prefix = prefix;
	memcpy(prefix + size, more, length + 1);
	return size + length;
}

static struct branch *branch_at(struct drawing *d, size_t depth)
{
	struct branch *branches =
		array_grow(d->branches, &d->branch_room, depth + 1, sizeof(*branches));
	if (!branches) {
		d->t->error = -ENOMEM;
		return NULL;
	}
	d->branches = branches;
	return &branches[depth];
}

/* Returns by how much the figures are wider than their columns. */
static size_t put_figures(struct text *t, const struct costs *costs, enum report_sort sort)
{
	char share[UNITS_TEXT];
	size_t excess = text_cost_cell(t, costs, sort);
	fprintf(t->out, " %*s  ", SHARE_WIDTH,
		units_percent(share, sites_cost(costs, sort),
			      sites_cost(&t->model->totals.costs, sort)));
	return excess;
}

/* A remark in the place of a child. */
static void put_remark(struct drawing *d, size_t prefix, const char *last, const char *remark)
{
	struct text *t = d->t;
	text_spaces(t, tree_column(d));
	size_t column = tree_column(d) + put_prefix(d, prefix, last);
	text_put(t, TEXT_DIM, t->ellipsis);
	fputc(' ', t->out);
	column += utf8_width(t->ellipsis) + 1;
	text_fit(t, TEXT_DIM, remark, text_room(t, column, LABEL_WIDTH_MIN));
	fputc('\n', t->out);
}

static void put_label(struct drawing *d, const struct tree_node *node, size_t column)
{
	struct text *t = d->t;
	const char *mark = node->recursive ? " (recursive)" : "";
	struct text_label label = text_site_label(t, &node->site);
	text_label_put(t, node->depth == 1 ? TEXT_BOLD : TEXT_PLAIN, &label,
		       text_room(t, column + strlen(mark), LABEL_WIDTH_MIN));
	text_put(t, TEXT_DIM, mark);
	text_label_release(&label);
	fputc('\n', t->out);
}

static void put_node(struct drawing *d, const struct tree_node *node)
{
	const struct graphics *g = graphics_of(d->t);
	if (!branch_at(d, node->depth))
		return;
	const struct branch *above = &d->branches[node->depth - 1];
	bool in_line = node->depth == 1 || node->whole;
	bool last = node->last && !is_worth_a_line(d, &above->rest);
	if (node->depth == 1 && !node->first)
		fputc('\n', d->t->out);
	size_t column = tree_column(d) + put_figures(d->t, &node->site.costs, d->sort);
	column += put_prefix(d, above->prefix, in_line ? "" : last ? g->last_child : g->child);
	put_label(d, node, column);
	size_t prefix = extend_prefix(d, above->prefix, in_line ? "" : last ? g->blank : g->line);
	d->branches[node->depth] = (struct branch){ prefix, node->rest };
	if (node->too_deep)
		put_remark(d, prefix, "", "more frames");
}

/* After its children. */
static void put_rest(struct drawing *d, size_t depth)
{
	const struct branch *branch = &d->branches[depth];
	char count[UNITS_TEXT], cost[96], remark[160];
	if (!is_worth_a_line(d, &branch->rest))
		return;
	snprintf(remark, sizeof(remark), "%s more with %s", units_count(count, branch->rest.count),
		 text_cost_words(d->t, cost, sizeof(cost), &branch->rest.costs, d->sort));
	put_remark(d, branch->prefix, graphics_of(d->t)->last_child, remark);
}

static void put_heading(struct drawing *d)
{
	struct text *t = d->t;
	char line[160] = "";
	FILE *out = fmemopen(line, sizeof(line), "w");
	if (!out) {
		t->error = -ENOMEM;
		return;
	}
	text_cost_title(t, out, d->sort);
	fprintf(out, " %*s  %s", SHARE_WIDTH, "Share",
		t->report->options->tree == REPORT_TREE_CALLERS ? "Site, called by"
								: "Function, calling");
	fclose(out);
	fputc('\n', t->out);
	text_put(t, TEXT_BOLD, line);
	fputc('\n', t->out);
}

static void put_other_roots(struct drawing *d, const struct tree_rest *rest)
{
	char count[UNITS_TEXT], cost[96], remark[192];
	bool sites = d->t->report->options->tree == REPORT_TREE_CALLERS;
	if (!rest->count)
		return;
	snprintf(remark, sizeof(remark), "%s more %s%s with %s (--top N shows more)",
		 units_count(count, rest->count), sites ? "site" : "function",
		 rest->count == 1 ? "" : "s",
		 text_cost_words(d->t, cost, sizeof(cost), &rest->costs, d->sort));
	fputc('\n', d->t->out);
	text_remark(d->t, 0, TEXT_PLAIN, remark);
}

static int draw(struct drawing *d, struct tree *tree)
{
	struct tree_node node;
	bool any = false;
	int event;
	while ((event = tree_next(tree, &node)) > TREE_END && !d->t->error) {
		if (event == TREE_LEAVE) {
			put_rest(d, node.depth);
			continue;
		}
		if (!any)
			put_heading(d);
		any = true;
		put_node(d, &node);
	}
	if (event == TREE_END && any)
		put_other_roots(d, &node.rest);
	else if (event == TREE_END)
		text_nothing(d->t);
	return event;
}

void text_tree(struct text *t)
{
	const struct tree_options options = tree_options_of(t->report->options);
	struct drawing d = { .t = t, .sort = options.sort };
	struct tree tree;
	int error = tree_open(&tree, t->model, t->report->table, &options);
	struct branch *above = branch_at(&d, 0);
	if (above)
		*above = (struct branch){ 0 };
	if (!error && above)
		error = draw(&d, &tree);
	if (error)
		t->error = error;
	tree_close(&tree);
	free(d.prefix);
	free(d.branches);
}
