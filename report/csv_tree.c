/* SPDX-License-Identifier: MIT */
/* The tree of a report as CSV: one line a node, each before its children. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/csv.h"
#include "report/csv_costs.h"
#include "report/hash_index.h"
#include "report/model.h"
#include "report/render.h"
#include "report/tree.h"
#include "report/utf8.h"

/* The names from the root to a node, separated by semicolons. */
struct path {
	char *text;
	size_t room;
	size_t *lengths; /* by depth: of the path to the node there; [0] is empty */
	size_t length_room;
};

/* A semicolon within a name becomes a colon. */
static char *make_name(const struct model *model, const struct site *site)
{
	const char *function = model_text(model, site->function);
	const char *module = model_text(model, site->module);
	char *name = NULL;
	if (function)
		name = strdup(function);
	else if (asprintf(&name, "%s+0x%" PRIx64, module ? path_base(module) : "", site->address) <
		 0)
		name = NULL;
	for (char *p = name; p && (p = strchr(p, ';'));)
		*p = ':';
	return name;
}

/* Makes the path that of a node whose parent it last was the path of, or of a later sibling. */
static int extend_path(struct path *path, const char *name, size_t depth)
{
	size_t *lengths =
		array_grow(path->lengths, &path->length_room, depth + 1, sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	path->lengths = lengths;
	lengths[0] = 0;
	size_t before = lengths[depth - 1], length = strlen(name);
	char *text = array_grow(path->text, &path->room, before + length + 2, 1);
	if (!text)
		return -ENOMEM;
	path->text = text;
	if (depth > 1)
		text[before++] = ';';
	memcpy(text + before, name, length + 1);
	lengths[depth] = before + length;
	return 0;
}

static void put_titles(FILE *out, bool sampled)
{
	fputs("depth,path,", out);
	csv_place_titles(out);
	fputs(",recursive", out);
	csv_cost_titles(out, "", "");
	csv_cost_titles(out, "self_", "");
	if (sampled)
		csv_cost_titles(out, "", "_standard_error");
	fputc('\n', out);
}

static int put_node(FILE *out, const struct model *model, const struct tree_node *node,
		    struct path *path)
{
	char *name = make_name(model, &node->site);
	int error = name ? extend_path(path, name, node->depth) : -ENOMEM;
	free(name);
	if (error)
		return error;
	fprintf(out, "%zu,", node->depth);
	error = csv_put(out, path->text, UTF8_VISIBLE);
	fputc(',', out);
	if (!error)
		error = csv_place(out, model, &node->site);
	fprintf(out, ",%s", node->recursive ? "true" : "false");
	csv_costs(out, &node->site.costs);
	csv_costs(out, &node->self);
	if (model->totals.sample_mean)
		csv_standard_errors(out, &node->site.costs.variances);
	fputc('\n', out);
	return error;
}

int csv_tree(const struct report *report)
{
	const struct tree_options options = tree_options_of(report->options);
	FILE *out = report->options->out;
	struct path path = { 0 };
	struct tree tree;
	struct tree_node node;
	int error = tree_open(&tree, report->model, report->table, &options);
	int event = TREE_END;
	put_titles(out, report->model->totals.sample_mean);
	while (!error && (event = tree_next(&tree, &node)) > TREE_END) {
		if (event == TREE_ENTER)
			error = put_node(out, report->model, &node, &path);
	}
	tree_close(&tree);
	free(path.text);
	free(path.lengths);
	return event < 0 ? event : error;
}
